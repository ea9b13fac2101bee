"""What a host sees of a GPU: the fault of one SM, and the counter of the one that it chooses."""

import random

import pytest

from metronome.hdl.gpu.config import GpuConfig
from metronome.hdl.gpu.host_view import HostView
from metronome.hdl.presets import BASE
from tests.hdl.lib.simulate import simulate


@pytest.mark.parametrize("sms", [2, 4])
def test_random_outputs(sms):
    rng = random.Random(sms)
    dut = HostView(GpuConfig(sm=BASE, sms=sms))

    async def run(ctx):
        for step in range(200):
            faults = [rng.random() < 0.3 for _ in range(sms)]
            places, values = ([rng.randrange(1 << bits) for _ in range(sms)] for bits in (32, 48))
            valid = [rng.randrange(2) for _ in range(sms)]
            chosen = rng.randrange(sms)
            ctx.set(dut.counter_sm, chosen)
            for number in range(sms):
                sm = getattr(dut.sms, f"sm_{number}")
                ctx.set(sm.fault_valid, faults[number])
                ctx.set(sm.fault.pc, places[number])
                ctx.set(sm.fault.cause, number)
                ctx.set(sm.counter_value, values[number])
                ctx.set(sm.counter_valid, valid[number])
            await ctx.delay(1e-7)
            where = f"seed {sms}, step {step}"
            assert (ctx.get(dut.counter_value), ctx.get(dut.counter_valid)) == (values[chosen], valid[chosen]), where
            assert ctx.get(dut.fault_valid) == any(faults), where
            if any(faults):
                first = faults.index(True)
                found = (ctx.get(dut.fault_sm), ctx.get(dut.fault.pc), ctx.get(dut.fault.cause))
                assert found == (first, places[first], first), where

    simulate(dut, run)
