"""The predictor's rules of dispatch against the hardware: each answer of the unit and of its ports, in each cycle."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import connect

from metronome.hdl.gpu.config import NO_BLOCK, Dispatch, GpuConfig
from metronome.hdl.gpu.dispatch import DispatchPort, DispatchUnit
from metronome.hdl.presets import TINY
from metronome.sim.predict.gpu.dispatch import dispatch_settings
from metronome.sim.predict.model import dispatch as rules
from metronome.sim.predict.model.compiled import as_python
from metronome.sim.predict.model.records import PORT
from tests.hdl.lib.simulate import simulate

SMS, CYCLES = 3, 600
GPU = GpuConfig(sm=TINY, sms=4)
LINE = GPU.dispatch_address // 64


class _Pair:
    """The unit and the ports of some SMs, as hardware and as the predictor has them, with random traffic."""

    def __init__(self, gpu, seed):
        self.rng, self.where, self._sms = random.Random(seed), f"seed {seed}", gpu.sms
        self.top = Module()
        self.top.submodules.unit = unit = DispatchUnit(gpu)
        self.hardware = [DispatchPort(gpu) for _ in range(SMS)]
        for i, port in enumerate(self.hardware):
            self.top.submodules[f"port_{i}"] = port
            connect(self.top, port.unit, getattr(unit.sms, f"sm_{i}"))
        self.unit = np.zeros(1, rules.UNIT).view(np.recarray)[0]
        for name, value in dispatch_settings(gpu).items():
            setattr(self.unit, name, value)
        self.ports = np.zeros((gpu.sms, 1), rules.SM_DISPATCH).view(np.recarray)
        self.boxes = np.zeros(SMS, PORT).view(np.recarray)
        #: By SM: the request that it offers to its port, and the answer that memory offers, until they are accepted.
        self.requests, self.answers = [None] * SMS, [None] * SMS
        self.seen = Counter()

    def offer(self, ctx, i):
        """Offer a request and memory's answer to a port."""
        rng, port = self.rng, self.hardware[i]
        if self.requests[i] is None and rng.random() < 0.6:
            self.requests[i] = {
                "line": rng.choice((LINE, LINE, LINE, LINE + 1)), "write": rng.random() < 0.1, "tag": rng.randrange(8),
                "byte_mask": rng.choice((0xF, 0xFF, 0x7)), "data": rng.choice((0, 5, 20, 60)),
            }
        if self.answers[i] is None and rng.random() < 0.3:
            self.answers[i] = {"tag": rng.randrange(8)}
        for stream, offered in ((port.sm.request, self.requests[i]), (port.port.response, self.answers[i])):
            ctx.set(stream.valid, offered is not None)
            ctx.set(stream.payload, offered or {})
        ctx.set(port.port.request.ready, rng.random() < 0.6)
        ctx.set(port.sm.response.ready, rng.random() < 0.6)

    def compare_answer(self, ctx, i):
        """Compare what is offered to an SM; return whether it takes it."""
        mine, box, offered = self.ports[i, 0], self.boxes[i], self.hardware[i].sm.response
        box.response_valid, box.response_tag = self.answers[i] is not None, (self.answers[i] or {"tag": 0})["tag"]
        rule("offer")(mine, box)
        assert ctx.get(offered.valid) == box.response_valid, self.where
        if box.response_valid:
            assert ctx.get(offered.payload.tag) == box.response_tag, self.where
        if mine.first:
            assert ctx.get(offered.payload.data) == int(f"{mine.number:08x}" * 16, 16), self.where
            self.seen["none"] += mine.number == NO_BLOCK
        self.seen["held"] += bool(mine.waits and mine.held)
        taken = bool(box.response_valid and ctx.get(offered.ready))
        if self.answers[i] is not None:
            leaves = taken and not mine.first
            assert ctx.get(self.hardware[i].port.response.ready) == leaves, self.where
            self.answers[i] = None if leaves else self.answers[i]
        return taken

    def compare_request(self, ctx, i):
        """Compare what becomes of the request of an SM."""
        mine, request, port = self.ports[i, 0], self.requests[i], self.hardware[i]
        if request is None:
            return
        takes = request["line"] == LINE and not request["write"]
        accepted = rule("accepts")(mine) if takes else ctx.get(port.port.request.ready)
        assert ctx.get(port.sm.request.ready) == accepted, self.where
        if accepted and takes:
            rule("take")(self.unit, mine, request["tag"], self._sms)
            self.seen["taken"] += 1
        elif accepted:
            rule("see")(self.unit, i, request["line"], request["write"], request["byte_mask"], 0)
        if accepted:
            self.requests[i] = None

    def compare(self, ctx):
        """Compare a cycle."""
        rule("begin")(self.unit, self.ports, self._sms)
        for i in range(SMS):
            self.offer(ctx, i)
        blocks = [request and request["data"] for request in self.requests]
        for i in range(SMS):
            taken = self.compare_answer(ctx, i)
            self.compare_request(ctx, i)
            rule("tick")(self.ports[i, 0], taken)
        if rule("tick_unit")(self.unit, self.ports, self._sms) and self.unit.launches >= 0:
            self.unit.blocks = blocks[self.unit.launches]


def rule(name):
    return as_python(getattr(rules, name))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("dispatch", [Dispatch.STATIC, Dispatch.DYNAMIC])
def test_each_answer_comes_in_its_cycle(dispatch, seed):
    pair = _Pair(replace(GPU, dispatch=dispatch), seed)

    async def run(ctx):
        for cycle in range(CYCLES):
            pair.where = f"seed {seed}, cycle {cycle}"
            pair.compare(ctx)
            await ctx.tick()

    simulate(pair.top, run)
    assert pair.seen["taken"] > 200 and pair.seen["held"] > 20 and pair.seen["none"] > 20, pair.seen
