"""Arrays of lanes: when a cell is evaluated, what is refused, and that all lanes of the SM do as they do alone."""

import functools

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from metronome.hdl.execute.alu import AluLane
from metronome.hdl.execute.div import DivLane
from metronome.hdl.execute.fpu.lane import FloatLane
from metronome.hdl.execute.fpu.misc import FmiscLane
from metronome.hdl.execute.mul import MulLane
from metronome.hdl.lib.shared import share_lanes
from metronome.hdl.presets import PRESETS
from metronome.sim.build.lane_arrays.netlist import netlists_of, source_of
from metronome.sim.build.lane_arrays.order import blocks, idle_inputs
from metronome.sim.build.lane_arrays.platform import LaneArrays
from metronome.sim.build.lane_arrays.writer import write_array
from tests.sim.build.lane_arrays.lanes import Both, Direct, Either, Free, Inverted, Reset, Small, Unless
from tests.sim.build.two_forms import require_the_same

FLOAT = {"front", "convert", "back", "divide", "start", "step", "clear"}
#: Lane, arguments, and the enables that keep it idle while they are 0.
LANES = [
    (Small, {}, {"take", "advance"}),
    (Either, {}, {"one", "other", "instead"}),
    (Both, {}, {"one"}),
    (AluLane, {}, {"enable"}),
    (MulLane, {"stages": 2}, {"enable", "advance"}),
    (MulLane, {"stages": 4}, {"enable", "advance"}),
    (DivLane, {}, {"start", "step", "finish"}),
    (FmiscLane, {"stages": 2}, {"enable", "advance"}),
    (FmiscLane, {"stages": 4}, {"enable", "advance"}),
    (FloatLane, {"latency_fma": 4, "latency_fcvt": 5, "latency_fdiv": 16}, FLOAT),
    (FloatLane, {"latency_fma": 6, "latency_fcvt": 5, "latency_fdiv": 17}, FLOAT),
    (FloatLane, {"latency_fma": 8, "latency_fcvt": 6, "latency_fdiv": 19}, FLOAT | {"prepare"}),
]


def netlist_of(component):
    return netlists_of({"lane": source_of(component, "lane")})["lane"]


@pytest.mark.parametrize(("lane", "arguments", "enables"), LANES)
def test_a_lane_is_idle_while_its_enables_are_0(lane, arguments, enables):
    netlist = netlist_of(lane(**arguments))
    found = {netlist.drivers[bit][0] for bit in idle_inputs(netlist)}
    assert found == enables


def test_several_lanes_are_read_at_once():
    found = netlists_of({"one": source_of(AluLane(), "one"), "two": source_of(MulLane(stages=4), "two")})
    assert [set(found["one"].inputs), set(found["two"].inputs)] == [
        {"enable", "op", "a", "b"}, {"enable", "advance", "a", "b", "a_signed", "b_signed", "high"}]
    assert netlists_of({}) == {}


@pytest.mark.parametrize(("lane", "arguments", "enables"), LANES)
def test_a_cell_stands_behind_what_it_reads_and_runs_when_it_is_needed(lane, arguments, enables):
    netlist = netlist_of(lane(**arguments))
    evaluated, allowed = set(), {}
    for condition, names in blocks(netlist):
        assert {name for name in netlist.driving(list(condition)) if name in netlist.cells} <= evaluated
        for name in names:
            bits = [bit for word in netlist.cells[name].inputs.values() for bit in word]
            read = {other for other in netlist.driving(bits) if other in netlist.cells}
            assert read <= evaluated
            evaluated.add(name)
            allowed[name] = condition
            # What it reads is evaluated whenever it is itself.
            assert all(not allowed[other] or (condition and condition <= allowed[other]) for other in read)
    assert evaluated == set(netlist.cells)
    for register in netlist.registers.values():
        for name in netlist.driving(register.data):
            assert name not in allowed or not allowed[name] or register.enable in allowed[name]


@pytest.mark.parametrize(("lane", "reason"), [
    (Free, "without an enable that is active high is never idle"),
    (Inverted, "without an enable that is active high is never idle"),
    (Unless, "an enable that is not 0 for inputs of 0 is never idle"),
    (Reset, "with a reset is never idle"),
    (Direct, "the output result of a lane must come from registers alone"),
])
def test_a_lane_that_is_never_idle_is_refused(lane, reason):
    with pytest.raises(ValueError, match=reason):
        write_array("lanes", netlist_of(lane()), 4)


class Unit(wiring.Component):
    """Lanes of one kind, with the ports of each: so the same for arrays and for instances."""

    def __init__(self, lane, arguments, count):
        self._lane, self._arguments, self._count = lane, arguments, count
        members = {}
        one = lane(**arguments)
        for path, member, value in one.signature.flatten(one):
            width = len(value.as_value()) if hasattr(value, "as_value") else len(value)
            flow = In if member.flow is wiring.In else Out
            members |= {f"{'__'.join(map(str, path))}_{i}": flow(width) for i in range(count) if width}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        for i, lane in enumerate(share_lanes(m, platform, self._lane, self._count, **self._arguments)):
            for path, member, value in lane.signature.flatten(lane):
                port = getattr(self, f"{'__'.join(map(str, path))}_{i}", None)
                if port is not None:
                    m.d.comb += value.eq(port) if member.flow is wiring.In else port.eq(value)
        return m


@pytest.mark.more
def test_an_array_does_what_its_lanes_do(tmp_path):
    units = {f"u{number}": functools.partial(Unit, lane, arguments, 3)
             for number, (lane, arguments, _) in enumerate(LANES)}
    require_the_same(tmp_path, units, LaneArrays)


def test_every_preset_has_lanes_that_can_be_arrays():
    """Their parameters; those of the others are above."""
    assert {(config.latency_mul, config.latency_fmisc, config.latency_fma, config.latency_fcvt, config.latency_fdiv)
            for config in PRESETS.values()} == {(4, 2, 4, 5, 16), (4, 2, 6, 5, 17)}
