"""Run the golden model one instruction at a time, in the machine's order of issue.

The values are therefore those of the machine even if warps race: loads and stores take effect in the order of issue
(docs/memory.md, "Order").
"""

from __future__ import annotations

import numpy as np

from metronome.hdl.config import FaultCause
from metronome.hdl.isa.ops import BranchOp, CsrOp, SimtOp, Unit

from ..machine.engines import CannotPredictError
from ..machine.events import LANES, NONE, WARPS
from ..machine.memory.store import SparseMemory
from ..run.types import Job
from .lists import Lists
from .model.records import STEP

__all__ = ["Stepper"]

#: Places for a warp's instructions, and rows of addresses without channels: more than can be in flight.
PLACES, ROWS = 16, 64
MREGION, MPOLICY = 0x7C0, 0x7C2
#: The bit of a load's word that means an extension by zeros.
_UNSIGNED = 0x4000
_LATE = (FaultCause.LOAD_MISALIGNED, FaultCause.LOAD_ACCESS, FaultCause.STORE_MISALIGNED, FaultCause.STORE_ACCESS)


class Stepper:
    """Executes each instruction that the machine is about to issue, and describes it as a STEP.

    ``sm``: the number of the SM, of ``sms``; each uses its own part of ``steps`` and ``addresses``.
    """

    def __init__(self, memory: SparseMemory, job: Job, *, sm: int = 0, sms: int = 1) -> None:
        self.config = config = job.config
        self.iss = job.golden_model(memory)
        self.first = np.arange(WARPS, dtype=np.int64) * PLACES + sm * WARPS * PLACES
        self.known = np.zeros(WARPS, np.int64)
        self.steps = np.zeros(sms * WARPS * PLACES, STEP)
        rows = ROWS + config.warps * config.channel_depth
        self.addresses = np.zeros((sms * rows, LANES), np.uint32)
        self._first_row = sm * rows
        #: The stores of each row of addresses: (addresses, data, bytes of each).
        self.stored: list[tuple[np.ndarray, np.ndarray, int] | None] = [None] * rows
        #: The load of each row of addresses: (register, bytes, whether the value is extended by its sign).
        self.loaded: list[tuple[int, int, bool]] = [(NONE, 4, False)] * rows
        self._rows = 0
        self.lists = Lists(memory)
        # An instruction that faults in stage X stops the machine before anything younger happens.
        self._over = False

    def stored_in(self, row: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the store of a row of addresses: addresses, data, bytes of each."""
        stored = self.stored[row - self._first_row]
        assert stored is not None
        return stored

    def loaded_in(self, row: int) -> tuple[int, int, bool]:
        """Return the load of a row: register, bytes, whether the value is extended by its sign."""
        return self.loaded[row - self._first_row]

    def step(self, warp: int, code: np.void, pc: int) -> None:
        """Execute the next instruction of ``warp``, which is ``code`` at ``pc``."""
        place = self.first[warp] + self.known[warp] % PLACES
        self.known[warp] += 1
        values = dict.fromkeys(STEP.names or (), 0) | {"pc": pc, "fault": NONE, "next": pc + 4 & 0xFFFF_FFFF}
        if not self._over:
            values |= self._execute(warp, code, pc)
        self.steps[place] = tuple(values.values())

    def _execute(self, warp: int, code: np.void, pc: int) -> dict[str, int]:
        iss, unit, op = self.iss, Unit(int(code["unit"])), int(code["op"])
        if iss.pc[warp] != pc:
            there = iss.pc[warp]
            raise RuntimeError(f"warp {warp} is predicted at {pc:#010x}, but the golden model has it at {there:#010x}")
        word = int(code["word"])
        mask = iss.mask_bits[warp]
        values = {"lanes": mask.bit_count(), "mask": mask}
        registers = iss.regs[warp]
        rs1, rs2 = registers[word >> 15 & 31], registers[word >> 20 & 31]
        if unit is Unit.SIMT and op in (SimtOp.BAR.value, SimtOp.WSPAWN.value):
            leader = int(iss.leaders[warp])
            values |= {"a": int(rs1[leader]), "b": int(rs2[leader])}
        if unit is Unit.LSU:
            row = values["row"] = self._row(rs1, word, code)
            if code["store"]:
                data = registers[(word >> 20 & 31) + 32 * (word & 4 != 0)]
                self.stored[self._rows] = (self.addresses[row], data.copy(), int(code["size"]))
            else:
                self.loaded[self._rows] = int(code["register"]), int(code["size"]), not word & _UNSIGNED
        taken = unit is Unit.BRANCH and self._taken(op, rs1, rs2, mask)
        return values | self._executed(warp, code, pc, taken=taken)

    def _executed(self, warp: int, code: np.void, pc: int, *, taken: bool) -> dict[str, int]:
        """Execute the instruction and return the fields of STEP that depend on its outcome."""
        iss, unit, op, word = self.iss, Unit(int(code["unit"])), int(code["op"]), int(code["word"])
        values: dict[str, int] = {}
        commit = iss.step(warp)
        if commit.fault is None and commit.instr != word:
            raise CannotPredictError(
                f"{self._whose(warp)} executes {word:#010x} at {pc:#010x}, where memory has {commit.instr:#010x} by "
                "then: the program changes code after it was fetched, and needs a fence.i after the change (between "
                "SMs, also a barrier or a flag before it)"
            )
        if commit.fault is not None:
            values |= {"fault": int(commit.fault.cause), "address": commit.fault.address}
            if commit.fault.cause is FaultCause.DIVERGENT_BRANCH and not self.config.check_divergent_branch:
                raise ValueError(
                    f"the lanes of {self._whose(warp)} disagree on the branch at pc {pc:#010x}: with "
                    "check_divergent_branch=false the golden model does not know which way it goes: leave that out"
                )
            if commit.fault.cause in _LATE:
                iss.skip(warp)
            else:
                self._over = True
            return values
        if commit.ended:
            # If another warp has restarted the warp at once, its pc is already the new start address.
            return values | {"next": pc + 4 & 0xFFFF_FFFF if iss.active[warp] else iss.pc[warp], "after": 0}
        values |= {"next": iss.pc[warp], "after": iss.lane_counts[warp]}
        if unit is Unit.SIMT:
            taken = iss.pc[warp] != pc + 4 and iss.lane_counts[warp] > 0
        elif unit is Unit.CSR and (op == CsrOp.RW.value or word >> 15 & 31):
            values |= self._written(word >> 20)
        return values | {"taken": int(taken)}

    def _whose(self, warp: int) -> str:
        """Name a warp, with its SM if there are several."""
        return f"SM {self.config.core_id}, warp {warp}" if self.config.cores > 1 else f"warp {warp}"

    def _written(self, number: int) -> dict[str, int]:
        """Return the fields of STEP for a write of a CSR that controls the machine's timing."""
        if number == MREGION:
            return {"a": self.iss.mregion} | self._list()
        return {"a": self.iss.mpolicy, "b": 1} if number == MPOLICY else {}

    def _list(self) -> dict[str, int]:
        """Return the fields of STEP for the list of accesses that begins with the region."""
        morder = self.iss.morder if self.iss.mregion else 0
        return {"b": morder, "address": self.lists.at(morder)} if morder else {"b": 1}

    def _row(self, base: np.ndarray, word: int, code: np.void) -> int:
        """Record the lanes' addresses of a load or store and return their row."""
        self._rows = (self._rows + 1) % len(self.stored)
        row = self._first_row + self._rows
        high = (word >> 25) - (word >> 31 << 7)
        offset = high << 5 | (word >> 7 & 31 if code["store"] else word >> 20 & 31)
        self.addresses[row, : self.config.threads] = base + np.uint32(offset & 0xFFFF_FFFF)
        return row

    @staticmethod
    def _taken(op: int, rs1: np.ndarray, rs2: np.ndarray, mask: int) -> bool:
        """Whether a branch is taken; if its active lanes disagree, it faults and the result is not used."""
        lane = mask.bit_length() - 1
        a, b = int(rs1[lane]), int(rs2[lane])
        if op in (BranchOp.LT.value, BranchOp.GE.value):
            a, b = a ^ 1 << 31, b ^ 1 << 31
        kind = BranchOp(op)
        if kind in (BranchOp.EQ, BranchOp.NE):
            return (a == b) == (kind is BranchOp.EQ)
        if kind in (BranchOp.JAL, BranchOp.JALR):
            return True
        return (a < b) == (kind in (BranchOp.LT, BranchOp.LTU))
