"""What of a program's execution depends on its inputs: followed through a run of the golden model, lane by lane.

Bytes of the inputs are marked. What is computed from marked values is marked, and so is what is loaded from marked
memory. If no branch, thread mask, address or barrier ever depends on a marked value, then every run executes the same
instructions in each warp, with the same masks and addresses, whatever the inputs: by induction over the run, what is
not marked is the same in all of them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

import numpy as np

from metronome.hdl.config import Prediction
from metronome.hdl.isa.csrs import FLOAT_CSRS, PERFORMANCE_CSRS, Csr
from metronome.hdl.isa.ops import FLOAT_UNITS, Unit

from ...machine.golden import Iss
from ...machine.golden.records import IssEnd
from ...machine.memory.shadow import Marks
from ...predict.model.code import CodeTable
from ...run.types import Job, unpack_memory
from .decoding import Decoded, decode
from .fetching import followed
from .inputs import Inputs
from .reads import RangeReads

__all__ = ["Dependence", "DependenceKind", "InputDependences", "InputTracker", "dependences"]


class DependenceKind(enum.StrEnum):
    """What of an instruction depends on the inputs."""

    #: Where the warp goes on, or which lanes do.
    CONTROL = "control"
    #: Where it loads or stores.
    ADDRESS = "address"
    #: Whom it waits for, or what is started or measured, or who goes first.
    ORDER = "order"
    #: What it is, or what is fetched behind it.
    CODE = "code"


@dataclass(frozen=True, order=True)
class Dependence:
    """An instruction whose effect on time depends on the inputs."""

    pc: int
    kind: DependenceKind


class InputTracker:
    """Follows marks through a run (a ``Recorder`` of the golden model); ``found`` is what depends on ``inputs``."""

    def __init__(self, iss: Iss, inputs: Inputs) -> None:
        config = iss.config
        self.reads = RangeReads(inputs.ranges)
        self._late = inputs.late
        self._iss = iss
        self._marks = np.zeros((64, config.warps, config.threads), bool)
        self._memory = Marks()
        #: What has been marked at some time.
        self._ever = Marks()
        for first, end in inputs.areas:
            self._memory.mark(first, end)
            self._ever.mark(first, end)
        self._table = CodeTable(config)
        self._followed: dict[int, set[int]] = {}
        self._fcsr = np.zeros(config.warps, bool)
        #: By CSR of the core whether it is marked.
        self._kept: dict[int, bool] = {Csr.MSCRATCH: False, Csr.MREGION: False, Csr.MPOLICY: False}
        self._code: dict[int, Decoded | None] = {}
        self._masks = iss.tmask.copy()
        self._epoch = iss.epoch
        self._addresses: np.ndarray | None = None
        self._rows = np.arange(config.warps)
        self._groups: dict[tuple[int, int], np.ndarray] = {}
        self.found: set[Dependence] = set()

    def arrive(self) -> None:
        """``main`` is entered: its variables that have a range are inputs again."""
        self.reads.arrive(self._late)
        for each in self._late:
            self._memory.mark(each.first, each.end)

    # What the golden model tells.

    def access(self, addresses: np.ndarray, data: np.ndarray | None) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`."""
        self._addresses = addresses

    def arguments(self, warp: int, first: int, second: int) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`: nothing is followed there."""

    def volatile(self, pc: int) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`: :meth:`executed` marks what is read."""

    def executed(self, pc: int, warps: int, epoch: int, masks: np.ndarray) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`."""
        code = self.code(pc)
        if code is not None:
            self._follow(pc, code, self._lanes(warps))
        if epoch != self._epoch:
            self._epoch = epoch
            self._masks = self._iss.tmask.copy()
            self._groups.clear()

    def code(self, pc: int) -> Decoded | None:
        """The instruction at ``pc``, as it was when it was first executed."""
        try:
            return self._code[pc]
        except KeyError:
            code = self._code[pc] = self._look(pc)
            self._followed[pc] = self._fetched(pc)
            return code

    def _look(self, pc: int) -> Decoded | None:
        return decode(self._iss.memory.read_word(pc)) if self._iss.memory.contains(pc, 4) else None

    def _fetched(self, pc: int) -> set[int]:
        """The words that count for where is fetched while the instruction at ``pc`` is in the buffer."""
        if self._iss.config.prediction is not Prediction.BTFN:
            return {pc}
        return followed(pc, self._look, lambda code: self._table.jumps(code.word))

    def was_marked(self, pc: int) -> bool:
        """Whether the word there has depended on the inputs at any time."""
        return bool(self._ever.read(np.array([pc], np.uint32), 4).any())

    def finish(self) -> None:
        """The run is over: what instructions are, and what jumps are followed behind them, may depend on the inputs."""
        for pc, before in self._followed.items():
            places = np.array(list(before | self._fetched(pc)), np.uint32)
            if self._ever.read(places, 4).any():
                self.found.add(Dependence(pc, DependenceKind.CODE))

    def _lanes(self, warps: int) -> np.ndarray:
        """The active lanes of ``warps`` when the instruction began, (warps, threads)."""
        key = (warps, self._epoch)
        lanes = self._groups.get(key)
        if lanes is None:
            chosen = (np.uint64(warps) >> self._rows.astype(np.uint64) & np.uint64(1)).astype(bool)
            lanes = self._groups[key] = self._masks & chosen[:, None]
        return lanes

    def _follow(self, pc: int, code: Decoded, lanes: np.ndarray) -> None:
        marks = self._marks
        unit = code.unit
        if unit is Unit.LSU:
            self._access(pc, code, lanes)
            return
        result = None
        for register in code.reads:
            result = marks[register] if result is None else result | marks[register]
        if unit in (Unit.BRANCH, Unit.SIMT):
            if result is not None and bool((result & lanes).any()):
                self.found.add(Dependence(pc, DependenceKind.CONTROL))
            result = None
        elif unit is Unit.CSR:
            result = self._csr(pc, code, lanes, result)
        elif unit in FLOAT_UNITS and result is not None:
            # The flags tell of the values.
            self._fcsr |= (result & lanes).any(axis=1)
            if self._fcsr.any():
                result = result | self._fcsr[:, None]
        if code.writes is not None:
            if result is None:
                marks[code.writes][lanes] = False
            else:
                np.copyto(marks[code.writes], result, where=lanes)

    def _access(self, pc: int, code: Decoded, lanes: np.ndarray) -> None:
        marks, addresses = self._marks, self._addresses
        assert addresses is not None
        base = marks[code.reads[0]] if code.reads and code.word >> 15 & 31 else None
        if base is not None and bool((base & lanes).any()):
            self.found.add(Dependence(pc, DependenceKind.ADDRESS))
        if self.reads.unread:
            (self.reads.store if code.store else self.reads.load)(addresses, code.size)
        if code.store:
            source = self._stored(code)
            if source is None:
                self._memory.write(addresses, code.size, False)
            else:
                marked = source[lanes]
                self._memory.write(addresses, code.size, marked)
                if marked.any():
                    self._ever.write(addresses[marked], code.size, True)
        elif code.writes is not None:
            marked = self._memory.read(addresses, code.size)
            if base is not None:
                marked |= base[lanes]
            marks[code.writes][lanes] = marked

    def _stored(self, code: Decoded) -> np.ndarray | None:
        """The marks of what is stored; None for x0."""
        file = code.row.rs2
        assert file is not None
        register = (code.word >> 20 & 31) + 32 * file.value
        return self._marks[register] if register else None

    def _csr(self, pc: int, code: Decoded, lanes: np.ndarray, source: np.ndarray | None) -> np.ndarray | None:
        """The marks of what is read; the marks of what is written are kept."""
        shape, result = lanes.shape, None
        if code.csr in FLOAT_CSRS:
            result = np.broadcast_to(self._fcsr[:, None], shape)
        elif code.csr in self._kept:
            result = np.full(shape, self._kept[code.csr])
        elif code.csr in PERFORMANCE_CSRS:
            # A counter tells of time: what that is, is what is asked.
            result = np.ones(shape, bool)
        if code.writes_csr and source is not None:
            # The operand is that of lane 0, active or not.
            of = lanes.any(axis=1)
            marked = source[:, 0] & of
            if code.csr in FLOAT_CSRS:
                self._fcsr |= marked
            elif code.csr in self._kept and marked.any():
                self._kept[code.csr] = True
                if code.csr in (Csr.MREGION, Csr.MPOLICY):
                    self.found.add(Dependence(pc, DependenceKind.ORDER))
        return result


@dataclass(frozen=True)
class InputDependences:
    """``found``: instructions that depend on the inputs. ``ended``: how the run has. ``reads``: which ranges matter."""

    found: list[Dependence]
    ended: IssEnd
    reads: RangeReads


def dependences(job: Job, inputs: Inputs, limit: int) -> InputDependences:
    """Every instruction that depends on ``inputs`` in the run of ``job``, of at most ``limit`` instructions.

    None found: they depend on nothing in any run. Some found: there may be more in others.
    """
    iss = job.golden_model(unpack_memory(job.config, job.pages))
    follower = iss.recorder = InputTracker(iss, inputs)
    if iss.arrival is not None:
        iss.arrival = replace(iss.arrival, tell=follower.arrive)
    ended = iss.run(limit)
    follower.finish()
    return InputDependences(sorted(follower.found), ended, follower.reads)
