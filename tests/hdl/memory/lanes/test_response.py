"""The response stage against three slots in a list: who is written back when, and what."""

import itertools
import random
from dataclasses import dataclass
from typing import Any

import pytest

from metronome.hdl.config import FaultCause, SmConfig
from metronome.hdl.isa.ops import LsuOp
from metronome.hdl.memory.lanes.response import ResponseStage
from tests.hdl.lib.simulate import drive, pulse, simulate, simulated
from tests.hdl.memory.part_models import ResponseModel

FILL, HIT, LOCAL = range(3)
SLOTS = ("fill", "hit", "local")
OPS = (LsuOp.LB, LsuOp.LH, LsuOp.LW, LsuOp.LBU, LsuOp.LHU)


@dataclass(frozen=True)
class Part:
    """A part with its words: a line's 16, or one of each bank."""

    fields: dict[str, Any]
    words: tuple[int, ...]
    error: bool = False

    @property
    def writes_rd(self) -> bool:
        return bool(self.fields.get("writes_rd", 1))

    def value(self, lane: int) -> int:
        if "offset" in self.fields:
            word, byte = divmod(self.fields["offset"][lane], 4)
        else:
            word, byte = self.fields["bank"][lane], self.fields["byte"][lane]
        op = LsuOp(self.fields["op"])
        size = 1 << (op.value & 3)
        raw = self.words[word].to_bytes(4, "little")[byte : byte + size]
        return int.from_bytes(raw, "little", signed=op in (LsuOp.LB, LsuOp.LH)) & 0xFFFF_FFFF


def line_of(words: tuple[int, ...]) -> int:
    return sum(word << 32 * number for number, word in enumerate(words))


class Bench:
    """Drives the stage a cycle at a time and checks all outputs; ``written``: (cycle, slot of the part)."""

    def __init__(self, threads: int, seed: int) -> None:
        self.threads = threads
        self.dut = ResponseStage(SmConfig(threads=threads, warps=4, local_bytes=1024, load_parts=4))
        self.rng = random.Random(seed)
        self.what = f"seed {seed}"
        self.cycle = 0
        self.written: list[tuple[int, int]] = []
        self.clear()

    def clear(self) -> None:
        self.model = ResponseModel()
        self.last = False
        #: Which slot each part came to, by the identity of the part.
        self.slot_of: dict[int, int] = {}

    def part(self, slot: int, *, writes: bool = True) -> Part:
        rng, threads = self.rng, self.threads
        op = rng.choice(OPS)
        places = [rng.randrange(0, 64, 1 << (op.value & 3)) for _ in range(threads)]
        fields = {"warp": rng.randrange(4), "op": op.value, "rd": rng.getrandbits(6), "load": rng.randrange(8),
                  "mask": rng.randrange(1, 1 << threads)}
        words = tuple(rng.getrandbits(32) for _ in range(threads if slot == LOCAL else 16))
        if slot == LOCAL:
            banks = [rng.randrange(threads) for _ in range(threads)]
            return Part(fields | {"byte": [place % 4 for place in places], "bank": banks}, words)
        fields |= {"offset": places, "writes_rd": int(writes), "pc": rng.getrandbits(32), "line": rng.getrandbits(20)}
        return Part(fields, words, error=slot == FILL and rng.random() < 0.2)

    async def step(self, ctx: Any, *slots: int, ready: bool = True, writes: bool = True) -> list[bool]:
        """Push a part to each of ``slots`` that is free; which slots were."""
        dut, model = self.dut, self.model
        free = model.free(ready)
        pushes = [self.part(slot, writes=writes or slot != FILL) if slot in slots and free[slot] else None
                  for slot in range(3)]
        last = bool(self.rng.getrandbits(1))
        ctx.set(dut.wb.ready, ready)
        ctx.set(dut.last, last)
        self._drive(ctx, pushes)
        what, leaves = f"{self.what}, cycle {self.cycle}", model.leaves(ready)
        answers = dut.answers
        got = [bool(ctx.get(port)) for port in (answers.fill.free, answers.hit.free, dut.local_free)]
        assert got == free, f"{what}: free {got} instead of {free}"
        assert ctx.get(dut.busy) == (model.wb is not None or any(slot is not None for slot in model.slots)), what
        self._check_leaving(ctx, leaves, what)
        self._check_writeback(ctx, ready, what)
        if any(leaves[slot] and model.slots[slot].writes_rd for slot in range(3)):
            self.last = last
        for slot, part in enumerate(pushes):
            if part is not None:
                self.slot_of[id(part)] = slot
        model.tick(pushes, ready)
        await ctx.tick()
        self.cycle += 1
        return free

    def _drive(self, ctx: Any, pushes: list[Part | None]) -> None:
        """The pushes, and what must be there while the slots are taken."""
        dut, answers = self.dut, self.dut.answers
        for push, part in zip((answers.fill.push, answers.hit.push, dut.local_push), pushes, strict=True):
            ctx.set(push, part is not None)
        fill, hit, local = self.model.slots
        if fill is not None:
            drive(ctx, answers.fill, part=fill.fields, data=line_of(fill.words), error=fill.error)
        if hit is not None:
            ctx.set(answers.hit.data, line_of(hit.words))
        if local is not None:
            ctx.set(dut.bank_data, list(local.words))
        if pushes[HIT] is not None:
            ctx.set(answers.hit.part, pushes[HIT].fields)
        if pushes[LOCAL] is not None:
            ctx.set(dut.local_part, pushes[LOCAL].fields)

    def _check_leaving(self, ctx: Any, leaves: list[bool], what: str) -> None:
        dut, slots = self.dut, self.model.slots
        answered = [slot for slot in range(3) if leaves[slot] and slots[slot].writes_rd]
        assert ctx.get(dut.answered) == bool(answered), f"{what}: answered"
        if answered:
            assert ctx.get(dut.answered_load) == slots[answered[0]].fields["load"], what
        fault = leaves[FILL] and slots[FILL].error
        assert ctx.get(dut.fault_valid) == fault, f"{what}: fault"
        if fault:
            part, got = slots[FILL].fields, ctx.get(dut.fault)
            lane = (part["mask"] & -part["mask"]).bit_length() - 1
            expected = FaultCause.LOAD_ACCESS, part["warp"], part["pc"], 64 * part["line"] + part["offset"][lane]
            assert (got.cause, got.warp, got.pc, got.address) == expected, what

    def _check_writeback(self, ctx: Any, ready: bool, what: str) -> None:
        part = self.model.wb
        assert ctx.get(self.dut.wb.valid) == (part is not None), f"{what}: wb"
        if part is None:
            return
        got, mask = ctx.get(self.dut.wb.payload), 0 if part.error else part.fields["mask"]
        expected = part.fields["warp"], part.fields["rd"], mask, self.last
        assert (got.warp, got.rd, got.mask, bool(got.last)) == expected, f"{what}: {got} instead of {expected}"
        for lane in range(self.threads):
            if mask >> lane & 1:
                assert got.data[lane] == part.value(lane), f"{what}: lane {lane}"
        if ready:
            self.written.append((self.cycle, self.slot_of[id(part)]))


