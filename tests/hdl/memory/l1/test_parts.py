"""The table of waiting parts against a list: who leaves, who is left, and how many there is room for."""

import random
from typing import Any

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.memory.l1.parts import PartTable
from tests.hdl.lib.simulate import drive, pulse, simulated
from tests.hdl.memory.part_models import PartModel

MSHRS = 3


def config_of(places: int) -> SmConfig:
    return SmConfig(threads=2, warps=4, load_parts=places, dcache_bytes=512, dcache_ways=2, dcache_mshrs=MSHRS)


class Bench:
    """Drives the table a cycle at a time and checks all outputs."""

    def __init__(self, places: int, seed: int) -> None:
        self.dut = PartTable(config_of(places))
        self.places = places
        self.rng = random.Random(seed)
        self.what = f"seed {seed}"
        self.cycle = 0
        self.clear()

    def clear(self) -> None:
        self.model = PartModel(self.places)
        self.answer: Any = None

    def part(self) -> dict[str, Any]:
        rng = self.rng
        return {"warp": rng.randrange(4), "pc": rng.getrandbits(32), "op": rng.getrandbits(4), "rd": rng.getrandbits(6),
                "writes_rd": rng.getrandbits(1), "mask": rng.getrandbits(2), "line": rng.getrandbits(26),
                "offset": [rng.getrandbits(6), rng.getrandbits(6)]}

    async def step(self, ctx: Any, *, add: int | None = None, take: int | None = None, filled: bool = False) -> None:
        """``add``: the register that a new part waits for; ``take``: that of which one leaves, by ``filled``."""
        dut, rng, model = self.dut, self.rng, self.model
        part, what = self.part(), f"{self.what}, cycle {self.cycle}"
        other, looked = rng.randrange(MSHRS), rng.randrange(MSHRS)
        if take is not None and filled:
            looked = take
        ctx.set(dut.lookup.add, add is not None)
        ctx.set(dut.mshrs.joined, add or 0)
        ctx.set(dut.lookup.held.part, part)
        drive(ctx, dut.fill, take=take is not None, take_filled=filled, filled=looked,
              asked=take if take is not None and not filled else other)
        assert ctx.get(dut.full) == model.full, what
        assert ctx.get(dut.left) == bool(model.waiting(looked)), what
        if self.answer is not None:
            got = ctx.get(dut.answer)
            for name, value in self.answer.items():
                assert [*getattr(got, name)] == value if name == "offset" else getattr(got, name) == value, what
        taken = model.tick(add=None if add is None else (add, part), take=take)
        self.answer = taken or self.answer
        await ctx.tick()
        self.cycle += 1


@pytest.mark.parametrize("places", [2, 4])
@simulated(lambda places: Bench(places, places))
async def test_random_traffic(ctx: Any, bench: Bench) -> None:
    rng, full = bench.rng, 0
    for _ in range(200):
        full += bench.model.full
        waiting = [mshr for mshr in range(MSHRS) if bench.model.waiting(mshr)]
        await bench.step(
            ctx, add=rng.randrange(MSHRS) if not bench.model.full and rng.random() < 0.6 else None,
            take=rng.choice(waiting) if waiting and rng.random() < 0.5 else None, filled=rng.random() < 0.5,
        )
    assert full > 20, bench.what


@pytest.mark.parametrize("places", [2, 8])
@simulated(lambda places: Bench(places, 1))
async def test_depth(ctx: Any, bench: Bench, places: int) -> None:
    """All places, and no more, are taken one a cycle; a place is free in the cycle after its part has left."""
    for _ in range(places):
        assert not ctx.get(bench.dut.full)
        await bench.step(ctx, add=1)
    assert ctx.get(bench.dut.full)
    await bench.step(ctx, take=1)
    assert not ctx.get(bench.dut.full)
    await bench.step(ctx)


@simulated(lambda: Bench(2, 2))
async def test_one_part_comes_and_one_leaves_in_every_cycle(ctx: Any, bench: Bench) -> None:
    """A part that comes in this cycle is not among those that leave in it."""
    await bench.step(ctx, add=0)
    for number in range(16):
        await bench.step(ctx, add=(number + 1) % MSHRS, take=number % MSHRS, filled=bool(number & 4))


@simulated(lambda: Bench(2, 3), resets=True)
async def test_reset(ctx: Any, bench: Bench, reset) -> None:
    await bench.step(ctx, add=0)
    await bench.step(ctx, add=2)
    await pulse(ctx, reset)
    bench.clear()
    for mshr in range(MSHRS):
        ctx.set(bench.dut.fill.filled, mshr)
        assert not ctx.get(bench.dut.left)
    for _ in range(2):
        await bench.step(ctx, add=1)
    await bench.step(ctx, take=1)
