"""Faults against isa.md: cause, warp, pc, address, and that nothing else has changed."""

import numpy as np
import pytest

from metronome.hdl.config import FaultCause
from metronome.sim.machine.golden import EndStatus, IssError
from metronome.sim.program.assembler import asm
from tests.sim.machine.golden.iss_harness import CONFIG, LOCAL, MODES, START, USER, execute, load, spawned, state_of

END = CONFIG.memory_map.end
LOCAL_END = LOCAL + CONFIG.local_bytes
ILLEGAL = 0xFFFFFFFF


def four_lanes(iss, **registers):
    """All lanes of warp 0 active; x<n> = four values."""
    iss.set_masks(np.array([0]), np.ones((1, 4), bool))
    for name, values in registers.items():
        iss.poke(0, int(name[1:]), 0xF, np.array(values, np.uint32))


def step_to_fault(words, **registers):
    """Step warp 0 over the words, of which the last one faults; checks that the fault changed nothing."""
    iss = load(words)
    four_lanes(iss, **registers)
    for _ in words[:-1]:
        assert iss.step(0).fault is None
    before, memory = state_of(iss), iss.memory.copy()
    commit = iss.step(0)
    fault = commit.fault
    assert fault is not None
    assert (fault.warp, fault.pc) == (0, START + 4 * (len(words) - 1)) == (commit.warp, commit.pc)
    assert commit.rd is None and commit.values is None and commit.store is None
    assert state_of(iss) == before and iss.memory.equal(memory)
    return fault.cause, fault.address


@pytest.mark.parametrize("word, cause, address", [
    (ILLEGAL, FaultCause.ILLEGAL_INSTRUCTION, ILLEGAL),
    (0, FaultCause.ILLEGAL_INSTRUCTION, 0),
    (asm.ecall(), FaultCause.ENVIRONMENT_CALL, 0),
    (asm.ebreak(), FaultCause.BREAKPOINT, 0),
    (asm.csrr(5, 0x123), FaultCause.UNKNOWN_CSR, 0x123),
    (asm.csrw(0xF14, 5), FaultCause.UNKNOWN_CSR, 0xF14),
    (asm.fadd_s(1, 2, 3, 5), FaultCause.ILLEGAL_INSTRUCTION, asm.fadd_s(1, 2, 3, 5)),
    (asm.jal(1, 6), FaultCause.FETCH_MISALIGNED, START + 10),
    (asm.join(5), FaultCause.STACK_UNDERFLOW, 0),
])  # fmt: skip
def test_simple_faults(word, cause, address):
    assert step_to_fault([asm.addi(5, 0, 1), word]) == (cause, address)


@pytest.mark.parametrize("frm", [5, 6, 7])
def test_a_dynamic_rounding_mode_that_is_none(frm):
    for word in (asm.fadd_s(1, 2, 3), asm.fsqrt_s(1, 2), asm.fcvt_w_s(1, 2), asm.fmadd_s(1, 2, 3, 4)):
        assert step_to_fault([asm.csrrwi(0, 2, frm), word]) == (FaultCause.ILLEGAL_INSTRUCTION, word)


def test_a_static_rounding_mode_does_not_look_at_frm():
    iss = load([asm.csrrwi(0, 2, 7), asm.fadd_s(1, 2, 3, 0), asm.fmin_s(1, 2, 3), asm.feq_s(1, 2, 3)])
    assert [iss.step(0).fault for _ in range(4)] == [None] * 4


@pytest.mark.parametrize("word, size, cause", [
    (asm.lh(1, 0, 5), 2, FaultCause.LOAD_MISALIGNED), (asm.lhu(1, 0, 5), 2, FaultCause.LOAD_MISALIGNED),
    (asm.lw(1, 0, 5), 4, FaultCause.LOAD_MISALIGNED), (asm.flw(1, 0, 5), 4, FaultCause.LOAD_MISALIGNED),
    (asm.sh(6, 0, 5), 2, FaultCause.STORE_MISALIGNED), (asm.sw(6, 0, 5), 4, FaultCause.STORE_MISALIGNED),
    (asm.fsw(6, 0, 5), 4, FaultCause.STORE_MISALIGNED), (asm.lw(0, 0, 5), 4, FaultCause.LOAD_MISALIGNED),
])  # fmt: skip
@pytest.mark.parametrize("base", [USER, LOCAL])
def test_misaligned_accesses_name_the_lowest_lane(word, size, cause, base):
    for step in range(1, size):
        lanes = [base, base + 8 + step, base + 16 + step, base + 4]
        assert step_to_fault([word], x5=lanes, x6=[1, 2, 3, 4]) == (cause, lanes[1])


