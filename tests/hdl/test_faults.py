"""Every fault of hdl.config.FaultCause on the whole SM: what it reports, that it changes nothing, and that it stops."""

import pytest

from metronome.hdl.config import FaultCause
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from tests.hdl.sm_checks import check_front_end
from tests.hdl.sm_harness import USER, Fault, Latencies, Run, finish, run_program, spawn
from tests.support.builds import BARE, SMALL, TINY, on

pytestmark = on("TINY")
#: Cycles from the selection of a faulting instruction to the first in which nobody is selected: X is in t+2.
STOPS_AFTER = 3

MARKER = 0x5A5


def _body(*words: int) -> tuple[Program, int]:
    """x5 = 0x10000 (both lanes), x6 = MARKER, x7 = 3, x8 = MARKER; both lanes active. The last word faults; its pc."""
    p = Program()
    p.add(*asm.li(7, 3), asm.tmc(7), *asm.li(7, 3), *asm.li(5, USER), *asm.li(6, MARKER), *asm.li(8, MARKER))
    p.add(*words)
    at = p.here - 4
    # Each later instruction would show itself.
    p.add(*[asm.sw(6, 0x100, 5)] * 12)
    finish(p)
    return p, at


def _expect(run: Run, cause: FaultCause, pc: int, address: int, warp: int = 0) -> None:
    assert run.fault == Fault(cause, warp, pc, address)
    assert run.ended
    check_front_end(run)
    # The output rises once and stays; nobody is selected any more, and busy falls.
    first = next(c.number for c in run.cycles if c.fault)
    assert all(c.fault for c in run.cycles[first:])
    assert all(c.select is None for c in run.cycles[first:])
    assert not run.cycles[-1].busy


def _refused(*words: int, cause: FaultCause, address: int | None = None) -> Run:
    """A run in which the last of ``words`` faults at the execute stage (``address``: else the word itself)."""
    p, at = _body(*words)
    run = run_program(TINY, p)
    _expect(run, cause, at, words[-1] if address is None else address)
    _expect_precise(run, at)
    return run


def _expect_precise(run: Run, pc: int) -> None:
    """An execute-stage fault of warp 0: the instruction in X in t+2, seen in t+3; rd keeps its value."""
    t = run.issued_at(pc)
    first = next(c.number for c in run.cycles if c.fault)
    assert first == t + STOPS_AFTER
    # The instruction writes nothing: x8 was last written by the li in front of it.
    assert run.register(8) == {0: MARKER, 1: MARKER}
    written = [c for c in run.cycles if c.write and c.write[1] == 8]
    assert len(written) == 1


@pytest.mark.parametrize(("word", "cause", "address"), [
    (0x0000_0000, FaultCause.ILLEGAL_INSTRUCTION, 0x0000_0000),
    (0xFFFF_FFFF, FaultCause.ILLEGAL_INSTRUCTION, 0xFFFF_FFFF),
    # custom-0 with funct3 6 does not exist.
    (0x0000_600B, FaultCause.ILLEGAL_INSTRUCTION, 0x0000_600B),
    (asm.ecall(), FaultCause.ENVIRONMENT_CALL, 0),
    (asm.ebreak(), FaultCause.BREAKPOINT, 0),
    (asm.csrr(8, 0x123), FaultCause.UNKNOWN_CSR, 0x123),
    (asm.csrrw(8, 0xCC1, 6), FaultCause.UNKNOWN_CSR, 0xCC1),
    (asm.csrrsi(8, 0xF14, 1), FaultCause.UNKNOWN_CSR, 0xF14),
    # A stack pointer that is not below the current one, in any of its 32 bits.
    (asm.join(6), FaultCause.STACK_UNDERFLOW, 0),
    (asm.join(5), FaultCause.STACK_UNDERFLOW, 0),
])
def test_execute_faults(word, cause, address):
    _refused(word, cause=cause, address=address)


@pytest.mark.parametrize("frm", [5, 6, 7])
@pytest.mark.parametrize("make", [asm.fadd_s, asm.fdiv_s, asm.fmadd_s, asm.fsqrt_s, asm.fcvt_w_s, asm.fcvt_s_wu],
                         ids=["fadd", "fdiv", "fmadd", "fsqrt", "fcvt.w", "fcvt.s"])
def test_reserved_dynamic_rounding_mode(make, frm):
    """Only where the instruction takes its mode from frm; the fault raises no flags and writes nothing."""
    operands = {asm.fmadd_s: 4, asm.fsqrt_s: 2, asm.fcvt_w_s: 2, asm.fcvt_s_wu: 2}.get(make, 3)
    words = asm.csrrwi(0, 0x002, frm), make(*[9] * operands, 0), asm.fsgnj_s(9, 9, 9), make(*[8] * operands)
    run = _refused(*words, cause=FaultCause.ILLEGAL_INSTRUCTION)
    assert run.register(32 + 8) == {}


