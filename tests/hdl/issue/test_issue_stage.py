"""The issue stage as a whole: readiness, operands and writes of random programs against a reference in Python."""

import functools
import random
from collections import Counter
from dataclasses import replace

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import Unit
from metronome.hdl.issue.issue import IssueStage
from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.layouts.decoded import BufferEntry
from metronome.hdl.presets import BASE
from tests.hdl.issue import issue_reference as reference
from tests.hdl.lib.simulate import Simulation, drive, maybe, simulated
from tests.support.tiers import long_but, more_but

CONFIGS = [
    BASE,
    replace(BASE, warps=1, threads=1, latency_mul=2, latency_fcvt=8),
    replace(BASE, warps=8, threads=2, latency_div=37, latency_fdiv=19),
    replace(BASE, issue_latency=3),
]
WRITERS = (Unit.ALU, Unit.BRANCH, Unit.MUL, Unit.DIV, Unit.LSU, Unit.CSR, Unit.SIMT, *reference.FLOATS)
UNPIPELINED = (Unit.DIV, Unit.FDIV)


def label(config: SmConfig) -> str:
    return f"{config.warps}x{config.threads}_x_{config.issue_latency}"


def instruction(rng: random.Random) -> dict:
    """A head as the decoder makes it: SYSTEM and stores write nothing; only FMA has a third source."""
    head = reference.random_head(rng) | {"unit": rng.choice((*WRITERS, Unit.ALU, Unit.LSU, Unit.CSR, Unit.SYSTEM))}
    head |= {"use_rs3": head["unit"] is Unit.FMA and head["use_rs3"]}
    head |= {"drain": head["unit"] is Unit.CSR and head["drain"], "fence": head["unit"] is Unit.SYSTEM,
             "rd": rng.choice(reference.NUMBERS)}
    head["writes_rd"] = head["unit"] in WRITERS and maybe(rng, 0.7)
    head["store"] = head["unit"] is Unit.LSU and not head["writes_rd"]
    return head


