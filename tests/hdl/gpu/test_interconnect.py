"""The interconnect: every request arrives once and in the order of its SM, every response at its SM, in turn."""

import random

import pytest

from metronome.hdl.gpu.config import GpuConfig, Interconnect
from metronome.hdl.gpu.interconnect import MemoryInterconnect
from metronome.hdl.presets import TINY
from tests.hdl.lib.simulate import simulate

CYCLES = 300


class Traffic:
    """Random traffic of all SMs. A request is offered until it is accepted; ``log``: (cycle, SM) of those accepted."""

    def __init__(self, config, seed, chance=0.5, ready=0.7):
        self.config, self.seed, self.chance, self.ready = config, seed, chance, ready
        self.rng = random.Random(seed)
        self.dut = MemoryInterconnect(config)
        self.offered = [None] * config.sms
        self.accepted, self.arrived, self.log = [[] for _ in range(config.sms)], [], []
        self.busy_since = [0] * config.sms
        #: Responses that their SMs have not taken, the oldest first.
        self.waiting = [[] for _ in range(config.sms)]
        self.longest = 0

    async def run(self, ctx):
        for cycle in range(CYCLES):
            self.where = f"seed {self.seed}, cycle {cycle}"
            self.drive(ctx)
            self.watch(ctx, cycle)
            self.respond(ctx)
            await ctx.tick()

    def drive(self, ctx):
        rng = self.rng
        for number in range(self.config.sms):
            if self.offered[number] is None and rng.random() < self.chance:
                self.offered[number] = {
                    "line": rng.getrandbits(26), "tag": rng.getrandbits(TINY.mem_tag_bits), "write": rng.getrandbits(1),
                    "byte_mask": rng.getrandbits(64), "data": rng.getrandbits(512),
                }
            port = getattr(self.dut.sms, f"sm_{number}")
            ctx.set(port.request.valid, self.offered[number] is not None)
            if self.offered[number] is not None:
                ctx.set(port.request.payload, self.offered[number])
        ctx.set(self.dut.port.request.ready, rng.random() < self.ready)

    def watch(self, ctx, cycle):
        out = self.dut.port.request
        if ctx.get(out.valid) and ctx.get(out.ready):
            self.arrived.append({name: ctx.get(out.payload[name]) for name, _ in out.payload.shape()})
        taken = []
        for number, request in enumerate(self.offered):
            port = getattr(self.dut.sms, f"sm_{number}")
            if request is None:
                self.busy_since[number] = cycle + 1
            elif ctx.get(port.request.ready):
                taken.append(number)
                self.accepted[number].append(request)
                self.longest = max(self.longest, cycle - self.busy_since[number])
                self.offered[number], self.busy_since[number] = None, cycle + 1
        assert len(taken) <= 1, f"{self.where}: {taken} at once"
        self.log += [(cycle, number) for number in taken]

    def respond(self, ctx):
        """A response of any SM: it is offered at once. With a queue it is taken before its SM takes it."""
        rng, port = self.rng, self.dut.port.response
        number, tag, data = rng.randrange(self.config.sms), rng.getrandbits(TINY.mem_tag_bits), rng.getrandbits(512)
        valid = rng.random() < 0.8
        ctx.set(port.valid, valid)
        ctx.set(port.payload, {"tag": number << TINY.mem_tag_bits | tag, "error": data & 1, "data": data})
        readies = [rng.getrandbits(1) for _ in range(self.config.sms)]
        for each, ready in enumerate(readies):
            ctx.set(getattr(self.dut.sms, f"sm_{each}").response.ready, ready)
        queues = self.config.response_queues
        assert ctx.get(port.ready) == (queues or readies[number]), self.where
        if valid:
            self.waiting[number].append((tag, data & 1, data))
        for each, waiting in enumerate(self.waiting):
            mine = getattr(self.dut.sms, f"sm_{each}").response
            assert ctx.get(mine.valid) == bool(waiting), self.where
            if waiting:
                fields = tuple(ctx.get(mine.payload[name]) for name in ("tag", "error", "data"))
                assert fields == waiting[0], self.where
                if readies[each] or not queues:
                    del waiting[0]

    def check(self):
        """What has arrived is what was accepted, in order; the last one may be in the register."""
        own = TINY.mem_tag_bits
        for number, requests in enumerate(self.accepted):
            mine = [request | {"tag": request["tag"] & (1 << own) - 1} for request in self.arrived
                    if request["tag"] >> own == number]
            assert mine == requests[: len(mine)] and len(requests) - len(mine) <= 1, f"seed {self.seed}, SM {number}"
        assert len(self.arrived) > CYCLES // 8


