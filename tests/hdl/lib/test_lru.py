"""The LRU matrix against a list in order of use."""

import random

import pytest
from amaranth.hdl import Module, Signal

from metronome.hdl.lib.lru import lru_bits, lru_oldest, lru_touch, lru_victim
from tests.hdl.lib.simulate import simulate


@pytest.mark.parametrize(("ways", "bits"), [(1, 1), (2, 1), (4, 6), (8, 28)])
def test_bits(ways, bits):
    assert lru_bits(ways) == bits


@pytest.mark.parametrize("ways", [1, 2, 3, 4, 8])
def test_state_zero_and_any_other(ways):
    """State 0 orders the ways by number; there is exactly one victim in every state."""
    rng = random.Random(ways)
    m = Module()
    state, way = Signal(lru_bits(ways)), Signal(ways)
    following, victim = Signal(lru_bits(ways)), Signal(ways)
    m.d.comb += [following.eq(lru_touch(state, way, ways)), victim.eq(lru_victim(state, ways))]

    async def testbench(ctx):
        for expected in range(ways):
            assert ctx.get(victim) == 1 << expected
            ctx.set(way, 1 << expected)
            ctx.set(state, ctx.get(following))
        for _ in range(100):
            value = rng.getrandbits(lru_bits(ways))
            ctx.set(state, value)
            assert ctx.get(victim).bit_count() == 1, f"seed {ways}: state {value:#b}"

    simulate(m, testbench)


@pytest.mark.parametrize("ways", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("seed", range(3))
def test_order_of_use(ways, seed):
    """From any state, once every way has been used, the victim is the one used longest ago."""
    rng = random.Random(1000 * seed + ways)
    m = Module()
    state, way = Signal(lru_bits(ways)), Signal(ways)
    following, victim = Signal(lru_bits(ways)), Signal(ways)
    m.d.comb += [following.eq(lru_touch(state, way, ways)), victim.eq(lru_victim(state, ways))]

    async def testbench(ctx):
        ctx.set(state, rng.getrandbits(lru_bits(ways)))
        order: list[int] = []
        for used in [*rng.sample(range(ways), ways), *(rng.randrange(ways) for _ in range(200))]:
            ctx.set(way, 1 << used)
            ctx.set(state, ctx.get(following))
            order = [other for other in order if other != used] + [used]
            if len(order) == ways:
                assert ctx.get(victim) == 1 << order[0], f"seed {seed}: order {order}"

    simulate(m, testbench)


@pytest.mark.parametrize("ways", [1, 2, 4])
def test_the_oldest_of_some(ways):
    """Of a set of ways, the one used longest ago; before their first uses, ways have the order of their numbers."""
    rng = random.Random(ways)
    m = Module()
    state, way, among = Signal(lru_bits(ways)), Signal(ways), Signal(ways)
    following, oldest = Signal(lru_bits(ways)), Signal(ways)
    m.d.comb += [following.eq(lru_touch(state, way, ways)), oldest.eq(lru_oldest(state, among, ways))]

    async def testbench(ctx):
        order = list(range(ways))
        for _ in range(200):
            asked = rng.getrandbits(ways)
            ctx.set(among, asked)
            expected = next((1 << one for one in order if asked >> one & 1), 0)
            assert ctx.get(oldest) == expected, f"order {order}, among {asked:#b}"
            used = rng.randrange(ways)
            ctx.set(way, 1 << used)
            ctx.set(state, ctx.get(following))
            order = [other for other in order if other != used] + [used]

    simulate(m, testbench)
