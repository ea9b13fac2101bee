"""The golden model in lock step with the SM: every instruction, register write and store, as the probe tells them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from metronome.hdl.config import FaultCause, SmConfig

from ..machine.golden import Commit, Fault, Iss, IssError
from ..machine.memory.store import SparseMemory
from .memcheck import Declared, MemCheck

__all__ = ["CHECKED_PARTS", "LockStep", "Mismatch"]

#: What it reads of the probe.
CHECKED_PARTS = ("issue", "wb", "store")

_HISTORY = 10
_ALL_BITS = 0xFFFF_FFFF
#: What the LSU tells when memory has answered, in any order, and what it tells as soon as it sees the instruction, in
#: the order of issue: both after instructions behind have been issued.
_ANSWERED = frozenset((FaultCause.LOAD_ACCESS, FaultCause.STORE_ACCESS))
_SEEN = frozenset((FaultCause.LOAD_MISALIGNED, FaultCause.STORE_MISALIGNED))


class Mismatch(Exception):
    """The SM and the golden model disagree; the text is the whole report."""


@dataclass(slots=True)
class _Write:
    """A register write that the SM still owes: lanes ``missing`` of what ``commit`` computed."""

    commit: Commit
    missing: int


class LockStep:
    """Compares one program after another; registers and local memory live on between them, as in the SM.

    After a mismatch or a fault the two are no longer in the same state: the checker cannot be used again.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        self._iss = Iss(config, SparseMemory(config.memory_map))
        self._lanes = np.arange(config.threads, dtype=np.uint32)
        self.launch(self._iss.memory, config.memory_map.start, 0)

    def launch(
        self, memory: SparseMemory, start_pc: int, arg: int, declared: Declared | None = None, *,
        strict_races: bool = False,
    ) -> MemCheck | None:
        """Start a program; ``memory`` is the checker's own and holds the program already.

        What the program has, if that is ``declared``, is watched by a memory checker (``strict_races`` is its
        ``strict``), which is returned.
        """
        self._iss.memory = memory
        memcheck = None if declared is None else MemCheck(self._iss, declared, strict=strict_races)
        self._iss.watch = self._memcheck = memcheck
        self._iss.launch(start_pc, arg)
        self._writes: dict[tuple[int, int], _Write] = {}
        self._stores: list[deque[Commit]] = [deque() for _ in range(self.config.warps)]
        self._history: list[deque[tuple[int, Commit]]] = [deque(maxlen=_HISTORY) for _ in range(self.config.warps)]
        # What the SM may report, a warp: those whose order is memory's, and the first whose order is that of issue.
        self._faults: dict[int, list[Fault]] = {}
        # Warps behind whose fault the golden model still goes along.
        self._late: set[int] = set()
        self.instructions = 0
        return memcheck

    def feed(self, records: np.ndarray) -> None:
        """Compare the records of consecutive cycles (:func:`sim.build.records.decode_records`).

        Within one cycle a register write belongs to an older instruction than the issue beside it, and a store to one
        that is older or the same.

        Raises
        ------
        Mismatch
            At the first difference.
        """
        issue, wb, store = (records[part] for part in CHECKED_PARTS)
        valid = (wb["valid"].tolist(), issue["valid"].tolist(), store["valid"].tolist())
        issues = _rows(issue, ("warp", "pc", "instruction", "mask"))
        writes = _rows(wb["value"], ("warp", "rd", "mask", "last"))
        stores = _rows(store, ("warp", "pc", "size", "mask"))
        write_data = wb["value"]["data"]
        columns = zip(records["cycle"].tolist(), *valid, strict=True)
        for index, (cycle, has_wb, has_issue, has_store) in enumerate(columns):
            if has_wb:
                self._writeback(cycle, writes[index], write_data[index])
            if has_issue:
                self._issue(cycle, issues[index])
            if has_store:
                self._store(cycle, stores[index], store["address"][index], store["data"][index])

    def waits(self) -> dict[int, str]:
        """For what each warp waits that waits at a barrier or in wspawn, in words."""
        arrived, found = self._iss.arrived, {}
        for warp, wait in enumerate(self._iss.waiting):
            if wait is not None:
                there = "" if wait.barrier is None else f" ({len(arrived[wait.barrier])} so far)"
                found[warp] = f"{wait}{there}"
        return found

    def finish(self, memory: SparseMemory, fault: Fault | None, ended: bool) -> None:
        """Compare the ends; ``memory`` is the SM's, ``ended`` false when the program was cut off.

        A program that is cut off has instructions in flight, and a fault stops others where they are: then only the
        fault itself is compared. Faults of loads and stores are not precise (docs/isa.md): of several of one warp that
        were issued before the SM stopped it may report any that memory refuses, or the misaligned one behind them.

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
        for write in self._writes.values():
            commit = write.commit
            raise self._mismatch(None, commit.warp, "the end", f"a write of {_register(commit.rd)}", "none", commit)
        for warp, stores in enumerate(self._stores):
            if stores:
                raise self._mismatch(None, warp, "the end", "a store", "none", stores[0])
        if not self._iss.ended:
            warp = self._iss.active.index(True)
            raise self._mismatch(None, warp, "the end", f"warp {warp} active at pc {self._iss.pc[warp]:#010x}", "ended")
        for address, mine, theirs in self._iss.memory.differences(memory, 1):
            place = f"memory at the end, byte {address:#010x}"
            raise Mismatch(f"lock step: {place}: expected {mine:#04x}, got {theirs:#04x}")

    def _step(self, cycle: int, warp: int, pc: int, instruction: int) -> Commit:
        """The golden model's next instruction of the warp."""
        memcheck = self._memcheck
        if memcheck is not None:
            memcheck.cycle = cycle
        try:
            commit = self._iss.step(warp)
        except IssError as error:
            got = f"pc {pc:#010x} {instruction:08x}"
            raise self._mismatch(cycle, warp, "issue", f"nothing: {error}", got) from None
        if memcheck is not None and commit.fault is None:
            memcheck.commit(commit, self._iss.active)
        return commit

    def _issue(self, cycle: int, fields: tuple[int, ...]) -> None:
        warp, pc, instruction, mask = fields
        if warp in self._faults:
            self._issue_behind_fault(warp, pc)
            return
        commit = self._step(cycle, warp, pc, instruction)
        self._history[warp].append((cycle, commit))
        self.instructions += 1
        if commit.pc != pc:
            raise self._mismatch(cycle, warp, "pc", f"{commit.pc:#010x}", f"{pc:#010x}")
        if commit.mask != mask:
            raise self._mismatch(cycle, warp, "thread mask", f"{commit.mask:#x}", f"{mask:#x}")
        if commit.fault is not None:
            self._fault(warp, commit.fault)
            return
        if commit.instr != instruction:
            raise self._mismatch(cycle, warp, "instruction", f"{commit.instr:08x}", f"{instruction:08x}")
        if commit.rd is not None:
            owed = self._writes.get((warp, commit.rd))
            if owed is not None:
                expected = f"the write of {_register(commit.rd)} by pc {owed.commit.pc:#010x} first"
                raise self._mismatch(cycle, warp, "issue", expected, "issued before it")
            self._writes[warp, commit.rd] = _Write(commit, mask)
        if commit.store is not None:
            self._stores[warp].append(commit)

    def _issue_behind_fault(self, warp: int, pc: int) -> None:
        """What a warp issues behind its fault has no effect that software can see, but may be what the SM reports.

        The golden model passes over each load or store that faults and goes on with the SM: nothing that is issued
        before the SM has stopped needs what such a load would have brought. Where the pcs part (of a store that fails
        in one lane the SM does the others, and a counter has a value of its own) it stays behind.
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
        """Note a fault of the golden model that the SM may report before the older ones of the warp."""
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
        owed = self._writes.get((warp, rd))
        if owed is None:
            if warp in self._faults:
                return
            raise self._mismatch(cycle, warp, "writeback", "none", f"{_register(rd)} written")
        commit = owed.commit
        if mask & ~owed.missing:
            what = f"lanes of {_register(rd)}"
            raise self._mismatch(cycle, warp, what, f"of {owed.missing:#x}", f"{mask:#x}", commit)
        if commit.volatile:
            self._iss.poke(warp, rd, mask, data)
        else:
            self._compare(cycle, commit, _register(rd), mask, commit.values, data)
        owed.missing &= ~mask
        if last != (owed.missing == 0):
            what, got = f"last write of {_register(rd)}", f"last {last}, lanes {owed.missing:#x} missing"
            raise self._mismatch(cycle, warp, what, f"last {owed.missing == 0:d}", got, commit)
        if last:
            del self._writes[warp, rd]

    def _store(self, cycle: int, fields: tuple[int, ...], addresses: np.ndarray, data: np.ndarray) -> None:
        warp, pc, log_size, mask = fields
        if not self._stores[warp]:
            if warp in self._faults:
                return
            raise self._mismatch(cycle, warp, "store", "none", f"a store at pc {pc:#010x}")
        commit = self._stores[warp].popleft()
        assert commit.store is not None
        expected_addresses, expected_data, expected_size, expected_mask = commit.store
        expected, got = (commit.pc, expected_size, expected_mask), (pc, 1 << log_size, mask)
        if got != expected:
            raise self._mismatch(cycle, warp, "store", _describe_store(*expected), _describe_store(*got), commit)
        self._compare(cycle, commit, "store address", mask, expected_addresses, addresses)
        kept = np.uint32(_ALL_BITS >> 32 - 8 * expected_size)
        self._compare(cycle, commit, "store data", mask, expected_data, data & kept)

    def _compare(
        self, cycle: int, commit: Commit, what: str, mask: int, expected: np.ndarray | None, got: np.ndarray
    ) -> None:
        """Lane values (threads,) in the lanes of ``mask``."""
        assert expected is not None
        wrong = expected != got
        # For each instruction: of a few lanes wrong.any() takes several times as long.
        if np.count_nonzero(wrong):
            wrong &= (mask >> self._lanes & 1).astype(bool)
            if np.count_nonzero(wrong):
                lane = int(wrong.argmax())
                what = f"{what}, lane {lane}"
                raise self._mismatch(cycle, commit.warp, what, f"{expected[lane]:#010x}", f"{got[lane]:#010x}", commit)

    def _mismatch(
        self, cycle: int | None, warp: int, what: str, expected: str, got: str, commit: Commit | None = None
    ) -> Mismatch:
        """The report; ``commit`` is the instruction concerned, by default the warp's newest."""
        history = self._history[warp]
        if commit is None and history:
            commit = history[-1][1]
        lines = [f"lock step: {what}: expected {expected}, got {got}"]
        where = "at the end" if cycle is None else f"cycle {cycle}"
        if commit is None:
            lines.append(f"  {where}, warp {warp}")
        else:
            lines.append(f"  {where}, warp {warp}, pc {commit.pc:#010x}, instruction {commit.instr:08x}")
        lines.append(f"  the last {len(history)} instructions of warp {warp}:")
        lines += [f"    cycle {then}: {_describe(old)}" for then, old in history]
        return Mismatch("\n".join(lines))


def _rows(values: np.ndarray, names: tuple[str, ...]) -> list[tuple[int, ...]]:
    """The named fields of each record as plain integers."""
    return list(zip(*(values[name].tolist() for name in names), strict=True))


def _register(rd: int | None) -> str:
    return "nothing" if rd is None else f"x{rd}" if rd < 32 else f"f{rd - 32}"


def _describe_store(pc: int, size: int, mask: int) -> str:
    return f"pc {pc:#010x}, {size} bytes, mask {mask:#x}"


def _describe(commit: Commit) -> str:
    text = f"pc {commit.pc:#010x} {commit.instr:08x} mask {commit.mask:#x}"
    if commit.fault is not None:
        return f"{text} fault {commit.fault.cause.name.lower()}"
    if commit.values is not None:
        text += f" {_register(commit.rd)} = [{' '.join(f'{value:x}' for value in commit.values.tolist())}]"
    return text