@pytest.mark.parametrize("threads", [1, 2])
@simulated(lambda threads: Bench(threads, threads))
async def test_random_traffic(ctx: Any, bench: Bench) -> None:
    rng = bench.rng
    for cycle in range(120):
        busy = 0.9 if cycle // 40 % 2 else 0.4
        slots = [slot for slot in range(3) if rng.random() < busy]
        await bench.step(ctx, *slots, ready=rng.random() < 0.7, writes=rng.random() < 0.8)
    for slot in range(3):
        assert sum(its == slot for _, its in bench.written) > 8, f"{bench.what}: {SLOTS[slot]}"


@pytest.mark.parametrize("slot", range(3), ids=SLOTS)
@simulated(lambda slot: Bench(1, 3 + slot))
async def test_one_part_a_cycle(ctx: Any, bench: Bench, slot: int) -> None:
    """A push in every cycle, the first of them written back two cycles later, the others behind it."""
    for _ in range(12):
        assert (await bench.step(ctx, slot))[slot]
    assert bench.written == [(cycle, slot) for cycle in range(2, 12)]


@simulated(lambda: Bench(1, 7))
async def test_all_three_take_turns(ctx: Any, bench: Bench) -> None:
    """Where all always have a part, none is written back twice before the others."""
    for _ in range(32):
        await bench.step(ctx, FILL, HIT, LOCAL)
    assert bench.written == [(2 + number, number % 3) for number in range(30)]


def test_the_older_goes_first() -> None:
    """For each order in which two slots are filled while the writeback is blocked."""
    bench, orders = Bench(1, 9), list(itertools.permutations(range(3), 2))

    async def testbench(ctx: Any) -> None:
        for first, second in orders:
            await bench.step(ctx, LOCAL)
            for slots in ((), (first,), (second,)):
                await bench.step(ctx, *slots, ready=False)
            for _ in range(4):
                await bench.step(ctx)

    simulate(bench.dut, testbench)
    assert [slot for _, slot in bench.written] == [slot for order in orders for slot in (LOCAL, *order)]


@simulated(lambda: Bench(1, 8), resets=True)
async def test_reset(ctx: Any, bench: Bench, reset) -> None:
    for _ in range(3):
        await bench.step(ctx, FILL, HIT, LOCAL, ready=False)
    await pulse(ctx, reset)
    bench.clear()
    await bench.step(ctx, HIT)
    for _ in range(3):
        await bench.step(ctx)
    assert bench.written == [(5, HIT)]
