"""The places in the cache that wait for lines, against a dictionary."""

import random
from typing import Any

import pytest

from metronome.hdl.config import Channels, SmConfig
from metronome.hdl.memory.l1.places import PendingPlaces
from tests.hdl.lib.simulate import port, simulate


@pytest.mark.parametrize("mshrs", [1, 2, 5])
def test_random_traffic(mshrs: int) -> None:
    config = SmConfig(threads=1, dcache_bytes=512, dcache_ways=2, dcache_mshrs=mshrs, channels=Channels.ORDERED)
    places, rng = PendingPlaces(config), random.Random(mshrs)
    waiting: dict[int, int] = {}
    seen = {False: 0, True: 0}

    async def testbench(ctx: Any) -> None:
        for cycle in range(300):
            place = rng.randrange(8)
            free = [number for number in range(mshrs) if number not in waiting]
            allocate = place not in waiting.values() and bool(free) and rng.random() < 0.6
            filled = rng.choice(sorted(waiting)) if waiting else 0
            release = bool(waiting) and rng.random() < 0.5
            number = rng.choice(free) if free else 0
            for name, value in (("place", place), ("lookup.place", allocate), ("mshrs.number", number),
                                ("fill.release", release), ("fill.filled", filled)):
                ctx.set(port(places, name), value)
            assert ctx.get(places.taken) == (place in waiting.values()), cycle
            seen[place in waiting.values()] += 1
            if waiting:
                assert ctx.get(places.fill_place) == waiting[filled], cycle
            if release:
                del waiting[filled]
            if allocate:
                waiting[number] = place
            await ctx.tick()

    simulate(places, testbench)
    assert min(seen.values()) > 20
