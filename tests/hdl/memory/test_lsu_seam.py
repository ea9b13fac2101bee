"""The seam between the lanes and the L1: a unit put there holds accesses back, and nothing but time changes."""

import random

import pytest
from amaranth.hdl import Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

import metronome.hdl.memory.lsu
from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import LsuOp
from metronome.hdl.lib.component import Component
from metronome.hdl.lib.onehot import one_hot
from metronome.hdl.memory.lsu import Lsu
from metronome.hdl.memory.seam import access_layout
from tests.hdl.memory import lsu_harness
from tests.hdl.memory.lsu_harness import LsuBench, Simulation
from tests.hdl.memory.lsu_programs import USER, random_program, small
from tests.hdl.memory.lsu_reference import Access
from tests.hdl.memory.lsu_traffic import Traffic
from tests.support.tiers import some_long

pytestmark = pytest.mark.slow


class Holder(Component):
    """One access, held for a cycle or more."""

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            "taken": In(stream.Signature(access_layout(config))),
            "given": Out(stream.Signature(access_layout(config))),
            "stores": Out(config.warps),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        taken, given = self.taken, self.given
        with m.If(given.valid & given.payload.write):
            m.d.comb += self.stores.eq(one_hot(given.payload.part.warp, self.config.warps))
        m.d.comb += taken.ready.eq(~given.valid | given.ready)
        with m.If(taken.ready):
            m.d.sync += [given.valid.eq(taken.valid), given.payload.eq(taken.payload)]
        return m


class LsuWithHolder(Lsu):
    """The whole change that a unit in the seam asks for."""

    def _seam(self, m: Module, coalescer: object, l1: object) -> tuple[Value, Value]:
        m.submodules.holder = holder = Holder(self.config)
        wiring.connect(m, coalescer.access, holder.taken)
        wiring.connect(m, holder.given, l1.access)
        return l1.stores_pending | holder.stores, l1.busy | holder.given.valid


class ForgetsItsStores(LsuWithHolder):
    def _seam(self, m: Module, coalescer: object, l1: object) -> tuple[Value, Value]:
        _, busy = super()._seam(m, coalescer, l1)
        return l1.stores_pending, busy


class ForgetsThatItIsBusy(LsuWithHolder):
    def _seam(self, m: Module, coalescer: object, l1: object) -> tuple[Value, Value]:
        stores, _ = super()._seam(m, coalescer, l1)
        return stores, l1.busy


class UntimedBench(LsuBench):
    """All checks but those of the cycle in which something happens: the model knows the unit as it is built."""

    def _follow(self, ctx: object) -> None:
        pass


def simulation_of(config: SmConfig, unit: type[Lsu], monkeypatch: pytest.MonkeyPatch) -> Simulation:
    monkeypatch.setattr(lsu_harness, "Lsu", unit)
    return Simulation(config)


def run(config: SmConfig, unit: type[Lsu], monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = simulation_of(config, unit, monkeypatch)
    for seed in range(3):
        rng = random.Random(seed)
        traffic = Traffic(latency=lambda rng, write: rng.randint(1, 20), reorder=True, wb_ready=0.6)
        UntimedBench(config, seed=seed, traffic=traffic, simulation=simulation).run(random_program(rng, config, 80))


@pytest.mark.more
@pytest.mark.parametrize("cache", some_long(["cached", "tight"], 1))
def test_a_unit_in_between(cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(small(4, cache=cache), LsuWithHolder, monkeypatch)


@pytest.mark.more
def test_it_has_to_tell_of_its_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="is not pending"):
        run(small(4, cache="tight"), ForgetsItsStores, monkeypatch)


@pytest.mark.more
@pytest.mark.parametrize("unit", [LsuWithHolder, ForgetsThatItIsBusy])
def test_it_has_to_tell_that_it_is_busy(unit: type[Lsu], monkeypatch: pytest.MonkeyPatch) -> None:
    config = small(1, cache="tight")
    bench = UntimedBench(config, simulation=simulation_of(config, unit, monkeypatch))
    load = [Access(warp=1, op=LsuOp.LW, address=[USER], mask=1)]
    if unit is LsuWithHolder:
        bench.run(load)
    else:
        with pytest.raises(AssertionError, match="loads without a last part"):
            bench.run(load)


@pytest.mark.more
@pytest.mark.parametrize("numbers", some_long([2, 4], 1))
def test_loads_wait_for_a_number(numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer numbers than loads that could be under way nothing goes wrong, either."""
    monkeypatch.setattr(metronome.hdl.memory.lsu, "loads_under_way", lambda config: numbers)
    run(small(4, cache="cached"), Lsu, monkeypatch)
