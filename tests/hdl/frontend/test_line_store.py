"""A line a warp against a small reference: a lookup in every cycle, refills, errors, invalidation."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.frontend.line_store import LineStore
from metronome.hdl.presets import TINY
from tests.hdl.frontend.cache_reference import Line, ReferenceLines
from tests.hdl.lib.simulate import drive, maybe, simulated
from tests.support.tiers import some_slow

CONFIGS = [replace(TINY, warps=warps, icache_bytes=0) for warps in (1, 2, 5)]


def label(config: SmConfig) -> str:
    return f"{config.warps}_warps"


class StoreModel:
    """Drives the store for one cycle at a time and knows what its outputs must be.

    A fetch of cycle t is looked up in t+1, as the register before the store has it.
    """

    def __init__(self, dut: LineStore, what: str) -> None:
        self.dut, self.what = dut, what
        self.lines = ReferenceLines()
        self.cycle = 0
        self.requested: tuple[int, int] | None = None
        self.lookups: dict[int, tuple[int, Line | None]] = {}   # cycle: pc, line that it finds
        self.seen: Counter[str] = Counter()

    async def step(self, ctx, *, lookup: tuple[int, int] | None = None, refill: tuple[int, Line] | None = None,
                   invalidate: bool = False) -> None:
        """``lookup``: warp and pc; ``refill``: warp and line."""
        dut = self.dut
        warp, pc = self.requested or (0, 0)
        drive(ctx, dut, lookup_valid=self.requested is not None, lookup_warp=warp, lookup_pc=[pc] * 3)
        ctx.set(dut.refill.valid, refill is not None)
        if refill is not None:
            drive(ctx, dut.refill, warp=refill[0], line=refill[1].number, data=refill[1].data, error=refill[1].error)
        ctx.set(dut.invalidate, invalidate)
        self._check(ctx)
        self._follow(lookup, refill, invalidate)
        await ctx.tick()
        self.cycle, self.requested = self.cycle + 1, lookup

    def _check(self, ctx) -> None:
        what = f"{self.what}, cycle {self.cycle}"
        if self.cycle - 1 in self.lookups:
            pc, line = self.lookups[self.cycle - 1]
            assert ctx.get(self.dut.hit) == (line is not None), f"{what}: {pc:#x} finds {line}"
        pc, line = self.lookups.get(self.cycle - 3, (0, None))
        if line is not None:
            got = ctx.get(self.dut.instruction), ctx.get(self.dut.error)
            assert got == (line.word(pc), line.error), f"{what}: {got} for {pc:#x}, not {line.word(pc):#010x}"
            self.seen["error"] += line.error

    def _follow(self, lookup, refill, invalidate: bool) -> None:
        before = self.lookups.get(self.cycle - 1)
        if refill is not None:
            self.seen["overwritten in t+1"] += bool(before and before[1] is self.lines.lines.get(refill[0], 0))
            self.lines.fill(refill[1], refill[0])
        if invalidate:
            self.lines.clear()
        if lookup is not None:
            warp, pc = lookup
            found = self.lines.look_up(pc, warp)
            self.lookups[self.cycle] = pc, found[1] if found else None
            self.seen["hit" if found else "miss"] += 1
            others = [line.number for w, line in self.lines.lines.items() if w != warp]
            self.seen["another warp has it"] += not found and pc // 64 in others
            self.seen["lookup in the refill's cycle"] += bool(found and refill and refill[0] == warp)


@pytest.mark.parametrize("config", some_slow(CONFIGS, 1), ids=label)
@simulated(lambda config: LineStore(config))
async def test_random(ctx, dut, config):
    """Six lines, two of which differ in the highest bit only."""
    seed = 70 + config.warps
    rng = random.Random(seed)
    model = StoreModel(dut, f"seed {seed}")
    numbers = [3, 3 + (1 << 25), 4, 5, 6, (1 << 26) - 1]
    for _ in range(1200):
        warp = rng.randrange(config.warps)
        refill = None
        if maybe(rng, 0.3):
            refill = warp if maybe(rng, 0.5) else rng.randrange(config.warps), Line(
                rng.choice(numbers), rng.getrandbits(512), maybe(rng, 0.2))
        held = model.lines.lines.get(warp)
        number = held.number if held and maybe(rng, 0.6) else rng.choice(numbers)
        lookup = (warp, 64 * number + 4 * rng.randrange(16)) if maybe(rng, 0.9) else None
        await model.step(ctx, lookup=lookup, refill=refill, invalidate=maybe(rng, 0.02))
    wanted = ["hit", "miss", "error", "overwritten in t+1", "lookup in the refill's cycle"]
    for event in [*wanted, *(["another warp has it"] if config.warps > 1 else [])]:
        assert model.seen[event] >= 5, f"seed {seed}: {event} happened {model.seen[event]} times: {model.seen}"
