"""The SIMT instructions as isa.md words them, in plain Python: the reference of the tests in this folder."""

from dataclasses import dataclass, field

from metronome.hdl.config import FaultCause, SmConfig
from metronome.hdl.isa.ops import SimtOp

__all__ = ["Operation", "Outcome", "Reference", "Warp"]


@dataclass(frozen=True)
class Operation:
    """One SIMT instruction; ``predicate`` has bit 0 of each lane's rs1, ``rs1`` and ``rs2`` are the leader's."""

    op: SimtOp
    warp: int
    pc: int
    predicate: int = 0
    negate: int = 0
    rs1: int = 0
    rs2: int = 0


@dataclass
class Warp:
    active: bool = False
    mask: int = 0
    #: Entries [union, other side, its pc, visited].
    stack: list[list[int]] = field(default_factory=list)


@dataclass
class Outcome:
    """What the instruction shows in its own cycle."""

    result: int
    redirect: int = 0
    target: int | None = None
    waits: int = 0
    ended: int = 0
    release: int = 0
    cause: FaultCause | None = None


class Reference:
    """Masks, stacks, barriers and spawning of all warps. ``events`` counts the corners that were reached."""

    def __init__(self, config: SmConfig, events: dict[str, int]) -> None:
        self.config = config
        self.events = events
        self.warps = [Warp() for _ in range(config.warps)]
        self.barriers: list[set[int]] = [set() for _ in range(config.barriers)]
        #: The warp in wspawn, what it starts, and where.
        self.spawner: tuple[int, list[int], int] | None = None

    def _event(self, name: str) -> None:
        self.events[name] = self.events.get(name, 0) + 1

    @property
    def active(self) -> int:
        return sum(1 << i for i, warp in enumerate(self.warps) if warp.active)

    @property
    def waiting(self) -> int:
        waiting = set().union(*self.barriers)
        if self.spawner is not None:
            waiting.add(self.spawner[0])
        return sum(1 << i for i in waiting)

    def start(self) -> None:
        self._activate(0)

    def _activate(self, number: int) -> None:
        self.warps[number] = Warp(active=True, mask=1)

    def spawn_now(self) -> tuple[int, int, int] | None:
        """Warps that start, their pc and the spawner, if it is the only active warp; it then waits no longer."""
        if self.spawner is None or self.active != 1 << self.spawner[0]:
            return None
        number, targets, pc = self.spawner
        self.spawner = None
        self._event("spawned all" if len(targets) == self.config.warps - 1 else "spawned some")
        for target in targets:
            self._activate(target)
        return sum(1 << target for target in targets), pc, 1 << number

    def execute(self, o: Operation) -> Outcome:
        warp = self.warps[o.warp]
        outcome = Outcome(result=len(warp.stack))
        handler = {SimtOp.TMC: self._tmc, SimtOp.PRED: self._pred, SimtOp.SPLIT: self._split,
                   SimtOp.JOIN: self._join, SimtOp.BAR: self._bar, SimtOp.WSPAWN: self._wspawn}[o.op]
        handler(o, warp, outcome)
        if warp.mask == 0:
            self._event(f"ended by {o.op.name}")
            warp.active = False
            outcome.ended = outcome.redirect = 1
        return outcome

    def _all(self) -> int:
        return (1 << self.config.threads) - 1

    def _true(self, o: Operation, warp: Warp) -> int:
        return sum(
            1 << lane for lane in range(self.config.threads)
            if warp.mask >> lane & 1 and (o.predicate >> lane & 1) != o.negate
        )

    def _tmc(self, o: Operation, warp: Warp, outcome: Outcome) -> None:
        warp.mask = o.rs1 & self._all()

    def _pred(self, o: Operation, warp: Warp, outcome: Outcome) -> None:
        true = self._true(o, warp)
        self._event("pred keeps" if true else "pred restores")
        warp.mask = true or o.rs2 & self._all()

    def _split(self, o: Operation, warp: Warp, outcome: Outcome) -> None:
        true = self._true(o, warp)
        false = warp.mask - true
        if not true or not false:
            self._event("split one-sided")
            return
        if len(warp.stack) == self.config.stack_depth:
            self._event("overflow")
            outcome.cause = FaultCause.STACK_OVERFLOW
            return
        balance = true.bit_count() - false.bit_count()
        self._event("split tie" if balance == 0 else "split true" if balance > 0 else "split false")
        first, other = (true, false) if balance >= 0 else (false, true)
        warp.stack.append([warp.mask, other, o.pc + 4 & 0xFFFF_FFFF, False])
        warp.mask = first

    def _join(self, o: Operation, warp: Warp, outcome: Outcome) -> None:
        if o.rs1 == len(warp.stack):
            self._event("join nothing")
        elif o.rs1 > len(warp.stack) or not warp.stack:
            self._event("underflow")
            outcome.cause = FaultCause.STACK_UNDERFLOW
        elif warp.stack[-1][3]:
            self._event("join second")
            warp.mask = warp.stack.pop()[0]
        else:
            self._event("join first")
            top = warp.stack[-1]
            top[3] = True
            warp.mask, outcome.target, outcome.redirect = top[1], top[2], 1

    def _bar(self, o: Operation, warp: Warp, outcome: Outcome) -> None:
        if o.rs2 == 1:
            self._event("bar alone")
            return
        barrier = self.barriers[o.rs1 % self.config.barriers]
        barrier.add(o.warp)
        if len(barrier) == o.rs2:
            self._event("bar complete")
            if any(other for other in self.barriers if other is not barrier):
                self._event("bar complete with another occupied")
            outcome.release = sum(1 << number for number in barrier)
            barrier.clear()
        else:
            outcome.waits = 1

    def _wspawn(self, o: Operation, warp: Warp, outcome: Outcome) -> None:
        self._event("wspawn above" if o.rs1 > self.config.warps else "wspawn one" if o.rs1 == 1 else "wspawn")
        if self.active != 1 << o.warp:
            self._event("wspawn waits")
        targets = [i for i in range(min(o.rs1, self.config.warps)) if i != o.warp]
        self.spawner = (o.warp, targets, o.rs2)
        outcome.waits = 1
