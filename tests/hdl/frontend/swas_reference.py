"""The synchronised front end in plain Python, cycle by cycle, written from design.md section 3.

Buffers are queues and fetches in flight are a list; there are no slots, pointers or MSHRs. A warp is suspended
for a line, and nothing else is known of its miss.
"""

from collections import Counter, deque
from dataclasses import dataclass, field

from metronome.hdl.config import SmConfig
from tests.hdl.frontend.cache_reference import Line, ReferenceCache, ReferenceLines
from tests.hdl.policies.policy_reference import ReferenceScheduler

__all__ = ["DEPTH", "Fetch", "Inputs", "Outputs", "SwasReference", "is_control", "memory_line", "word_at"]

DEPTH = 4
FETCH_LATENCY = 3


def word_at(pc: int) -> int:
    """The program: at every address a beq (control) or an addi that shows its address.

    Always a beq in the fourth word from the end of a line: the fetch made with it is the first of the next line, so
    that its miss and the redirect meet.
    """
    if pc % 64 == 48 or pc * 2654435761 >> 9 & 7 == 0:
        return 0x63 | (pc >> 2 & 0x3F) << 25
    return 0x13 | 1 << 7 | (pc >> 2 & 0x7FF) << 20


def memory_line(number: int) -> Line:
    """One line in five comes with an error: its instructions are faults, not control instructions."""
    data = sum(word_at(number * 64 + 4 * i) << 32 * i for i in range(16))
    return Line(number, data, number % 5 == 3)