class Machine:
    """Drives the stage cycle by cycle. ``flight``: selections by cycle; ``writes``: fixed-latency writes by cycle."""

    def __init__(self, dut: IssueStage, config: SmConfig, rng: random.Random, name: str) -> None:
        self.dut, self.config, self.rng, self.name = dut, config, rng, name
        self.cycle = 0
        self.heads = [instruction(rng) for _ in range(config.warps)]
        #: The next entry of each buffer, which an early scoreboard looks up. It does not know the heads of the first
        #: cycle, so those are NOPs, as in the buffers.
        self.following = [instruction(rng) for _ in range(config.warps)]
        self.blank = list(range(config.warps)) if config.operand_register else []
        self.registers = reference.Registers(config, rng)
        self.pending: list[dict[int, bool]] = [{} for _ in range(config.warps)]
        self.flight: dict[int, dict] = {}
        self.writes: dict[int, dict] = {}
        self.parts: list[dict] = []
        self.arrivals: dict[int, list[dict]] = {}
        self.load_write: dict | None = None
        self.flags: Counter[int] = Counter()
        self.unit_free = dict.fromkeys(UNPIPELINED, 0)
        self.masks: list[int] = []
        self.seen: Counter[str] = Counter()

    @property
    def what(self) -> str:
        return f"{self.name}, cycle {self.cycle}"

    def values(self) -> list[int]:
        return [self.rng.getrandbits(32) for _ in range(self.config.threads)]

    async def step(self, ctx) -> None:
        rng, dut = self.rng, self.dut
        result = self.values()
        ctx.set(dut.result, result)
        ctx.set(dut.flow.masks, [rng.getrandbits(self.config.threads) for _ in range(self.config.warps)])
        self.masks = [ctx.get(dut.flow.masks[w]) for w in range(self.config.warps)]
        self._execute(ctx)
        taken = self._load(ctx)
        written = self._check_write(ctx, result)
        if self.config.operand_register:
            self.registers.write(written)
        self._read(ctx)
        ready = self._judge(ctx)
        self._select(ctx, ready)
        assert not ctx.get(dut.event.clash), f"{self.what}: clash"
        await ctx.tick()
        # A register releases its hazard when those that are selected in the next cycle see its value: with a register
        # for the operands, that of the write is forwarded to them.
        fixed = self.writes.get(self.cycle + self.config.issue_latency - 1)
        for done in (fixed, taken if taken and taken["last"] else None):
            if done and done.get("flags_only"):
                self.flags[done["warp"]] -= 1
            elif done:
                del self.pending[done["warp"]][done["rd"]]
        if not self.config.operand_register:
            self.registers.write(written)
        self.load_write = taken
        self.cycle += 1

    def _execute(self, ctx) -> None:
        """The instruction in X; some fault, and write nothing."""
        dut, x = self.dut, self.flight.get(self.cycle - self.config.issue_latency)
        kill = maybe(self.rng, 0.05)
        ctx.set(dut.kill, kill)
        assert ctx.get(dut.operands.valid) == (x is not None), f"{self.what}: operands.valid"
        if x is None:
            return
        x["kill"] = kill
        got = {name: reference.lanes(ctx, dut.operands[name], self.config.threads)
               for name in ("rs1", "rs2", "rs3") if name != "rs3" or x["info"]["use_rs3"]}
        got |= {"warp": ctx.get(dut.operands.warp), "mask": ctx.get(dut.operands.mask),
                "bits": ctx.get(dut.operands.entry).as_bits()}
        assert got == {name: x[name] for name in got}, f"{self.what}: operands of {x['info']}"

    def _load(self, ctx) -> dict | None:
        """Results of the LSU, taken in the cycle before a free slot; returns the one taken."""
        self.parts += self.arrivals.pop(self.cycle, [])
        load = self.dut.load
        ctx.set(load.valid, bool(self.parts))
        if self.parts:
            ctx.set(load.payload, self.parts[0])
        free = self.cycle + 1 not in self.writes
        assert ctx.get(load.ready) == free, f"{self.what}: load.ready"
        return self.parts.pop(0) if self.parts and free else None

    def _check_write(self, ctx, result: list[int]) -> dict | None:
        dut, fixed = self.dut, self.writes.get(self.cycle)
        write = self.load_write
        if fixed is not None:
            assert write is None
            assert ctx.get(dut.write_unit) == fixed["info"]["unit"], f"{self.what}: write_unit"
            info = {"warp": fixed["warp"], "rd": fixed["rd"], "mask": fixed["mask"], "last": 1, "data": result}
            write = None if fixed["kill"] or fixed["flags_only"] else info
            raises = fixed["info"]["unit"] in reference.FLOATS and not fixed["kill"]
            assert ctx.get(dut.flags_valid) == raises, f"{self.what}: flags_valid"
            assert not raises or ctx.get(dut.flags_warp) == fixed["warp"], f"{self.what}: flags_warp"
            self.seen["flags only"] += fixed["flags_only"] and raises
        else:
            assert not ctx.get(dut.flags_valid), f"{self.what}: flags_valid"
        if fixed is not None:
            self.seen["killed"] += fixed["kill"]
        assert ctx.get(dut.write_event.valid) == (write is not None), f"{self.what}: write_valid, expected {write}"
        if write:
            got = {name: ctx.get(dut.write_event.value[name]) for name in ("warp", "rd", "mask", "last")}
            got["data"] = reference.lanes(ctx, dut.write_event.value.data, self.config.threads)
            assert got == write, f"{self.what}: write"
        reading = any(self.cycle - ago in self.flight for ago in range(1, self.config.issue_latency + 1))
        busy = reading or self.load_write is not None or any(slot >= self.cycle for slot in self.writes)
        assert ctx.get(dut.busy) == busy, f"{self.what}: busy"
        return write

    def _read(self, ctx) -> None:
        """The entry of the instruction selected in the last cycle arrives, and its registers are read."""
        before_x = self.flight.get(self.cycle - self.config.issue_latency + 1)
        assert before_x is None or ctx.get(self.dut.next_warp) == before_x["warp"], f"{self.what}: next_warp"
        r = self.flight.get(self.cycle - 1)
        entry = {"decoded": {"info": r["info"] if r else instruction(self.rng)}, "pc": self.rng.getrandbits(32)}
        ctx.set(self.dut.selection.entry, entry)
        if r is None:
            return
        r["mask"], r["bits"] = self.masks[r["warp"]], BufferEntry.const(entry).as_bits()
        for name in ("rs1", "rs2", "rs3"):
            r[name] = self.registers.read(r["warp"], r["info"][name], r["info"][f"use_{name}"])

    def _judge(self, ctx) -> list[int]:
        rng, dut = self.rng, self.dut
        lsu_ready, stores = maybe(rng, 0.8), rng.getrandbits(self.config.warps)
        drive(ctx, dut, lsu_ready=lsu_ready, stores_pending=stores)
        for w, head in enumerate(self.heads):
            ctx.set(dut.selection.heads[w], head)
            if self.config.operand_register:
                ctx.set(dut.ahead.following[w], self.following[w])
        busy = set()
        if not lsu_ready:
            busy.add(Unit.LSU)
        busy.update(unit for unit, free in self.unit_free.items() if self.cycle < free)
        x = self.cycle + self.config.issue_latency
        slots = {unit: x + latency for unit, latency in reference.latencies(self.config).items()}
        units = {"unit_free": sum(1 << unit.value for unit in Unit if unit not in busy),
                 "slot_free": sum(1 << unit.value for unit in Unit if slots.get(unit) not in self.writes)}
        ready = []
        for w, head in enumerate(self.heads):
            if w in self.blank:
                continue
            found = reference.reasons(head, self.pending[w], stores=stores >> w & 1, flags=self.flags[w], **units)
            where = f"{self.what}, warp {w}: {head}, pending {self.pending[w]}: {found}"
            assert (ctx.get(dut.selection.ready) >> w & 1) == (not found), where
            assert ctx.get(dut.event.head_reason[w]) in (found or {StallReason.NONE}), where
            self.seen.update(reason.name for reason in found)
            if not found:
                ready.append(w)
        return ready

    def _select(self, ctx, ready: list[int]) -> None:
        """One ready head, or any warp's NOP, which must claim nothing."""
        rng, dut = self.rng, self.dut
        nop = maybe(rng, 0.15) or bool(self.blank)
        warps = self.blank or list(range(self.config.warps))
        warp = rng.choice(warps) if nop else rng.choice(ready) if ready and maybe(rng, 0.9) else None
        info = None if warp is None else self.heads[warp]
        drive(ctx, dut.selection, select=0 if warp is None else 1 << warp, warp=warp or 0, nop=nop, info=info or {})
        issued = info is not None and not nop
        if self.config.operand_register:
            picked, missed = 0 if warp is None else 1 << warp, rng.getrandbits(1)
            other = 1 << rng.randrange(self.config.warps)
            drive(ctx, dut.ahead, nops=nop << warp if nop else 0, missed=missed, if_hit=other if missed else picked,
                  if_missed=picked if missed else other)
        assert ctx.get(dut.lsu_take) == (issued and info["unit"] is Unit.LSU), f"{self.what}: lsu_take"
        self.blank = [w for w in self.blank if w != warp]
        if warp is not None and (issued or self.config.operand_register):
            self.heads[warp], self.following[warp] = self.following[warp], instruction(rng)
        if not issued:
            return
        flags_only = reference.takes_slot(info) and not info["writes_rd"]
        selection = {"warp": warp, "info": info, "rd": info["rd"], "kill": False, "flags_only": flags_only}
        self.flight[self.cycle] = selection
        self.seen[info["unit"].name] += 1
        if info["unit"] in UNPIPELINED:
            self.unit_free[info["unit"]] = self.cycle + reference.latencies(self.config)[info["unit"]]
        if info["writes_rd"]:
            self.pending[warp][info["rd"]] = info["unit"] is Unit.LSU
        if info["unit"] is Unit.LSU:
            if info["writes_rd"]:
                self._answer(warp, info["rd"])
        elif reference.takes_slot(info):
            to_write = self.config.issue_latency + reference.latencies(self.config)[info["unit"]]
            self.writes[self.cycle + to_write] = selection
            self.flags[warp] += flags_only

    def _answer(self, warp: int, rd: int) -> None:
        """A load's parts come some cycles later; the last one says so."""
        count = self.rng.randrange(1, 3)
        for part in range(count):
            arrival = self.arrivals.setdefault(self.cycle + 4 + self.rng.randrange(6) + 12 * part, [])
            arrival.append({"warp": warp, "rd": rd, "mask": self.rng.getrandbits(self.config.threads),
                            "last": part == count - 1, "data": self.values()})


