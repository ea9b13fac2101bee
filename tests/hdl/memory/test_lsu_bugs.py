"""Bugs put into the load/store unit on purpose: the random programs and the cycle counts must see each of them."""

from __future__ import annotations

import random

import pytest
from amaranth.hdl import Cat, Module
from lsu_harness import LsuBench, Simulation, Traffic
from test_dcache import follow
from test_lsu import arrivals, overlapping_stores, random_program, small

import hdl.memory.assembler
import hdl.memory.line_accesses
import hdl.memory.lsu
from hdl.memory.coalescer import Coalescer
from hdl.memory.entrance import Entrance
from hdl.memory.fill import FillStage
from hdl.memory.line_accesses import LineAccesses
from hdl.memory.parts import PartTable
from hdl.memory.response import ResponseStage
from hdl.memory.scratchpad import Scratchpad
from hdl.memory.stores import StoreTracker


class LosesALane(Coalescer):
    """The line access leaves out the highest lane, which is marked as done all the same."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.line.payload.lanes[-1].eq(0)
        return m


class PopsEarly(Coalescer):
    """The instruction leaves with its first line."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.line.valid & self.line.ready):
            m.d.comb += self.pop.eq(1)
        return m


class LineOfLaneZero(Coalescer):
    """The line is lane 0's, whether or not that lane is left."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.line.payload.line.eq(self.head.address[0][6:])
        return m


class ForgetsOtherParts(PartTable):
    """Every part looks like the last but for those still in the coalescer."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.shares.eq(0)
        return m


class ServesAll(Scratchpad):
    """Bank conflicts are not seen."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.served.eq(self.lanes)
        return m


class SwapsBytes(ResponseStage):
    """Lane 0 sees its bytes in the wrong order."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.wb.payload.data[0].eq(Cat(self.bank_data[0], self.fill_part.offset[0]))
        return m


class CachesErrors(FillStage):
    """The first line after a refused one, and the refused one, go into the cache whatever memory says."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.error):
            m.d.comb += self.install.eq(self.line >= self.config.memory_map.user // 64)
        return m


class WrongSpace(Entrance):
    """Lane 0 never goes to local memory."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.head.local[0].eq(0)
        return m


class ForgetsStores(StoreTracker):
    """Stores are forgotten when they leave the queue."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.pending.eq(0)
        return m


BUGS = (
    LosesALane, PopsEarly, LineOfLaneZero, ForgetsOtherParts, ServesAll, SwapsBytes, WrongSpace, ForgetsStores,
    CachesErrors,
)

#: Wires between the parts of the unit, cut and tied to a value: (the part, its input, the value).
CUTS = [
    # A load overtakes the stores to its line.
    ("lookup", "holds", 0),
    # The write buffer answers for bytes that it does not have.
    ("lookup", "covers", 1),
    # A store is sent although a load's request of the line is on its way.
    ("buffer", "waits_for", 0),
    # A store comes while its line goes into the cache.
    ("lookup", "install", 0),
    # A store that was not sent when its line came is lost in the cache.
    ("fill", "peek_mask", 0),
    # A load joins a request that is over.
    ("fill", "joined", 0),
    # A miss register, a place for a part, an entry of the write buffer is taken twice.
    ("lookup", "misses_full", 0), ("lookup", "parts_full", 0), ("lookup", "room", 1),
    # A hit is overwritten before it is written back.
    ("lookup", "slot_free", 1),
    # Two loads of one line make two requests.
    ("lookup", "requested", 0),
    # A store does not reach the cache, or reaches all of the line there.
    ("cache", "write", 0), ("cache", "byte_mask", (1 << 64) - 1),
    # A use is not seen.
    ("cache", "use", 0),
]


#: The same, where it takes a coincidence that random programs hardly meet.
RARE_CUTS = [
    # A store comes in the cycle before its line goes into the cache.
    ("lookup", "accepts", 0),
    # The write buffer's bytes are looked up for the cache while a load still needs others.
    ("fill", "peek_free", 1),
]


def cut(part: str, name: str, value: int) -> type[LineAccesses]:
    class Cut(LineAccesses):
        def elaborate(self, platform: object) -> Module:
            m = super().elaborate(platform)
            m.d.comb += getattr(m.submodules[part], name).eq(value)
            return m

    return Cut


def run_random_programs() -> None:
    """On the smallest caches and on a cache of some size, until one fails."""
    for cache in ("cached", "tight"):
        config = small(4, cache=cache)
        # A unit of its own: the usual one was made without the bug.
        simulation = Simulation(config)
        for seed in range(9, 15):
            rng = random.Random(seed)
            longest = rng.choice((5, 30))
            traffic = Traffic(
                latency=lambda rng, write, longest=longest: rng.randint(1, longest), reorder=True,
                wb_ready=rng.choice((0.4, 1.0)), bad=lambda line: line % 16 == 3,
            )
            bench = LsuBench(config, seed=seed, traffic=traffic, simulation=simulation)
            bench.run(random_program(rng, config, 100), limit=4000)
            follow(bench)


def run_arrivals() -> None:
    config = small(1, cache="cached")
    simulation = Simulation(config)
    for seed, (program, traffic) in enumerate(arrivals()):
        LsuBench(config, seed=seed, traffic=traffic, simulation=simulation).run(program)


def test_without_a_bug_the_programs_run() -> None:
    run_random_programs()


@pytest.mark.parametrize("bug", BUGS)
def test_bug_is_caught(bug: type, monkeypatch: pytest.MonkeyPatch) -> None:
    name = bug.__bases__[0].__name__
    for module in (hdl.memory.lsu, hdl.memory.line_accesses):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, bug)
    with pytest.raises(AssertionError, match="cycle "):
        run_random_programs()


@pytest.mark.parametrize(("part", "name", "value"), CUTS)
def test_cut_wire_is_caught(part: str, name: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdl.memory.lsu, "LineAccesses", cut(part, name, value))
    with pytest.raises(AssertionError, match="cycle "):
        run_random_programs()


@pytest.mark.parametrize(("part", "name", "value"), RARE_CUTS)
def test_cut_wire_is_caught_by_a_line_that_arrives(
    part: str, name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hdl.memory.lsu, "LineAccesses", cut(part, name, value))
    with pytest.raises(AssertionError, match="cycle "):
        run_arrivals()


def test_lowest_lane_winning_a_byte_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    over = hdl.memory.assembler._over
    monkeypatch.setattr(hdl.memory.assembler, "_over", lambda low, high: over(high, low))
    config = small(4)
    with pytest.raises(AssertionError, match="seed 3, cycle"):
        LsuBench(config, seed=3, simulation=Simulation(config)).run(overlapping_stores(random.Random(3), config, 30))
