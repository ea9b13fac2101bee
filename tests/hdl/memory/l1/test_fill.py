"""The fill stage against a line in a register: when memory's answers are taken, and what becomes of them."""

import random
from dataclasses import dataclass
from typing import Any

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.memory.l1.fill import FillStage
from tests.hdl.lib.simulate import port, simulate, simulated

USER = 0x1_0000 // 64


def config_of(mshrs: int, entries: int) -> SmConfig:
    return SmConfig(threads=1, warps=2, load_parts=8, dcache_bytes=512, dcache_ways=2, dcache_mshrs=mshrs,
                    store_buffer=entries)


@dataclass(frozen=True)
class Answer:
    """What memory says: of a load's register or of an entry with stores."""

    number: int
    store: bool = False
    error: bool = False
    data: int = 0


class Bench:
    """Drives the stage a cycle at a time and checks all outputs; ``events``: (cycle, what happened)."""

    def __init__(self, mshrs: int, entries: int, seed: int) -> None:
        self.config = config_of(mshrs, entries)
        self.dut = FillStage(self.config)
        self.rng = random.Random(seed)
        self.what = f"seed {seed}"
        self.cycle = 0
        self.events: list[tuple[int, str]] = []
        #: The parts that wait for each register, and its line.
        self.parts = [0] * mshrs
        self.lines = [USER + number for number in range(mshrs)]
        self.clear()

    def clear(self) -> None:
        self.held: Answer | None = None
        self.line = 0
        self.fresh = False
        self.offered: Answer | None = None

    def at(self, name: str) -> list[int]:
        return [cycle for cycle, event in self.events if event == name]

    async def step(self, ctx: Any, *, answer: Answer | None = None, slot_free: bool = True,
                   fault_free: bool = True, joined: int | None = None, peek: tuple[int, int] = (0, 0)) -> None:
        """``answer`` is offered until it is taken; ``peek``: the bytes of stores for the line of the cycle before."""
        dut, held = self.dut, self.held
        self.offered = self.offered or answer
        left = held is not None and self.parts[held.number] > 0
        answer = self.offered
        top = len(dut.response.payload.tag) - 1
        ctx.set(dut.response.valid, answer is not None)
        if answer is not None:
            ctx.set(dut.response.payload, {"tag": answer.number | answer.store << top, "error": answer.error,
                                           "data": answer.data})
            ctx.set(dut.mshrs.asked_line, 0 if answer.store else self.lines[answer.number])
        for name, value in (("left", left), ("slot_free", slot_free), ("fault_free", fault_free),
                            ("lookup.add", joined is not None), ("mshrs.joined", joined or 0),
                            ("buffer.peek_mask", peek[0]), ("buffer.peek_data", peek[1])):
            ctx.set(port(dut, name), value)

        releases = held is not None and not left and slot_free and joined != held.number
        room = held is None or releases
        accepts = answer is not None and not answer.store and room
        completes = answer is not None and answer.store and fault_free
        leaves = held is not None and left and slot_free and not accepts
        installs = held is not None and self.fresh and not held.error and self.line >= USER
        self._expect(ctx, release=releases, accepts=accepts, completed=completes, take=accepts or leaves,
                     install=installs, completed_error=completes and answer.error)
        if answer is not None:
            if not answer.store:
                self._expect(ctx, asked=answer.number)
            assert ctx.get(dut.response.ready) == (completes if answer.store else room), self._where
        self._check_line(ctx, peek, installs=installs, leaves=leaves, accepts=accepts)
        self._advance(answer, accepts=accepts, completes=completes, leaves=leaves, releases=releases, joined=joined)
        await ctx.tick()
        self.cycle += 1

    @property
    def _where(self) -> str:
        return f"{self.what}, cycle {self.cycle}"

    def _expect(self, ctx: Any, **expected: int) -> None:
        dut = self.dut
        got = {name: ctx.get(getattr(dut if hasattr(dut, name) else dut.out, name)) for name in expected}
        assert got == expected, f"{self._where}: {got} instead of {expected}"

    def _check_line(self, ctx: Any, peek: tuple[int, int], *, installs: bool, leaves: bool, accepts: bool) -> None:
        if accepts or leaves:
            self._expect(ctx, take_filled=leaves)
        if self.held is None:
            return
        self._expect(ctx, filled=self.held.number, data=self.held.data, error=self.held.error)
        if installs:
            laid_over = self.held.data
            for byte in range(64):
                if peek[0] >> byte & 1:
                    laid_over = laid_over & ~(255 << 8 * byte) | peek[1] & 255 << 8 * byte
            self._expect(ctx, line=self.line, install_data=laid_over)

    def _advance(self, answer: Answer | None, *, accepts: bool, completes: bool, leaves: bool, releases: bool,
                 joined: int | None) -> None:
        happened = {"accepts": accepts, "completed": completes, "release": releases, "leaves": leaves or accepts}
        self.events += [(self.cycle, name) for name, happens in happened.items() if happens]
        if leaves:
            self.parts[self.held.number] -= 1
        if releases:
            self.held = None
        self.fresh = accepts
        if accepts:
            self.held, self.line = answer, self.lines[answer.number]
            self.parts[answer.number] -= 1
        if accepts or completes:
            self.offered = None
        if joined is not None:
            self.parts[joined] += 1


