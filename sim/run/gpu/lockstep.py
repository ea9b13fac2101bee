"""Lock-step check of a GPU: each SM against a golden model of its own, on one memory."""

from __future__ import annotations

import heapq

import numpy as np

from metronome.hdl.gpu.config import Dispatch, GpuConfig

from ...machine.golden import Fault
from ...machine.golden.between_sms import BetweenSms, SmState
from ...machine.golden.state import State
from ...machine.golden.view import View
from ...machine.memory.store import SparseMemory
from ..executed import ExecutedInstruction
from ..lockstep import LockStep
from ..memcheck import Area, DeclaredAreas, GpuMemCheck, SmMemCheck
from ..mismatch import Mismatch, memory_mismatch
from .dispatch import Dispatched
from .history import Reader, StoreHistory
from .lanes import fault_lanes
from .records import by_sm

__all__ = ["GpuLockStep"]

_KEY_SHIFT = 6
#: The opcodes of fences and of float loads, and the bit of a load's function that means zero extension.
_FENCE, _FLOAT_LOAD, _UNSIGNED = 0x0F, 0x07, 0x4000
#: Differences of memory at the end that are examined.
_MOST_DIFFERENCES = 10_000


class _SmLockStep(LockStep):
    """The check of one SM. A load may return what another SM has stored, or not yet, as the history allows."""

    def __init__(self, gpu: GpuConfig, number: int) -> None:
        self.number = number
        super().__init__(gpu.sm_of(number))
        #: The line of the unit that hands out blocks; empty without one.
        self._dispatch_line = range(gpu.dispatch_address, gpu.dispatch_address + gpu.sm.line_bytes)
        if gpu.dispatch is Dispatch.NONE:
            self._dispatch_line = range(0)

    def begin(
        self, memory: SparseMemory, start_pc: int, arg: int, history: StoreHistory, between_sms: BetweenSms,
        dispatched: Dispatched,
    ) -> None:
        """Start a program."""
        self.launch(memory, start_pc, arg)
        self._dispatched = dispatched
        #: By key of a register write: the blocks of loads, or None for one that the hardware chooses.
        self._takes: dict[int, int | None] = {}
        self._history_of_stores = history
        self.checks: SmMemCheck | None = None
        self._iss.between_sms, self._iss.watch = between_sms, self
        #: The cycle of the event that is compared.
        self.cycle = 0
        #: The lanes of each fault of the golden model.
        self.fault_lanes: dict[Fault, list[int]] = {}
        #: By key of a register write: the load's lanes, addresses and size.
        self._loads: dict[int, tuple[np.ndarray, np.ndarray, int]] = {}
        self._accessed: tuple[np.ndarray, np.ndarray, int] | None = None

    @property
    def state(self) -> State:
        """The golden model's state."""
        return self._iss

    def check_memory(self, checks: SmMemCheck) -> None:
        """Let the memory checker watch, too."""
        self.checks = self._memcheck = checks

    # The golden model's observer (sim.machine.golden.watch).

    def before(self, view: View, pc: int, word: int) -> None:
        """See :class:`sim.machine.golden.watch.Watch`."""
        if self.checks is not None:
            self.checks.before(view, pc, word)
        if word & 0x7F == _FENCE:
            self._history_of_stores.order(self.number, view.warps[0], self.cycle)

    def access(
        self, warp: int, pc: int, lanes: np.ndarray, addresses: np.ndarray, size: int, data: np.ndarray | None
    ) -> None:
        """See :class:`sim.machine.golden.watch.Watch`."""
        if self.checks is not None:
            self.checks.access(warp, pc, lanes, addresses, size, data)
        if data is None:
            self._accessed = lanes.copy(), addresses.copy(), size
            return
        local = self._iss.local
        if self._dispatch_line and size == 4:
            for blocks in data[addresses == self._dispatch_line.start][-1:]:
                self._launch(int(blocks))
        outside = (addresses < local.base) | (addresses >= local.end)
        if outside.any():
            self._history_of_stores.store(
                self.number, warp, self.cycle, addresses[outside], data[outside], size)

    def barrier(self, warps: list[int]) -> None:
        """See :class:`sim.machine.golden.watch.Watch`."""
        if self.checks is not None:
            self.checks.barrier(warps)

    def spawn(self, issuer: int, mask: int, warps: list[int]) -> None:
        """See :class:`sim.machine.golden.watch.Watch`."""
        if self.checks is not None:
            self.checks.spawn(issuer, mask, warps)

    # The comparison.

    def _fault(self, warp: int, fault: Fault) -> None:
        # Nothing has executed since: its operands are still there.
        iss = self._iss
        lanes = fault_lanes(fault, iss.word_at(fault.pc, warp), iss.lanes_of(warp), iss.mask_bits[warp])
        self.fault_lanes.setdefault(fault, lanes)
        super()._fault(warp, fault)

    def _issue(self, cycle: int, warp: int, pc: int, instruction: int, mask: int) -> None:
        self.cycle, self._accessed = cycle, None
        super()._issue(cycle, warp, pc, instruction, mask)
        if self._accessed is not None:
            number = instruction >> 7 & 0x1F | (32 if instruction & 0x7F == _FLOAT_LOAD else 0)
            key = warp << _KEY_SHIFT | number
            self._loads[key] = self._accessed
            self._takes.pop(key, None)
            if self._dispatch_line and self._is_take(*self._accessed[1:]):
                self._takes[key] = self._dispatched.note(self.number, answered=key in self._writes)
                if key in self._writes:
                    # Without values, as memory's may equal the answer: then LockStep would not call _writeback.
                    self._writes[key] = self._writes[key]._replace(values=None)

    def _writeback(self, cycle: int, fields: tuple[int, ...], data: np.ndarray) -> None:
        warp, rd, mask, _ = fields
        key = warp << _KEY_SHIFT | rd
        done, load = self._writes.get(key), self._loads.get(key)
        if done is not None and key in self._takes:
            self._take(done, mask, data)
        elif done is not None and load is not None and done.values is not None:
            lanes, addresses, size = load
            values = done.lanes.copy()
            reader = Reader(self.number, warp, done.cycle)
            signed = size < 4 and not done.instr & _UNSIGNED
            for lane, address in zip(lanes.tolist(), np.broadcast_to(addresses, lanes.shape).tolist(), strict=True):
                got = int(data[lane])
                if mask >> lane & 1 and got != values[lane] and self._may_be(address, got, size, signed, reader):
                    values[lane] = got
            if (values != done.lanes).any():
                if self.checks is not None:
                    self.checks.replaced(warp, addresses[values[lanes] != done.lanes[lanes]], size)
                self._iss.poke(warp, rd, mask, values)
                self._writes[key] = done._replace(values=values.tobytes())
        super()._writeback(cycle, fields, data)

    def _launch(self, blocks: int) -> None:
        """Judge the blocks of the last launch, and begin the next one."""
        if (lost := self._dispatched.lost()) is not None:
            raise Mismatch(f"lock step: {lost}")
        self._dispatched.launch(blocks)

    def _is_take(self, addresses: np.ndarray, size: int) -> bool:
        """Whether a load takes a block."""
        line = self._dispatch_line
        return size == 4 and bool(((addresses >= line.start) & (addresses < line.stop)).all())

    def _take(self, done: ExecutedInstruction, mask: int, data: np.ndarray) -> None:
        """Judge the number of a block, the same for all lanes, and give it to the golden model."""
        assert done.rd is not None
        key = done.warp << _KEY_SHIFT | done.rd
        expected, values = self._takes.pop(key), np.zeros(self.config.threads, np.uint32)
        lanes = [lane for lane in range(self.config.threads) if mask >> lane & 1]
        answer = int(data[lanes[0]])
        refusal = self._dispatched.judge(answer) if expected is None else None
        if refusal is not None:
            raise self._mismatch(self.cycle, done.warp, "the number of a block", refusal, f"{answer:#010x}", done)
        values[lanes] = answer if expected is None else expected
        self._iss.poke(done.warp, done.rd, mask, values)
        self._writes[key] = done._replace(values=values.tobytes())

    def _may_be(self, address: int, value: int, size: int, signed: bool, reader: Reader) -> bool:
        """Whether a load of ``size`` bytes may return ``value``; each byte is judged by itself."""
        if self._iss.local.base <= address < self._iss.local.end:
            return False
        low = value & (1 << 8 * size) - 1
        extended = low - (1 << 8 * size) & 0xFFFF_FFFF if signed and low >> 8 * size - 1 else low
        return value == extended and all(
            self._history_of_stores.may_be(address + byte, low >> 8 * byte & 0xFF, reader) for byte in range(size))

    def _compare_memory(self, memory: SparseMemory) -> None:
        """Memory is compared once for all SMs."""


