"""Barriers against sets of arrived warps."""

import random
from typing import Any

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.execute.simt.barriers import Barriers
from tests.hdl.lib.simulate import simulate, told

SIZES = [1, 2, 4, 5, 8]


def _check(ctx: Any, dut: Barriers, arrived: list[set[int]], arrival: tuple[int, int, int] | None) -> None:
    """One cycle: ``arrival`` is warp, id, count."""
    ctx.set(dut.arrive, arrival is not None)
    assert ctx.get(dut.waiting) == sum(1 << w for w in set().union(*arrived))
    released = 0
    if arrival is not None:
        warp, number, count = arrival
        for port, value in ((dut.warp, warp), (dut.id, number), (dut.count, count)):
            ctx.set(port, value)
        barrier = arrived[number % len(arrived)]
        barrier.add(warp)
        if len(barrier) == count:
            released = sum(1 << w for w in barrier)
            barrier.clear()
    assert ctx.get(dut.released) == released, arrival


@pytest.mark.parametrize("warps", SIZES)
def test_random_arrivals(warps):
    config = SmConfig(warps=warps, threads=1)
    # isa.md: at least max(1, num_warps / 2).
    assert config.barriers >= max(1, warps // 2)
    for seed in (1, 2):
        rng = random.Random(seed)
        dut = Barriers(config)
        completions = []

        async def testbench(ctx: Any, dut=dut, rng=rng, completions=completions) -> None:
            arrived: list[set[int]] = [set() for _ in range(config.barriers)]
            counts = [0] * config.barriers
            for _ in range(300):
                free = [w for w in range(warps) if w not in set().union(*arrived)]
                arrival = None
                if free and rng.random() < 0.7:
                    number = rng.getrandbits(31)
                    barrier = number % config.barriers
                    if not arrived[barrier]:
                        counts[barrier] = rng.randint(1, warps)
                    arrival = (rng.choice(free), number, counts[barrier])
                before = sum(map(len, arrived))
                _check(ctx, dut, arrived, arrival)
                completions.append(sum(map(len, arrived)) < before)
                await ctx.tick()
                if len(free) <= 1 and set().union(*arrived) == set(range(warps)):
                    return

        with told(f"seed {seed}"):
            simulate(dut, testbench)


@pytest.mark.parametrize("warps", [4, 8])
def test_all_barriers_at_once(warps):
    """Two warps at each of warps/2 barriers, interleaved; the completion of one leaves the others alone."""
    config = SmConfig(warps=warps, threads=1)
    half = warps // 2

    async def testbench(ctx: Any) -> None:
        arrived: list[set[int]] = [set() for _ in range(config.barriers)]
        dut_released = []
        for warp in range(half):
            _check(ctx, dut, arrived, (warp, warp, 2))
            await ctx.tick()
        for warp in reversed(range(half)):
            # An id is taken modulo the number of barriers.
            _check(ctx, dut, arrived, (half + warp, warp + 8 * config.barriers, 2))
            dut_released.append(ctx.get(dut.released))
            await ctx.tick()
        _check(ctx, dut, arrived, None)
        assert ctx.get(dut.waiting) == 0
        assert dut_released == [1 << w | 1 << (half + w) for w in reversed(range(half))]

    dut = Barriers(config)
    simulate(dut, testbench)


@pytest.mark.parametrize("count", [0, 5, 0x1_0004, 0xFFFF_FFFF])
def test_count_that_is_never_reached(count):
    """All 32 bits of the count matter: nobody is released, and the SM hangs as the kernel asks it to."""
    config = SmConfig(warps=4, threads=1)

    async def testbench(ctx: Any) -> None:
        arrived: list[set[int]] = [set() for _ in range(config.barriers)]
        for warp in range(4):
            _check(ctx, dut, arrived, (warp, 0, count))
            await ctx.tick()
        ctx.set(dut.arrive, 0)
        assert ctx.get(dut.waiting) == 0b1111

    dut = Barriers(config)
    simulate(dut, testbench)