@pytest.mark.parametrize(("mshrs", "entries"), [(1, 4), (3, 1), (4, 8)])
@simulated(lambda mshrs, entries: Bench(mshrs, entries, 10 * mshrs + entries))
async def test_random_traffic(ctx: Any, bench: Bench, mshrs: int, entries: int) -> None:
    """Lines of one to three parts, refused and uncached ones, completions between; everything stalls now and then."""
    rng = bench.rng

    def answer() -> Answer | None:
        store, error = rng.random() < 0.3, rng.random() < 0.15
        number = rng.randrange(entries if store else mshrs)
        taken = bench.held is not None and bench.held.number == number
        if not store and (taken or bench.offered is not None):
            return None
        if not store and bench.parts[number] == 0:
            bench.parts[number] = rng.randrange(1, 4)
            bench.lines[number] = rng.choice((USER, USER - 1, 0, rng.getrandbits(26)))
        return Answer(number, store, error, rng.getrandbits(512))
    for _ in range(200):
        offer = answer() if bench.offered is None and rng.random() < 0.7 else None
        joined = None
        if rng.random() < 0.2:
            held = bench.held is not None and rng.random() < 0.5
            joined = bench.held.number if held else rng.randrange(mshrs)
        await bench.step(
            ctx, answer=offer, slot_free=rng.random() < 0.7,
            fault_free=rng.random() < 0.7, joined=joined, peek=(rng.getrandbits(64), rng.getrandbits(512)),
        )
    for event in ("accepts", "completed", "release"):
        assert len(bench.at(event)) > 10, f"{bench.what}: {event}"
    assert len(bench.at("leaves")) > len(bench.at("accepts")), bench.what


def test_one_line_a_cycle() -> None:
    """Lines of one part each, one in every cycle; those of two parts in every second one."""
    for parts in (1, 2):
        bench = Bench(4, 4, parts)

        async def testbench(ctx: Any, bench: Bench = bench, parts: int = parts) -> None:
            for number in range(12):
                mshr = number % 4
                bench.parts[mshr] = parts
                await bench.step(ctx, answer=Answer(mshr, data=number))
                while bench.offered is not None:
                    await bench.step(ctx)

        simulate(bench.dut, testbench)
        assert bench.at("accepts") == [parts * number for number in range(12)]


@simulated(lambda: Bench(2, 2, 1))
async def test_a_load_that_joins_keeps_the_register(ctx: Any, bench: Bench) -> None:
    """The register of the line is released when the last part, joined in between, has left."""
    bench.parts[1] = 1
    await bench.step(ctx, answer=Answer(1, data=5))
    await bench.step(ctx, joined=1)
    for _ in range(4):
        await bench.step(ctx)
    assert (bench.at("leaves"), bench.at("release")) == ([0, 2], [3])


@simulated(lambda: Bench(2, 2, 2))
async def test_completions_pass_a_line_that_stays(ctx: Any, bench: Bench) -> None:
    bench.parts[0] = 1
    await bench.step(ctx, answer=Answer(0))
    for _ in range(3):
        await bench.step(ctx, answer=Answer(1, store=True), slot_free=False)
    bench.parts[1] = 1
    await bench.step(ctx, answer=Answer(1), slot_free=False)
    await bench.step(ctx)
    assert bench.at("completed") == [1, 2, 3] and bench.at("accepts") == [0, 5]


@simulated(lambda: Bench(2, 2, 3), resets=True)
async def test_reset(ctx: Any, bench: Bench, reset) -> None:
    bench.parts[0] = 2
    await bench.step(ctx, answer=Answer(0), slot_free=False)
    ctx.set(reset, 1)
    ctx.set(bench.dut.response.valid, 0)
    await ctx.tick()
    ctx.set(reset, 0)
    bench.clear()
    bench.parts[0] = 1
    await bench.step(ctx)
    await bench.step(ctx, answer=Answer(0, data=7))
    await bench.step(ctx)
    assert bench.at("accepts") == [0, 2]