def is_control(pc: int) -> bool:
    return not memory_line(pc // 64).error and word_at(pc) & 0x7F == 0x63


@dataclass
class Inputs:
    """One cycle of everything that the front end does not decide itself."""

    active: set[int]
    ready: set[int]
    policy: str
    halt: bool = False
    resolving: int | None = None
    redirect: bool = False
    target: int = 0
    release: set[int] = field(default_factory=set)
    activated: set[int] = field(default_factory=set)
    start: int = 0
    invalidate: bool = False
    answer: int | None = None
    #: Without an I-cache: whose request it was; the line is for this warp alone.
    answered: int | None = None
    stale: bool = False

    @property
    def redirected(self) -> int | None:
        return self.resolving if self.redirect else None


@dataclass
class Outputs:
    """What the front end shows in the cycle."""

    eligible: set[int]
    select: int | None
    #: The pc of the entry popped, None for a NOP.
    popped: int | None
    #: The warp whose fetch missed and is not squashed.
    miss: int | None
    refill: int | None


@dataclass
class Fetch:
    """A fetch made in ``cycle``; ``nop`` as soon as it has become one."""

    warp: int
    pc: int
    cycle: int
    found: tuple[int, Line] | None
    nop: bool = False


class SwasReference:
    """State at the beginning of a cycle; :meth:`outputs` of the cycle, then :meth:`advance`."""

    def __init__(self, config: SmConfig) -> None:
        self.warps = range(config.warps)
        self.cycle = 0
        self.pc = dict.fromkeys(self.warps, 0)
        self.buffer: dict[int, deque[int | None]] = {w: deque([None] * DEPTH) for w in self.warps}
        self.flight: list[Fetch] = []
        self.suspended: dict[int, int] = {}
        self.unresolved: set[int] = set()
        self.cache = ReferenceCache(config) if config.icache_bytes else ReferenceLines()
        self.scheduler = ReferenceScheduler(config.warps)
        self.seen: Counter[str] = Counter()

    def _looked_up(self) -> Fetch | None:
        return next((fetch for fetch in self.flight if fetch.cycle == self.cycle - 1), None)

    def missing(self) -> Fetch | None:
        """The fetch whose lookup of this cycle misses."""
        fetch = self._looked_up()
        return fetch if fetch is not None and not fetch.nop and fetch.found is None else None

    def outputs(self, inputs: Inputs) -> Outputs:
        missing = self.missing()
        eligible = {
            w for w in inputs.active
            if w not in self.suspended and w not in self.unresolved and not (missing and missing.warp == w)
            and (self.buffer[w][0] is None or w in inputs.ready) and not inputs.halt
        }
        select = self.scheduler.pick(inputs.policy, eligible)
        return Outputs(
            eligible=eligible, select=select, popped=None if select is None else self.buffer[select][0],
            miss=missing.warp if missing and missing.warp != inputs.redirected else None,
            refill=None if inputs.stale or inputs.invalidate else inputs.answer,
        )

    def advance(self, inputs: Inputs, outputs: Outputs) -> None:
        missing = self.missing()
        self._update_cache(inputs, outputs)
        self._select(inputs, outputs)
        self._decode()
        if missing is not None:
            missing.nop = True
            self.pc[missing.warp] = missing.pc
            self.suspended[missing.warp] = missing.pc // 64
            self.seen["miss"] += 1
            self.seen["refill in the cycle of the miss"] += self._serves(inputs, missing.warp, missing.pc // 64)
            self.seen["redirect in the cycle of the miss"] += missing.warp == inputs.redirected
        for w in [w for w, line in self.suspended.items() if self._serves(inputs, w, line)]:
            del self.suspended[w]
        self._resolve(inputs)
        self.cycle += 1
        for w in self.warps:
            in_flight = sum(fetch.warp == w for fetch in self.flight)
            if len(self.buffer[w]) + in_flight != DEPTH:
                raise AssertionError(f"reference, cycle {self.cycle}: warp {w} does not hold {DEPTH} entries")

    def _serves(self, inputs: Inputs, warp: int, line: int) -> bool:
        """The answer of this cycle is the line that the warp waits for."""
        own = isinstance(self.cache, ReferenceLines)
        self.seen["another warp's answer"] += own and line == inputs.answer and warp != inputs.answered
        return line == inputs.answer and (not own or warp == inputs.answered)

    def _update_lines(self, inputs: Inputs, outputs: Outputs) -> None:
        if outputs.refill is not None:
            self.seen["another line of the warp"] += inputs.answered in self.cache.lines
            self.cache.fill(memory_line(outputs.refill), inputs.answered)
        if inputs.invalidate:
            self.cache.clear()

    def _update_cache(self, inputs: Inputs, outputs: Outputs) -> None:
        if isinstance(self.cache, ReferenceLines):
            self._update_lines(inputs, outputs)
            return
        victim = None if outputs.refill is None else self.cache.choose_victim(outputs.refill)
        used = next((fetch for fetch in self.flight if fetch.cycle == self.cycle - 2), None)
        if used is not None and used.found is not None:
            self.cache.touch(used.pc // 64, used.found[0])
        if outputs.refill is not None:
            if self.cache.holds(outputs.refill):
                raise AssertionError(f"cycle {self.cycle}: line {outputs.refill} is refilled and was there already")
            self.cache.fill(memory_line(outputs.refill), victim)
        if inputs.invalidate:
            self.cache.clear()

    def _select(self, inputs: Inputs, outputs: Outputs) -> None:
        w = outputs.select
        self.scheduler.update(w)
        if w is None:
            return
        self.buffer[w].popleft()
        pc = self.pc[w]
        whose = (w,) if isinstance(self.cache, ReferenceLines) else ()
        self.flight.append(Fetch(w, pc, self.cycle, self.cache.look_up(pc, *whose)))
        self.pc[w] = (pc + 4) % (1 << 32)
        self.seen["nop" if outputs.popped is None else "instruction"] += 1
        if outputs.popped is not None and is_control(outputs.popped):
            self.unresolved.add(w)

    def _decode(self) -> None:
        if self.flight and self.flight[0].cycle == self.cycle - FETCH_LATENCY:
            fetch = self.flight.pop(0)
            self.buffer[fetch.warp].append(None if fetch.nop else fetch.pc)

    def _resolve(self, inputs: Inputs) -> None:
        w = inputs.redirected
        if w is not None:
            self.seen["redirect"] += 1
            self.seen["squashed suspension"] += w in self.suspended
            self.buffer[w] = deque([None] * len(self.buffer[w]))
            for fetch in self.flight:
                fetch.nop = fetch.nop or fetch.warp == w
            self.pc[w] = inputs.target
            self.suspended.pop(w, None)
        self.unresolved -= {inputs.resolving, *inputs.release}
        for w in inputs.activated:
            self.pc[w] = inputs.start
