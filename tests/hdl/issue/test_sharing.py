"""Fixed turns in one set of units: no two partitions may ever meet in a unit, in a rounder, or at a writeback port."""

from collections import defaultdict
from dataclasses import replace

import pytest

from metronome.hdl.config import Units
from metronome.hdl.config_checks import SLOTS_OF_TURNS
from metronome.hdl.isa.latencies import unit_latencies
from metronome.hdl.isa.ops import Unit
from metronome.hdl.isa.sharing import partitions_of_a_port, partitions_of_an_alu
from metronome.hdl.issue.sharing import Sharing
from metronome.hdl.lib.partitions import named
from metronome.hdl.presets import BASE
from tests.hdl.lib.simulate import simulated

ROUNDED, DIVISIONS = (Unit.FMA, Unit.FCVT, Unit.FDIV), (Unit.DIV, Unit.FDIV)
TWO, FOUR = (replace(BASE, schedulers=count, warps=8, units=Units.SHARED) for count in (2, 4))
CONFIGS = {
    "two": TWO, "two with one port": replace(TWO, alu_ports=1, writeback_ports=1, issue_latency=3),
    "four": FOUR, "four, slow": replace(
        FOUR, latency_mul=7, latency_div=40, latency_fma=8, latency_fcvt=5, latency_fdiv=37, latency_fmisc=5),
    "four with one port": replace(FOUR, alu_ports=4, writeback_ports=1, latency_fma=5, latency_fcvt=5, latency_mul=5),
    "four with one ALU": replace(FOUR, alu_ports=1, writeback_ports=4),
}


class Uses:
    """What each partition uses in each cycle, if it selects everything that it may."""

    def __init__(self, config):
        self.config, self.latencies = config, unit_latencies(config)
        self.of = defaultdict(set)

    def select(self, p, unit, cycle):
        """A partition may select an instruction of a unit."""
        latency = self.latencies.get(unit, 0)
        written = cycle + self.config.issue_latency + latency
        if unit is Unit.ALU:
            self.use(p, ("ALU", p // partitions_of_an_alu(self.config)), cycle)
        elif unit in ROUNDED:
            self.use(p, "float", cycle)
            self.use(p, "rounder", written)
        elif unit not in (Unit.BRANCH, Unit.SYSTEM):  # each partition has its own
            self.use(p, "masks and CSRs" if unit in (Unit.SIMT, Unit.CSR) else unit, cycle)
        for busy in range(latency if unit in DIVISIONS else 0):
            self.use(p, f"{unit}, busy", cycle + busy)
        if latency:
            self.write(p, written)

    def use(self, p, what, cycle):
        self.of[what, cycle].add(p)

    def write(self, p, cycle):
        self.use(p, ("port", p // partitions_of_a_port(self.config)), cycle)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=list(CONFIGS))
@simulated(Sharing)
async def test_partitions_never_meet(ctx, dut, config):
    """Over three periods, which begin with a launch: each partition has all units, and none that another one has."""
    uses, has = Uses(config), defaultdict(set)
    ports = [getattr(dut, named("partition", p)) for p in range(config.schedulers)]
    ctx.set(dut.start, 1)
    await ctx.tick()
    ctx.set(dut.start, 0)
    for cycle in range(3 * SLOTS_OF_TURNS):
        for p, port in enumerate(ports):
            shares_port = partitions_of_a_port(config) > 1
            turn, slots = ctx.get(port.turn), ctx.get(port.slot_turn) if shares_port else -1
            for unit in Unit:
                if turn >> unit.value & slots >> unit.value & 1:
                    uses.select(p, unit, cycle)
                    has[p, unit].add(cycle)
            if not shares_port or ctx.get(port.load_slot):
                uses.write(p, cycle + 1)
                has[p, "load"].add(cycle)
        await ctx.tick()
    assert {key: its for key, its in uses.of.items() if len(its) > 1} == {}
    for p in range(config.schedulers):
        for what in (*Unit, "load"):
            # Also in the last one: it does not run out of cycles.
            assert {cycle // SLOTS_OF_TURNS for cycle in has[p, what]} == {0, 1, 2}, f"{p}, {what}"


@pytest.mark.parametrize("config", CONFIGS.values(), ids=list(CONFIGS))
@simulated(Sharing)
async def test_each_period_is_the_same(ctx, dut, config):
    """So a policy of fixed slots lets each warp use each unit: periods and slots have no common divisor."""
    ports = [getattr(dut, named("partition", p)) for p in range(config.schedulers)]
    ctx.set(dut.start, 1)
    await ctx.tick()
    ctx.set(dut.start, 0)
    periods = [[], []]
    for period in periods:
        for _ in range(SLOTS_OF_TURNS):
            period.append([ctx.get(port.turn) for port in ports])
            await ctx.tick()
    assert periods[0] == periods[1]
    assert all(SLOTS_OF_TURNS % divisor for divisor in range(2, SLOTS_OF_TURNS))
