"""Writeback slots: the schedule and the stage, with results for every unit and loads in between."""

import random
from collections import Counter
from dataclasses import replace

import pytest
from amaranth.hdl import Elaboratable, Module
from amaranth.lib.wiring import connect

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.latencies import unit_latencies
from metronome.hdl.isa.ops import Unit
from metronome.hdl.issue.writeback import WritebackSchedule, WritebackStage
from metronome.hdl.presets import BASE
from tests.hdl.issue.issue_reference import FLOATS, latencies
from tests.hdl.lib.simulate import drive, maybe, simulated
from tests.support.tiers import some_more

CONFIGS = [
    BASE,
    replace(BASE, latency_mul=8, latency_div=40, latency_fma=8, latency_fcvt=8, latency_fdiv=39, latency_fmisc=8),
    replace(BASE, warps=1, threads=1, latency_mul=2),
    replace(BASE, issue_latency=3),
]
UNPIPELINED = (Unit.DIV, Unit.FDIV)


def label(config: SmConfig) -> str:
    name = f"{config.warps}x{config.threads}_mul_{config.latency_mul}_div_{config.latency_div}"
    return f"{name}_x_{config.issue_latency}" if config.operand_register else name


class Port(Elaboratable):
    """The schedule and the stage, connected as in the issue stage."""

    def __init__(self, config: SmConfig) -> None:
        self.schedule = WritebackSchedule(config)
        self.stage = WritebackStage(config)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.schedule, m.submodules.stage = schedule, stage = self.schedule, self.stage
        connect(m, schedule.out, stage.schedule)
        return m


