"""What a run of the whole SM leaves behind: every cycle, and how tests ask about it."""

from dataclasses import dataclass, field
from typing import Any

from metronome.hdl.config import FaultCause, SmConfig
from metronome.sim.machine.memory.store import SparseMemory
from tests.hdl.sm_memory import Request

__all__ = ["Cycle", "Fault", "Issued", "Run"]


@dataclass(frozen=True)
class Fault:
    cause: FaultCause
    warp: int
    pc: int
    address: int


@dataclass(frozen=True)
class Issued:
    """An instruction in stage X."""

    warp: int
    pc: int
    instruction: int
    mask: int


@dataclass(frozen=True)
class Cycle:
    """One cycle of the probe (hdl.layouts.probe); vectors of warps are ints. ``None``: not in this cycle."""

    number: int
    select: int | None
    nop: bool
    stall: int
    #: The warp whose lookup misses, unless it is squashed in this cycle; the line of any lookup that misses.
    miss: int | None
    missed_line: int | None
    refill: int | None
    resolve: int | None
    redirect: bool
    #: Warps whose bar or wspawn is over; with an operand register also one whose control flow is over in stage X.
    release: int
    #: The warp (one-hot) whose fetch a jump in decode redirects.
    turn: int
    eligible: int
    active: int
    activate: int
    issue: Issued | None
    #: The register write of this cycle: warp, rd, {lane: value}.
    write: tuple[int, int, dict[int, int]] | None
    #: The store that the LSU takes up: warp, pc, {lane: (address, data)}.
    store: tuple[int, int, dict[int, tuple[int, int]]] | None
    #: Each warp's stall reason.
    reasons: tuple[int, ...]
    busy: bool
    fault: bool
    #: Line and tag of the answer that fetch takes up in this cycle: memory's answer of the last one.
    answer: tuple[int, int] | None


@dataclass
class Run:
    """What :func:`run_program` saw. Cycle 0 is the one with ``start``."""

    config: SmConfig
    cycles: list[Cycle]
    counters: dict[str, Any]
    memory: SparseMemory
    policy: str
    fault: Fault | None
    ended: bool
    requests: list[Request] = field(default_factory=list)

    def selections(self, warp: int) -> list[tuple[int, int | None]]:
        """(cycle, pc) of every selection of ``warp``; pc None for a NOP. The pc is that of stage X, cycles later."""
        later = self.config.issue_latency
        found: list[tuple[int, int | None]] = []
        for cycle in self.cycles:
            if cycle.select == warp:
                x = self.cycles[cycle.number + later].issue
                if x is None and not cycle.nop and self.cycles[cycle.number + later].fault:
                    continue  # Cancelled: the SM had stopped at a fault before it came to X.
                assert cycle.nop == (x is None), f"cycle {cycle.number}: nop={cycle.nop}, in stage X {x}"
                assert x is None or x.warp == warp
                found.append((cycle.number, None if x is None else x.pc))
        return found

    def issues(self, warp: int) -> list[tuple[int, int]]:
        """(cycle of the selection, pc) of every instruction of ``warp``, without the NOPs."""
        return [(cycle, pc) for cycle, pc in self.selections(warp) if pc is not None]

    def issued_at(self, pc: int, warp: int = 0) -> int:
        """The one cycle in which ``warp`` was selected for the instruction at ``pc``."""
        (cycle,) = (cycle for cycle, at in self.issues(warp) if at == pc)
        return cycle

    def nops_before(self, pc: int, warp: int = 0) -> int:
        """NOPs of ``warp`` between the instruction before the one at ``pc`` (or the activation) and that one."""
        nops = 0
        for _, at in self.selections(warp):
            if at == pc:
                return nops
            nops = nops + 1 if at is None else 0
        raise AssertionError(f"{pc:#x} was never issued")

    def writes(self, rd: int, warp: int = 0) -> list[tuple[int, dict[int, int]]]:
        """(cycle, {lane: value}) of every write of ``warp`` to register ``rd``."""
        return [(c.number, c.write[2]) for c in self.cycles if c.write and c.write[:2] == (warp, rd)]

    def register(self, rd: int, warp: int = 0) -> dict[int, int]:
        """The lanes of ``rd`` that were written, with their last values."""
        lanes: dict[int, int] = {}
        for _, values in self.writes(rd, warp):
            lanes |= values
        return lanes

    def misses(self, warp: int | None = None) -> list[int]:
        """The cycles in which a fetch of ``warp`` (None: any) missed."""
        return [c.number for c in self.cycles if c.miss is not None and warp in (None, c.miss)]

    def masks(self, warp: int = 0) -> list[tuple[int, int]]:
        """(pc, thread mask) of every instruction of ``warp``."""
        return [(c.issue.pc, c.issue.mask) for c in self.cycles if c.issue and c.issue.warp == warp]
