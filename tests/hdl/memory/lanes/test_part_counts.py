"""The parts of loads, counted: against a list of the parts that are under way."""

import random
from collections import Counter

import pytest
from amaranth.hdl import ResetInserter, Signal

from metronome.hdl.memory.lanes.part_counts import PartCounts
from tests.hdl.lib.simulate import drive, maybe, simulate
from tests.support.tiers import some_more, some_slow

CYCLES = 400


class Bench:
    """A coalescer that makes loads of a random number of parts, and a response stage that answers them in any order."""

    def __init__(self, *, loads: int, parts: int, seed: int, answer: float, make: float = 0.9) -> None:
        self.reset = Signal()
        self.counts = PartCounts(loads=loads, parts=parts)
        self.dut = ResetInserter(self.reset)(self.counts)
        self.loads, self.parts, self.seed = loads, parts, seed
        self.answer, self.make = answer, make
        self.rng = random.Random(seed)
        self.seen: Counter[str] = Counter()
        self._empty()

    def _empty(self) -> None:
        #: The number of each part under way, and what is left to make of the load at the head.
        self.under_way: list[int] = []
        self.left, self.first, self.number = 0, True, None

    async def run(self, ctx) -> None:
        for cycle in range(CYCLES):
            self._cycle(ctx, f"seed {self.seed}, cycle {cycle}: {self.under_way}, {self.left} left of {self.number}")
            reset = maybe(self.rng, 0.01)
            ctx.set(self.reset, reset)
            await ctx.tick()
            if reset:
                self._empty()

    def _cycle(self, ctx, what: str) -> None:
        rng, counts = self.rng, self.counts
        if not self.left:
            self.left, self.first, self.number = rng.randrange(1, self.parts + 1), True, None
        ctx.set(counts.first, self.first)
        ready = ctx.get(counts.ready)
        used = set(self.under_way) | ({self.number} if not self.first else set())
        assert ready or len(used) >= self.loads - 1, f"{what}: no number"
        self.seen["waits"] += not ready
        answered = rng.choice(self.under_way) if self.under_way and maybe(rng, self.answer) else None
        made = maybe(rng, self.make) and (ready or not self.first)
        drive(ctx, counts, made=made, ended=made and self.left == 1, answered=answered is not None,
              answered_number=rng.randrange(self.loads) if answered is None else answered)
        if not self.first:
            assert ctx.get(counts.number) == self.number, f"{what}: number"
        elif ready:
            assert ctx.get(counts.number) not in used, f"{what}: number"
        if answered is not None:
            last = self.under_way.count(answered) == 1 and answered != self.number
            assert ctx.get(counts.last) == last, f"{what}: last of {answered}"
            self.seen["last" if last else "others"] += 1
            self.seen["only the head"] += not last and self.under_way.count(answered) == 1
            self.under_way.remove(answered)
        if made:
            self.number = ctx.get(counts.number)
            self.under_way.append(self.number)
            self.left, self.first = self.left - 1, False


@pytest.mark.parametrize("seed", some_more(some_slow(range(4), 1), 2))
@pytest.mark.parametrize(("loads", "parts", "answer"), [(2, 1, 0.5), (3, 4, 0.8), (6, 2, 0.5), (22, 8, 0.9)])
def test_random_loads(loads: int, parts: int, answer: float, seed: int) -> None:
    bench = Bench(loads=loads, parts=parts, seed=seed, answer=answer)
    simulate(bench.dut, bench.run)
    assert bench.seen["last"] >= 10, bench.seen
    if parts > 1:
        assert min(bench.seen["others"], bench.seen["only the head"]) >= 3, bench.seen
    if loads < 6:
        assert bench.seen["waits"] >= 3, bench.seen


@pytest.mark.parametrize("delay", [1, 4])
def test_a_load_begins_in_every_cycle(delay: int) -> None:
    """With a part each, answered ``delay`` cycles later: as many numbers as are out, one more, and one ahead."""

    async def testbench(ctx) -> None:
        flying: list[int] = []
        drive(ctx, counts, first=1, made=1, ended=1)
        for cycle in range(50):
            assert ctx.get(counts.ready), f"cycle {cycle}"
            if len(flying) == delay:
                number = flying.pop(0)
                drive(ctx, counts, answered=1, answered_number=number)
                assert ctx.get(counts.last), f"cycle {cycle}"
            flying.append(ctx.get(counts.number))
            await ctx.tick()

    counts = PartCounts(loads=delay + 2, parts=1)
    simulate(counts, testbench)


def test_too_few_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="loads must be at least 2, not 1"):
        PartCounts(loads=1, parts=1)