class Traffic:
    """Selections by cycle of their write, loads by cycle of theirs."""

    def __init__(self, dut: Port, config: SmConfig, rng: random.Random, name: str) -> None:
        self.dut, self.config, self.rng, self.name = dut, config, rng, name
        self.cycle = 0
        self.executing: dict[int, dict | None] = {}
        self.writes: dict[int, dict] = {}
        self.loads: dict[int, dict] = {}
        self.offered: dict | None = None
        self.unit_free = dict.fromkeys(UNPIPELINED, 0)
        self.seen: Counter[str] = Counter()
        self.last: Unit | None = None

    @property
    def what(self) -> str:
        return f"{self.name}, cycle {self.cycle}"

    @property
    def reserved_now(self) -> int | None:
        """The slot that is reserved in this cycle; before the selection of this cycle."""
        if self.last is None or not self.config.operand_register:
            return None
        return self.cycle - 1 + self.config.issue_latency + latencies(self.config)[self.last]

    def select(self, ctx, rate: float) -> None:
        """Any unit whose slot the reference finds free; the dividers only when they are."""
        rng, schedule, cycle = self.rng, self.dut.schedule, self.cycle
        slots = {unit: cycle + self.config.issue_latency + latency for unit, latency in latencies(self.config).items()}
        free = [unit for unit, slot in slots.items() if slot not in self.writes]
        for unit in slots:
            assert (ctx.get(schedule.slot_free) >> unit.value & 1) == (unit in free), f"{self.what}: {unit.name} slot"
        free = [unit for unit in free if self.unit_free.get(unit, 0) <= cycle]
        # The quick ones, which come first, are preferred: the others have taken most of their slots.
        choice = rng.choice(free[:rng.randrange(len(free)) + 1]) if free and maybe(rng, rate) else None
        for unit in UNPIPELINED:
            if unit in free and maybe(rng, 0.3):
                choice = unit
        self.last = choice
        if not self.config.operand_register:
            drive(ctx, schedule, reserve=0 if choice is None else 1 << choice.value)
        if choice is None:
            return
        self.seen[choice.name] += 1
        meta = {"warp": rng.randrange(self.config.warps), "rd": rng.getrandbits(6), "unit": choice,
                "mask": rng.getrandbits(self.config.threads), "kill": maybe(rng, 0.1),
                "writes": choice not in FLOATS or maybe(rng, 0.7)}
        self.executing[cycle + self.config.issue_latency] = meta
        self.writes[slots[choice]] = meta
        if choice in UNPIPELINED:
            self.unit_free[choice] = cycle + latencies(self.config)[choice]

    def execute(self, ctx) -> None:
        schedule = self.dut.schedule
        if self.config.operand_register:
            # The reservation comes a cycle after the selection.
            drive(ctx, schedule, reserve=0 if self.last is None else 1 << self.last.value)
        # A record enters two cycles after the selection, before or in stage X, and a fault is known in X.
        for later, valid, meta in ((self.config.issue_latency - 2, schedule.enter, schedule.enter_meta),
                                   (0, schedule.execute, schedule.execute_meta)):
            record = self.executing.get(self.cycle + later)
            ctx.set(valid, record is not None)
            ctx.set(meta, record or {"unit": self.rng.choice(list(Unit)), "kill": 1})

    def offer_load(self, ctx) -> dict | None:
        """A stream that holds what it offers until it is taken; returns the load taken in this cycle."""
        rng, load = self.rng, self.dut.stage.load
        if self.offered is None and maybe(rng, 0.5):
            self.offered = {"warp": rng.randrange(self.config.warps), "rd": rng.getrandbits(6),
                            "mask": rng.getrandbits(self.config.threads), "last": maybe(rng, 0.6),
                            "data": [rng.getrandbits(32) for _ in range(self.config.threads)]}
        drive(ctx, load, valid=self.offered is not None, payload=self.offered or {})
        free = self.cycle + 1 not in self.writes
        assert ctx.get(load.ready) == free, f"{self.what}: a load may be taken: {free}"
        taken = self.offered if free else None
        if taken is not None:
            self.loads[self.cycle + 1] = taken
            self.offered = None
            self.seen["load"] += 1
        return taken

    def check(self, ctx, result: list[int], taken: dict | None) -> None:
        stage, cycle = self.dut.stage, self.cycle
        busy = any(slot >= cycle for slot in self.writes if slot != self.reserved_now)
        assert ctx.get(self.dut.schedule.busy) == busy, f"{self.what}: schedule busy"
        assert ctx.get(stage.busy) == (cycle in self.loads), f"{self.what}: stage busy"
        loaded = taken if taken and taken["last"] else None
        if self.config.operand_register:
            got = ctx.get(stage.release_load.valid)
            assert got == (loaded is not None), f"{self.what}: release_load"
            if loaded:
                got = ctx.get(stage.release_load.warp), ctx.get(stage.release_load.register)
                assert got == (loaded["warp"], loaded["rd"]), f"{self.what}: release_load of {got}, not {loaded}"
            # The value is forwarded, so its register is released a cycle earlier.
            released = self.writes.get(cycle + 2)
        else:
            released = self.writes.get(cycle + 1) or loaded
        writes = released is not None and released.get("writes", True)
        got = ctx.get(stage.release.valid), ctx.get(stage.release.flags)
        assert got == (writes, released is not None and not writes), f"{self.what}: release"
        if released:
            got = ctx.get(stage.release.warp), ctx.get(stage.release.register)
            expected = released["warp"], released["rd"] if writes else got[1]
            assert got == expected, f"{self.what}: release of {got}, not {released}"
        meta, load = self.writes.get(cycle), self.loads.get(cycle)
        assert meta is None or load is None, f"{self.what}: two writes"
        done = meta is not None and not meta["kill"]
        write = load or (meta | {"data": result, "last": 1} if done and meta["writes"] else None)
        raises = done and meta["unit"] in FLOATS
        assert ctx.get(stage.flags_valid) == raises, f"{self.what}: flags_valid"
        if raises:
            assert ctx.get(stage.flags_warp) == meta["warp"], f"{self.what}: flags_warp"
            self.seen["flags only"] += not meta["writes"]
        assert ctx.get(stage.write.valid) == (write is not None), f"{self.what}: write_valid, expected {write}"
        if meta:
            assert ctx.get(self.dut.schedule.out.due_meta.unit) == meta["unit"], f"{self.what}: unit of the result"
        if write:
            got = {name: ctx.get(stage.write.value[name]) for name in ("warp", "rd", "mask", "last")}
            got["data"] = [ctx.get(stage.write.value.data[i]) for i in range(self.config.threads)]
            assert got == {name: write[name] for name in got}, f"{self.what}: write"


