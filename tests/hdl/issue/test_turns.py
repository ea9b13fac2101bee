"""Turns of partitions against a reference: fixed ones, and those that go to the oldest that asks."""

import random

import pytest

from metronome.hdl.issue.turns import Turns
from tests.hdl.lib.simulate import simulated

PERIOD = 17


class Reference:
    """The turns of one group."""

    def __init__(self, partitions, phase):
        self.partitions, self.phase = partitions, phase
        self.start()

    def start(self):
        self.fixed = self.number = 0
        self.turn, self.last, self.now = self.phase, [-1] * self.partitions, 0

    def tick(self, asks, ready):
        """The next turn; ``asks``: a set of partitions; ``ready``: the one that has the turn could use it."""
        stays = self.number == PERIOD - 1
        self.number = 0 if stays else self.number + 1
        self.now += 1
        if stays:
            return
        if ready:
            self.last[self.turn] = self.now
        self.fixed = (self.fixed + 1) % self.partitions
        # The lowest of several that never had a chance.
        self.turn = min(asks, key=lambda p: self.last[p]) if asks else (self.turn + 1) % self.partitions


def turns(partitions, phases, *, computed):
    return Turns(partitions=partitions, phases=phases, period=PERIOD, computed=computed)


async def launch(ctx, dut):
    ctx.set(dut.start, 1)
    await ctx.tick()
    ctx.set(dut.start, 0)


@pytest.mark.parametrize("partitions", [2, 4])
@simulated(lambda partitions: turns(partitions, (0, 1, 3 % partitions), computed=False))
async def test_fixed_turns(ctx, dut, partitions):
    """From a launch on one cycle each, and after every period one has two."""
    for cycles in (5, 4 * PERIOD * partitions):
        await launch(ctx, dut)
        for cycle in range(cycles):
            fixed = (cycle - cycle // PERIOD) % partitions
            assert ctx.get(dut.fixed) == fixed, f"cycle {cycle}"
            assert [ctx.get(dut.turn[g]) for g in range(3)] == [
                (fixed + phase) % partitions for phase in (0, 1, 3 % partitions)], f"cycle {cycle}"
            await ctx.tick()


@pytest.mark.parametrize("partitions", [2, 4])
@pytest.mark.parametrize("seed", range(2))
@simulated(lambda partitions: turns(partitions, (0, 1), computed=True))
async def test_computed_turns(ctx, dut, partitions, seed):
    """Random partitions ask, and the one that has a turn could use it or not."""
    rng = random.Random(f"{partitions}/{seed}")
    references = [Reference(partitions, phase) for phase in (0, 1)]
    for cycle in range(600):
        if cycle % 200 == 0:
            await launch(ctx, dut)
            for each in references:
                each.start()
            often = [rng.random() for _ in range(partitions)]
        assert ctx.get(dut.fixed) == references[0].fixed, f"seed {seed}, cycle {cycle}"
        found = [ctx.get(dut.turn[g]) for g in range(2)]
        assert found == [each.turn for each in references], f"seed {seed}, cycle {cycle}"
        asks = [{p for p in range(partitions) if rng.random() < often[p]} for _ in references]
        ready = [rng.random() < 0.6 for _ in references]
        for p in range(partitions):
            ctx.set(dut.asks[p], sum((p in asks[g]) << g for g in range(2)))
            mine = [each.turn == p for each in references]
            ctx.set(dut.ready[p], sum((mine[g] and ready[g]) << g for g in range(2)))
        await ctx.tick()
        for each, *found in zip(references, asks, ready, strict=True):
            each.tick(*found)


@pytest.mark.parametrize("partitions", [2, 4])
@simulated(lambda partitions: turns(partitions, (0,), computed=True))
async def test_nobody_starves(ctx, dut, partitions):
    """Until one that asks could use the turn, each other one could in one cycle, and in one more if the turn stays."""
    rng = random.Random(partitions)
    await launch(ctx, dut)
    waits, others, longest = False, [0] * partitions, 0
    for cycle in range(1500):
        waits = waits or rng.random() < 0.2
        turn = ctx.get(dut.turn[0])
        # The unit may be busy. Then nobody can use it.
        ready = rng.random() < 0.7 and (turn != 0 or waits)
        if waits:
            others[turn] += ready
            longest = max(longest, *others[1:])
            assert all(count <= 2 for count in others[1:]), f"cycle {cycle}: {others}"
            assert sum(others[1:]) <= partitions, f"cycle {cycle}: {others}"
        ctx.set(dut.ready[turn][0], ready)
        for p in range(1, partitions):
            ctx.set(dut.asks[p][0], rng.random() < 0.9)
        ctx.set(dut.asks[0][0], waits)
        await ctx.tick()
        ctx.set(dut.ready[turn][0], 0)
        if ready and turn == 0:
            waits, others = False, [0] * partitions
    assert longest == 2


@pytest.mark.parametrize("partitions", [2, 4])
@pytest.mark.parametrize("slots", [2, 4, 8, 12, 16])
@simulated(lambda partitions: turns(partitions, (0,), computed=True))
async def test_fixed_slots_meet_their_turns(ctx, dut, partitions, slots):
    """Each partition has one warp that waits for the unit, and a policy that selects it in one of so many cycles."""
    for own in range(0, slots, max(1, slots // 4)):
        await launch(ctx, dut)
        for p in range(partitions):
            ctx.set(dut.asks[p][0], 1)
        waits = set(range(partitions))
        for cycle in range((slots + 2) * partitions * PERIOD):
            turn = ctx.get(dut.turn[0])
            uses = turn in waits and cycle % slots == (own + turn) % slots
            ctx.set(dut.ready[turn][0], 1)
            waits -= {turn} if uses else set()
            await ctx.tick()
            ctx.set(dut.ready[turn][0], 0)
        assert not waits, f"slot {own} of {slots}: {waits} never had the turn"
