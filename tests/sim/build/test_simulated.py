"""Memories as they are simulated: that they do what the exported ones do, and which are left to Amaranth."""

import functools

import pytest
from amaranth.back import verilog
from amaranth.hdl import ClockDomain, Module
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from metronome.sim.build.simulated import Simulated
from tests.sim.build.two_forms import require_the_same


class Stored(wiring.Component):
    """A memory with a port for writing and two for reading, and with what ``options`` say."""

    def __init__(self, *, width=8, depth=16, granularity=None, init=(), transparent=False, domain="sync", array=False):
        self._shape = data.ArrayLayout(8, width // 8) if array else width
        self._depth, self._init, self._granularity = depth, init, granularity
        self._transparent, self._domain = transparent, domain
        parts = width // 8 if array else width
        super().__init__({
            "enable": In(1 if granularity is None else parts // granularity), "place": In(5), "word": In(width),
            "first": In(5), "reading": In(1), "second": In(5), "now": Out(width), "later": Out(width),
        })

    def elaborate(self, platform):
        m = Module()
        if self._domain != "sync":
            m.domains += ClockDomain(self._domain, local=True)
        m.submodules.memory = memory = Memory(shape=self._shape, depth=self._depth, init=self._init)
        write = memory.write_port(granularity=self._granularity, domain=self._domain)
        now = memory.read_port(domain="comb")
        later = memory.read_port(transparent_for=[write] if self._transparent else (), domain=self._domain)
        m.d.comb += [
            write.en.eq(self.enable), write.addr.eq(self.place), write.data.eq(self.word),
            now.addr.eq(self.first), later.addr.eq(self.second), later.en.eq(self.reading),
            self.now.eq(now.data), self.later.eq(later.data),
        ]
        return m


#: What an SM has: words and bits of them, parts of them, depths that are no powers of two.
KINDS = [{}, {"width": 1, "depth": 2}, {"width": 32, "granularity": 1}, {"width": 31, "depth": 32},
         {"width": 32, "granularity": 1, "array": True}, {"width": 24, "granularity": 8}, {"width": 30, "depth": 5}]
#: What it does not have, and what is not zeros at the start, for a policy from outside.
OTHERS = {
    "init": {"init": [0, 3]}, "transparent": {"transparent": True}, "another clock": {"domain": "other"},
    "one word": {"depth": 1},
}


def written(**options):
    platform = Simulated(prefix="prefix")
    text = verilog.convert(Stored(**options), name="stored", platform=platform)
    return text + platform.text


@pytest.mark.more
def test_a_memory_does_what_the_exported_one_does(tmp_path):
    units = {f"u{number}": functools.partial(Stored, **options) for number, options in enumerate(KINDS)}
    require_the_same(tmp_path, units, Simulated)


@pytest.mark.parametrize("options", KINDS)
def test_the_memories_of_an_sm_are_written_here(options):
    text = written(**options)
    assert "module prefix_memory_0(" in text and "initial begin" not in text


@pytest.mark.parametrize("options", OTHERS.values(), ids=OTHERS)
def test_any_other_is_left_to_amaranth(options):
    assert "prefix_memory" not in written(**options)


def test_memories_of_one_kind_are_one_module():
    class Two(wiring.Component):
        out: Out(1)

        def elaborate(self, platform):
            m = Module()
            m.submodules.a, m.submodules.b = Stored(), Stored()
            m.submodules.c = Stored(depth=32)
            return m

    platform = Simulated(prefix="prefix")
    verilog.convert(Two(), name="two", platform=platform)
    assert platform.text.count("module prefix_memory_") == 2
