"""The victim tags against lists of lines: what a warp has brought in and lost, and when it is told."""

import random
from collections import deque
from dataclasses import replace

import pytest
from amaranth.hdl import ClockDomain, Module

from metronome.hdl.memory.l1.victim_tags import VictimTags
from metronome.hdl.presets import BASE
from tests.hdl.lib.simulate import maybe, port, simulate
from tests.support.tiers import some_more

CONFIGS = [
    replace(BASE, policies=("ccws",), dcache_bytes=512, dcache_ways=2, dcache_mshrs=2, victim_tags=3),
    replace(BASE, policies=("ccws",), warps=1, dcache_bytes=512, dcache_ways=4, dcache_mshrs=1, victim_tags=1),
    replace(BASE, policies=("ccws",), warps=8, dcache_bytes=1024, dcache_ways=2, dcache_mshrs=5, victim_tags=16),
]

#: The ports of what is given to the reference.
PORTS = {
    "misses": "lookup.add", "allocate": "lookup.allocate", "warp": "lookup.held.part.warp",
    "line": "lookup.held.part.line", "number": "mshrs.number", "fill": "fill.install", "filled": "fill.filled",
    "fill_line": "fill.line", "place": "place",
}


class Reference:
    """What is where in the cache and who has brought it in; of each warp the last lines that have gone."""

    def __init__(self, config):
        self.count = config.victim_tags
        self.places = {}
        self.askers = {}
        self.gone = [deque(maxlen=config.victim_tags) for _ in range(config.warps)]

    def cycle(self, given):
        """The warps that are told in the next cycle."""
        warp, line = given["warp"], given["line"]
        lost = given["misses"] and line in self.gone[warp]
        if lost:
            # Found, it is a tag no more; its place still ages with the others.
            self.gone[warp] = deque((None if each == line else each for each in self.gone[warp]), self.count)
        if given["fill"]:
            if given["place"] in self.places:
                left, owner = self.places[given["place"]]
                self.gone[owner].append(left)
            self.places[given["place"]] = given["fill_line"], self.askers.get(given["filled"], 0)
        if given["allocate"]:
            self.askers[given["number"]] = warp
        return 1 << warp if lost else 0


@pytest.mark.slow
@pytest.mark.parametrize("config", some_more(CONFIGS, 1), ids=lambda config: f"{config.warps}-{config.victim_tags}")
@pytest.mark.parametrize("seed", some_more([1, 2], 1))
def test_random(config, seed):
    rng = random.Random(f"{seed}/{config.warps}")
    dut, m = VictimTags(config), Module()
    m.domains.sync = domain = ClockDomain()
    m.submodules.dut = dut
    places, mshrs = config.dcache_bytes // 64, config.dcache_mshrs

    async def testbench(ctx):
        reference, told, seen = Reference(config), 0, 0
        for cycle in range(2500):
            # No line that goes is looked up in the same cycle, and none is in two places.
            place, here = rng.randrange(places), {line for line, _ in reference.places.values()}
            going = reference.places.get(place, (None, 0))[0]
            misses = maybe(rng, 0.7)
            given = {
                "misses": misses, "allocate": misses and maybe(rng, 0.6), "number": rng.randrange(mshrs),
                "warp": rng.randrange(config.warps),
                "line": rng.choice([line for line in range(4 * places) if line != going]),
                "fill": maybe(rng, 0.5), "filled": rng.randrange(mshrs), "place": place,
                "fill_line": rng.choice([line for line in range(4 * places) if line not in here]),
            }
            reset = maybe(rng, 0.002)
            ctx.set(domain.rst, reset)
            for name, value in given.items():
                ctx.set(port(dut, PORTS[name]), value)
            assert ctx.get(dut.lost) == told, f"seed {seed}, cycle {cycle}"
            await ctx.tick()
            told = reference.cycle(given)
            seen += told != 0
            if reset:
                # Who asks is not forgotten: what was asked for before is not answered after.
                told, askers = 0, reference.askers
                reference = Reference(config)
                reference.askers = askers
        assert seen > 20

    simulate(m, testbench)