@pytest.mark.parametrize("mode", [5, 6])
def test_reserved_static_rounding_mode(mode):
    run = _refused(asm.fmul_s(8, 8, 8, mode), cause=FaultCause.ILLEGAL_INSTRUCTION)
    assert run.register(32 + 8) == {}


@pytest.mark.parametrize("jump", ["jal", "jalr", "beq"])
def test_misaligned_target(jump):
    """The fault belongs to the jump, which writes no link; a branch that is not taken has no target."""
    p, at = _body({"jal": asm.jal(8, 6), "jalr": asm.jalr(8, 5, 7), "beq": asm.beq(5, 5, 6)}[jump])
    run = run_program(TINY, p)
    # jalr clears bit 0 of its target.
    target = USER + 6 if jump == "jalr" else at + 6
    _expect(run, FaultCause.FETCH_MISALIGNED, at, target)
    _expect_precise(run, at)


def test_misaligned_target_of_a_branch_that_is_not_taken():
    p, at = _body(asm.bne(5, 5, 6), asm.ebreak())
    _expect(run_program(TINY, p), FaultCause.BREAKPOINT, at, 0)


@pytest.mark.parametrize("target", [0xFFFF_0000, 0x0000_0000])
def test_fetch_outside_memory(target):
    """The pc itself faults, and only when it issues."""
    p = Program()
    p.add(*asm.li(5, target), asm.jalr(1, 5, 0))
    run = run_program(TINY, p, latency=3)
    _expect(run, FaultCause.FETCH_ACCESS, target, target)


@on("bare")
@pytest.mark.more
def test_fetch_error_that_is_never_issued_is_no_fault():
    """The line behind a jump answers with an error; the jump goes elsewhere."""
    # The code is in the last words of memory, where stacks are: interleaved, they would hold no code.
    p = Program()
    p.add(*asm.li(5, 0xFFFE_FFF8), asm.jalr(1, 5, 0))
    p.label("back")
    finish(p)
    memory = run_program(BARE, p, latency=2, max_cycles=60, may_hang=True).memory
    # The last words of memory: jump back; what is fetched behind them is outside.
    memory.write(0xFFFE_FFF8, b"".join(w.to_bytes(4, "little") for w in (asm.nop(), asm.jalr(0, 1, 0))))
    run = run_program(BARE, p, latency=2, memory=memory)
    assert run.fault is None
    assert 0xFFFF_0000 in [request.line for request in run.requests]
    check_front_end(run)


@pytest.mark.parametrize(("word", "cause", "address"), [
    (asm.lw(8, 2, 5), FaultCause.LOAD_MISALIGNED, USER + 2), (asm.lh(8, 1, 5), FaultCause.LOAD_MISALIGNED, USER + 1),
    (asm.sw(6, 1, 5), FaultCause.STORE_MISALIGNED, USER + 1),
    (asm.sh(6, 3, 5), FaultCause.STORE_MISALIGNED, USER + 3), (asm.lw(8, 0, 0), FaultCause.LOAD_ACCESS, 0),
    (asm.lw(8, -4, 0), FaultCause.LOAD_ACCESS, 0xFFFF_FFFC), (asm.sw(6, 8, 0), FaultCause.STORE_ACCESS, 8),
    (asm.sb(6, -1, 0), FaultCause.STORE_ACCESS, 0xFFFF_FFFF),
])
def test_access_faults(word, cause, address):
    """Found in the LSU or by memory, later than X; nothing is written all the same."""
    p, at = _body(word)
    run = run_program(TINY, p)
    _expect(run, cause, at, address)
    assert run.register(8) == {0: MARKER, 1: MARKER}
    assert run.memory.read(USER, 8) == bytes(8)


def test_address_is_that_of_the_lowest_lane_that_faults():
    """Lane 0 is aligned, lane 1 is not: lane 0 does not load either."""
    # x9 = 0x10000 + 2 * lane
    p, at = _body(asm.csrr(9, 0xCC0), asm.slli(9, 9, 1), asm.add(9, 9, 5), asm.lw(8, 0, 9))
    run = run_program(TINY, p)
    _expect(run, FaultCause.LOAD_MISALIGNED, at, USER + 2)
    assert run.register(8) == {0: MARKER, 1: MARKER}


@pytest.mark.parametrize("word", [asm.beq(9, 0, 8), asm.jalr(8, 9, 0)], ids=["beq", "jalr"])
def test_divergent_branch(word):
    words = asm.csrr(9, 0xCC0), asm.slli(9, 9, 2), asm.add(9, 9, 0), word
    _refused(*words, cause=FaultCause.DIVERGENT_BRANCH, address=0)


