"""The instructions that a kernel executes, warp by warp: the input of the timing models."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metronome.hdl.config import LINE_BYTES, SmConfig
from metronome.hdl.isa.csrs import Csr
from metronome.hdl.isa.ops import BranchOp, Unit

from ...machine.events import NONE
from ...machine.memory.store import SparseMemory
from ...predict.model.code import CodeTable
from ...predict.model.records import CODE
from ...run.types import RunResult

__all__ = ["Mix", "Step", "mix_of"]

#: Cycles from the selection of a write of mregion until it takes effect (counters.md).
_REGION_DELAY = 3


@dataclass(frozen=True)
class Step:
    """An instruction of a warp, in program order.

    ``kind``: the unit (``alu``, ``mul``, ...), ``load``, ``store``, or the effect on control flow (``branch not
    taken``, ``jal``, ...), with the micro-benchmarks' names. ``needs``: the distance in instructions to the nearest
    earlier one whose result it needs; None if it needs none. ``needs_load``: the same for the nearest load.
    """

    kind: str
    needs: int | None
    needs_load: int | None


@dataclass(frozen=True, kw_only=True)
class Mix:
    """A kernel's measured region.

    ``warps``: the instructions of each warp that has any. ``lines``: accesses to lines by loads; ``hits``: those that
    need no request of their own. ``written``: lines written. ``loads``, ``global_loads``: instructions of all
    warps.
    """

    warps: tuple[tuple[Step, ...], ...]
    loads: int
    global_loads: int
    lines: int
    hits: int
    written: int

    @property
    def instructions(self) -> int:
        """Instructions of all warps."""
        return sum(len(steps) for steps in self.warps)

    @property
    def misses(self) -> int:
        """Lines that loads requested from memory."""
        return self.lines - self.hits

    @property
    def dependent(self) -> int:
        """Instructions of all warps that need the result of the previous one (the Fermi study's "RaW dependency")."""
        return sum(step.needs == 1 for steps in self.warps for step in steps)

    def count(self, kind: str) -> int:
        """Instructions of a kind, in all warps."""
        return sum(step.kind == kind for steps in self.warps for step in steps)


def mix_of(config: SmConfig, result: RunResult, issued: np.ndarray) -> Mix:
    """Return the mix of a predicted run.

    Parameters
    ----------
    issued
        Every issue in order: ISSUED of :mod:`sim.predict.model.records`.

    Raises
    ------
    ValueError
        If the program has no measured region, or its region cannot be determined.
    """
    if not config.research_counters:
        raise ValueError("a mix needs the counters of the machine: research_counters must be true")
    if result.region is None or not result.counters["cycles"]:
        raise ValueError("the program has no measured region")
    code = _Code(config, result.memory)
    issues = issued[issued["pc"] >= 0]
    inside = _inside(issues, code)
    streams = [issues["pc"][inside & (issues["warp"] == warp)].tolist() for warp in range(config.warps)]
    if sum(map(len, streams)) != result.counters["committed"]:
        raise ValueError("the instructions do not show where the measured region of the program begins and ends")
    loads, stores = result.region.loads, result.region.stores
    return Mix(
        warps=tuple(tuple(_steps(pcs, code)) for pcs in streams if pcs),
        loads=result.counters["loads"], global_loads=loads.instructions, lines=loads.accesses,
        hits=loads.hits + loads.merges + loads.forwards, written=stores.accesses - stores.merges,
    )


class _Code:
    """The program, decoded: a CODE row for each pc."""

    def __init__(self, config: SmConfig, memory: SparseMemory) -> None:
        self._table, self._memory = CodeTable(config), memory
        self._known: dict[int, dict[str, int]] = {}

    def __call__(self, pc: int) -> dict[str, int]:
        if pc not in self._known:
            line = self._memory.read(pc // LINE_BYTES * LINE_BYTES, LINE_BYTES)
            word = struct.unpack_from("<I", line, pc % LINE_BYTES)[0]
            self._known[pc] = dict(zip(CODE.names or (), self._table.decode(word), strict=True))
        return self._known[pc]


def _inside(issues: np.ndarray, code: _Code) -> np.ndarray:
    """Return which issues count: those whose latest earlier write of mregion was not zero."""
    wrote = {pc: value for pc in np.unique(issues["pc"]).tolist() if (value := _written(code(pc))) is not None}
    writes = issues[np.isin(issues["pc"], list(wrote))]
    values = np.array([False, *(wrote[pc] for pc in writes["pc"].tolist())])
    return values[np.searchsorted(writes["cycle"] + _REGION_DELAY, issues["cycle"], side="right")]


def _written(row: dict[str, int]) -> bool | None:
    """Whether an instruction opens or closes the region; None if it does neither.

    A register other than x0 is assumed to hold a nonzero value.
    """
    word = row["word"]
    if row["unit"] != Unit.CSR.value or word >> 20 != Csr.MREGION:
        return None
    # The immediate takes the place of the register number.
    return word >> 15 & 31 != 0


def _kind(row: dict[str, int], pc: int, following: int | None) -> str:
    unit = Unit(row["unit"])
    if unit is Unit.LSU:
        return "store" if row["store"] else "load"
    if unit is Unit.SIMT:
        return "simt"
    if unit is not Unit.BRANCH:
        return unit.name.lower()
    if row["op"] in (BranchOp.JAL.value, BranchOp.JALR.value):
        return "jal" if row["op"] == BranchOp.JAL.value else "jalr"
    if following is None or following == pc + 4:
        return "branch not taken"
    return "branch forward taken" if following > pc else "branch backward taken"


def _steps(pcs: list[int], code: _Code) -> Iterator[Step]:
    """Return the instructions of one warp."""
    writer: dict[int, int] = {}
    loading: set[int] = set()
    for place, pc in enumerate(pcs):
        row = code(pc)
        following = pcs[place + 1] if place + 1 < len(pcs) else None
        kind = _kind(row, pc, following)
        # ``uses`` has the registers read and written; an instruction waits for a pending write to either.
        used = [register for register in range(64) if row["uses"] >> register & 1 and register in writer]
        needs = min((place - writer[register] for register in used), default=None)
        of_loads = [place - writer[register] for register in used if writer[register] in loading]
        yield Step(kind=kind, needs=needs, needs_load=min(of_loads, default=None))
        if row["register"] != NONE:
            writer[row["register"]] = place
            if kind == "load":
                loading.add(place)
