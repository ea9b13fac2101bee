"""SimtControl against the reference, in every cycle, with random instructions of random warps."""

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from metronome.hdl.config import SmConfig
from metronome.hdl.execute.simt.control import SimtControl
from metronome.hdl.isa.ops import SimtOp
from metronome.hdl.presets import BASE, MID, TINY
from tests.hdl.execute.simt.simt_reference import Operation, Reference
from tests.hdl.lib.simulate import drive, told
from tests.support.tiers import long_but, more_but

ONE = SmConfig(warps=1, threads=1)
ODD = SmConfig(warps=3, threads=4)
CONFIGS = {"1x1": ONE, "TINY": TINY, "3x4": ODD, "BASE": BASE, "MID": MID}

#: Between two instructions of one warp there are R cycles, so a peek never meets its own warp's update.
SPACING = 4


def _drive(ctx: Any, dut: SimtControl, o: Operation | None, reference: Reference, rng: random.Random) -> None:
    ctx.set(dut.valid, o is not None)
    if o is None:
        # Noise on everything else.
        for port in (dut.op, dut.warp, dut.pc, dut.predicate, dut.negate, dut.leader_rs1, dut.leader_rs2):
            ctx.set(port, rng.getrandbits(len(port)) % (reference.config.warps if port is dut.warp else 1 << 32))
        return
    for port, value in ((dut.op, o.op.value), (dut.warp, o.warp), (dut.pc, o.pc), (dut.predicate, o.predicate),
                        (dut.negate, o.negate), (dut.leader_rs1, o.rs1), (dut.leader_rs2, o.rs2),
                        (dut.mask, reference.warps[o.warp].mask)):
        ctx.set(port, value)


def _check(ctx: Any, dut: SimtControl, o: Operation | None, reference: Reference) -> None:
    """Compare the outputs of a cycle and step the reference."""
    for w, warp in enumerate(reference.warps):
        assert ctx.get(dut.masks[w]) == warp.mask, (w, o)
    assert (ctx.get(dut.active), ctx.get(dut.waiting)) == (reference.active, reference.waiting), o
    spawned = reference.spawn_now()
    release = 0 if spawned is None else spawned[2]
    assert ctx.get(dut.activation.warps) == (0 if spawned is None else spawned[0])
    if spawned is not None and spawned[0]:
        assert ctx.get(dut.activation.pc) == spawned[1]
    if o is not None:
        expected = reference.execute(o)
        assert ctx.get(dut.result) == expected.result, o
        assert ctx.get(dut.fault) == (expected.cause is not None), o
        assert expected.cause is None or ctx.get(dut.cause) == expected.cause, o
        assert ctx.get(dut.redirect) == expected.redirect, o
        assert expected.target is None or ctx.get(dut.target) == expected.target, o
        assert (ctx.get(dut.waits), ctx.get(dut.ended)) == (expected.waits, expected.ended), o
        release |= expected.release
    assert ctx.get(dut.release) == release, o


