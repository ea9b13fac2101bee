"""The contract of the fused multiply-add unit: when, in which lanes, and what holds still."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator
from fpu_operands import softfloat
from fpu_units import FpuOperation, OneOf, check_fpu_unit
from lane_harness import spread
from test_fma import REFERENCES

from metronome.hdl.execute.fpu import fma
from metronome.hdl.execute.fpu.fma import FmaLane, FmaUnit
from metronome.hdl.execute.fpu.formats import Rounding
from metronome.hdl.isa.ops import FmaOp, Unit
from metronome.hdl.presets import TINY

CONFIGS = [TINY, replace(TINY, threads=4), *(replace(TINY, threads=2, latency_fma=n) for n in (5, 6, 7)),
           replace(TINY, threads=1, latency_fma=8)]


def label(config):
    return f"{config.threads}_threads_latency_{config.latency_fma}"


def reference(op, rm, *operands):
    operation, draw, _ = REFERENCES[op]
    used = operands[:3 if draw.__name__ == "ternary" else 2]
    result, flags = softfloat(operation, [np.array([operand], np.uint32) for operand in used], rm)
    return int(result[0]), int(flags[0])


@pytest.mark.parametrize("config", CONFIGS, ids=label)
@pytest.mark.parametrize("gap", [0, 6], ids=["full_throughput", "gaps"])
def test_random(config, gap):
    seed = 1000 + 100 * config.threads + 10 * config.latency_fma + gap
    rng = random.Random(seed)
    operations = [FpuOperation.random(rng, FmaOp, config.threads, count=3) for _ in range(80)]
    check_fpu_unit(OneOf(config, Unit.FMA), config, spread(operations, rng, distance=1, gap=gap), latency=config.latency_fma,
                   reference=reference, rng=rng, label=f"seed {seed}")


@pytest.mark.parametrize("age", range(1, 5))
def test_reset_empties_the_pipeline(age):
    """An operation that is ``age`` cycles old at the reset completes only if it is due by then."""
    config = CONFIGS[1]
    rng = random.Random(age)
    schedule = {cycle: FpuOperation.random(rng, FmaOp, 4, count=3) for cycle in (0, 10, 11 + age)}
    schedule[10] = replace(schedule[10], mask=15)
    check_fpu_unit(OneOf(config, Unit.FMA), config, schedule, latency=4, reference=reference, rng=rng,
                   reset_at=10 + age, label=f"reset at age {age}")


PARTS = ("SelectTerms", "Unpack", "Multiply", "Align", "Add", "NormaliseSum", "Denormalise", "Round")


@pytest.mark.parametrize("stages", range(4, 9))
def test_an_idle_lane_holds_still(stages, monkeypatch):
    """From the cycle after its last operation no port of any part toggles, whatever the unit does for other lanes."""
    rng = random.Random(stages)
    ports = []

    def recorded(component):
        def make():
            part = component()
            ports.extend(Value.cast(getattr(part, name)) for name in part.signature.members)
            return part
        return make

    for name in PARTS:
        monkeypatch.setattr(fma, name, recorded(getattr(fma, name)))
    lane = FmaLane(stages=stages)

    async def testbench(ctx):
        async def cycle(active):
            ctx.set(lane.enable, active)
            ctx.set(lane.advance, (1 << stages - 1) - 1 if active else 0)
            ctx.set(lane.op, rng.choice(list(FmaOp)))
            ctx.set(lane.rm, rng.choice(list(Rounding)))
            for port in (lane.a, lane.b, lane.c):
                ctx.set(port, rng.getrandbits(32))
            seen = [ctx.get(port) for port in ports]
            await ctx.tick()
            return seen

        busy = [await cycle(True) for _ in range(40)]
        await cycle(False)
        idle = [await cycle(False) for _ in range(20)]
        assert all(now == idle[0] for now in idle), f"seed {stages}"
        assert all(len(set(values)) > 1 for values in zip(*busy, strict=True)), f"seed {stages}: a port never toggles"

    sim = Simulator(lane)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.run()
    assert len(ports) > 30
