"""When units that partitions share are free, against the cycles of the operations before."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.config import Units
from metronome.hdl.isa.latencies import unit_latencies
from metronome.hdl.isa.ops import Unit
from metronome.hdl.issue.reservations import UNPIPELINED, UnitSchedule
from metronome.hdl.presets import BASE
from tests.hdl.lib.simulate import simulated

ROUNDED = (Unit.FMA, Unit.FCVT, Unit.FDIV)
#: Units with one instruction a cycle of all partitions together.
GROUPS = ((Unit.DIV,), ROUNDED, (Unit.MUL,))
CONFIGS = [
    replace(BASE, schedulers=2, units=Units.SHARED), replace(BASE, schedulers=2, units=Units.SHARED, issue_latency=3),
    replace(BASE, schedulers=4, units=Units.SHARED, latency_fma=6, latency_fcvt=7, latency_fdiv=19),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.schedulers}, X in {config.issue_latency}")
@simulated(UnitSchedule)
async def test_units_are_free_when_no_operation_is_in_the_way(ctx, dut, config):
    rng = random.Random(config.schedulers)
    latencies, delay = unit_latencies(config), config.issue_latency - 2
    began, due = dict.fromkeys(UNPIPELINED, -100), set()
    begins = [0] * config.schedulers
    refused = set()
    for cycle in range(2000):
        selected = [0] * config.schedulers
        if delay:
            for p, mask in enumerate(begins):
                ctx.set(dut.begins[p], mask)
        free, soon = ctx.get(dut.free), ctx.get(dut.soon)
        for unit in Unit:
            left = began[unit] + latencies[unit] - cycle if unit in UNPIPELINED else 0
            clash = unit in ROUNDED and cycle + latencies[unit] in due
            assert bool(free >> unit.value & 1) == (left <= 0 and not clash), f"cycle {cycle}: {unit}"
            if clash:
                refused.add(unit)
            if unit not in began or began[unit] != cycle:
                assert bool(soon >> unit.value & 1) == (left <= 1), f"cycle {cycle}: {unit}"
        for group in GROUPS:
            unit, p = rng.choice(group), rng.randrange(config.schedulers)
            if free >> unit.value & 1 and not selected[p] and rng.random() < 0.6:
                selected[p] = 1 << unit.value
                if unit in began:
                    began[unit] = cycle
                if unit in ROUNDED:
                    due.add(cycle + latencies[unit])
        begins = selected
        if not delay:
            for p, mask in enumerate(begins):
                ctx.set(dut.begins[p], mask)
        await ctx.tick()
    # No result is due later than that of a division that could begin now.
    assert refused == {Unit.FMA, Unit.FCVT}
