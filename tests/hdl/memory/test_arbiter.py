"""The memory-port arbiter: random traffic of both sources, priority, and stability of what is offered."""

import random

import pytest
from amaranth.sim import SimulatorContext

from metronome.hdl.config import SmConfig
from metronome.hdl.memory.arbiter import MemoryArbiter
from tests.hdl.lib.simulate import simulate


class Source:
    """Offers random requests and keeps each until it is accepted."""

    def __init__(self, port: object, tag_bits: int, chance: float, writes: bool, rng: random.Random) -> None:
        self.port, self.tag_bits, self.chance, self.writes, self.rng = port, tag_bits, chance, writes, rng
        self.offered: dict | None = None

    def drive(self, ctx: SimulatorContext) -> None:
        rng = self.rng
        if self.offered is None and rng.random() < self.chance:
            self.offered = {
                "line": rng.getrandbits(26), "tag": rng.getrandbits(self.tag_bits),
                "write": rng.getrandbits(1) & self.writes,
                "byte_mask": rng.getrandbits(64), "data": rng.getrandbits(512),
            }
        ctx.set(self.port.request.valid, self.offered is not None)
        if self.offered is not None:
            ctx.set(self.port.request.payload, self.offered)
        ctx.set(self.port.response.ready, rng.random() < 0.6)


def make(
    config: SmConfig, chances: tuple[float, float], seed: int
) -> tuple[MemoryArbiter, list[Source], random.Random]:
    rng = random.Random(seed)
    dut = MemoryArbiter(config)
    sources = [
        Source(dut.icache, config.icache_tag_bits, chances[0], False, rng),
        Source(dut.lsu, config.lsu_tag_bits, chances[1], True, rng),
    ]
    return dut, sources, rng


class Traffic:
    """Random traffic through the arbiter, each cycle checked; ``counts``: the requests of each source."""

    def __init__(self, config: SmConfig, seed: int) -> None:
        self.config, self.seed = config, seed
        self.dut, self.sources, self.rng = make(config, (0.3, 0.8), seed)
        self.counts = [0, 0]
        self.answer: tuple[int, int, int, int] | None = None
        self.before: object = None

    async def run(self, ctx: SimulatorContext) -> None:
        for cycle in range(400):
            self.where = f"seed {self.seed}, cycle {cycle}"
            self.drive(ctx)
            self.check_request(ctx)
            self.check_response(ctx)
            await ctx.tick()

    def drive(self, ctx: SimulatorContext) -> None:
        rng, port = self.rng, self.dut.port
        for source in self.sources:
            source.drive(ctx)
        ctx.set(port.request.ready, rng.random() < 0.6)
        if self.answer is None and rng.random() < 0.7:
            which = rng.randrange(2)
            tag = rng.getrandbits(self.sources[which].tag_bits)
            self.answer = which, tag, rng.getrandbits(1), rng.getrandbits(512)
        ctx.set(port.response.valid, self.answer is not None)
        if self.answer is not None:
            which, tag, error, data = self.answer
            tag |= which << (self.config.mem_tag_bits - 1)
            ctx.set(port.response.payload, {"tag": tag, "error": error, "data": data})

    def check_request(self, ctx: SimulatorContext) -> None:
        port, where = self.dut.port, self.where
        valid, ready = ctx.get(port.request.valid), ctx.get(port.request.ready)
        assert valid == any(source.offered is not None for source in self.sources), where
        taken = [ctx.get(source.port.request.ready) and source.offered is not None for source in self.sources]
        assert sum(taken) == (valid and ready), where
        names = ("line", "tag", "write", "byte_mask", "data")
        offered = ctx.get(port.request.payload)
        payload = {name: getattr(offered, name) for name in names[: 5 if offered.write else 3]}
        assert self.before is None or (valid and payload == self.before), f"{where}: an offered request changed"
        self.before = payload if valid and not ready else None
        for number, source in enumerate(self.sources):
            if taken[number]:
                expected = dict(source.offered)
                expected["tag"] |= number << (self.config.mem_tag_bits - 1)
                assert payload == {name: expected[name] for name in payload}, where
                assert offered.write == expected["write"], where
                source.offered = None
                self.counts[number] += 1

    def check_response(self, ctx: SimulatorContext) -> None:
        answer, where = self.answer, self.where
        for number, source in enumerate(self.sources):
            assert ctx.get(source.port.response.valid) == (answer is not None and answer[0] == number), where
        if answer is None:
            return
        source = self.sources[answer[0]]
        got = ctx.get(source.port.response.payload)
        assert (got.tag, got.error, got.data) == answer[1:], where
        accepted = ctx.get(self.dut.port.response.ready)
        assert accepted == ctx.get(source.port.response.ready), where
        if accepted:
            self.answer = None


@pytest.mark.parametrize(("mshrs", "tags"), [(4, 16), (1, 4), (16, 2)])
def test_random_traffic(mshrs: int, tags: int) -> None:
    """Requests arrive whole, once, with the source in the tag's top bit; responses find their source."""
    traffic = Traffic(SmConfig(icache_mshrs=mshrs, load_parts=tags), 10 * mshrs + tags)
    simulate(traffic.dut, traffic.run)
    assert min(traffic.counts) > 30, f"seed {traffic.seed}: {traffic.counts}"


def test_icache_first_and_one_request_a_cycle() -> None:
    """With both always asking and memory always ready, the I-cache is served every cycle; without it, the LSU is."""
    dut, sources, _ = make(SmConfig(), (1.0, 1.0), 1)
    served = []

    async def testbench(ctx: SimulatorContext) -> None:
        ctx.set(dut.port.request.ready, 1)
        for cycle in range(20):
            sources[0].chance = 1.0 if cycle < 10 else 0.0
            for source in sources:
                source.drive(ctx)
            taken = [ctx.get(source.port.request.ready) and source.offered is not None for source in sources]
            served.append(taken)
            for number, source in enumerate(sources):
                if taken[number]:
                    source.offered = None
            await ctx.tick()

    simulate(dut, testbench)
    assert served == [[True, False]] * 10 + [[False, True]] * 10