@pytest.mark.slow
@pytest.mark.parametrize("config", more_but(long_but(CONFIGS, CONFIGS[:2] + CONFIGS[3:]), CONFIGS[:1]), ids=label)
@simulated(lambda config: IssueStage(config))
async def test_random_programs(ctx, dut, config):
    seed = 10 * config.warps + config.threads
    rng = random.Random(seed)
    machine = Machine(dut, config, rng, f"seed {seed}")
    for _ in range(700):
        await machine.step(ctx)
    for event in ("LOAD", "DATA", "UNIT", "DRAIN", "killed", "flags only", *(unit.name for unit in WRITERS)):
        assert machine.seen[event] > 0, f"seed {seed}: {event} never happened: {machine.seen}"


@functools.cache
def issue_stage():
    """Compiled once."""
    dut = IssueStage(BASE)
    return dut, Simulation(dut)


@pytest.mark.parametrize("unit", list(reference.latencies(BASE)))
def test_dependent_instruction(unit):
    """Ready again exactly latency + 2 cycles after the producer's selection."""
    dut, simulation = issue_stage()
    ready = []

    async def testbench(ctx):
        producer = {"unit": unit, "rd": 9, "writes_rd": 1}
        ctx.set(dut.selection.heads[1], producer)
        drive(ctx, dut.selection, select=0b0010, warp=1, info=producer)
        for cycle in range(45):
            await ctx.tick()
            drive(ctx, dut.selection, select=0, entry={"decoded": {"info": producer}})
            ctx.set(dut.selection.heads[1], {"unit": Unit.ALU, "rs2": 9, "use_rs2": 1})
            if ctx.get(dut.selection.ready) & 2:
                ready.append(cycle + 1)

    simulation.run(testbench)
    first = reference.latencies(BASE)[unit] + 2
    assert ready == list(range(first, 46))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "latency"), [(Unit.DIV, 34), (Unit.DIV, 36), (Unit.FDIV, 16), (Unit.FDIV, 40)])
@simulated(lambda unit, latency: IssueStage(replace(BASE, **{f"latency_{unit.name.lower()}": latency})))
async def test_divider_takes_the_next_division_after_its_latency(ctx, dut, unit, latency):
    free = []
    heads = [unit, Unit.FDIV if unit is Unit.DIV else Unit.DIV, Unit.MUL, Unit.ALU]
    for w, head in enumerate(heads):
        ctx.set(dut.selection.heads[w], {"unit": head})
    drive(ctx, dut.selection, select=0b1000, warp=3, info={"unit": unit})
    for cycle in range(1, latency + 3):
        await ctx.tick()
        ctx.set(dut.selection.select, 0)
        ready = ctx.get(dut.selection.ready)
        assert ready & 0b1110 == 0b1110, f"cycle {cycle}: only {unit.name} waits for {unit.name}"
        free.extend([cycle] * (ready & 1))
    assert free == [latency, latency + 1, latency + 2]
