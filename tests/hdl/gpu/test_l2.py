"""The L2 alone: bytes against a golden memory, cycles against a plain model, every request answered once."""

import random
from dataclasses import dataclass, replace

import pytest

from metronome.hdl.gpu.config import GpuConfig, L2Kind
from metronome.hdl.gpu.l2.cache import L2
from metronome.hdl.presets import TINY
from tests.hdl.gpu.l2_model import Model
from tests.hdl.lib.simulate import Simulation
from tests.support.tiers import some_more

USER = TINY.memory_map.user // 64
#: Memory ends here: a line behind it is answered with an error.
END = USER + 40
CONFIGS = {
    "small": GpuConfig(sm=TINY, sms=2, l2=L2Kind.SHARED, l2_bytes=512, l2_ways=2, l2_requests=4),
    "one way": GpuConfig(sm=TINY, sms=2, l2=L2Kind.SHARED, l2_bytes=512, l2_ways=1, l2_requests=2),
    "part": GpuConfig(sm=TINY, sms=2, l2=L2Kind.DIVIDED, l2_bytes=1024, l2_ways=8, l2_requests=12),
    "large": GpuConfig(sm=TINY, sms=4, l2=L2Kind.SHARED, l2_bytes=2048, l2_ways=4, l2_requests=32),
}


@dataclass(frozen=True)
class Mood:
    """How busy a run is: chances of each cycle."""

    asks: float = 0.7
    writes: float = 0.3
    ready: float = 0.8  # of memory, for a request
    answers: float = 0.3  # of memory, for one of its requests
    takes: float = 0.8  # of the SMs, for an answer
    lines: int = 50  # lines from the last uncached ones on
    fails: float = 0.03  # of a read that memory could answer
    forgets: float = 0.01  # of a fence, if the L2 is divided


MOODS = [Mood(), Mood(lines=6, answers=0.1), Mood(writes=0.02, lines=14, asks=1.0, takes=1.0, ready=1.0),
         Mood(answers=0.9, takes=0.3), Mood(answers=0.05, lines=60, writes=0.1, forgets=0.1)]


