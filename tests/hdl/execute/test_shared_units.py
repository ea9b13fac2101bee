"""SharedUnits: instructions of several partitions in one set of units, each result at its partition's port."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.config import Units
from metronome.hdl.execute.shared_units import SharedUnits
from metronome.hdl.isa.latencies import unit_latencies
from metronome.hdl.isa.ops import Unit
from metronome.hdl.lib.partitions import named
from metronome.hdl.presets import TINY
from tests.hdl.execute.test_compute import FLOATS, OPS, _operands
from tests.hdl.lib.simulate import set_all, simulated
from tests.support.tiers import more_but

TWO = replace(TINY, schedulers=2, units=Units.SHARED)
FOUR = replace(TINY, warps=4, schedulers=4, units=Units.SHARED)
CONFIGS = {
    "two": TWO, "one ALU and port": replace(TWO, alu_ports=1, writeback_ports=1), "four": FOUR,
    "one ALU": replace(FOUR, alu_ports=1, writeback_ports=4), "one port": replace(FOUR, alu_ports=4, writeback_ports=1),
}
ROUNDED = (Unit.FMA, Unit.FCVT, Unit.FDIV)


class Partition:
    """The ports of a partition."""

    def __init__(self, dut, number):
        self._dut, self._number = dut, number

    def __getattr__(self, name):
        return getattr(self._dut, named(name, self._number))


class Traffic:
    """What is under way: by partition and cycle of its write the unit, the values and the mask."""

    def __init__(self, config):
        self.config, self.latencies = config, unit_latencies(config)
        self.alus, self.ports = (getattr(config, name) or 2 for name in ("alu_ports", "writeback_ports"))
        self.due = {}
        self.rounded, self.free, self.taken = set(), {Unit.DIV: 0, Unit.FDIV: 0}, set()

    def port_of(self, p):
        return p * self.ports // self.config.schedulers

    def takes(self, p, unit, cycle):
        """Whether the partition's instruction may start now; then it is under way."""
        at = cycle + self.latencies[unit]
        name = "float" if unit in ROUNDED else unit
        key = (name, p * self.alus // self.config.schedulers) if unit is Unit.ALU else name
        if key in self.taken or cycle < self.free.get(unit, 0) or (unit in ROUNDED and at in self.rounded):
            return False
        if any((q, at) in self.due for q in range(self.config.schedulers) if self.port_of(q) == self.port_of(p)):
            return False
        self.taken.add(key)
        if unit in self.free:
            self.free[unit] = at
        if unit in ROUNDED:
            self.rounded.add(at)
        return True


@pytest.mark.slow
@pytest.mark.parametrize("config", more_but(CONFIGS.values(), [CONFIGS["one ALU and port"]]), ids=list(CONFIGS))
@simulated(SharedUnits)
async def test_results_at_their_partitions(ctx, dut, config):
    """Random operations of all partitions, as far as units and ports allow; each result latency cycles later."""
    rng = random.Random(config.schedulers)
    traffic, partitions = Traffic(config), [Partition(dut, p) for p in range(config.schedulers)]
    checked = set()
    for cycle in range(300):
        traffic.taken = set()
        for p in rng.sample(range(config.schedulers), config.schedulers):
            start(ctx, rng, traffic, p, partitions[p], cycle)
        for p, ports in enumerate(partitions):
            due = (p, cycle) in traffic.due
            if traffic.ports < config.schedulers:
                ctx.set(ports.due, due)
            if due:
                ctx.set(ports.write_unit, traffic.due[p, cycle][0])
        for p, ports in enumerate(partitions):
            if (p, cycle) in traffic.due:
                checked.add(check(ctx, ports, *traffic.due[p, cycle], f"cycle {cycle}, partition {p}"))
        assert not ctx.get(dut.clash)
        await ctx.tick()
    assert checked == {unit for unit, _, _ in OPS}


def start(ctx, rng, traffic, p, ports, cycle):
    """Let a partition start a random operation, if it may."""
    config = traffic.config
    unit, op, reference = rng.choice(OPS)
    o = _operands(rng, config.threads)
    if unit is not Unit.ALU:
        o["use_pc"] = o["use_imm"] = False
    valid = rng.random() < 0.9 and traffic.takes(p, unit, cycle)
    decoded = ports.x.entry.decoded
    set_all(ctx, (
        (ports.x.valid, valid), (ports.x.mask, o["mask"]), (ports.x.entry.pc, o["pc"]), (decoded.op, op.value),
        (decoded.imm, o["imm"]), (decoded.use_pc, o["use_pc"]), (decoded.use_imm, o["use_imm"]),
        (decoded.info.unit, unit), (ports.x.rs1, o["rs1"]), (ports.x.rs2, o["rs2"]), (ports.x.rs3, o["rs3"]),
        (ports.rm, o["rm"]),
    ))
    if valid:
        a = [o["pc"]] * config.threads if o["use_pc"] else o["rs1"]
        b = [o["imm"]] * config.threads if o["use_imm"] else o["rs2"]
        expected = [reference(*abc, o["rm"]) if unit in FLOATS else reference(*abc[:2])
                    for abc in zip(a, b, o["rs3"], strict=True)]
        traffic.due[p, cycle + traffic.latencies[unit]] = (unit, expected, o["mask"])


def check(ctx, ports, unit, expected, mask, what):
    """Check the result of an operation; return its unit."""
    raised = 0
    for lane, value in enumerate(expected):
        if mask >> lane & 1:
            if unit in FLOATS:
                value, flags = value
                raised |= flags
            assert ctx.get(ports.result[lane]) == value, f"{what}: {unit}"
    assert ctx.get(ports.flags) == raised, f"{what}: {unit}"
    return unit


@simulated(lambda: SharedUnits(TWO))
async def test_two_partitions_in_one_unit_are_seen(ctx, dut):
    partitions = [Partition(dut, p) for p in range(2)]
    for unit, wrong in ((Unit.MUL, True), (Unit.ALU, False), (Unit.FMA, True), (Unit.BRANCH, False)):
        for ports in partitions:
            ctx.set(ports.x.valid, 1)
            ctx.set(ports.x.entry.decoded.info.unit, unit)
        assert ctx.get(dut.clash) == wrong, unit


@simulated(lambda: SharedUnits(CONFIGS["one ALU and port"]))
async def test_a_scalar_is_that_of_the_partition_that_writes(ctx, dut):
    partitions = [Partition(dut, p) for p in range(2)]
    for p, ports in enumerate(partitions):
        ctx.set(ports.write_unit, Unit.CSR)
        ctx.set(ports.scalar, 0x100 + p * 16)
        ctx.set(ports.add_lane, p)
    for p, ports in enumerate(partitions):
        for q, other in enumerate(partitions):
            ctx.set(other.due, p == q)
        assert [ctx.get(ports.result[lane]) for lane in range(2)] == [0x100 + p * 16 + lane * p for lane in range(2)]
