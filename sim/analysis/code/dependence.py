"""Instructions whose effect on time depends on the inputs, found by taint tracking in a run of the golden model.

Bytes of the inputs are marked. A value computed from marked values is marked, and so is a value loaded from marked
memory. If no branch, thread mask, address or barrier depends on a marked value, every run executes the same
instructions in each warp, with the same masks and addresses. Proof by induction over the run: unmarked values are the
same in all runs.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.csrs import FLOAT_CSRS, PERFORMANCE_CSRS, Csr
from metronome.hdl.isa.ops import FLOAT_UNITS, Unit

from ...machine.golden import Iss
from ...machine.golden.gpu import GpuIss
from ...machine.golden.records import IssEnd
from ...machine.memory.shadow import Marks
from ...run.types import Job, unpack_memory
from .costs import Costs
from .decoding import Decoded, decode
from .fetching import followed, nearby
from .inputs import Inputs
from .reads import RangeReads

__all__ = [
    "Dependence", "DependenceKind", "InputDependences", "InputTracker", "dependences", "dependences_of_gpu",
]


class DependenceKind(enum.StrEnum):
    """The property of an instruction that depends on the inputs."""

    #: The next instruction of the warp, or its active lanes.
    CONTROL = "control"
    #: The addresses of a load or store.
    ADDRESS = "address"
    #: The warps that meet, start or have priority, or the measured region.
    ORDER = "order"
    #: The instruction word, or the words fetched after it.
    CODE = "code"


@dataclass(frozen=True, order=True)
class Dependence:
    """An instruction whose effect on time depends on the inputs."""

    pc: int
    kind: DependenceKind


class _SmMarks:
    """Marks of memory, which SMs share, and of an SM's own local memory."""

    def __init__(self, config: SmConfig, memory: Marks) -> None:
        self._memory, self._own = memory, Marks()
        self._first, self._end = config.memory_map.local, config.memory_map.local + config.local_bytes

    def read(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """Return whether one of the ``size`` bytes at each of ``addresses`` is marked."""
        local = (addresses >= self._first) & (addresses < self._end)
        return np.where(local, self._own.read(addresses, size), self._memory.read(addresses, size))

    def write(self, addresses: np.ndarray, size: int, marked: np.ndarray | bool) -> None:
        """Mark the ``size`` bytes at each of ``addresses``, or not."""
        local = (addresses >= self._first) & (addresses < self._end)
        marks = np.broadcast_to(marked, len(addresses))
        for chosen, pages in ((local, self._own), (~local, self._memory)):
            if chosen.any():
                pages.write(addresses[chosen], size, marks[chosen])

    def mark(self, first: int, end: int) -> None:
        """Mark the bytes of [first, end) in memory."""
        self._memory.mark(first, end)


class InputTracker:
    """Tracks marks through a run, as a ``Recorder`` of the golden model; ``found``: the dependences on ``inputs``.

    ``other``: the tracker of another SM of the same GPU.
    """

    def __init__(self, iss: Iss, inputs: Inputs, other: InputTracker | None = None) -> None:
        config = iss.config
        self.reads: RangeReads = RangeReads(inputs.ranges) if other is None else other.reads
        self._late = inputs.late
        self._iss = iss
        self._marks = np.zeros((64, config.warps, config.threads), bool)
        self._shared: Marks = Marks() if other is None else other._shared
        self._memory: Marks | _SmMarks = self._shared if config.cores == 1 else _SmMarks(config, self._shared)
        #: Bytes that have been marked at any time.
        self._ever: Marks = Marks() if other is None else other._ever
        for first, end in inputs.areas:
            self._memory.mark(first, end)
            self._ever.mark(first, end)
        self._costs = Costs(config)
        self._followed: dict[int, set[int]] = {}
        self._kept_addresses: set[int] = set()
        self._fcsr = np.zeros(config.warps, bool)
        #: For each CSR of the core, whether it is marked.
        self._kept: dict[int, bool] = {Csr.MSCRATCH: False, Csr.MREGION: False, Csr.MPOLICY: False}
        self._code: dict[int, Decoded | None] = {}
        self._masks = iss.tmask.copy()
        self._epoch = iss.epoch
        self._addresses: np.ndarray | None = None
        self._rows = np.arange(config.warps)
        self._groups: dict[tuple[int, int], np.ndarray] = {}
        self.found: set[Dependence] = set()

    def arrive(self) -> None:
        """Enter ``main``: variables that have a range become inputs again."""
        self.reads.arrive(self._late)
        for each in self._late:
            self._memory.mark(each.first, each.end)

    # Calls from the golden model.

    def access(self, addresses: np.ndarray, data: np.ndarray | None) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`."""
        self._addresses = addresses

    def arguments(self, warp: int, first: int, second: int) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`: ignored."""

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
        """Return the instruction at ``pc``, as it was at its first execution."""
        try:
            return self._code[pc]
        except KeyError:
            code = self._code[pc] = self._look(pc)
            self._followed[pc] = self._fetched(pc)
            return code

    def _look(self, pc: int) -> Decoded | None:
        return decode(self._iss.memory.read_word(pc)) if self._iss.memory.contains(pc, 4) else None

    def _fetched(self, pc: int) -> set[int]:
        """Return the words that decide what is fetched while the instruction at ``pc`` is in the buffer."""
        if not self._iss.config.follows:
            return {pc}
        return followed(pc, self._look, self._follows, self._kept_addresses)

    def _keep_addresses(self) -> None:
        """Find the addresses that predictors of indirect jumps may have kept.

        An executed target in the same 256 KiB is left out: the words around it are already those of its own pc.
        """
        if not self._iss.config.learns:
            return
        if len({nearby(0, pc) for pc in self._followed}) > 1:
            self._kept_addresses |= self._followed.keys()
        before = -1
        while before != len(self._kept_addresses):
            before = len(self._kept_addresses)
            for pc in self._followed:
                reached = self._fetched(pc)
                self._kept_addresses.update(place + 4 for place in reached if self._pushes(place))

    def _follows(self, code: Decoded) -> bool:
        cost = self._costs.of(code.word)
        return cost.followed or cost.learned

    def _pushes(self, place: int) -> bool:
        code = self._look(place)
        return code is not None and self._costs.of(code.word).pushes

    def was_marked(self, pc: int) -> bool:
        """Return whether the word at ``pc`` has depended on the inputs at any time."""
        return bool(self._ever.read(np.array([pc], np.uint32), 4).any())

    def finish(self) -> None:
        """Finish the run: find instructions whose word, or whose following jumps, depend on the inputs."""
        self._keep_addresses()
        for pc, before in self._followed.items():
            places = np.array(list(before | self._fetched(pc)), np.uint32)
            if self._ever.read(places, 4).any():
                self.found.add(Dependence(pc, DependenceKind.CODE))

    def _lanes(self, warps: int) -> np.ndarray:
        """Return the active lanes of ``warps`` at the start of the instruction, (warps, threads)."""
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
            # The flags depend on the operands.
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
        """Return the marks of the value stored; None for x0."""
        file = code.row.rs2
        assert file is not None
        register = (code.word >> 20 & 31) + 32 * file.value
        return self._marks[register] if register else None

    def _csr(self, pc: int, code: Decoded, lanes: np.ndarray, source: np.ndarray | None) -> np.ndarray | None:
        """Return the marks of the value read, and keep those of the value written."""
        shape, result = lanes.shape, None
        if code.csr in FLOAT_CSRS:
            result = np.broadcast_to(self._fcsr[:, None], shape)
        elif code.csr in self._kept:
            result = np.full(shape, self._kept[code.csr])
        elif code.csr in PERFORMANCE_CSRS:
            # A counter depends on time, which this analysis must not assume.
            result = np.ones(shape, bool)
        if code.writes_csr and source is not None:
            # The operand is the register of lane 0, active or not.
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
    """The instructions ``found``, how the run ``ended``, and the ranges that it ``reads``."""

    found: list[Dependence]
    ended: IssEnd
    reads: RangeReads


def dependences_of_gpu(configs: Sequence[SmConfig], job: Job, inputs: Inputs, limit: int) -> InputDependences:
    """Do the same with a run of all SMs of a GPU."""
    golden = GpuIss(configs, unpack_memory(configs[0], job.pages))
    golden.launch(job.start_pc, job.arg)
    trackers: list[InputTracker] = []
    for sm in golden.sms:
        sm.recorder = tracker = InputTracker(sm, inputs, trackers[0] if trackers else None)
        trackers.append(tracker)
    ended = golden.run(limit)
    for tracker in trackers:
        tracker.finish()
    found = set().union(*(tracker.found for tracker in trackers))
    return InputDependences(sorted(found), ended, trackers[0].reads)


def dependences(job: Job, inputs: Inputs, limit: int) -> InputDependences:
    """Find the instructions that depend on ``inputs`` in a run of ``job``, of at most ``limit`` instructions.

    If none is found, no run has any. If some are found, other runs may have more.
    """
    iss = job.golden_model(unpack_memory(job.config, job.pages))
    follower = iss.recorder = InputTracker(iss, inputs)
    if iss.arrival is not None:
        iss.arrival = replace(iss.arrival, tell=follower.arrive)
    ended = iss.run(limit)
    follower.finish()
    return InputDependences(sorted(follower.found), ended, follower.reads)
