"""CsrUnit against isa.md's table of CSRs."""

import random
from dataclasses import replace
from typing import Any

import pytest

from metronome.hdl.config import Channels, SmConfig
from metronome.hdl.execute.csr import CsrUnit
from metronome.hdl.isa.ops import CsrOp
from metronome.hdl.layouts.counters import COUNTERS, counter_places
from tests.hdl.lib.simulate import drive, simulate, simulated

CONFIG = SmConfig(warps=4, threads=4, core_id=1, cores=3)
ARGUMENT = 0xDEAD_BEE4

FFLAGS, FRM, FCSR, MSCRATCH, MREGION, MORDER, MPOLICY = 0x001, 0x002, 0x003, 0x340, 0x7C0, 0x7C1, 0x7C2
#: isa.md, "CSRs": reads 0, writes ignored; morder and mpolicy without what they are for.
ZERO = (0x300, 0x302, 0x303, 0x304, 0x305, 0x341, 0x342, 0x180, 0x3A0, 0x3B0, 0x744, MORDER, MPOLICY)
READ_ONLY = (0xCC0, 0xCC1, 0xCC2, 0xCC3, 0xCC4, 0xF11, 0xF12, 0xF13, 0xF14, 0xFC0, 0xFC1, 0xFC2, 0xFC3)
WINDOW = (*range(0xB00, 0xB20), *range(0xB80, 0xBA0))
EXISTS = {FFLAGS, FRM, FCSR, 0x301, MSCRATCH, MREGION, *ZERO, *READ_ONLY, *WINDOW}


def _drive(ctx: Any, dut: CsrUnit, op: CsrOp, number: int, source: int = 0, **ports: int) -> None:
    """One access; ``source`` is the rs1 field of the instruction: a register number or a 5-bit immediate."""
    access = {"op": op.value, "immediate": source << 12 | number}
    for name, value in ({"valid": 1, "use_imm": 0, "warp": 0, "rs1": 0, "mask": 1} | access | ports).items():
        ctx.set(getattr(dut, name), value)


async def _start(ctx: Any, dut: CsrUnit) -> None:
    drive(ctx, dut, argument=ARGUMENT, start=1)
    await ctx.tick()
    ctx.set(dut.start, 0)


@simulated(lambda: CsrUnit(CONFIG))
async def test_which_numbers_exist(ctx: Any, dut: CsrUnit):
    """All 4096 numbers, read and written."""
    unreadable, unwritable = set(), set()
    _drive(ctx, dut, CsrOp.RS, 0, valid=0)
    for number in range(4096):
        ctx.set(dut.immediate, number)
        if ctx.get(dut.unknown):
            unreadable.add(number)
    ctx.set(dut.op, CsrOp.RW.value)
    for number in range(4096):
        ctx.set(dut.immediate, number)
        if ctx.get(dut.unknown):
            unwritable.add(number)
    assert set(range(4096)) - unreadable == EXISTS
    assert set(range(4096)) - unwritable == EXISTS - set(READ_ONLY)


@pytest.mark.parametrize("op", [CsrOp.RS, CsrOp.RC])
@pytest.mark.parametrize("immediate", [False, True])
@simulated(lambda: CsrUnit(CONFIG))
async def test_read_only_number_is_written_unless_the_source_field_is_zero(ctx: Any, dut: CsrUnit, op, immediate):
    """csrrs and csrrc with x0 or 0 do not write; with any other field they do, whatever the register holds."""
    for number in READ_ONLY:
        for source in (0, 1, 16, 31):
            _drive(ctx, dut, op, number, source=source, use_imm=immediate)
            assert ctx.get(dut.unknown) == (source != 0), (hex(number), source)


def _identity(number: int, warp: int, mask: int, active: int) -> tuple[int, bool]:
    """Value and whether the lane is added."""
    return {
        0xCC0: (0, True), 0xCC1: (warp, False), 0xCC2: (1, False), 0xCC3: (active, False), 0xCC4: (mask, False),
        0xF11: (0, False), 0xF12: (0, False), 0xF13: (0, False), 0xF14: (4 * (warp + 4 * 1), True),
        0xFC0: (4, False), 0xFC1: (4, False), 0xFC2: (3, False), 0xFC3: (0xFFFF_0000, False),
    }[number]


@simulated(lambda: CsrUnit(CONFIG))
async def test_identity(ctx: Any, dut: CsrUnit):
    """The read-only CSRs of every warp, with random masks, and misa."""
    rng = random.Random(5)
    for number in READ_ONLY:
        for warp in range(4):
            mask, active = rng.getrandbits(4), rng.getrandbits(4)
            _drive(ctx, dut, CsrOp.RS, number, warp=warp, mask=mask)
            ctx.set(dut.active, active)
            expected = _identity(number, warp, mask, active)
            assert (ctx.get(dut.value), ctx.get(dut.add_lane)) == expected, (hex(number), warp)
    _drive(ctx, dut, CsrOp.RS, 0x301)
    # misa: MXL = 1 in 31..30, and the letters' bits.
    assert ctx.get(dut.value) == 1 << 30 | sum(1 << "ABCDEFGHIJKLMNOPQRSTUVWXYZ".index(c) for c in "IMFX")
    assert not ctx.get(dut.add_lane)


