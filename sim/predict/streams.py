"""Record each warp's instructions in a run of the golden model: they do not depend on the schedule unless warps race.

One recording serves every configuration with the same number of warps and threads: policies, latencies, caches and
memory models change when an instruction issues, not which.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.csrs import Csr
from metronome.hdl.isa.ops import BranchOp, CsrOp, SimtOp, Unit

from ..machine.events import NONE, WARPS
from ..machine.golden import EndStatus, Iss, IssEnd
from ..machine.golden.state import State
from ..machine.memory.store import SparseMemory
from ..run.types import Job
from .lists import Lists
from .model import races
from .model.code import CodeTable
from .model.records import CODE, STEP
from .stores import Stores

__all__ = ["SLICE", "Recorder", "Recording", "Streams", "record"]

_BRANCH, _LSU, _CSR, _SIMT = Unit.BRANCH.value, Unit.LSU.value, Unit.CSR.value, Unit.SIMT.value
#: Instructions that the golden model executes between two checks for an endless loop.
SLICE = 1 << 16


@dataclass(frozen=True)
class Streams:
    """Instructions of each warp (``known[w]`` entries of ``steps`` from ``first[w]`` on), and the final ``memory``.

    ``code``: CODE of each distinct instruction, indexed by the field ``code`` of ``steps``.

    ``shared``, ``writers``: see :mod:`sim.predict.model.races`. ``stored``: the lines that stores write. ``unsure``:
    written words, as a bit mask for each line, for which the time of a fetch on a wrong path matters. ``lists``: lists
    of accesses (:class:`sim.predict.lists.Lists`).
    """

    steps: np.ndarray
    first: np.ndarray
    known: np.ndarray
    addresses: np.ndarray
    code: np.ndarray
    shared: np.ndarray
    writers: np.ndarray
    stored: frozenset[int]
    unsure: dict[int, int]
    memory: SparseMemory
    lists: np.ndarray


class Recorder:
    """Records a run of the golden model; its methods are those of :class:`sim.machine.golden.watch.Recorder`."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.pcs: list[int] = []
        self.warps: list[int] = []
        self.accesses: list[np.ndarray] = []
        self.stores: list[tuple[np.ndarray, np.ndarray]] = []
        self.said: list[list[tuple[int, int]]] = [[] for _ in range(state.config.warps)]
        self.reads_time = False
        # The first operation with each set of thread masks, and these masks.
        self.changes = [0]
        self.masks = [state.mask_words.copy()]
        self._epoch = state.epoch
        #: The number of operations before each wspawn took effect: the warps that it waited for have ended.
        self.spawns: list[int] = []
        state.spawned = lambda: self.spawns.append(len(self.pcs))

    def executed(self, pc: int, warps: int, epoch: int, masks: np.ndarray) -> None:
        """Note an operation."""
        self.pcs.append(pc)
        self.warps.append(warps)
        if epoch != self._epoch:
            self._epoch = epoch
            self.changes.append(len(self.pcs))
            self.masks.append(masks.copy())

    def spins(self) -> bool:
        """Whether the last three instructions of every warp that is not waiting are the same jump."""
        state, tail = self._state, slice(-SLICE, None)
        last: dict[int, list[int]] = {
            warp: [] for warp, active in enumerate(state.active) if active and state.waiting[warp] is None
        }
        for pc, warps in zip(reversed(self.pcs[tail]), reversed(self.warps[tail]), strict=True):
            for warp, pcs in last.items():
                if warps >> warp & 1 and len(pcs) < 3:
                    pcs.append(pc)
            if all(len(pcs) == 3 for pcs in last.values()):
                break
        return all(len(pcs) == 3 and len(set(pcs)) == 1 for pcs in last.values())

    def access(self, addresses: np.ndarray, data: np.ndarray | None) -> None:
        """Note a load, or a store of ``data``."""
        self.accesses.append(addresses)
        if data is not None:
            self.stores.append((addresses, data.copy()))

    def stored(self) -> np.ndarray:
        """Return the addresses of all stores, by lane."""
        return np.concatenate([np.zeros(0, np.int64), *(addresses for addresses, _ in self.stores)])

    def arguments(self, warp: int, first: int, second: int) -> None:
        """Note the operands of a SIMT instruction, or what is written to a CSR."""
        self.said[warp].append((first, second))

    def volatile(self, pc: int) -> None:
        """Note that the program reads a counter."""
        self.reads_time = True


def _run(iss: Iss, recorder: Recorder, limit: int) -> IssEnd | None:
    """Run to the end or the limit; return None if no progress is possible (the deadlock rule of tb/top.sv)."""
    while True:
        end = iss.run(min(limit, SLICE))
        limit -= end.executed
        if end.status is not EndStatus.LIMIT or limit <= 0:
            return end
        if recorder.spins():
            return None


