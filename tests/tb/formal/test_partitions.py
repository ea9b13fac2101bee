"""P9 and P10, and P1 to P8 of a partition (docs/proof.md): nothing that partitions do is assumed away."""

import pytest
from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.hdl._ast import SignalDict
from amaranth.sim import Simulator

from metronome.hdl.config import Turns, Units
from metronome.hdl.presets import PIPELINES
from metronome.tb.formal.flow import Case, as_problem, bounded_check, prove
from metronome.tb.formal.inside import Internals
from metronome.tb.formal.matrix import cases
from metronome.tb.formal.separation import SeparationModel
from metronome.tb.formal.shared_reads import read_instead
from metronome.tb.formal.turns import TurnsModel
from tests.support.tiers import some_long

TWO = (("schedulers", 2),)
CHIP = tuple(PIPELINES["fpga"].items())
#: One set of units, with as many and with fewer writeback ports than partitions.
SHARED = (*TWO, ("units", Units.SHARED))
PORT = (*SHARED, ("alu_ports", 1), ("writeback_ports", 1))
OLDER = ("turns", Turns.OLDER)


class Indexed(Elaboratable):
    """Assigns a bit whose index it reads."""

    def __init__(self):
        self.index, self.value, self.out = Signal(2, name="index"), Signal(name="value"), Signal(4, name="out")

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.out.bit_select(self.index, 1).eq(self.value)
        return m


def test_a_design_reads_the_signals_of_another():
    """It reads another index, and goes on to drive its own output."""
    part, index = Indexed(), Signal(2, init=3)
    inside = Internals(part)
    read_instead(inside.fragment, SignalDict([(part.index, index)]))
    m = Module()
    m.submodules.part = inside.fragment
    seen = []

    async def testbench(ctx):
        ctx.set(part.value, 1)
        seen.append(ctx.get(part.out))

    simulator = Simulator(m)
    simulator.add_testbench(testbench)
    simulator.run()
    assert seen == [0b1000]


#: P10 of the second partition: the first has the first turn, and its number is all zeros.
FIRST = [
    Case("P9", warps=4, parameters=TWO), Case("P10", warps=4, parameters=TWO, partition=1),
    Case("P9", warps=4, parameters=PORT), Case("P10", warps=4, parameters=PORT, partition=1),
    Case("P9", warps=4, parameters=(*TWO, *CHIP)), Case("P10", warps=4, parameters=(*TWO, *CHIP), partition=1),
    *(Case("P9", warps=4, parameters=its) for its in (SHARED, (*SHARED, *CHIP), (*PORT, *CHIP), (*TWO, OLDER),
                                                      (*PORT, OLDER), (*PORT, OLDER, *CHIP))),
    *(Case("P10", warps=4, parameters=its, partition=1) for its in (SHARED, (*PORT, *CHIP))),
    *(Case("P10", scheme, warps=4, parameters=TWO, prediction="private") for scheme in ("swas", "baseline", "vortex")),
]


def name(case):
    fields = "-".join(f"{value}" for _, value in case.parameters)
    return f"{case.property}-{case.scheme}-{case.prediction}-{case.warps}-{fields}-{case.partition}"


@pytest.mark.more
@pytest.mark.parametrize("case", some_long(FIRST, 4), ids=name)
def test_partitions(case):
    proof = prove(case)
    assert (proof.result, proof.method, proof.depth) == ("pass", "induction", 1), proof.counterexample


@pytest.mark.long
@pytest.mark.parametrize("case", [
    case for schedulers in (2, 4) for chip in ({}, dict(CHIP))
    for shape in ({}, {"units": Units.SHARED}, {"units": Units.SHARED, "turns": Turns.OLDER})
    for case in cases(None if not shape else ["P9", "P10"], schemes=["swas"], policies=["lrr"], predictions=["btfn"],
                      warps=[8, 32], parameters={"schedulers": schedulers, **shape, **chip})
], ids=name)
def test_large(case):
    test_partitions(case)


def others(model):
    return [p for machine in model.machines for p in machine.partitions if p.number != 0]


def loads(part):
    return part.issue.lsu_take


#: What has to be possible under the assumptions of P10, as a function of the model; for partition 0.
EVENTS = {
    "it selects a load while the other one does in the other SM":
        lambda model: loads(model.pair[0]) & (others(model)[0].front.selection.select
                                              != others(model)[1].front.selection.select),
    "memory takes its request, and the other one's in the other SM only":
        lambda model: model.pair[0].front.mem.request.ready & model.pair[0].front.mem.request.valid
        & (others(model)[0].front.mem.request.valid != others(model)[1].front.mem.request.valid),
    "it executes a SIMT instruction, and the other one is elsewhere":
        lambda model: model.pair[0].unit.simt.valid
        & (others(model)[0].issue.operands.valid != others(model)[1].issue.operands.valid),
    "it gets a loaded value": lambda model: model.pair[0].issue.load.valid & model.pair[0].issue.load.ready,
}


@pytest.mark.more
@pytest.mark.parametrize("event", some_long(EVENTS, 1))
def test_nothing_is_assumed_away(event):
    model = SeparationModel(Case("P10", warps=4, parameters=TWO).config(), 0, lemmas=False,
                            asserts=lambda text: text in EVENTS)
    model.claim(event, ~EVENTS[event](model))
    found = bounded_check(as_problem(event, model), 12)
    assert found is not None, f"cannot happen: {event}"
    assert event in found.violated


def test_computed_turns_separate_nothing():
    with pytest.raises(ValueError, match="turns must be alternate for P10, not older"):
        Case("P10", warps=4, parameters=(*TWO, OLDER))


@pytest.mark.long
@pytest.mark.parametrize("part", ["launch", "port", "own", "memory", "masks", "csrs"])
def test_each_assumption_is_needed(part, monkeypatch):
    """Partitions do feel each other in the ways that docs/design.md lists."""
    monkeypatch.setattr(SeparationModel, f"_from_{part}", lambda self: [])
    model = SeparationModel(Case("P10", warps=4, parameters=TWO).config(), 1, lemmas=False)
    assert bounded_check(as_problem(part, model), 16) is not None


@pytest.mark.long
def test_each_partition_has_its_turns_and_uses_them():
    model = TurnsModel(Case("P9", warps=4, parameters=TWO).config(), lemmas=False, asserts=lambda text: text == "never")
    one, other = model.partitions
    last = Signal()
    model.m.d.sync += last.eq(loads(one))
    model.claim("never", ~(last & loads(other)))
    assert bounded_check(as_problem("turns", model), 14) is not None
