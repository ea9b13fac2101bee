"""Issue distances and the writeback port: latency + 2, for all operand values (design.md section 4)."""

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import BranchOp, Unit
from metronome.hdl.isa.table import INSTRUCTIONS, RegFile
from metronome.hdl.layouts.counters import StallReason
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from tests.hdl.producers import DIV, FDIV, FLOAT_PRODUCERS, MUL, OVERHEAD, PRODUCERS, F
from tests.hdl.sm_checks import checked_run
from tests.hdl.sm_harness import START, Run, finish
from tests.support.builds import BARE, TINY, on

pytestmark = on("TINY")
#: Zeros, one, a subnormal, the largest, infinity, a quiet and a signalling NaN.
FLOAT_OPERANDS = [
    (0, 0x8000_0000), (0x3F80_0000, 0x4040_0000), (0x0000_0001, 0x7F7F_FFFF), (0x7F80_0000, 0xFF80_0000),
    (0x7FC0_0000, 0x7F80_0001),
]
OPERANDS = [(0, 0), (1, 0x8000_0000), (0xFFFF_FFFF, 0x8000_0000), (0x8000_0000, 0xFFFF_FFFF), (12345, 7)]


def _with_operands(a: int, b: int) -> Program:
    """x5 = a, x6 = b, all of one line's code; four NOPs so that both are there."""
    p = Program()
    p.add(*asm.li(5, a), *asm.li(6, b), *[asm.nop()] * 4)
    return p


def _timed(p: Program, *words: int, config: SmConfig = TINY) -> tuple[Run, int, list[int]]:
    """Behind ``p`` some words that end a line at most: when the first is selected, and how much later each is."""
    at = p.here
    p.add(*words)
    finish(p)
    assert p.here - p.base <= 64
    run = checked_run(config, p, latency=2)
    t = run.issued_at(at)
    return run, t, [run.issued_at(at + 4 * i) - t for i in range(len(words))]


@pytest.mark.parametrize("name", PRODUCERS)
def test_dependent_distance(name):
    """The consumer is selected exactly latency + 2 after its producer, in the cycle of its write."""
    make, latency = PRODUCERS[name]
    # A division takes as long for every operand; the others have no reason not to.
    for a, b in OPERANDS if latency == DIV else OPERANDS[:2]:
        run, t, distances = _timed(_with_operands(a, b), make(8, 5, 6), asm.addi(9, 8, 1))
        assert distances == [0, latency + OVERHEAD], (a, b)
        assert [cycle for cycle, _ in run.writes(8)] == [t + latency + OVERHEAD]
        assert run.register(9)[0] == (run.register(8)[0] + 1) & 0xFFFF_FFFF


def _with_floats(a: int, b: int) -> Program:
    """f5 and x5 = a, f6 and x6 = b."""
    p = Program()
    p.add(*asm.li(5, a), *asm.li(6, b), asm.fmv_w_x(5, 5), asm.fmv_w_x(6, 6), asm.nop(), asm.nop())
    return p


@pytest.mark.parametrize("name", FLOAT_PRODUCERS)
def test_dependent_distance_of_the_fpu(name):
    """As above, for operands of every class."""
    make, latency, to_int = FLOAT_PRODUCERS[name]
    for a, b in FLOAT_OPERANDS:
        # fmv.w.x and fcvt.s.w read x5, whose number is f5's.
        consumer = asm.addi(9, 8, 0) if to_int else asm.fmv_x_w(9, 8)
        run, t, distances = _timed(_with_floats(a, b), make(8, 5, 6), consumer)
        assert distances == [0, latency + OVERHEAD], (name, hex(a), hex(b))
        rd = 8 if to_int else F + 8
        assert [cycle for cycle, _ in run.writes(rd)] == [t + latency + OVERHEAD]
        assert run.register(9) == run.register(rd) != {}


@pytest.mark.parametrize("role", ["rs1", "rs2", "rs3", "store", "write"])
@pytest.mark.parametrize("name", ["fmul", "fdiv", "fcvt.s"])
def test_every_use_of_a_float_waits(name, role):
    make, latency, _ = FLOAT_PRODUCERS[name]
    p = _with_floats(0x3F80_0000, 0x4040_0000)
    p.li(7, 0x10000)
    consumer = {"rs1": asm.fmadd_s(9, 8, 5, 6), "rs2": asm.fmadd_s(9, 5, 8, 6), "rs3": asm.fmadd_s(9, 5, 6, 8),
                "store": asm.fsw(8, 0, 7), "write": asm.fsgnj_s(8, 5, 5)}[role]
    run, _, distances = _timed(p, make(8, 5, 6), consumer)
    assert distances == [0, latency + OVERHEAD]
    if role == "store":
        assert run.memory.read_word(0x10000) == run.register(F + 8)[0]


def test_a_loaded_float_is_usable_in_the_cycle_of_its_write():
    p = Program()
    p.add(*asm.li(5, 0x10000), *asm.li(6, 0x4040_0000), asm.sw(6, 4, 5))
    run, t, distances = _timed(p, asm.flw(8, 4, 5), asm.fadd_s(9, 8, 8))
    assert run.writes(F + 8) == [(t + distances[1], {0: 0x4040_0000})]
    assert run.register(F + 9) == {0: 0x40C0_0000}


