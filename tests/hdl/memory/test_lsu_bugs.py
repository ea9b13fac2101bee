"""Bugs put into the load/store unit on purpose: the random programs and the cycle counts must see each of them."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Cat, Module

import metronome.hdl.memory.l1.l1
import metronome.hdl.memory.lanes.assembler
import metronome.hdl.memory.lsu
from metronome.hdl.config import LINE_BYTES, LINE_OFFSET_BITS
from metronome.hdl.memory.l1.fill import FillStage
from metronome.hdl.memory.l1.l1 import L1
from metronome.hdl.memory.lanes.coalescer import Coalescer
from metronome.hdl.memory.lanes.entrance import Entrance
from metronome.hdl.memory.lanes.part_counts import PartCounts
from metronome.hdl.memory.lanes.response import ResponseStage
from metronome.hdl.memory.lanes.scratchpad import Scratchpad
from metronome.hdl.memory.lanes.stores import StoreTracker
from tests.hdl.lib.simulate import port
from tests.hdl.memory.lsu_harness import LsuBench, Simulation
from tests.hdl.memory.lsu_programs import arrivals, overlapping_stores, random_program, small
from tests.hdl.memory.lsu_traffic import Traffic
from tests.hdl.memory.test_dcache import follow
from tests.support.tiers import some_long, some_more


def spoiled(base: type, wrong: Callable[[Any], Any], when: Callable[[Any], Any] = lambda unit: 1) -> type:
    """A part of the unit with another value on one of its outputs, always or in some cycles."""
    class Spoiled(base):
        def elaborate(self, platform: object) -> Module:
            m = super().elaborate(platform)
            with m.If(when(self)):
                m.d.comb += wrong(self)
            return m

    return Spoiled


class ForgetsTheHead(PartCounts):
    def elaborate(self, platform: object) -> Module:
        # Not an assignment: the unit around it drives this input, and of two drivers either may win.
        self.ended = self.first
        return super().elaborate(platform)


BUGS = {
    "the line access leaves out the highest lane, which is marked as done all the same": spoiled(
        Coalescer, lambda unit: unit.access.payload.part.mask[-1].eq(0)),
    "the instruction leaves with its first line": spoiled(
        Coalescer, lambda unit: unit.pop.eq(1), lambda unit: unit.access.valid & unit.access.ready),
    "the line is lane 0's, whether or not that lane is left": spoiled(
        Coalescer, lambda unit: unit.access.payload.part.line.eq(unit.head.address[0][LINE_OFFSET_BITS:])),
    "every part looks like the last": spoiled(PartCounts, lambda unit: unit.last.eq(1)),
    "of a load that is still in the coalescer the parts so far look like all": ForgetsTheHead,
    "bank conflicts are not seen": spoiled(Scratchpad, lambda unit: unit.served.eq(unit.lanes)),
    "lane 0 sees its bytes in the wrong order": spoiled(ResponseStage, lambda unit: (
        unit.wb.payload.data[0].eq(Cat(unit.bank_data[0], unit.answers.fill.part.offset[0])))),
    "lane 0 never goes to local memory": spoiled(Entrance, lambda unit: unit.head.local[0].eq(0)),
    "stores are forgotten when they leave the queue": spoiled(StoreTracker, lambda unit: unit.pending.eq(0)),
    "the first line after a refused one, and the refused one, go into the cache whatever memory says": spoiled(
        FillStage, lambda unit: unit.out.install.eq(unit.out.line >= unit.config.memory_map.user // LINE_BYTES),
        lambda unit: unit.error),
}

#: Wires between the parts of the unit, cut and tied to a value: (the part, its input, the value).
CUTS = [
    # A load overtakes the stores to its line.
    ("lookup", "buffer.holds", 0),
    # The write buffer answers for bytes that it does not have.
    ("lookup", "buffer.covers", 1),
    # A store is sent although a load's request of the line is on its way.
    ("buffer", "mshrs.same", 0),
    # A store comes while its line goes into the cache.
    ("lookup", "fill.install", 0),
    # A store that was not sent when its line came is lost in the cache.
    ("fill", "buffer.peek_mask", 0),
    # A load joins a request that is over.
    ("fill", "lookup.add", 0),
    # An MSHR, a place for a part, an entry of the write buffer is taken twice.
    ("lookup", "mshrs.full", 0), ("lookup", "parts_full", 0), ("lookup", "buffer.ready", 1),
    # A hit is overwritten before it is written back.
    ("lookup", "slot_free", 1),
    # Two loads of one line make two requests.
    ("lookup", "mshrs.requested", 0),
    # A store does not reach the cache, or reaches all of the line there.
    ("cache", "lookup.write", 0), ("cache", "lookup.held.byte_mask", (1 << LINE_BYTES) - 1),
    # A use is not seen.
    ("cache", "lookup.use", 0),
    # A load gets the bytes of the one before it laid over its own: from the cache, from the write buffer.
    ("cache", "lookup.forward", 0), ("buffer", "lookup.read", 0),
]


#: The same, where it takes a coincidence that random programs hardly meet.
RARE_CUTS = [
    # A store comes in the cycle before its line goes into the cache.
    ("lookup", "fill.accepts", 0),
]


def cut(part: str, name: str, value: int) -> type[L1]:
    class Cut(L1):
        def elaborate(self, platform: object) -> Module:
            m = super().elaborate(platform)
            m.d.comb += port(m.submodules[part], name).eq(value)
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


@pytest.mark.long
def test_without_a_bug_the_programs_run() -> None:
    run_random_programs()


@pytest.mark.more
@pytest.mark.parametrize("bug", some_more(some_long(BUGS, 5), 1))
def test_bug_is_caught(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = BUGS[bug].__bases__[0].__name__
    for module in (metronome.hdl.memory.lsu, metronome.hdl.memory.l1.l1):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, BUGS[bug])
    with pytest.raises(AssertionError, match="cycle "):
        run_random_programs()


@pytest.mark.long
@pytest.mark.parametrize(("part", "name", "value"), CUTS)
def test_cut_wire_is_caught(part: str, name: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metronome.hdl.memory.lsu, "L1", cut(part, name, value))
    with pytest.raises(AssertionError, match="cycle "):
        run_random_programs()


@pytest.mark.more
@pytest.mark.parametrize(("part", "name", "value"), RARE_CUTS)
def test_cut_wire_is_caught_by_a_line_that_arrives(
    part: str, name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metronome.hdl.memory.lsu, "L1", cut(part, name, value))
    with pytest.raises(AssertionError, match="cycle "):
        run_arrivals()


@pytest.mark.more
def test_lowest_lane_winning_a_byte_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    over = metronome.hdl.memory.lanes.assembler._over
    monkeypatch.setattr(metronome.hdl.memory.lanes.assembler, "_over", lambda low, high: over(high, low))
    config = small(4)
    with pytest.raises(AssertionError, match="seed 3, cycle"):
        LsuBench(config, seed=3, simulation=Simulation(config)).run(overlapping_stores(random.Random(3), config, 30))
