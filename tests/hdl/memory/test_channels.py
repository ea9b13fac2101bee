"""Channels between the lanes and the L1: warps pass each other, and nothing but time changes."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.config import Channels, SmConfig
from tests.hdl.memory.channel_bench import ChannelBench
from tests.hdl.memory.lsu_programs import random_program, small
from tests.hdl.memory.lsu_traffic import Traffic
from tests.support.tiers import some_long


def free(threads: int, *, cache: str, depth: int, warps: int = 4) -> SmConfig:
    return replace(small(threads, warps=warps, cache=cache), channels=Channels.FREE, channel_depth=depth)


@pytest.mark.more
@pytest.mark.parametrize("shape", some_long([
    ("cached", 10, 4), ("tight", 1, 4), ("tight", 3, 3), ("single", 2, 4), ("uncached", 2, 4), ("cached", 16, 2),
    ("tight", 2, 1),
], 1))
def test_what_loads_see(shape: tuple[str, int, int]) -> None:
    cache, depth, warps = shape
    config = free(4, cache=cache, depth=depth, warps=warps)
    passed = 0
    for seed in range(3):
        rng = random.Random(seed)
        traffic = Traffic(latency=lambda rng, write: rng.randint(1, 20), reorder=True, wb_ready=0.6)
        bench = ChannelBench(config, seed=seed, traffic=traffic)
        bench.run(random_program(rng, config, 80))
        passed += bench.memory_check.passed
    assert passed > 0 or warps == 1
