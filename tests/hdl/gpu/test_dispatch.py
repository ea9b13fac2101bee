"""Dispatch: each block goes to one SM, in which order, and what else passes the port of an SM."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.gpu.config import NO_BLOCK, Dispatch, GpuConfig
from metronome.hdl.gpu.dispatch import DispatchPort, DispatchUnit
from metronome.hdl.presets import TINY
from tests.hdl.lib.simulate import simulate

SMS = 4
GPU = GpuConfig(sm=TINY, sms=SMS, dispatch=Dispatch.DYNAMIC)
LINE = GPU.dispatch_address // 64


def expected(dispatch, blocks, taken, asks):
    """The answers to the SMs in ``asks``; ``taken``: the number of blocks that each SM has had."""
    if dispatch is Dispatch.STATIC:
        offers = {sm: sm + SMS * taken[sm] for sm in asks}
    else:
        offers = {sm: sum(taken) + k for k, sm in enumerate(sorted(asks))}
    return {sm: offer if offer < blocks else NO_BLOCK for sm, offer in offers.items()}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dispatch", [Dispatch.STATIC, Dispatch.DYNAMIC])
def test_every_block_goes_to_one_sm(dispatch, seed):
    rng = random.Random(seed)
    dut = DispatchUnit(replace(GPU, dispatch=dispatch))
    ports = [getattr(dut.sms, f"sm_{i}") for i in range(SMS)]
    ends = 0

    async def run(ctx):
        nonlocal ends
        blocks, taken, handed = 0, [0] * SMS, []
        for cycle in range(600):
            where = f"seed {seed}, cycle {cycle}"
            asks = {sm for sm in range(SMS) if rng.random() < 0.4}
            launches = {sm: rng.choice((0, 1, 3, 17, 40)) for sm in range(SMS) if rng.random() < 0.005}
            for sm, port in enumerate(ports):
                ctx.set(port.takes, sm in asks)
                ctx.set(port.launches, sm in launches)
                ctx.set(port.blocks, launches.get(sm, rng.getrandbits(32)))
            answers = {sm: ctx.get(ports[sm].number) for sm in asks}
            assert answers == expected(dispatch, blocks, taken, asks), where
            handed += [number for number in answers.values() if number != NO_BLOCK]
            taken = [count + (answers.get(sm, NO_BLOCK) != NO_BLOCK) for sm, count in enumerate(taken)]
            assert len(set(handed)) == len(handed), where
            if launches:
                ends += len(handed) == blocks
                blocks, taken, handed = launches[min(launches)], [0] * SMS, []
            await ctx.tick()

    simulate(dut, run)
    assert ends > 2


@pytest.mark.parametrize("dispatch", [Dispatch.STATIC, Dispatch.DYNAMIC])
def test_the_largest_grid_ends(dispatch):
    """With numbers of 4 bits: after the last block, the numbers do not begin anew."""
    bits, none = 4, 15
    dut = DispatchUnit(replace(GPU, dispatch=dispatch), bits=bits)
    ports = [getattr(dut.sms, f"sm_{i}") for i in range(SMS)]

    async def run(ctx):
        ctx.set(ports[0].launches, 1)
        ctx.set(ports[0].blocks, none)
        await ctx.tick()
        ctx.set(ports[0].launches, 0)
        answers = []
        for cycle in range(20):
            for number, port in enumerate(ports):
                # Two SMs, then three in a cycle, of which the last ones get no block.
                ctx.set(port.takes, number < (2 if cycle == 0 else 3 if cycle < 9 else 4))
            answers += [ctx.get(port.number) for port in ports if ctx.get(port.takes)]
            await ctx.tick()
        assert sorted(each for each in answers if each != none) == [*range(none)]

    simulate(dut, run)


class _Memory:
    """Random requests of an SM, a memory that answers in any order, and the numbers of blocks: 0, 1, 2, ..."""

    def __init__(self, seed):
        self.rng, self.seed = random.Random(seed), seed
        self.dut = DispatchPort(GPU)
        self.offer = self.answer = self.held = None
        #: Tags in use, and what each will be answered with; those that memory has to answer.
        self.open, self.below = {}, []
        self.blocks = self.launches = self.answered = 0

    def ask(self, ctx):
        rng = self.rng
        free = sorted(set(range(1 << TINY.mem_tag_bits)) - set(self.open))
        if self.offer is None and free and rng.random() < 0.6:
            self.offer = {
                "line": LINE if rng.random() < 0.5 else rng.choice((LINE - 1, LINE + 1, rng.getrandbits(26))),
                "tag": rng.choice(free), "write": rng.getrandbits(1), "data": rng.getrandbits(512),
                "byte_mask": rng.choice((0xF, 0xFF, 0x7, 0xF0, rng.getrandbits(64))),
            }
        request = self.dut.sm.request
        ctx.set(request.valid, self.offer is not None)
        if self.offer is not None:
            ctx.set(request.payload, self.offer)
        ctx.set(self.dut.port.request.ready, rng.random() < 0.6)
        ctx.set(self.dut.unit.number, self.blocks)

    def respond(self, ctx):
        port = self.dut.port.response
        if self.answer is None and self.below and self.rng.random() < 0.5:
            self.answer = self.below.pop(self.rng.randrange(len(self.below)))
        ctx.set(port.valid, self.answer is not None)
        if self.answer is not None:
            data, error = self.open[self.answer]
            ctx.set(port.payload, {"tag": self.answer, "error": error, "data": data})
        ctx.set(self.dut.sm.response.ready, self.rng.random() < 0.6)

    def accept(self, ctx):
        """Judge the request of this cycle; return the tag that the unit answers, or None."""
        offer, unit, below = self.offer, self.dut.unit, self.dut.port.request
        takes = offer is not None and offer["line"] == LINE and not offer["write"]
        accepted = ctx.get(self.dut.sm.request.ready) and offer is not None
        assert ctx.get(below.valid) == (offer is not None and not takes)
        assert ctx.get(unit.takes) == (takes and accepted)
        launches = accepted and offer["line"] == LINE and offer["write"] and offer["byte_mask"] & 0xF == 0xF
        assert ctx.get(unit.launches) == launches
        if launches:
            assert ctx.get(unit.blocks) == offer["data"] & 0xFFFF_FFFF
            self.launches += 1
        if not accepted:
            return None
        self.offer = None
        if takes:
            self.open[offer["tag"]] = int(f"{self.blocks:08x}" * 16, 16), 0
            self.blocks += 1
            return offer["tag"]
        assert ctx.get(below.ready)
        assert {name: ctx.get(below.payload[name]) for name in offer} == offer
        self.open[offer["tag"]] = self.rng.getrandbits(512), self.rng.getrandbits(1)
        self.below.append(offer["tag"])
        return None

    def take(self, ctx, waits):
        """Judge the response of this cycle; return whether the answer ``waits`` of the unit was taken."""
        response, above = self.dut.sm.response, self.dut.port.response
        first = waits if waits is not None and self.held is None else self.answer
        assert ctx.get(response.valid) == (first is not None)
        ready = ctx.get(response.ready)
        assert ctx.get(above.ready) == (ready and first == self.answer) or self.answer is None
        self.held = self.answer if first is not None and first == self.answer and not ready else None
        if first is None or not ready:
            return False
        shown = {name: ctx.get(response.payload[name]) for name in ("tag", "error", "data")}
        data, error = self.open.pop(first)
        assert shown == {"tag": first, "error": error, "data": data}
        self.answered += 1
        if first == self.answer:
            self.answer = None
            return False
        return True

    async def run(self, ctx):
        waits = None
        for cycle in range(600):
            try:
                self.ask(ctx)
                self.respond(ctx)
                taken = self.take(ctx, waits)
                new = self.accept(ctx)
            except AssertionError as error:
                raise AssertionError(f"seed {self.seed}, cycle {cycle}: {error}") from error
            # One read waits at a time: it is answered from the next cycle on.
            assert new is None or waits is None, f"seed {self.seed}, cycle {cycle}"
            waits = new if new is not None else None if taken else waits
            await ctx.tick()


@pytest.mark.parametrize("seed", range(4))
def test_what_passes_the_port_of_an_sm(seed):
    bench = _Memory(seed)
    simulate(bench.dut, bench.run)
    assert bench.blocks > 20 and bench.launches > 10 and bench.answered > 150


def test_a_block_is_answered_in_the_next_cycle():
    dut = DispatchPort(GPU)

    async def run(ctx):
        ctx.set(dut.sm.response.ready, 1)
        ctx.set(dut.unit.number, 7)
        for tag in (1, 2):
            ctx.set(dut.sm.request.valid, 1)
            ctx.set(dut.sm.request.payload, {"line": LINE, "tag": tag})
            assert ctx.get(dut.sm.request.ready) and not ctx.get(dut.port.request.valid)
            await ctx.tick()
            ctx.set(dut.sm.request.valid, 0)
            response = dut.sm.response
            assert ctx.get(response.valid) and ctx.get(response.payload.tag) == tag
            assert ctx.get(response.payload.data[:32]) == ctx.get(response.payload.data[-32:]) == 7
            await ctx.tick()

    simulate(dut, run)
