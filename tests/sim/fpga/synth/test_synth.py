"""Synthesis with the real tools, on units small enough to take seconds."""

import dataclasses
import json
from fnmatch import fnmatch

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from metronome.hdl.config import Coordination
from metronome.hdl.presets import TINY
from metronome.sim.fpga.synth import UNITS, Area, Cells, Options, SynthesisError, breakdown, make_unit, synthesize
from metronome.sim.fpga.synth.flow import ALONE, PLACERS, mapping, netlist, place_and_route, rtlil_of
from metronome.sim.fpga.synth.parts import parts
from metronome.sim.fpga.synth.report import unit_module
from metronome.sim.fpga.synth.units import UnitEntry
from tests.support.tiers import long_but, more_but, some_long

#: Yosys and nextpnr, whose first call compiles them.
pytestmark = [pytest.mark.xdist_group("synth"), pytest.mark.slow]
CONFIG = TINY.for_chip(policies=("lrr",))


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A cache of these tests alone, so that they measure what the code does now."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("METRONOME_CACHE", str(folder))
        yield folder


class Sample(wiring.Component):
    """An adder, registers in a chain, a port that only an assertion reads; on request a multiplier and a memory."""

    def __init__(self, *, width=8, stages=3, blocks=False):
        self.width, self.stages, self.blocks = width, stages, blocks
        super().__init__({"a": In(width), "b": In(width), "total": Out(width), "product": Out(2 * width),
                          "word": Out(16), "late": Out(1), "clash": Out(32)})

    def elaborate(self, platform):
        m = Module()
        chain = Signal(self.stages)
        scratch = Signal(32)
        m.d.sync += [chain.eq(chain << 1 | self.a[0]), scratch.eq(scratch + self.a)]
        m.d.comb += [self.total.eq(self.a + self.b), self.late.eq(chain[-1]), self.clash.eq(scratch)]
        if self.blocks:
            m.submodules.store = store = Memory(shape=16, depth=1024, init=[])
            write, read = store.write_port(), store.read_port()
            m.d.comb += [self.product.eq(self.a * self.b), write.addr.eq(self.a), write.data.eq(self.b),
                         write.en.eq(1), read.addr.eq(self.b), read.en.eq(1), self.word.eq(read.data)]
        return m


@pytest.fixture
def sample(monkeypatch):
    def add(**arguments):
        monkeypatch.setitem(UNITS, "sample", UnitEntry("", lambda config: Sample(**arguments)))
        return "sample"

    return add


def test_the_area_is_that_of_the_unit_alone(sample):
    for stages in (3, 8):
        # The scratch register of 32 bits feeds only the assertion's port: it is gone, and so is the wrapper.
        assert synthesize(sample(stages=stages), CONFIG, ()).ffs == stages


@pytest.mark.more
def test_block_memories_and_multipliers_are_counted(sample):
    plain, blocks = (synthesize(sample(blocks=blocks), CONFIG, ()) for blocks in (False, True))
    assert (plain.brams, plain.dsps) == (0, 0)
    assert (blocks.brams, blocks.dsps) == (1, 1)


@pytest.mark.more
def test_an_open_port_keeps_nothing_alive_and_a_used_one_does():
    counts = [Area.of(unit_module(json.loads((netlist(rtlil_of(Sample(), opened), print) / "stat.json").read_text())))
              for opened in (frozenset({"clash"}), frozenset())]
    assert counts[1].ffs - counts[0].ffs == 32


