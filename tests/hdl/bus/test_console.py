"""The console's queue: what a program prints is read in order, and a lost character is told."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.bus.console import ConsoleQueue
from metronome.hdl.presets import TINY
from metronome.tb.formal.patched import patched
from tests.hdl.lib.simulate import drive, simulate

#: A console that fills only a part of its line.
PLACES = replace(TINY.memory_map, console=0x48, console_bytes=56)
CONFIG = replace(TINY, memory_map=PLACES)
LINES = (0, 1, 2, 1 << 25 | 1)


class Printer:
    """Offers random requests, and reads whenever it likes; ``queued`` is what must come out."""

    def __init__(self, queue, depth, seed, read):
        self.queue, self.depth, self.rng, self.read = queue, depth, random.Random(seed), read
        self.queued, self.lost, self.passed = [], False, 0

    def request(self):
        rng = self.rng
        mask = rng.choice([rng.getrandbits(64), 1 << rng.randrange(64), rng.getrandbits(64) & rng.getrandbits(64), 0])
        return {"write": rng.random() < 0.8, "line": rng.choice(LINES), "byte_mask": mask,
                "data": rng.getrandbits(512)}

    def bytes_of(self, request):
        """Character and slot of each byte that the request prints."""
        if not (request["write"] and request["line"] == 1):
            return None
        return [(request["data"] >> 8 * byte & 0xFF, byte - 8) for byte in range(8, 64)
                if request["byte_mask"] >> byte & 1]

    async def cycle(self, ctx, taken):
        """One cycle; a character that is read must be the oldest."""
        queue = self.queue
        ready = self.rng.random() < self.read
        drive(ctx, queue.characters, ready=ready)
        drive(ctx, queue, taken=taken)
        there = ctx.get(queue.characters.valid)
        if there:
            head = ctx.get(queue.characters.payload)
            assert self.queued and (head.character, head.slot) == self.queued[0]
        assert ctx.get(queue.count) == len(self.queued)
        assert ctx.get(queue.lost) == self.lost
        await ctx.tick()
        if there and ready:
            del self.queued[0]

    async def offer(self, ctx):
        """One request until it is taken, which may be later than it passes."""
        queue, request = self.queue, self.request()
        for name, value in request.items():
            ctx.set(getattr(queue, name), value)
        printed = self.bytes_of(request)
        if printed is not None:
            await self.print(ctx, request, printed)
        for _ in range(self.rng.choice([0, 0, 3])):
            assert ctx.get(queue.passes)
            await self.cycle(ctx, 0)
        assert ctx.get(queue.passes)
        await self.cycle(ctx, 1)
        ctx.set(queue.write, 0)
        self.passed += printed is not None

    async def print(self, ctx, request, printed):
        """The cycles in which the queue holds the request back: one for each byte, and for each part of the line."""
        steps = [None]
        for part in range(8):
            steps += [each for each in printed if (each[1] + 8) // 8 == part]
            steps += [None] * (part < 7)
        assert len(steps) == 8 + len(printed)
        for step in steps:
            assert not ctx.get(self.queue.passes)
            full = len(self.queued) == self.depth
            await self.cycle(ctx, 0)
            if step is not None and full:
                self.lost = True
            elif step is not None:
                self.queued.append(step)


def run(depth, seed, read, requests=60):
    queue = ConsoleQueue(CONFIG, depth=depth)
    printer = Printer(queue, depth, seed, read)
    losses = 0

    async def testbench(ctx):
        nonlocal losses
        for number in range(requests):
            await printer.offer(ctx)
            if number % 20 == 19:
                losses += printer.lost
                drive(ctx, queue, clear=1, taken=0)
                drive(ctx, queue.characters, ready=0)
                await ctx.tick()
                ctx.set(queue.clear, 0)
                printer.queued, printer.lost = [], False

    simulate(queue, testbench)
    assert printer.passed > requests / 10
    return losses


def test_every_character_is_read_in_order():
    assert run(200, 1, 0.9) == 0


def test_a_full_queue_loses_characters_and_says_so():
    assert run(7, 2, 0.1) > 0


@pytest.mark.parametrize("depth", [0, 65536])
def test_a_depth_that_cannot_be_is_refused(depth):
    with pytest.raises(ValueError, match=f"console must be from 1 to 65535 characters, not {depth}"):
        ConsoleQueue(CONFIG, depth=depth)


QUEUE = "metronome.hdl.bus.console:ConsoleQueue.elaborate"
BUGS = [
    ("self.byte_mask & slots", "self.byte_mask"), ("left & (left - 1)", "left - 1"),
    ("part * _PART_BYTES + byte - low", "part * _PART_BYTES + byte"),
    ("following.eq(part + busy)", "following.eq(part + 1)"),
    ("prints & busy & left.any()", "busy & left.any() & self.passes"), ("fifo.w_en & ~fifo.w_rdy", "fifo.w_en & 0"),
    ("(busy & part.all() & ~left.any())", "(busy & part.all())"), ("self.write & (self.line ==", "(self.line =="),
]


@pytest.mark.parametrize("number", range(len(BUGS)))
def test_bug_is_found(number):
    with patched("the queue", QUEUE, *BUGS[number]), pytest.raises(AssertionError):
        run(7, 3, 0.1)
