"""The synchronised front end in a random world: every output in every cycle equals the reference's."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.presets import BASE
from tests.hdl.frontend.swas_harness import OpenFrontEnd, World
from tests.hdl.lib.simulate import simulated
from tests.support.tiers import long_but, more_but, some_long

CONFIGS = [
    replace(BASE, icache_bytes=512, icache_ways=2, icache_mshrs=2),
    replace(BASE, warps=2, icache_bytes=128, icache_ways=1, icache_mshrs=1),
    replace(BASE, warps=8, icache_bytes=512, icache_ways=4, icache_mshrs=3, policies=("gtlo",)),
    replace(BASE, warps=2, icache_bytes=0),
    replace(BASE, warps=6, icache_bytes=0),
]
RATES = {
    "ready": 0.8, "answer": 0.15, "accept": 0.7, "redirect": 0.5, "release": 0.2, "hold": 0.1, "end": 0.1,
    "start": 0.1, "invalidate": 0.003, "halt": 0.02, "policy": 0.02,
}
WORLDS = {
    "mixed": RATES,
    #: Long loops without a miss, one warp after the other.
    "fast": RATES | {"ready": 1.0, "answer": 0.2, "accept": 1.0, "redirect": 0.9, "halt": 0.0, "invalidate": 0.0},
    #: Memory is the bottleneck: many warps wait for an MSHR.
    "missing": RATES | {"answer": 0.08, "accept": 0.3, "invalidate": 0.02, "redirect": 0.9, "hold": 0.02},
}


def label(config: SmConfig) -> str:
    return f"{config.warps}_warps" + ("" if config.icache_bytes else "_without_icache")


@pytest.mark.slow
@pytest.mark.parametrize("rates", some_long(WORLDS, 1))
@pytest.mark.parametrize("config", more_but(long_but(CONFIGS, [CONFIGS[1], CONFIGS[4]]), [CONFIGS[1]]), ids=label)
@simulated(lambda config: OpenFrontEnd(config))
async def test_random(ctx, dut, config, rates):
    seed = f"{config.warps}-{rates}"
    rng = random.Random(seed)
    world = World(dut, config, rng, WORLDS[rates], f"seed {seed}")
    for _ in range(1200):
        await world.step(ctx)
    seen = world.reference.seen
    assert world.issued >= 100, f"seed {seed}: only {world.issued} instructions: {seen}"
    events = ["miss", "redirect", "nop", "squashed suspension"]
    if rates == "mixed":
        events.append("redirect in the cycle of the miss")
    if not config.icache_bytes:
        events += ["another line of the warp", *["line requested by two", "another warp's answer"][:config.warps - 2]]
    elif config.warps > 2:
        events.append("refill in the cycle of the miss")
    for event in events:
        assert seen[event] > 0, f"seed {seed}: {event} happened {seen[event]} times: {seen}"