def record(config: SmConfig, memory: SparseMemory, job: Job, limit: int) -> Streams | str:
    """Return the streams of the program of ``job``, or the reason why there are none; changes ``memory``."""
    code_memory = memory.copy()
    iss = job.golden_model(memory)
    recorder = iss.recorder = Recorder(iss)
    end = _run(iss, recorder, limit)
    if end is None:
        return "every remaining warp jumps to itself"
    if end.status is not EndStatus.ENDED:
        return f"the golden model alone does not end: {end.status}"
    if recorder.reads_time:
        return "the program reads a counter"
    streams = Recording(config, recorder, code_memory)
    reason = streams.reason(recorder.stored())
    if reason is not None:
        return reason
    built = streams.build(memory)
    return "the program writes its list of accesses" if streams.lists.lines & built.stored else built


class Recording:
    """Sorts a recording by warp."""

    def __init__(self, config: SmConfig, recorder: Recorder, memory: SparseMemory) -> None:
        self.config, self.recorder, self.lists = config, recorder, Lists(memory)
        self._before = memory
        self.pcs = np.array(recorder.pcs, np.int64)
        self.warps = np.array(recorder.warps, np.uint64)
        self._decode(memory)
        # The masks before each operation.
        which = np.searchsorted(np.array(recorder.changes), np.arange(len(self.pcs)), side="right") - 1
        self.which = which
        self.behind = np.append(which[1:], len(recorder.changes) - 1)
        self.masks = np.array(recorder.masks, np.uint32)

    def _decode(self, memory: SparseMemory) -> None:
        """Decode each operation into a row of CODE."""
        table = CodeTable(self.config)
        places, inverse = np.unique(self.pcs, return_inverse=True)
        rows = np.array([table.decode(memory.read_word(int(pc))) for pc in places], CODE)
        self.code, self.kind = rows, inverse

    def reason(self, stored: np.ndarray) -> str | None:
        """Return why the recording does not determine each warp's instructions or their timing; None if it does.

        ``stored``: the addresses of all stores, also those of other SMs.
        """
        if np.isin(np.unique(self.pcs >> 2), stored >> 2).any():
            return "the program writes its own code"
        if self._shares_csrs():
            return "the program reads a CSR that another warp may change"
        if (self.code["offset"] == 4).any():
            return "a branch goes to the next instruction either way"
        return None

    def _shares_csrs(self) -> bool:
        """Whether a warp reads a CSR that all warps share and that another warp may change."""
        if int(np.bitwise_count(np.bitwise_or.reduce(self.warps, initial=0))) <= 1:
            return False
        word, is_csr = self.code["word"], self.code["unit"] == _CSR
        sets = self.code["op"] == CsrOp.RW.value
        reads = is_csr & (~sets | (word >> 7 & 31 != 0))
        writes = is_csr & (sets | (word >> 15 & 31 != 0))
        # The set of active warps changes whenever a warp ends.
        if (reads & (word >> 20 == Csr.ACTIVE_WARPS)).any():
            return True
        for csr in (Csr.MSCRATCH, Csr.MREGION, Csr.MPOLICY):
            readers, writers = (self._warps_with(each & (word >> 20 == csr)) for each in (reads, writes))
            several = np.bitwise_count(readers | writers) > 1
            if ((readers != 0) & (writers != 0) & several).any():
                return True
        return False

    def _warps_with(self, kinds: np.ndarray) -> np.ndarray:
        """Return the sets of warps that execute one of these rows of ``code``, between any two wspawns."""
        at = np.flatnonzero(kinds[self.kind])
        sets = np.zeros(len(self.recorder.spawns) + 1, np.uint64)
        np.bitwise_or.at(sets, np.searchsorted(self.recorder.spawns, at, side="right"), self.warps[at])
        return sets

    def of_accesses(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the size in bytes of each recorded access of one or several warps, and whether it is a store."""
        kinds = self.kind[self.code["unit"][self.kind] == _LSU]
        return self.code["size"][kinds], self.code["store"][kinds]

    def stores(self) -> Stores:
        """Return the stores of the recording."""
        sizes, writes = self.of_accesses()
        return Stores.of(self.recorder.stores, sizes[writes.astype(bool)])

    def build(self, memory: SparseMemory) -> Streams:
        """Return the streams of an SM that shares no memory; ``memory``: at the end."""
        self.sort()
        shared, stored = self.shared_words()
        return self.finish(memory, shared, stored, self.stores())

    def sort(self) -> None:
        """Sort the instructions by warp."""
        config = self.config
        selects = [(self.warps >> np.uint64(w) & np.uint64(1)).astype(bool) for w in range(config.warps)]
        positions = [np.flatnonzero(each) for each in selects]
        known = np.zeros(WARPS, np.int64)
        known[: config.warps] = [len(each) for each in positions]
        first = np.concatenate([[0], np.cumsum(known)[:-1]])
        steps = np.zeros(int(known.sum()), STEP)
        is_access = self.code["unit"][self.kind] == _LSU
        # Rows of accesses: by operation, then by warp.
        counts = np.bitwise_count(self.warps).astype(np.int64)
        row_of = np.cumsum(np.where(is_access, counts, 0)) - np.where(is_access, counts, 0)
        for w, at in enumerate(positions):
            mine = steps[first[w] : first[w] + len(at)]
            self._fill(mine, w, at)
            below = np.bitwise_count(self.warps[at] & np.uint64((1 << w) - 1)).astype(np.int64)
            mine["row"] = np.where(is_access[at], row_of[at] + below, NONE)
        self.steps, self.first, self.known = steps, first, known
        self._sort_accesses(is_access, int(counts[is_access].sum()))

    def _fill(self, mine: np.ndarray, w: int, at: np.ndarray) -> None:
        """Fill in the instructions of warp ``w``: the operations ``at``."""
        if not len(at):
            return
        code = self.code[self.kind[at]]
        mine["pc"], mine["code"] = self.pcs[at], self.kind[at]
        mine["next"][:-1] = mine["pc"][1:]
        mine["mask"] = masks = self.masks[self.which[at], w]
        mine["lanes"] = np.bitwise_count(masks)
        mine["fault"] = NONE
        elsewhere = mine["next"] != mine["pc"] + np.uint32(4)
        # A warp that ends may be restarted at once. A tmc or pred never jumps, so a next pc elsewhere marks its end.
        mine["after"] = np.bitwise_count(self.masks[self.behind[at], w])
        simt = code["unit"] == _SIMT
        ends = simt & np.isin(code["op"], (SimtOp.TMC.value, SimtOp.PRED.value)) & elsewhere
        mine["after"][ends] = 0
        always = (code["unit"] == _BRANCH) & np.isin(code["op"], (BranchOp.JAL.value, BranchOp.JALR.value))
        mine["taken"] = always | (elsewhere & (mine["after"] > 0) & (simt | (code["unit"] == _BRANCH)))
        speaks = simt & np.isin(code["op"], (SimtOp.BAR.value, SimtOp.WSPAWN.value))
        speaks |= (code["unit"] == _CSR) & np.isin(code["word"] >> 20, (Csr.MREGION, Csr.MPOLICY)) & (
            (code["op"] == CsrOp.RW.value) | (code["word"] >> 15 & 31 != 0)
        )
        said = np.array(self.recorder.said[w], np.uint32).reshape(-1, 2)
        mine["a"][speaks], mine["b"][speaks] = said[:, 0], said[:, 1]
        for place in np.flatnonzero((mine["b"] > 1) & (code["unit"] == _CSR)):
            mine["address"][place] = self.lists.at(int(mine["b"][place]))

    def _sort_accesses(self, is_access: np.ndarray, rows: int) -> None:
        steps = self.steps
        self.addresses = np.zeros((rows, self.config.threads), np.uint32)
        operations = np.flatnonzero(is_access)
        with_row = np.flatnonzero(steps["row"] != NONE)
        #: The place in ``steps`` of each access.
        self.places = order = with_row[np.argsort(steps["row"][with_row], kind="stable")]
        self._owners = np.repeat(np.arange(WARPS), self.known)[order]
        self._masks = steps["mask"][order].astype(np.int64)
        lanes = (steps["mask"][order][:, None] >> np.arange(self.config.threads, dtype=np.uint32) & 1).astype(bool)
        if rows:
            self.addresses[lanes] = np.concatenate(self.recorder.accesses)
        kinds = np.repeat(self.kind[operations], np.bitwise_count(self.warps[operations]).astype(np.int64))
        self.sizes, self.writes = self.code["size"][kinds], self.code["store"][kinds].astype(np.uint8)

    def shared_words(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the words that several warps touch and one writes, as a hash table, and all that are stored to."""
        capacity = 1 << 12
        while True:
            shared, stored = races.number_words(
                self._owners, self._masks, self.sizes, self.writes, self.addresses, capacity)
            if len(shared):
                return shared, stored
            capacity *= 4

    def finish(
        self, memory: SparseMemory, shared: np.ndarray, stored: np.ndarray, stores: Stores, *, behind: int = 0,
    ) -> Streams:
        """Return the streams. ``stored``, ``stores``: of all SMs. ``behind``: the number of steps before these."""
        steps = self.steps
        writers = np.zeros(4 * len(shared), np.int64)
        marks, sees = np.zeros(len(self.addresses), np.int8), np.zeros(len(self.addresses), np.uint64)
        races.trace(
            self._owners, self._masks, self.sizes, self.writes, self.addresses,
            self.places.astype(np.int64) + (behind + 1), shared, writers, marks, sees,
        )
        steps["shared"][self.places], steps["sees"][self.places] = marks, sees
        unsure = stores.unsure(self.pcs, stored, self._before, CodeTable(self.config))
        return Streams(
            steps, self.first, self.known, self.addresses, self.code, shared, writers,
            frozenset((stored >> 4).tolist()), unsure, memory, self.lists.table,
        )
