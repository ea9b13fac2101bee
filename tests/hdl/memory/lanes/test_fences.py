"""Requests at fences: the first one after a fence waits until all before it is done and the cache is emptied, once."""

import random
from collections import deque
from dataclasses import replace

import pytest

from metronome.hdl.memory.lanes.entrance import Entrance
from metronome.hdl.presets import TINY
from tests.hdl.lib.simulate import Simulation

CYCLES = 400


class Traffic:
    """Random requests and fences; the number of a request is its pc. ``waits``: those behind a fence."""

    def __init__(self, dut, config, seed, drained):
        self.dut, self.config, self.seed, self.chance = dut, config, seed, drained
        self.rng = random.Random(seed)
        self.taken = deque([None] * config.issue_latency)
        self.numbers, self.fenced, self.due = 0, False, deque()
        #: Whether the cache was emptied for the request that comes next.
        self.emptied = False
        self.left, self.empties = [], 0

    async def run(self, ctx):
        for cycle in range(CYCLES):
            self.where = f"seed {self.seed}, cycle {cycle}"
            self.drive(ctx)
            self.check(ctx)
            await ctx.tick()

    def drive(self, ctx):
        rng, dut = self.rng, self.dut
        take = bool(ctx.get(dut.ready)) and rng.random() < 0.5
        self.taken.append(take)
        ctx.set(dut.take, take)
        arrives = bool(self.taken.popleft())
        ctx.set(dut.request_valid, arrives)
        if arrives:
            self.due.append((self.numbers, self.fenced))
            ctx.set(dut.request, {"pc": self.numbers, "mask": 1, "op": 2})
            self.numbers, self.fenced = self.numbers + 1, False
        # A fence and a request in one cycle are of different warps.
        fence = rng.random() < 0.15
        ctx.set(dut.fence, fence)
        self.fenced |= fence
        self.drained = rng.random() < self.chance
        ctx.set(dut.drained, self.drained)
        self.pops = rng.random() < 0.6

    def check(self, ctx):
        dut = self.dut
        pop = bool(ctx.get(dut.head_valid)) and self.pops
        ctx.set(dut.pop, pop)
        empties = bool(ctx.get(dut.invalidate))
        if ctx.get(dut.head_valid):
            number, fenced = self.due[0]
            assert ctx.get(dut.head.pc) == number, self.where
            assert not fenced or self.emptied, f"{self.where}: request {number} passes a fence"
            assert not empties, self.where
        if empties:
            assert self.drained and self.due[0][1] and not self.emptied, self.where
            self.emptied = True
            self.empties += 1
        if pop:
            self.left.append(self.due.popleft())
            self.emptied = False
        assert not ctx.get(dut.overflow), self.where


@pytest.mark.parametrize("lookup_latency", [1, 2])
def test_random_traffic(lookup_latency):
    config = replace(TINY, lookup_latency=lookup_latency)
    dut = Entrance(config, depth=8, fences=True)
    simulation = Simulation(dut)
    for seed, drained in enumerate((1.0, 0.3, 0.6)):
        traffic = Traffic(dut, config, seed, drained)
        simulation.run(traffic.run)
        behind = [number for number, fenced in traffic.left if fenced]
        assert len(traffic.left) > 100 and len(behind) > 10
        # Once for each, and perhaps for the one that is at the head now.
        assert traffic.empties - len(behind) in (0, 1)