@pytest.mark.slow
@pytest.mark.parametrize("config", some_more(CONFIGS, 1), ids=label)
@pytest.mark.parametrize("rate", some_more([1.0, 0.6], 1), ids=["full", "gaps"])
@simulated(lambda config: Port(config))
async def test_random(ctx, dut, config, rate):
    """Every result in cycle X + latency with its own warp, register and lanes; loads only in free slots."""
    seed = f"{label(config)}-{rate}"
    rng = random.Random(seed)
    traffic = Traffic(dut, config, rng, f"seed {seed}")
    for _ in range(1000 if config.operand_register else 700):
        result = [rng.getrandbits(32) for _ in range(config.threads)]
        ctx.set(dut.stage.result, result)
        # What was decided before this cycle is judged before its own selection is added.
        traffic.execute(ctx)
        taken = traffic.offer_load(ctx)
        traffic.check(ctx, result, taken)
        traffic.select(ctx, rate)
        assert not ctx.get(dut.schedule.clash), f"{traffic.what}: clash"
        await ctx.tick()
        traffic.cycle += 1
    for name in ("load", "flags only", *(unit.name for unit in latencies(config))):
        assert traffic.seen[name] >= 5, f"seed {seed}: {name} happened {traffic.seen[name]} times"


@pytest.mark.parametrize("to_execute", [2, 3])
@pytest.mark.parametrize("unit", list(latencies(BASE)))
@simulated(lambda to_execute: WritebackSchedule(replace(BASE, issue_latency=to_execute)))
async def test_latency_of_a_unit(ctx, dut, to_execute, unit):
    """Alone: release in t + 1 + latency, write in X + latency, and nothing in any other cycle."""
    released, written = [], []
    record = {"warp": 3, "rd": 40, "writes": 1, "mask": 5, "unit": unit}
    for cycle in range(50):
        drive(ctx, dut, reserve=(cycle == to_execute - 2) << unit.value, enter=cycle == 2, enter_meta=record,
              execute=cycle == to_execute, execute_meta=record)
        if ctx.get(dut.out.early):
            released.append((cycle, ctx.get(dut.out.early_meta.warp), ctx.get(dut.out.early_meta.rd)))
        if ctx.get(dut.out.due):
            written.append((cycle, ctx.get(dut.out.due_meta.warp), ctx.get(dut.out.due_meta.rd)))
        await ctx.tick()
    latency = latencies(BASE)[unit]
    assert released == [(1 + latency, 3, 40)]
    assert written == [(to_execute + latency, 3, 40)]


def test_latencies_are_those_of_the_config():
    config = replace(BASE, latency_mul=7, latency_div=36, latency_fma=6, latency_fcvt=7, latency_fdiv=20,
                     latency_fmisc=3)
    assert unit_latencies(config) == latencies(config)


@simulated(lambda: WritebackSchedule(BASE))
async def test_clash_is_seen(ctx, dut):
    """A multiplication in t and an addition in t + 3 would write in the same cycle."""
    for cycle, unit in enumerate((Unit.MUL, None, None, Unit.ALU)):
        drive(ctx, dut, reserve=0 if unit is None else 1 << unit.value)
        assert ctx.get(dut.clash) == (cycle == 3), f"cycle {cycle}"
        await ctx.tick()