@on("bare")
@pytest.mark.more
def test_divergent_branch_check_can_be_left_out():
    """Then the leader, the highest active lane, decides: lane 1 has x9 = 1, so bne is taken."""
    p = Program()
    p.add(*asm.li(7, 3), asm.tmc(7), asm.csrr(9, 0xCC0))
    p.branch(asm.bne, 9, 0, "end")
    p.li(10, 1)
    p.label("end")
    finish(p)
    run = run_program(BARE, p)
    assert run.fault is None
    assert run.writes(10) == []


def test_inactive_lanes_do_not_diverge():
    """Lane 1 would go the other way, but is off."""
    p, at = _body(asm.csrr(9, 0xCC0), asm.addi(10, 0, 1), asm.tmc(10), asm.beq(9, 0, 8), asm.nop(), asm.ebreak())
    _expect(run_program(TINY, p), FaultCause.BREAKPOINT, at, 0)


def test_stack_overflow():
    """Two threads: one entry. A second divergent split after tmc has switched both lanes on again."""
    words = asm.csrr(9, 0xCC0), asm.split(10, 9), asm.tmc(7), asm.split(8, 9)
    run = _refused(*words, cause=FaultCause.STACK_OVERFLOW, address=0)
    assert run.register(10) == {0: 0, 1: 0}


@on("SMALL")
def test_fault_of_another_warp():
    """Warp 2 faults while the others run: its number and pc, and everybody stops."""
    p = Program()
    spawn(p, 4, "all")
    p.label("all")
    p.add(asm.csrr(5, 0xCC1), asm.addi(5, 5, -2))
    p.branch(asm.bne, 5, 0, "spin")
    at = p.here
    p.add(asm.ecall())
    p.label("spin")
    p.jal(0, "spin")
    run = run_program(SMALL, p)
    _expect(run, FaultCause.ENVIRONMENT_CALL, at, 0, warp=2)
    assert run.cycles[-1].active == 0b1111


def test_first_fault_stays():
    """Two warps fault one after the other: the first one is reported, the second changes nothing."""
    p = Program()
    spawn(p, 2, "other")
    at = p.here
    p.add(asm.ebreak(), *[asm.nop()] * 4)
    p.label("other")
    p.add(asm.ecall())
    run = run_program(TINY, p)
    _expect(run, FaultCause.BREAKPOINT, at, 0)


def test_fault_while_a_load_is_under_way():
    """busy falls only when nothing is in flight: the load's answer is still awaited."""
    p, at = _body(asm.lw(9, 0, 5), asm.ebreak())
    run = run_program(TINY, p, latency=Latencies(4, reads={USER: 40}))
    _expect(run, FaultCause.BREAKPOINT, at, 0)
    request = next(r for r in run.requests if r.line == USER)
    last_busy = max(c.number for c in run.cycles if c.busy)
    assert last_busy >= request.cycle + 40


@pytest.mark.parametrize("behind", [
    [asm.sw(8, 0, 5), asm.sw(8, 4, 5)], [asm.addi(8, 0, 7), asm.mul(9, 8, 8)], [asm.div(9, 8, 8), asm.lw(9, 0, 5)],
    [asm.csrr(9, 0xCC0), asm.csrrw(0, 0x340, 5)],
])
def test_nothing_behind_a_faulting_instruction_takes_effect(behind):
    """The two instructions selected before the SM has stopped are cancelled, and busy falls all the same."""
    p, last = _body(asm.ebreak(), *behind)
    at = last - 4 * len(behind)
    run = run_program(TINY, p)
    _expect(run, FaultCause.BREAKPOINT, at, 0)
    assert [pc for warp in range(TINY.warps) for _, pc in run.issues(warp) if pc > at] == []
    assert not [request for request in run.requests if request.line == USER]
    assert run.register(8) == {0: MARKER, 1: MARKER}
    last_fault = next(c.number for c in run.cycles if c.fault)
    assert not [c for c in run.cycles if c.number > last_fault and c.write]


@pytest.mark.parametrize("behind", [[asm.ebreak()], [asm.nop(), asm.ebreak()], [asm.lw(9, 2, 5)]])
def test_the_fault_of_an_older_load_is_the_one_reported(behind):
    """The load's error comes back after the younger fault has stopped the SM; it is the older one of its warp."""
    p, last = _body(asm.lw(9, 0, 0), *behind)
    at = last - 4 * len(behind)
    run = run_program(TINY, p, latency=20)
    _expect(run, FaultCause.LOAD_ACCESS, at, 0)


def test_the_fault_of_another_warps_load_is_not():
    """Warp 1's load errs after warp 0 has stopped the SM: warp 0 was first."""
    p = Program()
    spawn(p, 2, "other")
    p.add(*[asm.nop()] * 4)
    at = p.here
    p.add(asm.ebreak())
    p.label("other")
    p.add(asm.lw(9, 0, 0), asm.lw(9, 0, 0), asm.nop(), asm.tmc(0))
    run = run_program(TINY, p, latency=Latencies(4, reads={0: 60}))
    _expect(run, FaultCause.BREAKPOINT, at, 0)
