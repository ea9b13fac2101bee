"""Lock-step check of the SM against the golden model: every instruction, register write and store from the probe."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from metronome.hdl.config import FaultCause, SmConfig

from ..build.records import FieldReader
from ..machine.golden import Fault, Iss, IssError
from ..machine.golden.records import FaultError
from ..machine.memory.store import SparseMemory
from .executed import ExecutedInstruction, describe, describe_store, register_name
from .memcheck import DeclaredAreas, MemCheck
from .memcheck.checker import ORDERING, STACK_POINTER
from .mismatch import Mismatch, memory_mismatch
from .partitions import one_after_another, path_of

__all__ = ["LockStep", "Mismatch"]

#: Fields read from each record of the probe, the lanes last, and those read from records with a store.
_EVENTS = (
    "wb.valid", "wb.value.warp", "wb.value.rd", "wb.value.mask", "wb.value.last",
    "issue.valid", "issue.warp", "issue.pc", "issue.instruction", "issue.mask", "store.valid", "wb.value.data",
)  # fmt: skip
_STORES = ("store.warp", "store.pc", "store.size", "store.mask", "store.address", "store.data")

_HISTORY = 10
#: Register writes are numbered by register, 0 to 63, with the warp in the bits above.
_KEY_SHIFT = 6
#: Addresses, data, size and mask of a store, as in :class:`sim.machine.golden.Commit`.
_Stored = tuple[np.ndarray, np.ndarray, int, int]
_ALL_BITS = 0xFFFF_FFFF
#: Fault reasons that the LSU reports when memory has answered, in any order, and those it reports as soon as it sees
#: the instruction, in issue order. In both cases younger instructions have already issued.
_ANSWERED = frozenset((FaultCause.LOAD_ACCESS, FaultCause.STORE_ACCESS))
_SEEN = frozenset((FaultCause.LOAD_MISALIGNED, FaultCause.STORE_MISALIGNED))


class LockStep:
    """Compare one program after another; registers and local memory persist between them, as in the SM.

    After a mismatch or a fault the two states differ: the checker cannot be used again.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        self._iss = Iss(config, SparseMemory(config.memory_map))
        self._lanes = np.arange(config.threads, dtype=np.uint32)
        self._paths = [[path_of(path, p) for path in _EVENTS] for p in range(config.schedulers)]
        self._events = [FieldReader(config, paths) for paths in self._paths]
        self._store_events = FieldReader(config, _STORES)
        self.launch(self._iss.memory, config.memory_map.start, 0)

    def launch(
        self, memory: SparseMemory, start_pc: int, arg: int, declared: DeclaredAreas | None = None, *,
        strict_races: bool = False,
    ) -> MemCheck | None:
        """Start a program; ``memory`` belongs to the checker and already holds the program.

        If ``declared`` gives the program's memory areas, a memory checker watches them (``strict_races`` is its
        ``strict``) and is returned.
        """
        self._iss.memory = memory
        memcheck = None if declared is None else MemCheck(self._iss, declared, strict=strict_races)
        self._iss.watch = self._memcheck = memcheck
        self._iss.launch(start_pc, arg)
        # Register writes that the SM still owes, by warp and register; the missing lanes, if some have been written
        # or if the values are the SM's own.
        self._writes: dict[int, ExecutedInstruction] = {}
        self._missing: dict[int, int] = {}
        self._stores: list[deque[tuple[ExecutedInstruction, _Stored]]] = [deque() for _ in range(self.config.warps)]
        self._history: list[deque[ExecutedInstruction]] = [deque(maxlen=_HISTORY) for _ in range(self.config.warps)]
        # Faults that the SM may report, by warp: those in memory's order, and the first in issue order.
        self._faults: dict[int, list[Fault]] = {}
        # Warps that the golden model still follows after a fault.
        self._late: set[int] = set()
        self.instructions = 0
        return memcheck

    def feed(self, records: np.ndarray) -> None:
        """Compare the records of consecutive cycles (:func:`sim.build.records.decode_records`).

        In one cycle, a register write belongs to an older instruction than the one issued, and a store to the same
        instruction or an older one.

        Raises
        ------
        Mismatch
            At the first difference.
        """
        stores = records[records["store"]["valid"] != 0]
        events = [[_column(records, path) for path in paths] for paths in self._paths]
        cycles, fields = one_after_another(_EVENTS, records["cycle"], events)
        deque(self._compare_all(cycles, fields, [_column(stores, path) for path in _STORES]), maxlen=0)

    def feed_words(self, words: np.ndarray) -> None:
        """Compare records as the simulation writes them, not yet decoded; otherwise like :meth:`feed`."""
        deque(self.steps(words), maxlen=0)

    def steps(self, words: np.ndarray) -> Iterator[int]:
        """Compare records as :meth:`feed_words` does, one event at a time: yields its cycle before it is compared."""
        events = [reader.read(words) for reader in self._events]
        stores = self._store_events.read(words[events[0][_EVENTS.index("store.valid")] != 0])
        yield from self._compare_all(*one_after_another(_EVENTS, FieldReader.cycles(words), events), stores)

    def _compare_all(self, cycles: np.ndarray, events: list[np.ndarray], stores: list[np.ndarray]) -> Iterator[int]:
        """Compare records; ``events`` holds their _EVENTS fields, and ``stores`` their _STORES fields."""
        *fields, data = events
        raw, size = data.tobytes(), data.shape[1] * data.itemsize
        each_store = zip(*(values.tolist() for values in stores[:-2]), *stores[-2:], strict=True)
        rows = zip(range(0, len(raw), size), cycles.tolist(), *(values.tolist() for values in fields), strict=True)
        writes, missing = self._writes, self._missing
        for (at, cycle, has_wb, wb_warp, rd, wb_mask, last, has_issue, warp, pc, instruction, mask, has_store) in rows:
            yield cycle
            if has_wb:
                key = wb_warp << _KEY_SHIFT | rd
                owed = writes.get(key)
                # Nearly always all owed lanes arrive at once. Equal bytes mean equal lanes; otherwise, inactive lanes
                # may differ.
                if (
                    owed is not None and wb_mask == owed.mask and last and key not in missing
                    and owed.values == raw[at : at + size]
                ):
                    del writes[key]
                else:
                    self._writeback(cycle, (wb_warp, rd, wb_mask, last), data[at // size])
            if has_issue:
                self._issue(cycle, warp, pc, instruction, mask)
            if has_store:
                self._store(cycle, *next(each_store))

    def waits(self) -> dict[int, str]:
        """For each warp that waits at a barrier or in wspawn, what it waits for, in words."""
        arrived, found = self._iss.arrived, {}
        for warp, wait in enumerate(self._iss.waiting):
            if wait is not None:
                there = "" if wait.barrier is None or wait.between_sms else f" ({len(arrived[wait.barrier])} so far)"
                found[warp] = f"{wait}{there}"
        return found

    def finish(self, memory: SparseMemory, fault: Fault | None, ended: bool) -> None:
        """Compare the final states; ``memory`` is the SM's, ``ended`` is false if the program was cut off.

        A program that is cut off has instructions in flight, and a fault stops other instructions midway: then only
        the fault is compared. Faults of loads and stores are not precise (docs/isa.md): if one warp issues several
        before the SM stops, the SM may report any that memory refuses, or the first misaligned one after them.

        Raises
        ------
        Mismatch
            At the first difference.
        """
        if fault is not None or self._faults:
            if fault is None or fault not in self._faults.get(fault.warp, ()):
                expected = ", ".join(str(each) for faults in self._faults.values() for each in faults) or "no fault"
                warp = next(iter(self._faults), 0) if fault is None else fault.warp
                raise self._mismatch(None, warp, "the end", expected, str(fault or "no fault"))
            return
        if not ended:
            return
        for done in self._writes.values():
            raise self._mismatch(None, done.warp, "the end", f"a write of {register_name(done.rd)}", "none", done)
        for warp, stores in enumerate(self._stores):
            if stores:
                raise self._mismatch(None, warp, "the end", "a store", "none", stores[0][0])
        if not self._iss.ended:
            warp = self._iss.active.index(True)
            raise self._mismatch(None, warp, "the end", f"warp {warp} active at pc {self._iss.pc[warp]:#010x}", "ended")
        self._compare_memory(memory)

    def _compare_memory(self, memory: SparseMemory) -> None:
        for address, mine, theirs in self._iss.memory.differences(memory, 1):
            raise memory_mismatch(address, mine, theirs)

    def _issue(self, cycle: int, warp: int, pc: int, instruction: int, mask: int) -> None:
        if warp in self._faults:
            self._issue_behind_fault(warp, pc)
            return
        iss, memcheck = self._iss, self._memcheck
        if memcheck is not None:
            memcheck.cycle = cycle
        own_pc, own_mask = iss.pc[warp], iss.mask_bits[warp]
        try:
            executed = iss.advance(warp)
        except (FaultError, IssError) as error:
            self._issue_refused(cycle, (warp, pc, instruction, mask), error)
            return
        word, rd = executed.word, executed.rd
        done = ExecutedInstruction(cycle, warp, own_pc, word, own_mask, rd, iss.lane_bytes(warp, rd), executed.volatile)
        if memcheck is not None and (word & 0x7F in ORDERING or rd == STACK_POINTER):
            memcheck.commit(warp, own_pc, own_mask, word, rd)
        self._history[warp].append(done)
        self.instructions += 1
        if own_pc != pc or own_mask != mask or word != instruction:
            raise self._mismatched_issue(done, pc, mask, instruction)
        if rd is not None:
            key = warp << _KEY_SHIFT | rd
            if key in self._writes:
                expected = f"the write of {register_name(rd)} by pc {self._writes[key].pc:#010x} first"
                raise self._mismatch(cycle, warp, "issue", expected, "issued before it")
            self._writes[key] = done
            if done.volatile:
                self._missing[key] = own_mask
        if executed.store is not None:
            self._stores[warp].append((done, iss.stored(warp, executed)))

    def _issue_refused(self, cycle: int, fields: tuple[int, ...], error: FaultError | IssError) -> None:
        """Handle an issued instruction that faults in the golden model or that the model cannot execute."""
        warp, pc, instruction, mask = fields
        if isinstance(error, IssError):
            got = f"pc {pc:#010x} {instruction:08x}"
            raise self._mismatch(cycle, warp, "issue", f"nothing: {error}", got) from None
        iss = self._iss
        own_pc = iss.pc[warp]
        fault = Fault(error.cause, warp, own_pc, error.address)
        word, active = iss.word_at(own_pc, warp), iss.mask_bits[warp]
        done = ExecutedInstruction(cycle, warp, own_pc, word, active, None, None, fault=fault)
        self._history[warp].append(done)
        self.instructions += 1
        if own_pc != pc or done.mask != mask:
            raise self._mismatched_issue(done, pc, mask, instruction)
        self._fault(warp, fault)

    def _mismatched_issue(self, done: ExecutedInstruction, pc: int, mask: int, instruction: int) -> Mismatch:
        """Return the report for ``done``, which the SM issued differently."""
        pairs = (
            ("pc", f"{done.pc:#010x}", f"{pc:#010x}"), ("thread mask", f"{done.mask:#x}", f"{mask:#x}"),
            ("instruction", f"{done.instr:08x}", f"{instruction:08x}"),
        )
        what, expected, got = next(pair for pair in pairs if pair[1] != pair[2])
        return self._mismatch(done.cycle, done.warp, what, expected, got)

    def _issue_behind_fault(self, warp: int, pc: int) -> None:
        """Follow a warp that issues after its fault; software sees no effect, but the SM may report a later fault.

        The golden model skips each load or store that faults and follows the SM: no instruction issued before the SM
        stops needs the value of such a load. Where the pcs diverge, the model stops following (the SM still performs
        the other lanes of a store that faults in one lane, and a counter has a value of its own).
        """
        if warp not in self._late:
            return
        try:
            commit = self._iss.step(warp)
        except IssError:
            self._late.discard(warp)
            return
        if commit.pc != pc:
            self._late.discard(warp)
        elif commit.fault is not None:
            self._fault(warp, commit.fault)

    def _fault(self, warp: int, fault: Fault) -> None:
        """Note a fault of the golden model that the SM may report before the warp's older faults."""
        self._iss.watch = self._memcheck = None
        faults = self._faults.setdefault(warp, [])
        late = fault.cause in _ANSWERED or fault.cause in _SEEN
        if not faults or (late and faults[-1].cause in _ANSWERED):
            faults.append(fault)
        if late:
            self._late.add(warp)
            self._iss.skip(warp)
        else:
            self._late.discard(warp)

    def _writeback(self, cycle: int, fields: tuple[int, ...], data: np.ndarray) -> None:
        warp, rd, mask, last = fields
        key = warp << _KEY_SHIFT | rd
        done = self._writes.get(key)
        if done is None:
            if warp in self._faults:
                return
            raise self._mismatch(cycle, warp, "writeback", "none", f"{register_name(rd)} written")
        missing = self._missing.pop(key, done.mask)
        if mask & ~missing:
            what = f"lanes of {register_name(rd)}"
            raise self._mismatch(cycle, warp, what, f"of {missing:#x}", f"{mask:#x}", done)
        if done.volatile:
            self._iss.poke(warp, rd, mask, data)
        else:
            self._compare(cycle, done, register_name(rd), mask, done.lanes, data)
        missing &= ~mask
        if last != (missing == 0):
            what, got = f"last write of {register_name(rd)}", f"last {last}, lanes {missing:#x} missing"
            raise self._mismatch(cycle, warp, what, f"last {missing == 0:d}", got, done)
        if last:
            del self._writes[key]
        else:
            self._missing[key] = missing

    def _store(
        self, cycle: int, warp: int, pc: int, log_size: int, mask: int, addresses: np.ndarray, data: np.ndarray
    ) -> None:
        if not self._stores[warp]:
            if warp in self._faults:
                return
            raise self._mismatch(cycle, warp, "store", "none", f"a store at pc {pc:#010x}")
        done, (expected_addresses, expected_data, expected_size, expected_mask) = self._stores[warp].popleft()
        expected, got = (done.pc, expected_size, expected_mask), (pc, 1 << log_size, mask)
        if got != expected:
            raise self._mismatch(cycle, warp, "store", describe_store(*expected), describe_store(*got), done)
        self._compare(cycle, done, "store address", mask, expected_addresses, addresses)
        kept = np.uint32(_ALL_BITS >> 32 - 8 * expected_size)
        self._compare(cycle, done, "store data", mask, expected_data, data & kept)

    def _compare(
        self, cycle: int, done: ExecutedInstruction, what: str, mask: int, expected: np.ndarray, got: np.ndarray
    ) -> None:
        """Compare lane values (threads,) in the lanes of ``mask``."""
        wrong = expected != got
        # This runs for every instruction: for a few lanes wrong.any() takes several times as long.
        if np.count_nonzero(wrong):
            wrong &= (mask >> self._lanes & 1).astype(bool)
            if np.count_nonzero(wrong):
                lane = int(wrong.argmax())
                what = f"{what}, lane {lane}"
                raise self._mismatch(cycle, done.warp, what, f"{expected[lane]:#010x}", f"{got[lane]:#010x}", done)

    def _mismatch(
        self, cycle: int | None, warp: int, what: str, expected: str, got: str, done: ExecutedInstruction | None = None
    ) -> Mismatch:
        """Return the report; ``done`` is the instruction concerned, by default the warp's newest."""
        history = self._history[warp]
        if done is None and history:
            done = history[-1]
        lines = [f"lock step: {what}: expected {expected}, got {got}"]
        where = "at the end" if cycle is None else f"cycle {cycle}"
        if done is None:
            lines.append(f"  {where}, warp {warp}")
        else:
            lines.append(f"  {where}, warp {warp}, pc {done.pc:#010x}, instruction {done.instr:08x}")
        lines.append(f"  the last {len(history)} instructions of warp {warp}:")
        lines += [f"    cycle {old.cycle}: {describe(old)}" for old in history]
        return Mismatch("\n".join(lines))


def _column(records: np.ndarray, path: str) -> np.ndarray:
    """Return the field ``path`` of decoded records."""
    for name in path.split("."):
        records = records[name]
    return records