class Nested(wiring.Component):
    """Registers of its own, and three samples in it, one of them a level deeper."""

    def __init__(self):
        super().__init__({"a": In(8), "b": In(8), "late": Out(3)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.shallow = shallow = Sample(stages=8)
        m.submodules.blocks = blocks = Sample(blocks=True)
        m.submodules.middle = middle = Module()
        middle.submodules.deep = deep = Sample(stages=3)
        own = Signal(5)
        m.d.sync += own.eq(own << 1 | self.b[0])
        for sample in (shallow, blocks, deep):
            m.d.comb += [sample.a.eq(self.a), sample.b.eq(self.b)]
        m.d.comb += self.late.eq(own[-1] ^ shallow.late ^ deep.late ^ blocks.product.xor() ^ blocks.word.xor())
        return m


@pytest.mark.more
@pytest.mark.parametrize("depth", more_but([1, 2], [2]))
def test_a_breakdown_has_every_part_with_what_is_in_it(monkeypatch, depth):
    monkeypatch.setitem(UNITS, "nested", UnitEntry("", lambda config: Nested()))
    found = {part.path: part for part in breakdown("nested", CONFIG, depth).parts}
    assert set(found) == {"", "shallow", "blocks", "middle"} | ({"middle.deep"} if depth == 2 else set())
    assert [found[path].area.ffs for path in ("shallow", "middle")] == [8, 3]
    assert found[""].area.ffs == 5 + 8 + 3 + found["blocks"].area.ffs
    assert (found[""].own.ffs, found["middle"].own.ffs) == (5, 0 if depth == 2 else 3)
    assert [(found[path].area.brams, found[path].area.dsps) for path in ("blocks", "")] == [(1, 1), (1, 1)]


def test_the_parts_stand_below_their_own_the_greatest_first():
    def module(luts):
        return {"num_cells_by_type": {"LUT4": luts, "CCU2C": 1}}

    names = {"": 1, "small": 10, "large": 20, "large.a": 1, "large.b": 5, "small.big": 7, "large2": 12}
    statistics = {"modules": {f"\\top.unit.core{'.' * bool(name)}{name}": module(luts) for name, luts in names.items()}}
    statistics["modules"]["\\top.unit"] = module(1000)
    found = parts(statistics)
    assert [part.path for part in found] == ["", "large", "large.b", "large.a", "small", "small.big", "large2"]
    assert {part.path: part.area.luts for part in found} == {
        "": 56 + 7 * 2, "large": 26 + 3 * 2, "large.b": 7, "large.a": 3, "small": 17 + 2 * 2, "small.big": 9,
        "large2": 14,
    }
    assert found[1].own == Area(22)


def test_parts_of_one_name_are_added_up():
    names = ("", ".U$0", ".U$1", ".U$1.part$7", ".issue$151")
    cells = {"num_cells_by_type": {"TRELLIS_FF": 4}}
    found = parts({"modules": {f"\\top.unit.core{name}": cells for name in names}})
    assert {part.path: part.area.ffs for part in found} == {"": 20, "U": 12, "U.part": 4, "issue": 4}


@pytest.mark.long  # test_more_warps_are_more_luts_and_a_lower_rate is quicker
def test_a_wider_adder_is_slower_and_larger(sample):
    narrow, wide = (synthesize(sample(width=width), CONFIG) for width in (4, 64))
    assert wide.luts > narrow.luts
    assert wide.best.fmax_mhz < narrow.best.fmax_mhz


def test_the_critical_path_adds_up_to_the_clock_period():
    result = synthesize("scheduler", CONFIG)
    path = result.best.critical_path
    assert sum(step.delay_ns for step in path) == pytest.approx(path[-1].at_ns, abs=0.01)
    # nextpnr rounds nothing: the period is the path with its setup time.
    assert 1000 / path[-1].at_ns == pytest.approx(result.best.fmax_mhz, rel=0.01)
    assert result.best.levels == sum(step.levels for step in path) > 0
    assert path[-1].signal in {"lrr_state.last", "captured"}
    assert not any("LUT4" in step.signal or "$" in step.signal for step in path)


@pytest.mark.more
@pytest.mark.parametrize(("width", "stages"), long_but([(8, 3), (16, 5)], [(8, 3)]))
def test_gates_and_bits_of_memory_know_no_fpga(sample, width, stages):
    plain, blocks = (synthesize(sample(width=width, stages=stages, blocks=blocks), CONFIG, (), cells=True).cells
                     for blocks in (False, True))
    # A full adder is 5 gates of two inputs, and with NANDs, ORNOTs and the like a gate is more or less.
    assert 3 * width < plain.gates < 7 * width
    assert (plain.ffs, plain.memory_bits) == (stages, 0)
    # Bits of a word that are never written are none.
    assert blocks.memory_bits == 1024 * width
    assert blocks.gates > plain.gates + width**2
    whole = breakdown(sample(width=width, stages=stages, blocks=True), CONFIG, 1, kind=Cells).parts[0]
    assert (whole.area.memory_bits, whole.own.ffs) == (1024 * width, stages)


@pytest.mark.more
def test_more_warps_are_more_luts_and_a_lower_rate():
    small, large = (synthesize("scheduler", dataclasses.replace(CONFIG, warps=warps)) for warps in (2, 8))
    assert large.luts > small.luts
    assert large.ffs > small.ffs
    assert large.best.fmax_mhz < small.best.fmax_mhz


@pytest.mark.more
def test_another_seed_routes_again_and_synthesises_nothing(cache):
    steps = []
    first = synthesize("scheduler", CONFIG, [Options(seed=1)])
    again = synthesize("scheduler", CONFIG, [Options(seed=1)], steps.append)
    assert (steps, again) == (["elaborate"], first)
    both = synthesize("scheduler", CONFIG, [Options(seed=1), Options(seed=2)], steps.append)
    assert steps == ["elaborate", "elaborate", "place and route, seed 2"]
    assert (both.area, both.routes[0]) == (first.area, first.routes[0])
    assert both.routes[1].fmax_mhz != both.routes[0].fmax_mhz
    assert both.best.fmax_mhz == max(both.rates)
    assert both.spread == round(100 * (max(both.rates) / min(both.rates) - 1), 1) > 0
    assert not list(cache.glob("tmp-*"))


@pytest.mark.parametrize("name", more_but(UNITS, ["scheduler", "axi_lite"]))
def test_every_unit_elaborates(name):
    unit, opened = make_unit(name, CONFIG)
    text = rtlil_of(unit, opened)
    assert "module \\top.unit" in text
    assert "scan_out" in text


@pytest.mark.parametrize("name", ["frontend", "issue", "control", "lsu"])
def test_what_a_unit_tells_its_observers_is_not_measured(name):
    unit, opened = make_unit(name, CONFIG)
    told = {port for port, member in unit.signature.members.items() if port.endswith("event")}
    assert told and told <= opened
    assert all(unit.signature.members[port].flow is Out for port in told)


@pytest.mark.more
@pytest.mark.parametrize("mode", some_long(["baseline", "vortex"], 1))
def test_the_front_end_is_that_of_the_scheme(mode):
    config = dataclasses.replace(CONFIG, coordination=Coordination(mode), fetch_policies=("lrr",))
    texts = [rtlil_of(*make_unit("frontend", one)) for one in (CONFIG, config)]
    assert texts[0] != texts[1]


@pytest.mark.parametrize(("icache_bytes", "apart"), [(4096, False), (8192, True)])  # 16 and 32 sets
def test_the_comparison_of_many_tags_is_mapped_by_itself(icache_bytes, apart):
    """Its module has the name for which the script looks."""
    text = rtlil_of(*make_unit("icache_store", dataclasses.replace(TINY, icache_bytes=icache_bytes)))
    modules = [line.removeprefix("module \\") for line in text.splitlines() if line.startswith("module ")]
    assert any(fnmatch(name, ALONE) for name in modules) is apart
    assert f"keep_hierarchy 1 {ALONE}; synth_ecp5" in mapping("top", "top.unit")


def test_a_broken_netlist_is_one_clear_error(tmp_path, cache):
    with pytest.raises(SynthesisError) as info:
        netlist("module \\top\n  cell \\missing \\c\n  end\nend\n", print)
    line, _, rest = str(info.value).partition("\n")
    assert line.startswith("yosys failed: ")
    assert "missing" in line
    assert rest
    assert "missing" in info.value.log
    assert "Executing HIERARCHY pass" in info.value.log
    assert not list(cache.glob("tmp-*"))


@pytest.mark.more
def test_what_nextpnr_refuses_is_no_error_and_is_tried_again(tmp_path, cache):
    (tmp_path / "top.json").write_text("{ no netlist")
    steps = []
    for _ in range(2):
        routed = place_and_route(tmp_path, Options(), steps.append)
        assert routed.report is None
        assert routed.problem.startswith("nextpnr-ecp5 failed: ")
        assert "\n" not in routed.problem
        assert "ERROR" in routed.log.read_text()
    assert len(steps) == 2
    assert not list(cache.glob("tmp-*"))


@pytest.mark.long
def test_a_design_that_does_not_fit_keeps_its_area(sample):
    small = Options(device="12k", package="CABGA256")  # it has 28 multipliers
    result = synthesize(sample(width=100, blocks=True), CONFIG, [small])
    assert (result.dsps, result.best) == (36, None)
    assert "MULT18X18D" in result.routes[0].problem


@pytest.mark.more
def test_routing_that_does_not_end_is_ended_and_the_area_kept(cache):
    steps = []
    options = Options(seed=3, minutes=1e-4)
    result = synthesize("scheduler", CONFIG, [options], steps.append)
    (route,) = result.routes
    assert route.problem == "nextpnr-ecp5 has not ended after 0.0001 minutes"
    assert result.problems == [f"seed 3: {route.problem}"]
    assert (result.best, result.spread, route.fmax_mhz) == (None, None, None)
    assert result.luts > 0
    assert result.as_json()["fmax_mhz"] is None
    assert not list(cache.glob("tmp-*"))
    # Not tried again in vain, but with more time it is; that which did not end does not spoil the others.
    assert synthesize("scheduler", CONFIG, [options], steps.append) == result
    assert steps.count("place and route, seed 3") == 1
    more = synthesize("scheduler", CONFIG, [options, Options(seed=2)], steps.append)
    assert (more.best.seed, more.problems) == (2, result.problems)
    assert synthesize("scheduler", CONFIG, [Options(seed=3)], steps.append).best.seed == 3
    assert steps.count("place and route, seed 3") == 2


@pytest.mark.more
def test_the_logs_are_kept(cache):
    result = synthesize("scheduler", CONFIG)
    assert "Executing ABC9 pass" in result.log.read_text()
    assert "Max frequency for clock" in result.routes[0].log.read_text()
    assert {result.log.parents[1], result.routes[0].log.parents[1]} == {cache}
    assert breakdown("scheduler", CONFIG).log.read_text()


@pytest.mark.more
def test_pins_and_the_configuration_for_a_bitstream():
    folder = netlist(rtlil_of(*make_unit("scheduler", CONFIG)), print)
    pins = 'LOCATE COMP "clk" SITE "G2";\nIOBUF PORT "clk" IO_TYPE=LVCMOS33;\n'
    board = Options(device="25k", package="CABGA381", constraints=pins + "BLOCK ASYNCPATHS;\n", textcfg=True)
    refused = place_and_route(folder, board, print)
    # With an LPF file every pin needs a place.
    assert refused.problem.startswith("nextpnr-ecp5 failed: ")
    assert "LPF" in refused.problem or "unconstrained" in refused.problem
    for name, site in (("rst", "D6"), ("scan_in", "R1"), ("scan_out", "B2")):
        pins += f'LOCATE COMP "{name}" SITE "{site}";\nIOBUF PORT "{name}" IO_TYPE=LVCMOS33;\n'
    routed = place_and_route(folder, dataclasses.replace(board, constraints=pins), print)
    assert routed.problem is None
    assert ".device LFE5U-25F" in routed.textcfg.read_text()


@pytest.mark.more
def test_the_other_placer_places_differently():
    """By what it says of itself: electrostatic placement has a penalty of density, the usual one a spreading."""
    folder = netlist(rtlil_of(*make_unit("scheduler", CONFIG)), print)
    logs = [place_and_route(folder, Options(placer=name), print).log.read_text() for name in PLACERS]
    assert ["penalty=" in log for log in logs] == [False, True]
    assert ["spread =" in log for log in logs] == [True, False]


def test_an_unknown_unit_is_a_key_error():
    with pytest.raises(KeyError):
        synthesize("nothing", CONFIG)
