"""Barriers between SMs: who is released, and when."""

import random

import pytest

from metronome.hdl.gpu.barrier import GpuBarrier
from metronome.hdl.gpu.config import GpuConfig
from metronome.hdl.presets import BASE
from tests.hdl.lib.simulate import simulate

SMS = 4


def expected(arrived):
    """The SMs that are released when those of ``arrived``, by SM (id, count), have arrived."""
    released = set()
    for number, (barrier, _) in arrived.items():
        there = [count for other, count in arrived.values() if other == barrier]
        if all(count == len(there) for count in there):
            released.add(number)
    return released


@pytest.mark.parametrize("seed", range(4))
def test_random_arrivals(seed):
    rng = random.Random(seed)
    dut = GpuBarrier(GpuConfig(sm=BASE, sms=SMS))
    releases = 0

    async def run(ctx):
        nonlocal releases
        arrived, released, usual = {}, set(), 2
        for cycle in range(300):
            # Who was released in the last cycle has left, and may come back now.
            for number in released:
                del arrived[number]
            for number in set(range(SMS)) - arrived.keys() - released:
                if rng.random() < 0.2:
                    arrived[number] = rng.randrange(2), usual if rng.random() < 0.9 else rng.randrange(5)
            if cycle % 20 == 19:  # some may be there that ask for different numbers
                arrived, usual = {}, rng.randrange(1, 5)
            for number in range(SMS):
                port = getattr(dut.sms, f"sm_{number}")
                ctx.set(port.arrived, number in arrived)
                ctx.set(port.id, arrived.get(number, (0, 0))[0])
                ctx.set(port.count, arrived.get(number, (0, 0))[1])
            await ctx.tick()
            now = {number for number in range(SMS) if ctx.get(getattr(dut.sms, f"sm_{number}").release)}
            assert now == expected(arrived), f"seed {seed}, cycle {cycle}, {arrived}"
            # They stay for the cycle of the release.
            for number in range(SMS):
                ctx.set(getattr(dut.sms, f"sm_{number}").arrived, number in arrived)
            await ctx.tick()
            again = {number for number in range(SMS) if ctx.get(getattr(dut.sms, f"sm_{number}").release)}
            assert not again & now, f"seed {seed}, cycle {cycle}: {again & now} twice"
            released = now
            releases += len(now)

    simulate(dut, run)
    assert releases > 20