class Bench:
    """Random traffic. A request is offered until it is accepted; the golden memory changes as requests are accepted."""

    def __init__(self, dut, config, seed, mood, cycles):
        self.dut, self.config, self.mood, self.cycles, self.seed = dut, config, mood, cycles, seed
        self.rng = random.Random(f"{seed}")
        self.model = Model(sets=config.l2_sets, ways=config.part_ways, requests=config.part_requests, user=USER)
        self.tags = set(range(1 << len(dut.sms.request.payload.tag)))
        self.golden, self.memory = {}, {}  # bytes of lines: as accepted, and as memory has them
        self.waiting = {}  # tag: (line, write, the line's bytes when it was accepted)
        self.at_memory = []  # (number, request)
        self.failed = set()  # lines that memory has refused a read of; an answer with an error needs one
        self.offered, self.answer = None, None
        self.errors = 0

    async def run(self, ctx):
        for cycle in range(self.cycles + 4000):
            self.where = f"seed {self.seed}, {self.mood}, cycle {cycle}"
            if cycle >= self.cycles and not self.waiting and self.offered is None:
                break
            await self.cycle(ctx, drains=cycle >= self.cycles)
        assert not self.waiting and not self.at_memory, self.where
        counts = {name: ctx.get(self.dut.counters[name]) for name in self.model.counts}
        assert counts == self.model.counts, self.where
        assert self.memory == self.golden, self.where

    def bytes_of(self, memory, line):
        return memory.get(line, line * 0x1_0001)

    def ask(self):
        rng = self.rng
        line = USER - 3 + rng.randrange(self.mood.lines)
        uncached = {each for each, *_ in self.waiting.values() if each < USER}
        # As of an SM: one access to an uncached line at a time.
        if line in uncached or not self.tags or rng.random() > self.mood.asks:
            return None
        return {"line": line, "tag": rng.choice(sorted(self.tags)), "write": rng.random() < self.mood.writes,
                "byte_mask": rng.choice((rng.getrandbits(64), (1 << 64) - 1, 1 << rng.randrange(64))),
                "data": rng.getrandbits(512)}

    async def cycle(self, ctx, *, drains):
        dut, rng, mood = self.dut, self.rng, self.mood
        if self.offered is None and not drains:
            self.offered = self.ask()
        if self.answer is None and self.at_memory and rng.random() < mood.answers:
            self.answer = self.perform(self.at_memory.pop(rng.randrange(len(self.at_memory))))
        forget = self.config.l2 is L2Kind.DIVIDED and rng.random() < mood.forgets
        mem_ready, takes = rng.random() < mood.ready, rng.random() < mood.takes
        ctx.set(dut.sms.request.valid, self.offered is not None)
        if self.offered is not None:
            ctx.set(dut.sms.request.payload, self.offered)
        ctx.set(dut.mem.request.ready, mem_ready)
        ctx.set(dut.mem.response.valid, self.answer is not None)
        if self.answer is not None:
            ctx.set(dut.mem.response.payload, self.answer)
        ctx.set(dut.sms.response.ready, takes)
        if self.config.l2 is L2Kind.DIVIDED:
            ctx.set(dut.invalidate, forget)
        self.compare(ctx)
        accepted = self.offered if self.model.offers()[0] else None
        sent = self.send(ctx) if mem_ready and self.model.sent is not None else False
        answer = self.answer if self.model.takes_answer(takes) else None
        if takes and ctx.get(dut.sms.response.valid):
            self.check(ctx.get(dut.sms.response.payload.tag), ctx.get(dut.sms.response.payload.error),
                       ctx.get(dut.sms.response.payload.data))
        self.model.step(
            request=accepted and (accepted["line"], accepted["write"], accepted["tag"]), sent=sent,
            answer=answer and (answer["tag"], answer["error"]), ready=takes, forget=forget)
        if accepted:
            self.accept()
        if answer:
            self.answer = None
        await ctx.tick()

    def compare(self, ctx):
        """Every valid and ready, and every number, is that of the model."""
        dut, model = self.dut, self.model
        ready, sent, tag = model.offers()
        assert ctx.get(dut.sms.request.ready) == ready, self.where
        assert ctx.get(dut.mem.request.valid) == (sent is not None), self.where
        if sent is not None:
            payload = dut.mem.request.payload
            assert (ctx.get(payload.tag), ctx.get(payload.line), ctx.get(payload.write)) == sent, self.where
        assert ctx.get(dut.sms.response.valid) == (tag is not None), self.where
        if tag is not None:
            assert ctx.get(dut.sms.response.payload.tag) == tag, self.where
        takes = ctx.get(dut.sms.response.ready)
        assert ctx.get(dut.mem.response.ready) == model.takes_answer(takes), self.where

    def accept(self):
        request, self.offered = self.offered, None
        line = request["line"]
        before = self.bytes_of(self.golden, line)
        self.tags.remove(request["tag"])
        self.waiting[request["tag"]] = line, request["write"], before
        if request["write"] and line < END:
            self.golden[line] = _written(before, request)

    def send(self, ctx):
        payload = self.dut.mem.request.payload
        fields = {name: ctx.get(payload[name]) for name in ("tag", "line", "write", "byte_mask", "data")}
        assert fields["tag"] not in [each["tag"] for each in self.at_memory], self.where
        self.at_memory.append(fields)
        return True

    def perform(self, request):
        """Memory completes a request."""
        line = request["line"]
        fails = line >= END or (not request["write"] and self.rng.random() < self.mood.fails)
        if fails and not request["write"]:
            self.failed.add(line)
        if request["write"] and not fails:
            self.memory[line] = _written(self.bytes_of(self.memory, line), request)
        # A line that is refused has wrong bytes: nobody may see them.
        data = self.rng.getrandbits(512) if fails or request["write"] else self.bytes_of(self.memory, line)
        return {"tag": request["tag"], "error": fails, "data": data}

    def check(self, tag, error, data):
        assert tag in self.waiting, f"{self.where}: tag {tag} is answered without a request"
        line, write, expected = self.waiting.pop(tag)
        self.tags.add(tag)
        self.errors += error
        if line >= END:
            assert error, f"{self.where}: line {line} is behind the end"
        elif write:
            assert not error, self.where
        elif error:
            assert line in self.failed, f"{self.where}: an error of line {line} that memory has not given"
        else:
            assert data == expected, f"{self.where}: line {line} has wrong bytes"


def _written(before, request):
    mask = sum(0xFF << 8 * byte for byte in range(64) if request["byte_mask"] >> byte & 1)
    return (before & ~mask) | (request["data"] & mask)


def play(config, seeds, cycles, moods=MOODS):
    dut = L2(config)
    simulation = Simulation(dut)
    counts, errors = dict.fromkeys(("reads", "hits", "merged", "writes"), 0), 0
    for seed in seeds:
        bench = Bench(dut, config, seed, moods[seed % len(moods)], cycles)
        simulation.run(bench.run)
        errors += bench.errors
        counts = {name: counts[name] + bench.model.counts[name] for name in counts}
    return counts, errors


@pytest.mark.parametrize("name", some_more(CONFIGS, 1))
def test_random_requests(name):
    counts, errors = play(CONFIGS[name], range(len(MOODS)), 500)
    # Everything happens: hits, requests that join another, writes, errors.
    assert min(*counts.values(), errors) > 3, (counts, errors)


@pytest.mark.long
@pytest.mark.parametrize("name", CONFIGS)
def test_many_random_requests(name):
    play(CONFIGS[name], range(100, 120), 2000)


def test_a_line_that_is_here_costs_memory_nothing():
    """All lines fit: each is read from memory once, then hits follow one a cycle."""
    config = replace(CONFIGS["large"], l2_bytes=4096)
    mood = Mood(asks=1.0, writes=0.0, ready=1.0, answers=1.0, takes=1.0, lines=35, fails=0.0)
    bench = Bench(L2(config), config, 1, mood, 600)
    bench.ask = lambda ask=bench.ask: next(each for each in iter(ask, 0) if each and each["line"] >= USER)
    Simulation(bench.dut).run(bench.run)
    counts = bench.model.counts
    assert counts["reads"] - counts["hits"] - counts["merged"] <= 32
    assert counts["hits"] > 500