@simulated(lambda: CsrUnit(CONFIG))
async def test_zeros_ignore_writes(ctx: Any, dut: CsrUnit):
    await _start(ctx, dut)
    for number in ZERO:
        _drive(ctx, dut, CsrOp.RW, number, source=5, rs1=0xFFFF_FFFF)
        assert not ctx.get(dut.unknown)
        await ctx.tick()
        _drive(ctx, dut, CsrOp.RS, number)
        assert ctx.get(dut.value) == 0, hex(number)
    # Nor do they touch anything else.
    for number, value in ((MSCRATCH, ARGUMENT), (FCSR, 0), (MREGION, 0)):
        _drive(ctx, dut, CsrOp.RS, number)
        assert ctx.get(dut.value) == value


class _Model:
    """The CSRs that keep what is written."""

    def __init__(self) -> None:
        self.fcsr = [0] * CONFIG.warps
        self.scratch = ARGUMENT
        self.region = 0

    def read(self, number: int, warp: int) -> int:
        fcsr = self.fcsr[warp]
        return {FFLAGS: fcsr & 31, FRM: fcsr >> 5, FCSR: fcsr, MSCRATCH: self.scratch, MREGION: self.region}[number]

    def write(self, number: int, warp: int, value: int) -> None:
        fcsr = self.fcsr[warp]
        if number == FFLAGS:
            self.fcsr[warp] = fcsr & 0xE0 | value & 31
        elif number == FRM:
            self.fcsr[warp] = fcsr & 31 | (value & 7) << 5
        elif number == FCSR:
            self.fcsr[warp] = value & 0xFF
        elif number == MSCRATCH:
            self.scratch = value
        else:
            self.region = value & 1


@pytest.mark.parametrize("seed", [1, 2])
@simulated(lambda: CsrUnit(CONFIG))
async def test_random_accesses(ctx: Any, dut: CsrUnit, seed):
    """csrrw, csrrs, csrrc and their immediate forms on what can be written, by all warps; mscratch is shared.

    In every cycle another warp may raise flags, the same one where it writes none.
    """
    rng = random.Random(seed)
    await _start(ctx, dut)
    model = _Model()
    for _ in range(600):
        op, number = rng.choice(list(CsrOp)), rng.choice((FFLAGS, FRM, FCSR, MSCRATCH, MREGION))
        warp, immediate = rng.randrange(4), rng.random() < 0.5
        source, rs1, valid = rng.choice((0, rng.randrange(32))), rng.getrandbits(32), rng.random() < 0.9
        _drive(ctx, dut, op, number, source=source, use_imm=immediate, rs1=rs1, warp=warp, valid=valid)
        what = f"seed {seed}: {op} {number:#x} warp {warp} source {source} immediate {immediate} rs1 {rs1:#x}"
        raises, flags, raised = rng.random() < 0.5, rng.getrandbits(5) & rng.getrandbits(5), rng.randrange(4)
        raises &= raised != warp or number not in (FFLAGS, FRM, FCSR)
        for port, value in ((dut.raise_valid, raises), (dut.raised, flags), (dut.raised_warp, raised)):
            ctx.set(port, value)
        old = model.read(number, warp)
        assert ctx.get(dut.value) == old, what
        assert ctx.get(dut.frm) == model.fcsr[warp] >> 5, what
        assert (ctx.get(dut.unknown), ctx.get(dut.add_lane)) == (0, 0), what
        assert ctx.get(dut.region) == model.region, what
        operand = source if immediate else rs1
        if valid and op is CsrOp.RW:
            model.write(number, warp, operand)
        elif valid and source != 0:
            model.write(number, warp, old | operand if op is CsrOp.RS else old & ~operand)
        if raises:
            model.fcsr[raised] |= flags
        await ctx.tick()


@simulated(lambda: CsrUnit(CONFIG))
async def test_unknown_number_changes_nothing(ctx: Any, dut: CsrUnit):
    await _start(ctx, dut)
    for number in (0x000, 0x004, 0x341 + 2, 0x7C3, 0xFC0):
        _drive(ctx, dut, CsrOp.RW, number, source=1, rs1=0xFFFF_FFFF)
        assert ctx.get(dut.unknown)
        await ctx.tick()
    for number, value in ((MSCRATCH, ARGUMENT), (FCSR, 0), (MREGION, 0)):
        _drive(ctx, dut, CsrOp.RS, number)
        assert ctx.get(dut.value) == value


