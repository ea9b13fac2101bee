"""The reader of a list: its entries in order, read ahead from a memory that answers in any order."""

import random
import struct
from typing import Any

import pytest

from metronome.hdl.config import Channels, SmConfig
from metronome.hdl.memory.order.reader import AHEAD, BURST, ListReader
from tests.hdl.lib.simulate import drive, simulate, simulated

CONFIG = SmConfig(channels=Channels.ORDERED)
PER_LINE = CONFIG.line_bytes // 8
BASE = 0x12340


class Bench:
    """Memory with a list, and who uses it. ``asked`` and ``used``: the cycles of the requests and of the entries."""

    def __init__(
        self, seed: int, length: int, *, longest: int = 1, busy: float = 0.0, ahead: int = AHEAD, burst: int = BURST,
    ) -> None:
        self.rng = random.Random(seed)
        self.longest, self.busy = longest, busy
        self.dut = ListReader(CONFIG, ahead=ahead, burst=burst)
        draw = self.rng.getrandbits
        self.entries = [(draw(30) << 2 | 4 | draw(1), draw(6), 1 + self.rng.randrange(63)) for _ in range(length)]
        packed = b"".join(struct.pack("<II", pc, lines << 6 | warp) for pc, warp, lines in self.entries)
        #: Behind the end come entries that are none.
        self.image = packed + bytes(8) + bytes(-(len(packed) + 8) % 64) + b"\xff" * 64 * ahead
        self.cycle = 0
        self.flying: dict[int, tuple[int, int]] = {}
        self.asked: list[int] = []
        self.used: list[int] = []

    async def begin(self, ctx: Any) -> None:
        drive(ctx, self.dut, start=1, address=64 * BASE + 5)
        await ctx.tick()
        ctx.set(self.dut.start, 0)

    async def step(self, ctx: Any, *, use: bool, refuse: int = -1) -> None:
        reader, rng = self.dut, self.rng
        request, response = reader.mem.request, reader.mem.response
        due = [tag for tag, (_, when) in self.flying.items() if when <= self.cycle]
        answer = rng.choice(due) if due else None
        ctx.set(response.valid, answer is not None)
        if answer is not None:
            line = self.flying.pop(answer)[0]
            ctx.set(response.payload, {
                "tag": answer, "error": line == refuse, "data": int.from_bytes(self.image[64 * line :][:64], "little")})
        ctx.set(request.ready, rng.random() >= self.busy)
        assert ctx.get(reader.mem.response.ready)
        if ctx.get(request.valid) and ctx.get(request.ready):
            payload = ctx.get(request.payload)
            assert (payload.line, payload.write) == (BASE + len(self.asked), 0)
            assert payload.tag not in self.flying
            self.flying[payload.tag] = len(self.asked), self.cycle + rng.randint(1, self.longest)
            self.asked.append(self.cycle)
            assert len(self.asked) - len(self.used) // PER_LINE <= reader.ahead
        use = use and bool(ctx.get(reader.valid)) and not ctx.get(reader.end) and not ctx.get(reader.error)
        ctx.set(reader.next, use)
        if ctx.get(reader.valid):
            number = len(self.used)
            assert ctx.get(reader.place) == 64 * BASE + 8 * number
            assert ctx.get(reader.end) == (number == len(self.entries)) or ctx.get(reader.error)
            entry = ctx.get(reader.entry)
            if number < len(self.entries) and not ctx.get(reader.error):
                got = entry.pc.word << 2 | entry.store, entry.warp, entry.lines
                assert got == self.entries[number]
        if use:
            self.used.append(self.cycle)
        await ctx.tick()
        self.cycle += 1


@pytest.mark.parametrize(("ahead", "burst"), [(AHEAD, BURST), (4, 2), (2, 1)])
@simulated(lambda ahead, burst: Bench(ahead, 45, longest=9, busy=0.5, ahead=ahead, burst=burst))
async def test_entries_come_in_order(ctx: Any, bench: Bench, ahead: int) -> None:
    await bench.begin(ctx)
    for _ in range(300):
        await bench.step(ctx, use=bench.rng.random() < 0.7)
    assert not ctx.get(bench.dut.busy)
    assert ctx.get(bench.dut.end) and ctx.get(bench.dut.valid)
    assert len(bench.used) == 45
    # The end is in the sixth line.
    assert 6 <= len(bench.asked) <= 6 + ahead - 1


@simulated(lambda: Bench(7, 60))
async def test_one_entry_a_cycle(ctx: Any, bench: Bench) -> None:
    """The first line is asked for in the cycle after the start, one a cycle; memory answers in the next cycle."""
    await bench.begin(ctx)
    for _ in range(70):
        await bench.step(ctx, use=True)
    # The eighth line has the end, and is answered in the cycle in which a ninth one is asked for.
    assert bench.asked == list(range(9))
    # Answered in 1: there from 2 on.
    assert bench.used == list(range(2, 62))


@simulated(lambda: Bench(10, 300, ahead=8, burst=4))
async def test_bursts(ctx: Any, bench: Bench) -> None:
    """At first as many lines as there is room for; then so many one after the other, when so many have been used."""
    await bench.begin(ctx)
    for _ in range(340):
        await bench.step(ctx, use=bench.cycle >= 20)
    assert bench.asked[:8] == list(range(8))
    # 300 entries and the end are 38 lines. What comes from cycle 20 on has used a line every eighth cycle.
    assert bench.asked[8:] == [
        20 + PER_LINE * first + number for first in range(4, 36, 4) for number in range(4)][: len(bench.asked) - 8]
    # One more is asked for while the last one is on its way.
    assert len(bench.asked) == 39


def test_sizes() -> None:
    for ahead, burst in ((12, 4), (8, 3), (8, 8), (8, 0)):
        with pytest.raises(ValueError, match="powers of two"):
            ListReader(CONFIG, ahead=ahead, burst=burst)


@simulated(lambda: Bench(8, 100, longest=5))
async def test_a_line_that_memory_refuses(ctx: Any, bench: Bench) -> None:
    """The entries before it can be used, and nothing more is asked for."""
    await bench.begin(ctx)
    for _ in range(60):
        await bench.step(ctx, use=True, refuse=2)
    assert ctx.get(bench.dut.error) and not ctx.get(bench.dut.busy)
    assert len(bench.used) == 2 * PER_LINE
    assert len(bench.asked) <= 2 + AHEAD


def test_what_is_offered_stays_and_a_list_can_be_left() -> None:
    bench = Bench(9, 100)
    reader = bench.dut

    async def testbench(ctx: Any) -> None:
        await bench.begin(ctx)
        ctx.set(reader.quit, 1)
        for _ in range(3):
            await ctx.tick()
            assert ctx.get(reader.mem.request.valid) and ctx.get(reader.busy)
        for _ in range(5):
            await bench.step(ctx, use=False)
        assert len(bench.asked) == 1 and not ctx.get(reader.busy)
        drive(ctx, reader, quit=0, stop=1)
        await ctx.tick()
        ctx.set(reader.stop, 0)
        assert not ctx.get(reader.valid)
        bench.asked.clear()
        await bench.begin(ctx)
        for _ in range(20):
            await bench.step(ctx, use=True)

    simulate(reader, testbench)
    assert len(bench.used) > 10
