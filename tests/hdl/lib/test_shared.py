"""Shared modules: elaborated once for equal arguments, and ordinary submodules for every other platform."""

import pytest
from amaranth.back import verilog
from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from metronome.hdl.lib.shared import SharedModules, share_lanes
from tests.hdl.lib.simulate import simulated


class AddTwo(wiring.Component):
    """Two words more, in the next cycle; the sum of both inputs is a part that is shared, too."""

    elaborations = 0

    def __init__(self, *, width: int) -> None:
        self._width = width
        super().__init__({"words": In(data.ArrayLayout(width, 2)), "sum": Out(width)})

    def elaborate(self, platform: object) -> Module:
        AddTwo.elaborations += 1
        m = Module()
        (adder,) = share_lanes(m, platform, PlainAdder, 1, width=self._width)
        m.d.comb += [adder.a.eq(self.words[0]), adder.b.eq(self.words[1])]
        m.d.sync += self.sum.eq(adder.sum + 2)
        return m


class PlainAdder(wiring.Component):
    def __init__(self, *, width: int) -> None:
        super().__init__({"a": In(width), "b": In(width), "sum": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.sum.eq(self.a + self.b)
        return m


class Top(wiring.Component):
    """Three of 8 bits and one of 5."""

    words: In(data.ArrayLayout(8, 2))
    result: Out(data.ArrayLayout(8, 4))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.narrow = narrow = Module()
        lanes = [*share_lanes(m, platform, AddTwo, 3, width=8), *share_lanes(narrow, platform, AddTwo, 1, width=5)]
        for i, (part, width) in enumerate(zip(lanes, (8, 8, 8, 5), strict=True)):
            taken = Signal(width, name=f"taken{i}")
            m.d.comb += [
                part.words[0].eq(self.words[0] + i), part.words[1].eq(self.words[1]),
                taken.eq(part.sum), self.result[i].eq(taken),
            ]
        return m


@simulated(Top)
async def test_ordinary_submodules_elsewhere(ctx, dut):
    ctx.set(dut.words, [100, 50])
    await ctx.tick()
    assert [ctx.get(dut.result[i]) for i in range(4)] == [152, 153, 154, 155 % 32]


@pytest.fixture(scope="module")
def text():
    AddTwo.elaborations = 0
    shared = SharedModules(prefix="house")
    top = verilog.convert(Top(), name="top", platform=shared)
    return top, shared.text


@pytest.mark.more
def test_each_kind_is_elaborated_once(text):
    top, shared = text
    assert AddTwo.elaborations == 2
    assert [line.split("(")[0] for line in shared.splitlines() if line.startswith("module ")] == [
        "module house_plain_adder", "module house_add_two", "module house_plain_adder_2", "module house_add_two_2",
    ]
    assert top.count("house_add_two lane") == 3 and top.count("house_add_two_2 lane0") == 1


@pytest.mark.slow
def test_clocks_go_where_they_are_needed(text):
    top, shared = text
    instances = [piece.split(");")[0] for piece in (top + shared).split("  house_")[1:]]
    assert len(instances) == 6
    for instance in instances:
        assert (".clk(clk)" in instance) == instance.startswith("add_two"), instance