@pytest.mark.parametrize("word, size", [(asm.lb(1, 0, 5), 1), (asm.lh(1, 0, 5), 2), (asm.lw(1, 0, 5), 4),
                                        (asm.sb(6, 0, 5), 1), (asm.sh(6, 0, 5), 2), (asm.sw(6, 0, 5), 4)])  # fmt: skip
@pytest.mark.parametrize("bad", [0, 0x3C, LOCAL_END, 0xFFFFFFFC])
def test_refused_accesses_name_the_lowest_lane_and_change_nothing(word, size, bad):
    cause = FaultCause.STORE_ACCESS if word & 0x7F == 0x23 else FaultCause.LOAD_ACCESS
    for lanes in ([USER, bad, 0, LOCAL], [LOCAL, LOCAL + 4, bad, LOCAL], [bad] * 4, [bad, END - 4, USER, LOCAL]):
        assert step_to_fault([word], x5=lanes, x6=[1, 2, 3, 4]) == (cause, next(a for a in lanes if a in (bad, 0)))


def test_the_edges_of_memory_are_inside():
    iss = load([asm.sw(6, 0, 5), asm.lw(7, 0, 5)])
    four_lanes(iss, x5=[0x40, END - 4, LOCAL, LOCAL_END - 4], x6=[1, 2, 3, 4])
    assert [iss.step(0).fault, iss.step(0).fault] == [None, None]
    assert iss.regs[0, 7].tolist() == [1, 2, 3, 4]


def test_a_misaligned_lane_comes_before_a_refused_one():
    assert step_to_fault([asm.lw(1, 0, 5)], x5=[0, USER + 2, USER, USER]) == (FaultCause.LOAD_MISALIGNED, USER + 2)


def test_inactive_lanes_do_not_fault():
    iss = load([asm.addi(7, 0, 0b0101), asm.tmc(7), asm.lw(8, 0, 5), asm.sw(6, 0, 5)])
    four_lanes(iss, x5=[USER, 1, USER + 4, 0])
    assert [iss.step(0).fault for _ in range(4)] == [None] * 4


@pytest.mark.parametrize("word", [asm.beq(5, 6, 8), asm.bne(5, 6, 8), asm.blt(5, 6, 8), asm.bge(5, 6, 8),
                                  asm.bltu(5, 6, 8), asm.bgeu(5, 6, 8), asm.beq(5, 6, 4)])  # fmt: skip
def test_a_divergent_branch(word):
    """One lane differs, taken or not; the other lanes are the same in all respects."""
    for odd in range(4):
        registers = {"x5": [1 + (lane == odd) for lane in range(4)], "x6": [2] * 4}
        assert step_to_fault([word], **registers) == (FaultCause.DIVERGENT_BRANCH, 0)


def test_a_branch_is_decided_by_the_active_lanes():
    iss = load([asm.addi(7, 0, 0b0101), asm.tmc(7), asm.beq(5, 6, 16)])
    four_lanes(iss, x5=[1, 2, 1, 2], x6=[1, 1, 1, 1])
    for _ in range(3):
        assert iss.step(0).fault is None
    assert iss.pc[0] == START + 24


def test_jump_targets():
    divergent = {"x5": [START, START, START, START + 8]}
    assert step_to_fault([asm.jalr(1, 5, 0)], **divergent) == (FaultCause.DIVERGENT_BRANCH, 0)
    same = {"x5": [START + 3] * 4}
    assert step_to_fault([asm.jalr(5, 5, 0)], **same) == (FaultCause.FETCH_MISALIGNED, START + 2)
    assert step_to_fault([asm.beq(0, 0, 2)]) == (FaultCause.FETCH_MISALIGNED, START + 2)
    # A branch that is not taken does not look at its target.
    assert load([asm.bne(0, 0, 2)]).step(0).fault is None
    # Bit 0 is dropped before the lanes are compared.
    iss = load([asm.jalr(1, 5, 0)])
    four_lanes(iss, x5=[START + 16, START + 17, START + 16, START + 17])
    assert iss.step(0).fault is None and iss.pc[0] == START + 16
    assert iss.regs[0, 1].tolist() == [START + 4] * 4


