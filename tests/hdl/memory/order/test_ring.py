"""A channel's counts against a list."""

import random
from typing import Any

import pytest

from metronome.hdl.memory.order.ring import Ring
from tests.hdl.lib.simulate import drive, simulate, simulated


@pytest.mark.parametrize(("depth", "most"), [(1, 1), (3, 1), (5, 2), (8, 4)])
def test_random_traffic(depth: int, most: int) -> None:
    """Places in turn, room for all that a load or store may have, stores; full and empty, one each in a cycle."""
    rng, ring = random.Random(depth), Ring(depth=depth, most=most)
    #: Whether each is a store, and where it is; of each load or store that is under way how many have come.
    here: list[tuple[bool, int]] = []
    under_way: list[int] = []
    both, full = 0, 0

    async def testbench(ctx: Any) -> None:
        nonlocal both, full
        came = gone = 0
        for cycle in range(400):
            room = len(here) + most * len(under_way) + most <= depth
            seen = [ctx.get(port) for port in (ring.room, ring.there, ring.stores, ring.head, ring.tail)]
            assert seen == [room, bool(here), any(store for store, _ in here), gone % depth, came % depth], cycle
            take = room and rng.random() < 0.7
            push = bool(under_way) and under_way[0] < most and rng.random() < 0.7
            pop = bool(here) and rng.random() < (0.9, 0.05)[cycle // 50 % 2]
            leave = bool(under_way) and (under_way[0] + push == most or rng.random() < 0.05)
            cancel = len(under_way) > 1 and rng.random() < 0.2
            store = rng.random() < 0.5
            for port, value in ((ring.take, take), (ring.push, push), (ring.push_store, store), (ring.pop, pop),
                                (ring.pop_store, pop and here[0][0]), (ring.leave, leave), (ring.cancel, cancel)):
                ctx.set(port, value)
            assert not ctx.get(ring.wrong), cycle
            if cancel:
                under_way.pop()
            if push:
                under_way[0] += 1
                here.append((store, came % depth))
                came += 1
            if leave:
                under_way.pop(0)
            if take:
                under_way.append(0)
            if pop:
                assert here.pop(0)[1] == gone % depth
                gone += 1
            both += push and pop
            full += len(here) == depth
            await ctx.tick()

    simulate(ring, testbench)
    assert full and (both or depth == 1)


@simulated(lambda: Ring(depth=2, most=1))
async def test_what_may_never_happen_is_told(ctx: Any, ring: Ring) -> None:
    ctx.set(ring.pop, 1)
    assert ctx.get(ring.wrong)
    drive(ctx, ring, pop=0, push=1)
    for _ in range(2):
        assert not ctx.get(ring.wrong)
        await ctx.tick()
    assert ctx.get(ring.wrong)
    ctx.set(ring.pop, 1)
    assert not ctx.get(ring.wrong)
