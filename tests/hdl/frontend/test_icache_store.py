"""The instruction store against a small reference cache: a lookup in every cycle, refills, errors, invalidation."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.frontend.icache_store import ICacheStore
from metronome.hdl.presets import TINY
from tests.hdl.frontend.cache_reference import Line, ReferenceCache
from tests.hdl.lib.simulate import drive, maybe, simulate, simulated
from tests.support.tiers import some_more

CONFIGS = [
    replace(TINY, icache_bytes=1024, icache_ways=2), replace(TINY, icache_bytes=512, icache_ways=4),
    replace(TINY, icache_bytes=128, icache_ways=1), replace(TINY, icache_bytes=1024, icache_ways=8),
]


def label(config: SmConfig) -> str:
    return f"{config.icache_bytes}_bytes_{config.icache_ways}_ways"


def random_line(rng: random.Random, config: SmConfig) -> int:
    """Half as many again as fit, in few sets, some of them with equal low tag bits."""
    lines = config.icache_bytes // 64
    sets = lines // config.icache_ways
    return rng.randrange(min(sets, 2)) + sets * rng.randrange(config.icache_ways * 3 // 2 + 1) + rng.choice(
        (0, 0, 0, 1 << 25))


class StoreModel:
    """Drives the store for one cycle at a time and knows what its outputs must be.

    A fetch of cycle t is looked up in t+1, as the register before the store has it.
    """

    def __init__(self, dut: ICacheStore, config: SmConfig, what: str) -> None:
        self.dut, self.what = dut, what
        self.cache = ReferenceCache(config)
        self.cycle = 0
        self.requested: int | None = None
        self.found: dict[int, tuple[int, Line] | None] = {}
        self.pcs: dict[int, int] = {}
        self.seen: Counter[str] = Counter()

    async def step(self, ctx, *, pc: int | None = None, refill: Line | None = None, invalidate: bool = False) -> None:
        dut, cycle = self.dut, self.cycle
        drive(ctx, dut, lookup_valid=self.requested is not None, lookup_pc=[self.requested or 0] * 3)
        ctx.set(dut.refill.valid, refill is not None)
        if refill is not None:
            drive(ctx, dut.refill, line=refill.number, data=refill.data, error=refill.error)
        ctx.set(dut.invalidate, invalidate)
        self._check(ctx)
        self._follow(pc, refill, invalidate)
        await ctx.tick()
        self.cycle, self.requested = cycle + 1, pc

    def _check(self, ctx) -> None:
        looked_up = self.cycle - 1
        if looked_up in self.pcs:
            hit = ctx.get(self.dut.hit)
            assert hit == (self.found[looked_up] is not None), (
                f"{self.what}: cycle {self.cycle}: hit {hit} for {self.pcs[looked_up]:#x}: {self.found[looked_up]}")
        delivered = self.cycle - 3
        if self.found.get(delivered) is not None:
            pc, line = self.pcs[delivered], self.found[delivered][1]
            got = ctx.get(self.dut.instruction), ctx.get(self.dut.error)
            assert got[1] == line.error, f"{self.what}: cycle {self.cycle}: error {got[1]} for {pc:#x}"
            assert got[0] == line.word(pc), (
                f"{self.what}: cycle {self.cycle}: {got[0]:#010x} for {pc:#x}, not {line.word(pc):#010x}")
            self.seen["word"] += 1
            self.seen["error"] += line.error

    def _follow(self, pc: int | None, refill: Line | None, invalidate: bool) -> None:
        cache, used, looked_up = self.cache, self.found.get(self.cycle - 2), self.found.get(self.cycle - 1)
        victim = None if refill is None else cache.choose_victim(refill.number)
        if used is not None:
            cache.touch(used[1].number, used[0])
        if refill is not None and looked_up is not None:
            same_set = refill.number % cache.sets == looked_up[1].number % cache.sets
            self.seen["overwritten in t+1"] += same_set and victim == looked_up[0]
        if refill is not None:
            self.seen["evicted"] += None not in cache.ways[refill.number % cache.sets]
            cache.fill(refill, victim)
        if invalidate:
            cache.clear()
        if pc is not None:
            self.pcs[self.cycle], self.found[self.cycle] = pc, cache.look_up(pc)
            self.seen["hit" if self.found[self.cycle] else "miss"] += 1
            if refill is not None and refill.number == pc // 64:
                self.seen["lookup in the refill's cycle"] += 1


@pytest.mark.slow
@pytest.mark.parametrize("config", some_more(CONFIGS, 2), ids=label)
@simulated(lambda config: ICacheStore(config))
async def test_random(ctx, dut, config):
    seed = config.icache_bytes + config.icache_ways
    rng = random.Random(seed)
    model = StoreModel(dut, config, f"seed {seed}")
    for cycle in range(1200):
        line = random_line(rng, config)
        # A line that the store already holds is never refilled: its fetches do not miss.
        refill = None
        if maybe(rng, 0.3) and (not model.cache.holds(line)):
            refill = Line(line, rng.getrandbits(512), maybe(rng, 0.2))
        oldest = model.cache.ways[0][model.cache.use[0][0]]
        wanted = line if maybe(rng, 0.4) else random_line(rng, config)
        if oldest is not None and maybe(rng, 0.2):
            wanted = oldest.number
        pc = wanted * 64 + 4 * rng.randrange(16) if cycle < 900 or maybe(rng, 0.6) else None
        await model.step(ctx, pc=pc, refill=refill, invalidate=maybe(rng, 0.01))
    for event in ("hit", "miss", "word", "error", "evicted", "lookup in the refill's cycle", "overwritten in t+1"):
        assert model.seen[event] >= 5, f"seed {seed}: {event} happened {model.seen[event]} times: {model.seen}"


def directed(config: SmConfig, steps: list[dict]) -> StoreModel:
    """Runs the steps, checked by the reference, and three empty cycles after them."""
    dut = ICacheStore(config)
    model = StoreModel(dut, config, "directed")

    async def testbench(ctx):
        for step in [*steps, {}, {}, {}, {}]:
            await model.step(ctx, **step)

    simulate(dut, testbench)
    return model


def test_cold_store_misses_and_hits_after_a_refill():
    line = Line(5, random.Random(0).getrandbits(512), False)
    model = directed(CONFIGS[0], [{"pc": 5 * 64 + 8}, {"refill": line, "pc": 5 * 64 + 8}, {"pc": 5 * 64 + 60}])
    assert [model.found[cycle] is not None for cycle in range(3)] == [False, True, True]
    assert model.seen["word"] == 2


def test_hit_whose_line_is_overwritten_in_its_next_cycle_delivers_the_old_word():
    rng = random.Random(1)
    sets = 2
    old, new = Line(3, rng.getrandbits(512), False), Line(3 + sets, rng.getrandbits(512), True)
    model = directed(CONFIGS[2], [{"refill": old}, {"pc": 3 * 64}, {"refill": new, "pc": 3 * 64}])
    assert model.found[1] == (0, old)
    assert model.found[2] is None
    assert model.seen["overwritten in t+1"] == 1


def test_invalidation_counts_for_lookups_of_its_own_cycle():
    line = Line(9, random.Random(2).getrandbits(512), False)
    model = directed(CONFIGS[1], [{"refill": line}, {"pc": 9 * 64}, {"pc": 9 * 64, "invalidate": True}, {"pc": 9 * 64}])
    assert [model.found[cycle] is not None for cycle in (1, 2, 3)] == [True, False, False]


@pytest.mark.parametrize("config", CONFIGS[:2], ids=label)
def test_least_recently_used_line_goes(config):
    """Fills one set, uses the ways in a shuffled order, and refills: the lines leave in that order."""
    rng = random.Random(config.icache_ways)
    sets = config.icache_bytes // 64 // config.icache_ways
    lines = [Line(1 + sets * n, rng.getrandbits(512), False) for n in range(2 * config.icache_ways)]
    old, new = lines[:config.icache_ways], lines[config.icache_ways:]
    order = rng.sample(old, len(old))
    steps = [{"refill": line} for line in old] + [{"pc": line.number * 64} for line in order] + [{}, {}]
    for gone, line in enumerate(new, start=1):
        steps += [{"refill": line}] + [{"pc": kept.number * 64 + 4} for kept in order[:gone]]
    model = directed(config, steps)
    assert model.seen["miss"] == sum(range(1, len(new) + 1))
