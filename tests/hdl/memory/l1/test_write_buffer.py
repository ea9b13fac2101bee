"""The write buffer against a list of entries: bytes, order, turns, and how many lines there is room for."""

import random
from collections import deque
from itertools import pairwise
from typing import Any

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.memory.l1.write_buffer import WriteBuffer
from tests.hdl.lib.simulate import drive, port, pulse, simulate, simulated
from tests.hdl.memory.part_models import BufferModel, Entry
from tests.support.tiers import some_slow

MSHRS, WARPS = 2, 2


def config_of(entries: int) -> SmConfig:
    return SmConfig(threads=1, warps=WARPS, load_parts=4, dcache_mshrs=MSHRS, store_buffer=entries)


def merged(mask: int, data: int, old: int) -> int:
    """``old`` with the bytes of ``data`` that ``mask`` chooses."""
    for byte in range(64):
        if mask >> byte & 1:
            old = old & ~(255 << 8 * byte) | data & 255 << 8 * byte
    return old


class Bench:
    """Drives the buffer a cycle at a time and checks all outputs.

    ``sent``: (cycle, number, line) of the requests that memory took. ``passed``: how many others were sent while an
    entry might have been, at most.
    """

    def __init__(self, entries: int, seed: int) -> None:
        self.dut = WriteBuffer(config_of(entries))
        self.entries = entries
        self.rng = random.Random(seed)
        self.what = f"seed {seed}"
        self.cycle = 0
        self.sent: list[tuple[int, int, int]] = []
        self.clear()

    def clear(self) -> None:
        self.model = BufferModel(self.entries)
        self.data = [0] * self.entries
        self.memory: deque[int] = deque()
        self.peek: tuple[int, int | None] | None = None
        self.first: dict[str, int] | None = None
        #: Mask and bytes of the entry that a load got last; None: 0.
        self.forwarded: tuple[int, int] | None = None
        self.ready_since: dict[int, int] = {}
        self.passed = 0

    def expect(self, ctx: Any, name: str, value: int) -> None:
        got = ctx.get(port(self.dut, name))
        assert got == value, f"{self.what}, cycle {self.cycle}: {name} is {got:#x} instead of {value:#x}"

    async def step(self, ctx: Any, *, line: int = 0, uncached: bool = False, mask: int = 1, write: bool = False,
                   waits_for: int = 0, ready: bool = True, filled: int | None = None, complete: bool = False,
                   overlay: int | None = None, forward: bool = False) -> bool:
        """Whether the store was taken. ``complete``: memory completes the oldest request that it has."""
        dut, model, rng = self.dut, self.model, self.rng
        data, warp = rng.getrandbits(512), rng.randrange(WARPS)
        completed = self.memory[0] if complete and self.memory else None
        for name, value in (("lookup.held.part.line", line), ("lookup.uncached", uncached),
                            ("lookup.held.byte_mask", mask), ("lookup.held.data", data), ("mshrs.same", waits_for),
                            ("fill.release", filled is not None), ("fill.filled", filled or 0),
                            ("fill.completed", completed is not None), ("fill.completed_number", completed or 0),
                            ("fill.accepts", overlay is not None), ("fill.asked", overlay or 0)):
            ctx.set(port(dut, name), value)
        store = {"warp": warp, "pc": rng.getrandbits(32), "address": rng.getrandbits(32)}
        ctx.set(dut.store, store)
        ctx.set(dut.request.ready, ready)
        taken = ready and model.request is not None
        write = write and model.room(line, uncached, taken)
        ctx.set(dut.lookup.write, write)
        youngest = model.youngest(line, uncached)
        forward = forward and youngest is not None and not uncached
        forget = not forward and rng.random() < 0.3
        drive(ctx, dut.lookup, forward=forward, read=forget)

        self.expect(ctx, "out.holds", youngest is not None)
        if youngest is not None and not uncached:
            self.expect(ctx, "out.covers", not mask & ~model.entries[youngest].mask)
        self.expect(ctx, "out.ready", model.room(line, uncached, taken))
        joined = model.joined(line, uncached, taken)
        self.expect(ctx, "out.joins", joined is not None)
        self.expect(ctx, "pending", sum(1 << its for its in model.pending))
        self.expect(ctx, "busy", any(model.entries))
        self._check_peek(ctx)
        self._check_request(ctx, taken)
        if self.first is not None:
            got = ctx.get(dut.completed_store)
            assert {name: getattr(got, name) for name in self.first} == self.first, f"{self.what}, cycle {self.cycle}"
        if completed is not None:
            self.first = model.entries[completed].first
            self.memory.popleft()
        if forward:
            self.forwarded = model.entries[youngest].mask, self.data[youngest]
        elif forget:
            self.forwarded = None
        self._look(overlay)
        self._turns(model.chosen(taken))
        if write:
            number = model.entries.index(None) if joined is None else joined
            self.data[number] = merged(mask, data, self.data[number])
        entry = Entry(line, uncached, mask, store, {warp}, loads={its for its in range(MSHRS) if waits_for >> its & 1})
        model.tick(write=entry if write else None, ready=taken, filled=filled, completed=completed)
        await ctx.tick()
        self.cycle += 1
        return write

    def _look(self, overlay: int | None) -> None:
        """What is at the peek port from the next cycle on: (mask, data)."""
        if overlay is not None:
            number = next((its for its, entry in enumerate(self.model.entries)
                           if entry is not None and overlay in entry.loads), None)
            self.peek = (0, None) if number is None else (self.model.entries[number].mask, self.data[number])

    def _check_peek(self, ctx: Any) -> None:
        mask, data = self.forwarded or ((1 << 64) - 1, 0)
        got = ctx.get(self.dut.forward_data)
        assert merged(mask, got, 0) == merged(mask, data, 0), f"{self.what}, cycle {self.cycle}: forward_data"
        if self.peek is not None:
            self.expect(ctx, "out.peek_mask", self.peek[0])
            if self.peek[1] is not None:
                got = ctx.get(self.dut.out.peek_data)
                assert merged(self.peek[0], got, 0) == merged(self.peek[0], self.peek[1], 0), (
                    f"{self.what}, cycle {self.cycle}: peek_data")

    def _check_request(self, ctx: Any, taken: bool) -> None:
        model, what = self.model, f"{self.what}, cycle {self.cycle}"
        assert ctx.get(self.dut.request.valid) == (model.request is not None), what
        if model.request is None:
            return
        request, entry = ctx.get(self.dut.request.payload), model.entries[model.request]
        got = request.number, request.line, request.byte_mask
        assert got == (model.request, entry.line, entry.mask), f"{what}: {got}"
        assert merged(entry.mask, request.data, 0) == merged(entry.mask, self.data[model.request], 0), what
        if taken:
            self.memory.append(model.request)
            self.sent.append((self.cycle, model.request, entry.line))

    def _turns(self, chosen: int | None) -> None:
        """How many entries went before one that might have gone."""
        may_go = {number for number in range(self.entries) if self.model.may_go(number)}
        self.ready_since = {number: self.ready_since.get(number, 0) for number in may_go}
        if chosen is not None:
            self.passed = max(self.passed, self.ready_since.pop(chosen))
            for number in self.ready_since:
                self.ready_since[number] += 1