def run(config, seed=1, **chances):
    traffic = Traffic(config, seed, **chances)
    simulate(traffic.dut, traffic.run)
    traffic.check()
    return traffic


@pytest.mark.parametrize("interconnect", Interconnect)
@pytest.mark.parametrize("sms", [2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_random_traffic(interconnect, sms, seed):
    run(GpuConfig(sm=TINY, sms=sms, interconnect=interconnect), seed)


def test_round_robin_serves_each_in_turn():
    traffic = run(GpuConfig(sm=TINY, sms=4), chance=1.0, ready=1.0)
    assert [number for _, number in traffic.log] == [place % 4 for place in range(CYCLES)]
    assert traffic.longest == 3


def test_fixed_priority_serves_the_lowest():
    traffic = run(GpuConfig(sm=TINY, sms=4, interconnect=Interconnect.FIXED_PRIORITY), chance=1.0, ready=1.0)
    assert {number for _, number in traffic.log} == {0}


@pytest.mark.parametrize("slot", [1, 3])
def test_tdm_serves_each_in_its_slot_only(slot):
    config = GpuConfig(sm=TINY, sms=4, interconnect=Interconnect.TDM, slot_cycles=slot)
    traffic = run(config, chance=0.6, ready=1.0)
    assert all(cycle // slot % 4 == number for cycle, number in traffic.log) and len(traffic.log) > CYCLES // 8


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sms", [2, 4, 8])
def test_round_robin_lets_a_request_wait_for_one_of_each_other_sm(sms, seed):
    traffic = run(GpuConfig(sm=TINY, sms=sms), seed, chance=0.9, ready=1.0)
    assert traffic.longest == sms - 1


@pytest.mark.parametrize("interconnect", [Interconnect.ROUND_ROBIN, Interconnect.TDM])
def test_there_is_room_for_the_responses_of_all_tags(interconnect):
    """SM 1 takes none until all its tags have been answered; SM 0 gets each of its own at once. Then SM 1 takes all."""
    dut, tags = MemoryInterconnect(GpuConfig(sm=TINY, sms=2, interconnect=interconnect)), 1 << TINY.mem_tag_bits
    one, other, port = dut.sms.sm_0.response, dut.sms.sm_1.response, dut.port.response

    async def testbench(ctx):
        ctx.set(port.valid, 1)
        ctx.set(one.ready, 1)
        for tag in range(tags):
            for number in range(2):
                ctx.set(port.payload, {"tag": number * tags + tag, "error": 0, "data": tag})
                assert ctx.get(port.ready) and ctx.get(one.valid) == (number == 0)
                assert number or ctx.get(one.payload.tag) == tag
                await ctx.tick()
        assert not ctx.get(port.ready)
        ctx.set(port.payload.tag, 0)
        assert ctx.get(port.ready)
        ctx.set(port.valid, 0)
        ctx.set(other.ready, 1)
        for tag in range(tags):
            assert (ctx.get(other.valid), ctx.get(other.payload.tag), ctx.get(other.payload.data)) == (1, tag, tag)
            await ctx.tick()
        assert not ctx.get(other.valid)

    simulate(dut, testbench)
