"""The MSHRs against a list: who has which line, what is asked of memory, and how many there are."""

import random
from typing import Any

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.memory.l1.mshrs import Mshrs
from tests.hdl.lib.simulate import port, pulse, simulated
from tests.hdl.memory.part_models import MissModel


def config_of(mshrs: int) -> SmConfig:
    """0: no cache, so that there is one for each of four parts."""
    return SmConfig(threads=1, warps=2, load_parts=4, dcache_bytes=512 if mshrs else 0, dcache_ways=2,
                    dcache_mshrs=mshrs or 1)


class Bench:
    """Drives the registers a cycle at a time and checks all outputs; ``requested``: (cycle, number)."""

    def __init__(self, config: SmConfig, seed: int) -> None:
        self.dut = Mshrs(config)
        self.rng = random.Random(seed)
        self.what = f"seed {seed}"
        self.count = config.line_requests
        self.cycle = 0
        self.requested: list[tuple[int, int]] = []
        self.clear()

    def clear(self) -> None:
        self.model = MissModel(self.count)

    @property
    def answered(self) -> list[int]:
        """The registers whose request memory has."""
        return [number for number, register in enumerate(self.model.registers)
                if register is not None and number not in self.model.unsent]

    async def step(self, ctx: Any, *, line: int, uncached: bool = False, allocate: bool = False,
                   release: int | None = None, ready: bool = True) -> None:
        dut, model, asked = self.dut, self.model, self.rng.randrange(self.count)
        allocate = allocate and not model.full
        for name, value in (("lookup.held.part.line", line), ("lookup.uncached", uncached),
                            ("lookup.allocate", allocate), ("fill.asked", asked),
                            ("fill.release", release is not None), ("fill.filled", release or 0)):
            ctx.set(port(dut, name), value)
        ctx.set(dut.request.ready, ready)
        what = f"{self.what}, cycle {self.cycle}"
        same = model.same(line, uncached)
        assert ctx.get(dut.out.same) == sum(1 << number for number in same), what
        assert ctx.get(dut.out.same_number) in same or not same, what
        assert ctx.get(dut.out.requested) == bool(same), what
        joined = dut.out.number if allocate else dut.out.same_number
        assert ctx.get(dut.out.joined) == ctx.get(joined), what
        assert ctx.get(dut.out.full) == model.full, what
        assert ctx.get(dut.busy) == any(register is not None for register in model.registers), what
        if not model.full:
            assert ctx.get(dut.out.number) == model.registers.index(None), what
        if model.registers[asked] is not None:
            assert ctx.get(dut.out.asked_line) == model.registers[asked][0], what
        assert ctx.get(dut.request.valid) == bool(model.unsent), what
        if model.unsent:
            request, number = ctx.get(dut.request.payload), model.unsent[0]
            assert (request.number, request.line) == (number, model.registers[number][0]), what
            if ready:
                self.requested.append((self.cycle, number))
        model.tick(allocate=(line, uncached) if allocate else None, release=release, sent=ready and bool(model.unsent))
        await ctx.tick()
        self.cycle += 1


@pytest.mark.parametrize("mshrs", [0, 1, 3])
@simulated(lambda mshrs: Bench(config_of(mshrs), mshrs))
async def test_random_traffic(ctx: Any, bench: Bench) -> None:
    rng, full = bench.rng, 0
    for _ in range(200):
        done = bench.answered
        full += bench.model.full
        await bench.step(ctx, line=rng.randrange(3), uncached=rng.random() < 0.3, allocate=rng.random() < 0.6,
                         release=rng.choice(done) if done and rng.random() < 0.6 else None,
                         ready=rng.random() < 0.6)
    assert full > 10 and len(bench.requested) > 20, bench.what


@pytest.mark.parametrize("mshrs", [0, 1, 3])
@simulated(lambda mshrs: Bench(config_of(mshrs), 1))
async def test_depth_and_first_request(ctx: Any, bench: Bench) -> None:
    """All registers, and no more, are taken one a cycle, and asked for one cycle later each, in order.

    Whichever is released can be taken in the next cycle.
    """
    for number in range(bench.count):
        assert not ctx.get(bench.dut.out.full)
        await bench.step(ctx, line=7 + number, allocate=True)
    assert ctx.get(bench.dut.out.full)
    await bench.step(ctx, line=0)
    assert not ctx.get(bench.dut.request.valid)
    for number in range(bench.count):
        await bench.step(ctx, line=0, release=number)
        assert not ctx.get(bench.dut.out.full)
        await bench.step(ctx, line=0, allocate=True)
        assert ctx.get(bench.dut.out.full)
        await bench.step(ctx, line=0)
    count = bench.count
    assert bench.requested == [
        *((number + 1, number) for number in range(count)),
        *((count + 1 + 3 * number + 2, number) for number in range(count)),
    ]


@simulated(lambda: Bench(config_of(3), 2))
async def test_one_line_a_cycle(ctx: Any, bench: Bench) -> None:
    """A register is allocated and another released in every cycle."""
    for number in range(20):
        await bench.step(ctx, line=number, allocate=True, release=bench.answered[0] if number > 1 else None)
    assert [cycle for cycle, _ in bench.requested] == list(range(1, 20))


@simulated(lambda: Bench(config_of(3), 3), resets=True)
async def test_reset(ctx: Any, bench: Bench, reset) -> None:
    for number in range(3):
        await bench.step(ctx, line=number, allocate=True, ready=False)
    await pulse(ctx, reset)
    bench.clear()
    await bench.step(ctx, line=1, allocate=True)
    await bench.step(ctx, line=1)
    assert bench.requested == [(4, 0)]
