"""Bugs put into the load/store unit on purpose: the random programs and the cycle counts must see each of them."""

from __future__ import annotations

import random

import pytest
from amaranth.hdl import Cat, Module
from lsu_harness import LsuBench, Traffic
from test_lsu import overlapping_stores, random_program, small

import hdl.memory.assembler
import hdl.memory.lsu
from hdl.memory.coalescer import Coalescer
from hdl.memory.entrance import Entrance
from hdl.memory.pending import PendingTable
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


class NeverConflicts(PendingTable):
    """Accesses to one line do not wait for each other."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.conflict.eq(0)
        return m


class ForgetsOtherParts(PendingTable):
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
        m.d.comb += self.wb.payload.data[0].eq(Cat(self.bank_data[0], self.part.offset[0]))
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
    LosesALane, PopsEarly, LineOfLaneZero, NeverConflicts, ForgetsOtherParts, ServesAll, SwapsBytes, WrongSpace,
    ForgetsStores,
)


def run_random_program() -> None:
    rng = random.Random(9)
    config = small(4)
    traffic = Traffic(latency=lambda rng, write: rng.randint(1, 30), reorder=True)
    LsuBench(config, seed=9, traffic=traffic).run(random_program(rng, config, 80), limit=3000)


def test_without_a_bug_the_program_runs() -> None:
    run_random_program()


@pytest.mark.parametrize("bug", BUGS)
def test_bug_is_caught(bug: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdl.memory.lsu, bug.__bases__[0].__name__, bug)
    with pytest.raises(AssertionError, match="seed 9, cycle"):
        run_random_program()


def test_lowest_lane_winning_a_byte_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    over = hdl.memory.assembler._over
    monkeypatch.setattr(hdl.memory.assembler, "_over", lambda low, high: over(high, low))
    config = small(4)
    with pytest.raises(AssertionError, match="seed 3, cycle"):
        LsuBench(config, seed=3).run(overlapping_stores(random.Random(3), config, 30))