class GpuLockStep:
    """Compare one program after another on a GPU; as :class:`sim.run.lockstep.LockStep` for an SM."""

    def __init__(self, gpu: GpuConfig) -> None:
        self._gpu = gpu
        self._sms = [_SmLockStep(gpu, number) for number in range(gpu.sms)]

    def launch(
        self, memory: SparseMemory, start_pc: int, arg: int, declared: DeclaredAreas | None = None, *,
        strict_races: bool = False,
    ) -> GpuMemCheck | None:
        """Start a program on all SMs; ``memory`` belongs to the checker and already holds the program.

        ``declared``, ``strict_races`` and what is returned: as of :meth:`sim.run.lockstep.LockStep.launch`.
        """
        self._memory, first = memory, memory.copy()
        self._history = StoreHistory(lambda address: first.read(address, 1)[0])
        between_sms, self._dispatched = BetweenSms(self._released), Dispatched(self._gpu)
        for sm in self._sms:
            sm.begin(memory, start_pc, arg, self._history, between_sms, self._dispatched)
        self._memcheck = None
        if declared is not None:
            gpu = self._gpu
            if gpu.dispatch is not Dispatch.NONE:
                unit = Area("the dispatch unit", gpu.dispatch_address, gpu.sm.line_bytes, written=True)
                declared = declared.also(unit)
            self._memcheck = GpuMemCheck([sm.state for sm in self._sms], declared, strict=strict_races)
            for sm, checks in zip(self._sms, self._memcheck.sms, strict=True):
                sm.check_memory(checks)
        return self._memcheck

    def _released(self, states: list[SmState]) -> None:
        """A barrier orders the accesses of all warps of these SMs, in the cycle of the last arrival."""
        sms = [sm for sm in self._sms if sm.state in states]
        cycle = max(sm.cycle for sm in sms)
        for sm in sms:
            for warp in range(sm.config.warps):
                self._history.order(sm.number, warp, cycle)
        if self._memcheck is not None:
            self._memcheck.meet([sm.number for sm in sms])

    def feed_words(self, words: np.ndarray) -> None:
        """Compare records as the simulation writes them, those of all SMs in the order of their cycles.

        Raises
        ------
        Mismatch
            At the first difference; the text names the SM.
        """
        steps = [sm.steps(mine) for sm, mine in zip(self._sms, by_sm(words, len(self._sms)), strict=True)]
        waiting = [(cycle, number) for number, each in enumerate(steps) for cycle in [next(each, None)]
                   if cycle is not None]
        heapq.heapify(waiting)
        while waiting:
            cycle, number = waiting[0]
            self._sms[number].cycle = cycle
            try:
                following = next(steps[number], None)
            except Mismatch as mismatch:
                raise Mismatch(f"SM {number}: {mismatch}") from None
            if following is None:
                heapq.heappop(waiting)
            else:
                heapq.heapreplace(waiting, (following, number))

    def waits(self, number: int) -> dict[int, str]:
        """For each warp of an SM that waits at a barrier or in wspawn, what it waits for, in words."""
        return self._sms[number].waits()

    def fault_lanes(self, number: int, fault: Fault) -> list[int] | None:
        """The lanes of a fault of an SM; None if its golden model has not seen this fault."""
        return self._sms[number].fault_lanes.get(fault)

    def finish(self, memory: SparseMemory, faults: list[Fault | None], ended: bool) -> None:
        """Compare the final states; ``memory`` is the GPU's, ``faults`` those of the SMs.

        A fault stops the other SMs midway: then only the faults are compared. Of several SMs' stores to one byte that
        nothing orders, any may be the last one.

        Raises
        ------
        Mismatch
            At the first difference.
        """
        faulted = any(fault is not None for fault in faults)
        for sm, fault in zip(self._sms, faults, strict=True):
            if faulted and fault is None:
                continue
            try:
                sm.finish(memory, fault, ended)
            except Mismatch as mismatch:
                raise Mismatch(f"SM {sm.number}: {mismatch}") from None
        if faulted or not ended:
            return
        if (lost := self._dispatched.lost()) is not None:
            raise Mismatch(f"lock step: {lost}")
        for address, mine, theirs in self._memory.differences(memory, _MOST_DIFFERENCES):
            if not self._history.may_be(address, theirs, Reader(-1, -1, 1 << 62)):
                raise memory_mismatch(address, mine, theirs)