@pytest.mark.parametrize("target, cause", [(0, FaultCause.FETCH_ACCESS), (0x3C, FaultCause.FETCH_ACCESS),
                                           (LOCAL, FaultCause.FETCH_ACCESS)])  # fmt: skip
def test_fetch_outside_memory(target, cause):
    iss = load([asm.jalr(0, 5, 0)])
    four_lanes(iss, x5=[target] * 4)
    assert iss.step(0).fault is None
    fault = iss.step(0).fault
    assert (fault.cause, fault.pc, fault.address) == (cause, target, target)


def test_a_misaligned_start():
    iss = load([])
    iss.launch(START + 2, 0)
    fault = iss.step(0).fault
    assert (fault.cause, fault.address) == (FaultCause.FETCH_MISALIGNED, START + 2)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("where", range(4))
def test_a_fault_of_one_warp_of_a_group_names_it(mode, where):
    """All warps load from their own address; that of one warp is bad."""
    p = spawned()
    p.li(20, USER)
    p.li(21, where)
    p.add(asm.csrr(8, 0xCC1), asm.xor(9, 8, 21), asm.sltiu(9, 9, 1), asm.add(20, 20, 9))
    pc = p.here
    p.add(asm.lw(10, 0, 20), asm.tmc(0))
    iss, end = execute(p, mode)
    assert end.status is EndStatus.FAULT
    assert end.fault.cause is FaultCause.LOAD_MISALIGNED
    assert (end.fault.warp, end.fault.pc, end.fault.address) == (where, pc, USER + 1)
    assert iss.pc[where] == pc


@pytest.mark.parametrize("word, cause", [
    (asm.join(9), FaultCause.STACK_UNDERFLOW), (asm.csrw(0xF14, 0), FaultCause.UNKNOWN_CSR),
])  # fmt: skip
def test_a_group_that_faulted_stands_at_the_fault(word, cause):
    """The lowest faulting warp is named; a second run faults at the same place."""
    p = spawned(asm.csrr(8, 0xCC1), asm.addi(9, 8, -2), asm.sltu(9, 0, 9), asm.xori(9, 9, 1))
    pc = p.here
    p.add(word, asm.tmc(0))
    iss, end = execute(p, "run")
    assert (end.fault.cause, end.fault.pc) == (cause, pc)
    assert end.fault.warp == (2 if cause is FaultCause.STACK_UNDERFLOW else 0)
    assert iss.pc == [pc] * 4
    assert iss.run(100).fault == end.fault


def test_steps_that_cannot_be():
    iss = load([asm.tmc(0)])
    with pytest.raises(IssError, match="warp 1 is not active"):
        iss.step(1)
    for warp in (-1, 4):
        with pytest.raises(IssError, match=f"warp must be between 0 and 3, not {warp}"):
            iss.step(warp)
    iss.step(0)
    with pytest.raises(IssError, match="warp 0 is not active"):
        iss.step(0)
    assert iss.ended


def test_launch_again_after_a_fault():
    """Registers and local memory stay, all else starts again."""
    p = asm.Program()
    p.li(20, LOCAL)
    p.add(asm.addi(6, 0, 7), asm.sw(6, 0, 20), asm.csrrwi(0, 3, 31), asm.csrrwi(0, 0x7C0, 1), asm.ecall())
    iss, end = execute(p, "run")
    assert end.fault.cause is FaultCause.ENVIRONMENT_CALL and iss.fcsr[0] == 31
    iss.launch(START + 8, 5)
    assert (iss.pc[0], iss.mscratch, iss.mregion, iss.mcycle, iss.minstret) == (START + 8, 5, 0, 0, 0)
    assert iss.fcsr.tolist() == [0] * 4 and iss.active == [True, False, False, False]
    assert iss.tmask.tolist() == [[True, False, False, False]] + [[False] * 4] * 3
    assert iss.regs[0, 6, 0] == 7 and iss.local.data[0] == 7
