"""The starting times of warps: the cycle of each warp's first instruction (Fermi study, tables 5 and 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from metronome.hdl.isa.csrs import Csr

from ...machine.memory.store import SparseMemory
from ...program.assembler import asm
from .bench import Shape

__all__ = ["StartBench", "starts_document"]

_TIME, _WARP, _PLACE, _COUNT = 5, 6, 7, 8


class StartBench:
    """A program whose warps read the cycle counter first of all, in the form of :class:`sim.run.types.Program`."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.entry, self.argument_address = shape.memory_map.start, shape.memory_map.user
        program = asm.Program(self.entry)
        program.li(_COUNT, shape.warps)
        program.la(_PLACE, "all")
        program.add(asm.wspawn(_COUNT, _PLACE))
        program.label("all")
        program.add(asm.csrr(_TIME, Csr.MCYCLE), asm.csrr(_WARP, Csr.WARP_ID), asm.slli(_WARP, _WARP, 2))
        program.li(_PLACE, shape.memory_map.user)
        program.add(asm.add(_PLACE, _PLACE, _WARP), asm.sw(_TIME, 0, _PLACE), asm.fence(), asm.tmc(0))
        self._image = program.assemble()

    def load_into(self, memory: SparseMemory) -> None:
        """Load the code."""
        memory.write(self.entry, self._image)

    def starts(self, memory: SparseMemory) -> tuple[int, ...]:
        """Return the starting time of each warp, from the memory after a run; the first is 0."""
        times = [memory.read_word(self.argument_address + 4 * warp) for warp in range(self._shape.warps)]
        return tuple(time - min(times) for time in times)


def starts_document(runs: Sequence[tuple[int, ...]], schedulers: int) -> dict[str, Any]:
    """Return the starting times of the most frequent run, and of the first run with another order, if there is one.

    ``runs``: of each run, the time of each warp. Warp w belongs to scheduler w % ``schedulers``.
    """
    times = Counter(runs)
    common = times.most_common(1)[0][0]
    other = next((run for run in runs if _order(run) != _order(common)), None)
    return {
        "schedulers": schedulers, "runs": len(runs),
        "common": {"runs": sum(count for run, count in times.items() if _order(run) == _order(common)),
                   "starts": list(common)},
        "exception": None if other is None else {"starts": list(other)},
    }


def _order(run: Sequence[int]) -> list[int]:
    return sorted(range(len(run)), key=lambda warp: (run[warp], warp))