def play_random(bench: Bench, cycles: int) -> None:
    rng = bench.rng

    async def testbench(ctx: Any) -> None:
        waiting: set[int] = set()
        for _ in range(cycles):
            uncached = rng.random() < 0.2
            filled = rng.choice(sorted(waiting)) if waiting and rng.random() < 0.3 else None
            free = [number for number in range(MSHRS) if number not in waiting]
            line = rng.randrange(3) + 8 * uncached
            # No line is requested while the buffer holds it.
            may_wait = free and bench.model.youngest(line, uncached) is None
            waits_for = 1 << rng.choice(free) if may_wait and rng.random() < 0.3 else 0
            wrote = await bench.step(
                ctx, line=line, uncached=uncached,
                mask=rng.choice((1, 6, 1 << 63, rng.getrandbits(64) | 1)), write=rng.random() < 0.6,
                waits_for=waits_for, ready=rng.random() < 0.6, filled=filled, complete=rng.random() < 0.4,
                overlay=rng.randrange(MSHRS) if rng.random() < 0.2 else None, forward=rng.random() < 0.3,
            )
            waiting.discard(filled)
            if wrote and waits_for:
                waiting.add(waits_for.bit_length() - 1)

    simulate(bench.dut, testbench)


@pytest.mark.parametrize("entries", some_slow([1, 3], 0))
def test_random_traffic(entries: int) -> None:
    bench = Bench(entries, 10 + entries)
    play_random(bench, 200)
    assert len(bench.sent) > 20, bench.what
    assert bench.passed < entries, f"{bench.what}: {bench.passed} entries went before one that might have gone"