@pytest.mark.parametrize("name", ["add", "mul", "div"])
@pytest.mark.parametrize("role", ["rs1", "rs2", "store", "write", "branch"])
def test_every_use_waits(name, role):
    """First and second operand, store data, the same destination again, and a branch."""
    make, latency = PRODUCERS[name]
    p = _with_operands(100, 7)
    p.li(7, 0x10000)
    consumer = {"rs1": asm.xor(9, 8, 5), "rs2": asm.xor(9, 5, 8), "store": asm.sw(8, 0, 7),
                "write": asm.addi(8, 0, 5), "branch": asm.beq(8, 0, 8)}[role]
    run, _, distances = _timed(p, make(8, 5, 6), consumer)
    assert distances == [0, latency + OVERHEAD]
    result = {"add": 107, "mul": 700, "div": 14}[name]
    if role == "store":
        assert run.memory.read_word(0x10000) == result
    if role == "write":
        assert [value[0] for _, value in run.writes(8)] == [result, 5]


@pytest.mark.parametrize(("words", "config"), [
    # With btfn a jal is followed at decode.
    pytest.param([asm.jal(8, 8)], BARE, marks=[on("bare"), pytest.mark.more], id="jal"),
    pytest.param([asm.jalr(8, 7, 0)], TINY, id="jalr"),
])
def test_link_is_written_after_three_cycles(words, config):
    """The redirect (R + 1 + d) outlasts the latency: the link is there for the first instruction of the target."""
    p = _with_operands(1, 2)
    p.la(7, "target")
    at = p.here
    p.add(*words, asm.nop())
    p.label("target")
    run, target, _ = _timed(p, asm.addi(9, 8, 0), config=config)
    t = run.issued_at(at)
    assert run.writes(8) == [(t + 1 + OVERHEAD, {0: at + 4})]
    assert target == t + 8
    assert run.register(9) == {0: at + 4}


def test_split_result_is_written_after_three_cycles():
    """The resolution (R + 1 = 4) outlasts the latency by one."""
    run, t, distances = _timed(_with_operands(1, 2), asm.split(8, 5), asm.addi(9, 8, 3))
    assert run.writes(8) == [(t + 1 + OVERHEAD, {0: 0})]
    assert distances == [0, 4]
    assert run.register(9) == {0: 3}


@pytest.mark.parametrize("name", ["add", "mul", "csrr", "csrrw"])
def test_independent_back_to_back(name):
    make, _ = PRODUCERS[name]
    _, _, distances = _timed(_with_operands(3, 5), *[make(8 + i, 5, 6) for i in range(4)])
    assert distances == [0, 1, 2, 3]


@pytest.mark.parametrize("name", [name for name, (_, latency, _) in FLOAT_PRODUCERS.items() if latency != FDIV])
def test_independent_floats_back_to_back(name):
    make, *_ = FLOAT_PRODUCERS[name]
    _, _, distances = _timed(_with_floats(0x3F80_0000, 0x4040_0000), *[make(8 + i, 5, 6) for i in range(4)])
    assert distances == [0, 1, 2, 3]


@pytest.mark.parametrize("first", ["fdiv", "fsqrt"])
@pytest.mark.parametrize("second", ["fdiv", "fsqrt"])
def test_float_divider_blocks_only_its_class(first, second):
    """The integer divider goes on beside it, and the other way round."""
    words = [FLOAT_PRODUCERS[first][0](8, 5, 6), asm.div(8, 5, 6), asm.fmul_s(9, 5, 6), asm.flt_s(9, 5, 6),
             FLOAT_PRODUCERS[second][0](10, 6, 5), asm.rem(10, 5, 6)]
    run, t, distances = _timed(_with_floats(0x3F80_0000, 0x4040_0000), *words)
    assert distances == [0, 1, 2, 3, FDIV, 1 + DIV]
    assert {run.cycles[c].reasons[0] for c in range(t + 4, t + FDIV)} == {StallReason.UNIT}


@pytest.mark.parametrize("name", ["fcvt.w", "fcvt.wu", "flt", "feq", "fclass", "fmv.x"])
def test_x0_of_the_fpu_takes_a_slot_and_leaves_nothing(name):
    """Nobody waits for x0: not a reader, not another writer; but fcsr waits for the flags, as many as there are."""
    make, latency, _ = FLOAT_PRODUCERS[name]
    words = [*[make(0, 5, 6)] * 3, asm.add(0, 0, 0), asm.csrr(10, 0x003)]
    run, _, distances = _timed(_with_floats(0x7F80_0001, 0x7FC0_0000), *words)
    assert distances == [0, 1, 2, 3, 2 + latency + OVERHEAD]
    assert run.writes(0) == []
    # A signalling NaN in f5, a quiet one in f6: only what reads f5, or is a signalling comparison, raises NV.
    assert run.register(10) == {0: 0 if name in ("fclass", "fmv.x") else 0x10}


