"""When units that partitions share are free, against the cycles of the operations before."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.config import Turns, Units
from metronome.hdl.isa.latencies import unit_latencies
from metronome.hdl.isa.ops import Unit
from metronome.hdl.issue.reservations import UNPIPELINED, UnitSchedule
from metronome.hdl.presets import BASE
from tests.hdl.lib.simulate import simulated

ROUNDED = (Unit.FMA, Unit.FCVT, Unit.FDIV)
#: Units with one instruction a cycle of all partitions together.
GROUPS = ((Unit.DIV,), ROUNDED, (Unit.MUL,))
CONFIGS = [
    replace(BASE, schedulers=2, units=Units.SHARED, turns=Turns.OLDER),
    replace(BASE, schedulers=2, units=Units.SHARED, turns=Turns.OLDER, issue_latency=3),
    replace(BASE, schedulers=4, units=Units.SHARED, turns=Turns.OLDER, latency_fma=6, latency_fcvt=7, latency_fdiv=19),
]


class Operations:
    """Those that were selected: the cycle of the last one of each unit that is not pipelined, and results due."""

    def __init__(self, config):
        self.latencies = unit_latencies(config)
        self.began, self.due = dict.fromkeys(UNPIPELINED, -100), set()

    def left(self, unit, cycle):
        """Cycles until the unit takes another operation."""
        return self.began[unit] + self.latencies[unit] - cycle if unit in UNPIPELINED else 0

    def clashes(self, unit, cycle):
        """Whether the result would come with another one."""
        return unit in ROUNDED and cycle + self.latencies[unit] in self.due

    def select(self, rng, config, free, cycle):
        """Select for each group an instruction of a partition, or none; return the masks of units."""
        selected = [0] * config.schedulers
        for group in GROUPS:
            unit, p = rng.choice(group), rng.randrange(config.schedulers)
            if free >> unit.value & 1 and not selected[p] and rng.random() < 0.6:
                selected[p] = 1 << unit.value
                if unit in UNPIPELINED:
                    self.began[unit] = cycle
                if unit in ROUNDED:
                    self.due.add(cycle + self.latencies[unit])
        return selected


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.schedulers}, X in {config.issue_latency}")
@simulated(UnitSchedule)
async def test_units_are_free_when_no_operation_is_in_the_way(ctx, dut, config):
    rng, operations = random.Random(config.schedulers), Operations(config)
    begins, refused = [0] * config.schedulers, set()
    for cycle in range(2000):
        if config.operand_register:
            _begin(ctx, dut, begins)
        free, soon = ctx.get(dut.free), ctx.get(dut.soon)
        for unit in Unit:
            left, clashes = operations.left(unit, cycle), operations.clashes(unit, cycle)
            assert bool(free >> unit.value & 1) == (left <= 0 and not clashes), f"cycle {cycle}: {unit}"
            assert bool(soon >> unit.value & 1) == (left <= 1), f"cycle {cycle}: {unit}"
            if clashes:
                refused.add(unit)
        begins = operations.select(rng, config, free, cycle)
        if not config.operand_register:
            _begin(ctx, dut, begins)
        await ctx.tick()
    # No result is due later than that of a division that could begin now.
    assert refused == {Unit.FMA, Unit.FCVT}


def _begin(ctx, dut, begins):
    for p, mask in enumerate(begins):
        ctx.set(dut.begins[p], mask)