class _Traffic:
    """Instructions that mostly make sense: joins of what was pushed, barriers that can complete."""

    def __init__(self, reference: Reference, rng: random.Random) -> None:
        self.reference = reference
        self.rng = rng
        #: A barrier's participants agree on its count.
        self.counts: dict[int, int] = {}
        #: Nested splits narrow the mask, so the stack only overflows where tmc widens it in between.
        self.deep = rng.random() < 0.2
        self._begun = False

    def _op(self) -> SimtOp:
        if not self._begun and not self.deep and self.rng.random() < 0.8:
            self._begun = True
            return SimtOp.WSPAWN
        ops = (SimtOp.TMC, SimtOp.PRED, SimtOp.SPLIT, SimtOp.JOIN, SimtOp.BAR, SimtOp.WSPAWN)
        return self.rng.choices(ops, (3, 0, 5, 0, 0, 0) if self.deep else (3, 2, 5, 5, 4, 1))[0]

    def next(self, warp: int) -> Operation:
        rng, reference = self.rng, self.reference
        threads = reference.config.threads
        depth = len(reference.warps[warp].stack)
        op = self._op()
        pc = rng.getrandbits(30) << 2
        predicate, negate = rng.getrandbits(threads), rng.getrandbits(1)
        rs1, rs2 = rng.getrandbits(32), rng.getrandbits(32)
        if op is SimtOp.TMC:
            full = (1 << threads) - 1
            rs1 = full if self.deep else rng.choice((rs1, full, full, 0 if rng.random() < 0.2 else 1))
        elif op is SimtOp.PRED:
            rs2 |= 1 if rng.random() < 0.9 else 0
        elif op is SimtOp.JOIN:
            garbage = 1 << rng.randrange(8, 32) | max(0, depth - 1)
            rs1 = rng.choices((max(0, depth - 1), depth, depth + 1, garbage), (8, 2, 1, 1))[0]
        elif op is SimtOp.BAR:
            rs1, rs2 = self._barrier(rs1)
        elif op is SimtOp.WSPAWN:
            rs1 = rng.choice((1, 2, reference.config.warps, reference.config.warps, reference.config.warps + 1, rs1))
            if reference.spawner is not None:
                op, rs1 = SimtOp.TMC, 0
        return Operation(op, warp, pc, predicate, negate, rs1, rs2)

    def _barrier(self, number: int) -> tuple[int, int]:
        reference, rng = self.reference, self.rng
        barrier = number % reference.config.barriers
        if not reference.barriers[barrier]:
            self.counts[barrier] = rng.randint(1, max(1, reference.config.warps // 2))
        return number, self.counts[barrier]


async def _episode(ctx: Any, dut: SimtControl, reference: Reference, rng: random.Random, cycles: int) -> None:
    traffic = _Traffic(reference, rng)
    drive(ctx, dut, start=1, start_pc=0x8000_0000)
    assert (ctx.get(dut.activation.warps), ctx.get(dut.activation.pc)) == (1, 0x8000_0000)
    await ctx.tick()
    ctx.set(dut.start, 0)
    reference.start()
    last = dict.fromkeys(range(reference.config.warps), -SPACING)
    upcoming: int | None = None
    for cycle in range(cycles):
        # What was peeked in the last cycle is in X now.
        o = None if upcoming is None else traffic.next(upcoming)
        _drive(ctx, dut, o, reference, rng)
        runnable = [
            w for w in last
            if reference.active & ~reference.waiting & 1 << w and cycle - last[w] >= SPACING and w != upcoming
        ]
        upcoming = rng.choice(runnable) if runnable and rng.random() < 0.9 else None
        if upcoming is not None:
            last[upcoming] = cycle + 1
        ctx.set(dut.peek_warp, rng.randrange(reference.config.warps) if upcoming is None else upcoming)
        _check(ctx, dut, o, reference)
        await ctx.tick()
        if not reference.active:
            # Everything has ended: launch again. (Warps that wait for each other forever end the episode early.)
            return


def _run(config: SmConfig, seed: int, episodes: int, cycles: int) -> dict[str, int]:
    rng = random.Random(seed)
    events: dict[str, int] = {}
    dut = SimtControl(config)

    async def testbench(ctx: Any) -> None:
        await _episode(ctx, dut, Reference(config, events), rng, cycles)

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    for episode in range(episodes):
        if episode:
            sim.reset()
        sim.run()
    return events


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", more_but(long_but(CONFIGS, [name for name in CONFIGS if name != "MID"]), ["3x4"]))
def test_against_reference(name):
    for seed in (1, 2):
        with told(f"seed {seed}"):
            events = _run(CONFIGS[name], seed, episodes=15 if name == "1x1" else 30, cycles=80)
        expected = {"pred keeps", "pred restores", "split one-sided", "join nothing", "underflow", "bar alone",
                    "wspawn one", "ended by TMC"}
        if CONFIGS[name].threads > 1:
            expected |= {"split tie", "join first", "join second", "overflow"}
        if CONFIGS[name].threads > 2:
            expected |= {"split true", "split false"}
        if CONFIGS[name].warps > 1:
            expected |= {"spawned all", "wspawn above", "wspawn waits"}
        if CONFIGS[name].warps > 3:
            expected |= {"bar complete", "spawned some"}
        if CONFIGS[name].barriers > 2:
            expected |= {"bar complete with another occupied"}
        assert expected <= set(events), f"seed {seed}: {expected - set(events)} not reached"