@pytest.mark.parametrize("entries", some_slow([1, 2, 5], 1))
@simulated(lambda entries: Bench(entries, 1))
async def test_depth(ctx: Any, bench: Bench, entries: int) -> None:
    """All entries, and no more, are taken one a cycle; one is free in the cycle after memory has completed it."""
    for number in range(entries):
        assert await bench.step(ctx, line=number, write=True)
    while len(bench.memory) < entries:
        assert not await bench.step(ctx, line=entries, write=True)
    assert not await bench.step(ctx, line=entries, write=True, complete=True)
    assert await bench.step(ctx, line=entries, write=True)


@pytest.mark.parametrize("waits", some_slow(["nothing", "a load", "a store"], 1))
@simulated(lambda: Bench(3, 2))
async def test_when_a_store_is_offered(ctx: Any, bench: Bench, waits: str) -> None:
    """Two cycles after it came, or after the load's line or the store before it is done."""
    if waits == "a store":
        await bench.step(ctx, line=7, write=True)
        await bench.step(ctx)
    await bench.step(ctx, line=7, write=True, waits_for=2 if waits == "a load" else 0)
    for _ in range(5):
        await bench.step(ctx)
    if waits != "nothing":
        assert len(bench.sent) == (waits == "a store")
        await bench.step(ctx, filled=1, complete=True)
    for _ in range(4):
        await bench.step(ctx)
    # In the first case from the store's cycle 0 on; else from cycle 6 (behind a store 8) on, when the way is free.
    assert bench.sent[-1][0] == {"nothing": 2, "a load": 6 + 2, "a store": 8 + 2}[waits]


@simulated(lambda: Bench(4, 3))
async def test_one_store_a_cycle(ctx: Any, bench: Bench) -> None:
    """Each of a line of its own: taken in every cycle, and offered in every cycle from the third on."""
    for number in range(20):
        assert await bench.step(ctx, line=number, write=True, complete=True)
    assert [cycle for cycle, _, _ in bench.sent] == list(range(2, 20))


@simulated(lambda: Bench(3, 4))
async def test_entries_take_turns(ctx: Any, bench: Bench) -> None:
    """Three lines that are written again as soon as they are free: memory gets them in turn."""
    line = 0
    for cycle in range(60):
        line += await bench.step(ctx, line=line, write=True, ready=cycle % 4 == 3, complete=True)
    numbers = [number for _, number, _ in bench.sent]
    assert len(numbers) == 15
    assert all(later == (earlier + 1) % 3 for earlier, later in pairwise(numbers)), numbers


@simulated(lambda: Bench(3, 5))
async def test_a_store_joins_until_its_entry_is_chosen(ctx: Any, bench: Bench) -> None:
    """Taken in cycle 0, chosen in 1 and offered in 2 while memory is ready: a store of 1 is a write of its own."""
    # Another line's request, which memory does not take, holds line 1 back.
    await bench.step(ctx, line=9, write=True, ready=False)
    for _ in range(3):
        await bench.step(ctx, line=1, write=True, ready=False)
    await bench.step(ctx, line=1, write=True, ready=True)
    for _ in range(6):
        await bench.step(ctx, line=2, complete=True)
    assert [line for _, _, line in bench.sent] == [9, 1, 1]


@pytest.mark.parametrize("held_back", [0, 1])
@simulated(lambda: Bench(3, 7))
async def test_the_last_entry_is_made_again_as_another_becomes_free(ctx: Any, bench: Bench, held_back: int) -> None:
    """Both may go in the same cycle: the other one does, whether it is lower or higher."""
    for number in range(2):
        await bench.step(ctx, line=number, write=True, waits_for=number == held_back)
    while not bench.memory:
        await bench.step(ctx)
    await bench.step(ctx, complete=True)
    await bench.step(ctx, line=5, write=True, filled=0)
    for _ in range(4):
        await bench.step(ctx)
    assert [line for _, _, line in bench.sent] == [1 - held_back, held_back, 5]


@simulated(lambda: Bench(2, 6), resets=True)
async def test_reset(ctx: Any, bench: Bench, reset) -> None:
    for number in range(2):
        await bench.step(ctx, line=number, write=True, ready=False)
    await bench.step(ctx, ready=False)
    await pulse(ctx, reset)
    bench.clear()
    for number in range(2):
        assert await bench.step(ctx, line=number, write=True)
    for _ in range(4):
        await bench.step(ctx, complete=True)
    assert [line for _, _, line in bench.sent] == [0, 1]