def test_divider_blocks_only_divisions():
    words = [asm.div(8, 5, 6), asm.add(9, 5, 6), asm.mul(10, 5, 6), asm.rem(11, 5, 6)]
    run, t, distances = _timed(_with_operands(100, 7), *words)
    assert distances == [0, 1, 2, DIV]
    assert {run.cycles[c].reasons[0] for c in range(t + 3, t + DIV)} == {StallReason.UNIT}
    assert [run.register(rd)[0] for rd in (8, 9, 10, 11)] == [14, 107, 700, 2]


def test_writeback_slot_conflict():
    """mul in t writes in t+6; an addition in t+3 would, too: it waits one cycle, and only that."""
    run, t, distances = _timed(_with_operands(100, 7), asm.mul(8, 5, 6), *[asm.addi(9 + i, 5, 6) for i in range(4)])
    assert distances == [0, 1, 2, 4, 5]
    assert run.cycles[t + 3].stall == StallReason.WRITEBACK


def test_without_destination_no_slot_is_needed():
    """x0 as destination: neither a slot nor a wait."""
    run, _, distances = _timed(_with_operands(100, 7), asm.mul(8, 5, 6), *[asm.addi(0, 5, 6)] * 4)
    assert distances == [0, 1, 2, 3, 4]
    assert run.writes(0) == []


@pytest.mark.parametrize("name", FLOAT_PRODUCERS)
def test_flags_are_there_for_the_next_access_to_fcsr(name):
    """fcsr waits for the FPU, reads the flags of all lanes, and what is written then is not touched by older ones."""
    make, latency, _ = FLOAT_PRODUCERS[name]
    words = make(8, 5, 6), asm.csrrwi(9, 0x003, 0), asm.csrr(10, 0x001)
    run, _, distances = _timed(_with_floats(0x7F80_0001, 0x7F80_0001), *words)
    assert distances[1] == latency + OVERHEAD
    quiet = name in ("fclass", "fmv.x", "fmv.f", "fsgnjx")
    exact = 0x1 if name == "fcvt.s" else 0x10
    assert run.register(9) == {0: 0 if quiet else exact}
    assert run.register(10) == {0: 0}


def test_an_instruction_behind_a_write_of_frm_rounds_with_it():
    """1 + 2**-24: to nearest 1, upwards the next number."""
    words = asm.fadd_s(8, 5, 6), asm.csrrwi(0, 0x002, 3), asm.fadd_s(9, 5, 6), asm.fadd_s(10, 5, 6, 0)
    run, *_ = _timed(_with_floats(0x3F80_0000, 0x3380_0000), *words)
    assert [run.register(F + rd)[0] for rd in (8, 9, 10)] == [0x3F80_0000, 0x3F80_0001, 0x3F80_0000]


WRITERS = [row for row in INSTRUCTIONS if row.rd is RegFile.INT]


@pytest.mark.parametrize("row", WRITERS, ids=lambda row: row.mnemonic)
def test_x0_as_destination_leaves_nothing_pending(row):
    """The access to fcsr waits until nothing of the warp is pending: a bit left behind would hold it for ever."""
    p = _with_floats(0x3F80_0000, 0x4040_0000)
    p.la(7, "next")
    at = p.here
    if row.op in (BranchOp.JAL, BranchOp.JALR):
        p.add(asm.jal(0, 4) if row.op is BranchOp.JAL else asm.jalr(0, 7, 0))
    else:
        # Loads read the code, CSR instructions write mscratch; the second source is register 6.
        free = {Unit.LSU: 7 << 15, Unit.CSR: 0x340 << 20 | 5 << 15}.get(row.unit, 5 << 15)
        p.add(row.match | free | (6 << 20 if row.rs2 is not None else 0))
    p.label("next")
    run, *_ = _timed(p, asm.csrr(9, 0x003), asm.addi(10, 0, 1))
    assert run.ended and run.fault is None
    assert run.writes(0) == []
    assert [pc for _, pc in run.issues(0) if pc in (at, at + 4)] == [at, at + 4]
    assert run.register(10) == {0: 1}


@pytest.mark.parametrize("csr", [0x001, 0x002, 0x003])
def test_fcsr_waits_for_everything_older(csr):
    run, t, distances = _timed(_with_operands(100, 7), asm.mul(8, 5, 6), asm.csrr(9, csr))
    assert distances == [0, MUL + OVERHEAD]
    assert run.cycles[t + 1].stall == StallReason.DRAIN


def test_load_result_is_usable_in_the_cycle_of_its_write():
    p = Program()
    p.li(5, 0x10000)
    run, t, (_, distance) = _timed(p, asm.lw(8, 0, 5), asm.addi(9, 8, 1))
    assert run.writes(8) == [(t + distance, {0: 0})] and run.register(9) == {0: 1}
    assert {run.cycles[c].reasons[0] for c in range(t + 1, t + distance)} == {StallReason.LOAD}
    assert run.issued_at(START) < t
