"""The golden model: execute single instructions in a given order, or whole programs."""

from __future__ import annotations

import numpy as np

from metronome.hdl.config import SmConfig

from ..memory.store import SparseMemory
from .decode import Instruction, fetch
from .records import Commit, Fault, FaultError, IssEnd, IssError
from .schedule import Schedule
from .state import State

__all__ = ["Iss"]


class Iss(State):
    """The machine of isa.md: ``step`` one warp at a time in the caller's order, or ``run`` the whole program.

    A fault names the lowest faulting warp (in a run) and an address: for a misaligned or refused access, that of the
    lowest failing active lane; otherwise the target of a misaligned jump, the pc of a failed fetch, the word of an
    illegal instruction, the number of an unknown CSR, or 0. A misaligned lane takes priority over a refused one.
    """

    def __init__(self, config: SmConfig, memory: SparseMemory) -> None:
        super().__init__(config, memory)
        self._schedule = Schedule(self)

    def step(self, warp: int) -> Commit:
        """Execute the next instruction of one warp.

        Raises
        ------
        IssError
            If the warp does not exist, is not active, or waits at a barrier or in a wspawn.
        """
        if not 0 <= warp < self.config.warps:
            raise self._refusal(warp)
        pc, mask = self.pc[warp], self.mask_bits[warp]
        try:
            instruction = self.advance(warp)
        except FaultError as error:
            return Commit(warp, pc, self.word_at(pc, warp), mask, fault=Fault(error.cause, warp, pc, error.address))
        # A warp that executes is not waiting, so it is in `released` only if it ended and was started again.
        ended = not self.active[warp] or warp in self.released
        rd, store = instruction.rd, instruction.store
        return Commit(
            warp, pc, instruction.word, mask, rd, None if rd is None else self._views[warp].flat[rd].copy(),
            None if store is None else self.stored(warp, instruction), volatile=instruction.volatile, ended=ended,
        )

    def advance(self, warp: int) -> Instruction:
        """Execute the next instruction of one warp, as :meth:`step` does, and return the instruction.

        This is faster than making a :class:`Commit`; the caller reads the data that it needs from the state.

        Raises
        ------
        IssError
            As :meth:`step`.
        FaultError
            If it faults; nothing was changed.
        """
        if not 0 <= warp < len(self.pc) or not self.active[warp] or self.waiting[warp] is not None:
            raise self._refusal(warp)
        pc, view = self.pc[warp], self._views[warp]
        lanes = view.lanes
        self.released.clear()
        if self.arrival is not None:
            self.arrive(pc)
        instruction = fetch(self.memory, pc, warp, self.no_code, self.config.fpu)
        if self.watch is not None:
            self.watch.before(view, pc, instruction.word)
        following = instruction.execute(self, view, pc)
        self.mcycle += 1
        self.minstret += lanes
        if following is None:
            self.pc[warp] = pc + 4 & 0xFFFF_FFFF
        elif isinstance(following, int):
            self.pc[warp] = following
        elif following:
            (self.pc[warp],) = following
        return instruction

    def _refusal(self, warp: int) -> IssError:
        """Return the error that explains why ``warp`` cannot execute."""
        if not 0 <= warp < self.config.warps:
            return IssError(f"warp must be between 0 and {self.config.warps - 1}, not {warp!r}")
        if not self.active[warp]:
            return IssError(f"warp {warp} is not active")
        return IssError(f"warp {warp} at pc {self.pc[warp]:#010x} waits: {self.waiting[warp]}")

    def word_at(self, pc: int, warp: int) -> int:
        """Return the instruction word at ``pc``, or 0 if none can be fetched there."""
        try:
            return fetch(self.memory, pc, warp, self.no_code, self.config.fpu).word
        except FaultError:
            return 0

    def stored(self, warp: int, instruction: Instruction) -> tuple[np.ndarray, np.ndarray, int, int]:
        """Return the data of the store that ``warp`` has just executed, as ``store`` of a :class:`Commit`."""
        assert instruction.store is not None
        rs1, rs2, imm, size = instruction.store
        registers = self._views[warp].flat
        data = registers[rs2].copy() if size == 4 else registers[rs2] & ((1 << 8 * size) - 1)
        return registers[rs1] + np.uint32(imm), data, size, self.mask_bits[warp]

    def skip(self, warp: int) -> None:
        """Skip the next instruction of ``warp``, which has faulted: add 4 to its pc and change nothing else.

        This lets a warp continue after a load or store that faults, as in an SM whose faults are not precise.
        """
        self.pc[warp] = self.pc[warp] + 4 & 0xFFFF_FFFF

    def poke(self, warp: int, rd: int, mask: int, values: np.ndarray) -> None:
        """Write ``values`` (threads,) to the lanes in ``mask`` of register ``rd``; writes to x0 are dropped."""
        if rd == 0:
            return
        lanes = (mask >> self.lane_numbers & 1).astype(bool)
        np.copyto(self._registers[rd, warp], np.asarray(values, np.uint32), where=lanes)

    def run(self, max_instructions: int) -> IssEnd:
        """Execute until the program ends, faults or deadlocks, or ``max_instructions`` warp-instructions have executed.

        Warps at the same pc execute as one operation. The limit is checked between operations, so up to ``warps`` - 1
        more may execute. Every runnable warp makes progress, even while another spins on memory.

        Raises
        ------
        IssError
            If ``watch`` is set: it supports only single steps.
        """
        if self.watch is not None:
            raise IssError("a machine that is watched can only be stepped")
        return self._schedule.run(max_instructions)

