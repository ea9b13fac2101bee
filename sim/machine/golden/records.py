"""Results of the golden model: commits, faults, the end of a run, and its exceptions."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from metronome.hdl.config import FaultCause

__all__ = ["Arrival", "Commit", "EndStatus", "Fault", "FaultError", "IssEnd", "IssError", "Wait"]


class IssError(Exception):
    """A request that the machine cannot carry out, such as a step of a waiting warp."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an instruction could not complete (isa.md); ``address`` as in :class:`sim.machine.golden.Iss`."""

    cause: FaultCause
    warp: int
    pc: int
    address: int


class FaultError(Exception):
    """Raised inside the model by an instruction before it changes any state."""

    def __init__(self, cause: FaultCause, warp: int, address: int = 0) -> None:
        super().__init__(cause, warp, address)
        self.cause = cause
        self.warp = warp
        self.address = address


@dataclass(frozen=True, slots=True)
class Arrival:
    """Data from outside: ``contents`` (address, bytes) are written to memory before ``pc`` is first executed.

    No warp writes them. ``tell`` is called after they have been written.
    """

    pc: int
    contents: Sequence[tuple[int, bytes]]
    tell: Callable[[], None] = lambda: None


@dataclass(slots=True)
class Commit:
    """One executed warp-instruction.

    ``mask`` is the thread mask it executed with (bit i: lane i). ``rd`` is 0..31 for x, 32..63 for f registers, None
    if nothing is written (x0 too); ``values`` is uint32 of shape (threads,), meaningful in the active lanes only.
    ``store`` is None or (addresses (threads,), data (threads,) with the bytes above ``size`` zero, size, mask).
    ``volatile``: the value depends on time; the caller replaces it by the machine's own with
    :meth:`sim.machine.golden.Iss.poke`.
    ``ended``: it was the warp's last instruction; another warp's wspawn may have restarted the warp at once.
    If there is a ``fault``, nothing was changed, and rd, values and store are None.
    """

    warp: int
    pc: int
    instr: int
    mask: int
    rd: int | None = None
    values: np.ndarray | None = None
    store: tuple[np.ndarray, np.ndarray, int, int] | None = None
    volatile: bool = False
    ended: bool = False
    fault: Fault | None = None


class EndStatus(enum.StrEnum):
    """The reason why a run returned."""

    ENDED = "ended"
    FAULT = "fault"
    LIMIT = "limit"
    DEADLOCK = "deadlock"


@dataclass(frozen=True, slots=True)
class IssEnd:
    """The result of a run; ``executed`` counts warp-instructions, ``waits`` describes the wait of each waiting warp."""

    status: EndStatus
    executed: int
    fault: Fault | None = None
    waits: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """The condition of a wait: ``count`` arrivals at a barrier, or to be the only active warp (``spawn`` set)."""

    barrier: int | None = None
    #: The barrier's id in the program, and the number of barriers in the machine.
    asked: int | None = None
    barriers: int = 0
    count: int = 0
    spawn: tuple[int, int] | None = None
    #: The barrier is one between SMs, and ``count`` counts these.
    between_sms: bool = False

    def __str__(self) -> str:
        if self.between_sms:
            return f"barrier {self.barrier} between SMs: until all warps of {self.count} SMs have arrived"
        if self.spawn is not None:
            return f"wspawn({self.spawn[0]}, {self.spawn[1]:#010x}): until it is the only active warp"
        until = f"until {self.count} warps have arrived"
        if self.asked is None or self.asked == self.barrier:
            return f"barrier {self.barrier}: {until}"
        there = f"{self.barriers} barrier{'s' * (self.barriers > 1)}"
        asked = f"{self.asked:#x}" if self.asked >> 16 else str(self.asked)
        return f"barrier {asked}, which is barrier {self.barrier} here (modulo the machine's {there}): {until}"