@simulated(lambda: CsrUnit(CONFIG))
async def test_time_and_retired(ctx: Any, dut: CsrUnit):
    """mcycle is 0 in the first cycle after the launch; minstret adds the lanes; both start again at a launch."""
    rng = random.Random(3)
    for _ in range(2):
        await _start(ctx, dut)
        total = 0
        for cycle in range(50):
            retired = rng.randrange(5)
            cancelled = rng.random() < 0.2
            drive(ctx, dut, retired=retired, cancelled=cancelled)
            number = rng.choice((0xB00, 0xB02, 0xB80, 0xB82))
            _drive(ctx, dut, CsrOp.RS, number)
            expected = {0xB00: cycle, 0xB02: total, 0xB80: 0, 0xB82: 0}[number]
            assert ctx.get(dut.value) == expected, (hex(number), cycle)
            total += 0 if cancelled else retired
            await ctx.tick()


@simulated(lambda: CsrUnit(CONFIG))
async def test_region_counters(ctx: Any, dut: CsrUnit):
    """Each counter behind its own pair of numbers, high half 0x80 above; the window's other numbers read 0."""
    rng = random.Random(4)
    low: dict[int, int] = {}
    places: dict[tuple[str, int], int] = {}
    for counter in COUNTERS:
        for number, reason in counter.numbers():
            low[number] = places[counter.name, int(reason)] = rng.getrandbits(48)
    for number in range(0xB01, 0xB20):
        if number == 0xB02:
            continue
        for high in (0, 0x80):
            _drive(ctx, dut, CsrOp.RS, number + high)
            index = ctx.get(dut.counter_index)
            counter, reason = counter_places()[index] if index < len(counter_places()) else (None, 0)
            # What the observer shows: one that software cannot read is another number.
            ctx.set(dut.counter_value, places.get((counter.name, int(reason)), 1 << 40 | 7) if counter else 5)
            value = low.get(number, 0)
            assert ctx.get(dut.value) == (value >> 32 if high else value & 0xFFFF_FFFF), hex(number + high)


def test_the_list_of_morder_counts_in_the_region():
    """A region begins it, if there is one and the region was closed; its end ends it and clears morder."""
    dut = CsrUnit(replace(CONFIG, channels=Channels.ORDERED))
    seen: list[tuple[int, ...]] = []

    async def access(ctx: Any, number: int, value: int) -> None:
        _drive(ctx, dut, CsrOp.RW, number, source=1, rs1=value)
        order = ctx.get(dut.order)
        seen.append((order.start, order.stop, order.address if order.start else 0, ctx.get(dut.value)))
        await ctx.tick()

    async def testbench(ctx: Any) -> None:
        await _start(ctx, dut)
        for number, value in (
            (MREGION, 1), (MREGION, 0), (MORDER, 0x4000_0000), (MREGION, 1), (MREGION, 1), (MREGION, 0), (MORDER, 0),
        ):
            await access(ctx, number, value)

    simulate(dut, testbench)
    assert seen == [
        (0, 0, 0, 0), (0, 1, 0, 1), (0, 0, 0, 0), (1, 0, 0x4000_0000, 0), (0, 0, 0, 1), (0, 1, 0, 1), (0, 0, 0, 0),
    ]


@pytest.mark.parametrize("seed", [1, 2])
@simulated(lambda: CsrUnit(replace(CONFIG, policy_csr=True)))
async def test_mpolicy_is_told_one_cycle_later(ctx: Any, dut: CsrUnit, seed):
    """With policy_csr: it reads what was written last; the policies see the word for one cycle, the next one."""
    rng = random.Random(seed)
    await _start(ctx, dut)
    kept = told = 0
    for cycle in range(400):
        op, number = rng.choice(list(CsrOp)), rng.choice((MPOLICY, MPOLICY, MPOLICY, MSCRATCH, MORDER, 0x123))
        immediate, valid = rng.random() < 0.3, rng.random() < 0.8
        source, rs1 = rng.choice((0, rng.randrange(32))), rng.choice((0, rng.getrandbits(32), 0xFFFF_FFFF))
        warp, what = rng.randrange(4), f"seed {seed}, cycle {cycle}"
        _drive(ctx, dut, op, number, source=source, use_imm=immediate, rs1=rs1, warp=warp, valid=valid)
        change = ctx.get(dut.change)
        assert change.value | change.slot << 16 | change.parameter << 24 == told, what
        if number == MPOLICY:
            assert (ctx.get(dut.value), ctx.get(dut.unknown)) == (kept, 0), what
        operand, told = source if immediate else rs1, 0
        if valid and number == MPOLICY and (op is CsrOp.RW or source):
            told = {CsrOp.RW: operand, CsrOp.RS: kept | operand, CsrOp.RC: kept & ~operand}[op]
            kept = told
        await ctx.tick()
