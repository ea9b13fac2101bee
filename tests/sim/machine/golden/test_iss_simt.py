"""tmc, split, join and pred against isa.md, each corner by a small program, in a run and step by step."""

import pytest

from metronome.hdl.config import FaultCause, SmConfig
from metronome.sim.machine.golden import EndStatus
from metronome.sim.program.assembler import asm
from tests.sim.machine.golden.iss_harness import MODES, USER, all_lanes, ended, execute, lanes

pytestmark = pytest.mark.parametrize("mode", MODES)


# tmc


def test_tmc_takes_the_mask_of_the_leader(mode):
    p = all_lanes()
    # lane i: 8 >> i, but lane 3 (the leader) holds 5.
    p.add(asm.csrr(6, 0xCC0), asm.addi(7, 6, 2), asm.addi(8, 0, 1), asm.tmc(7), asm.addi(8, 0, 2), asm.tmc(0))
    iss = ended(p, mode)
    # The leader's value is 5: lanes 0 and 2.
    assert lanes(iss, 8) == [2, 1, 2, 1]


def test_tmc_ignores_bits_above_the_lanes(mode):
    p = asm.Program()
    p.li(6, 0xFFFFFFF0)
    p.add(asm.tmc(6), asm.addi(7, 0, 1))
    iss, end = execute(p, mode)
    assert end.status is EndStatus.ENDED and end.executed == 2
    assert lanes(iss, 7) == [0] * 4 and iss.tmask.sum() == 0


def test_the_leader_is_the_highest_active_lane(mode):
    p = asm.Program()
    p.li(6, 0b0111)
    p.add(asm.tmc(6), asm.csrr(7, 0xCC0), asm.addi(8, 7, 1), asm.tmc(8), asm.addi(9, 0, 1), asm.tmc(0))
    iss, _ = execute(p, mode)
    # The leader is lane 2, whose x8 is 3 (lane 3, inactive, would hold something else).
    assert lanes(iss, 9) == [1, 1, 0, 0]


# split and join


def diverge(p, negate=False):
    """x6 = lane id < x10 as the predicate; x20 := pointer; then x11 += 1, and join."""
    p.add(asm.csrr(6, 0xCC0), asm.slt(6, 6, 10), asm.split(20, 6, negate))


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize("below", range(5))
def test_split_takes_the_larger_side_first_and_a_tie_takes_true(mode, below, negate):
    p = all_lanes()
    p.li(10, below)
    p.add(asm.addi(25, 0, 0))
    diverge(p, negate)
    # Every side appends its mask to x25, in order, 8 bits each.
    p.add(asm.csrr(21, 0xCC4), asm.slli(25, 25, 8), asm.add(25, 25, 21), asm.join(20), asm.csrr(22, 0xCC4), asm.tmc(0))
    iss, end = execute(p, mode)
    assert end.status is EndStatus.ENDED
    true = (1 << below) - 1
    then = true ^ 0xF if negate else true
    first = then if then.bit_count() >= 2 else then ^ 0xF
    if then in (0, 0xF):
        first = 0xF
    own = [first if first >> lane & 1 else first ^ 0xF for lane in range(4)]
    assert lanes(iss, 25) == own, "each lane saw its own side's mask, once"
    assert lanes(iss, 22) == [0xF] * 4
    assert lanes(iss, 20) == [0] * 4, "the pointer before the push, written divergent or not"
    # tmc..join is executed by both sides where they exist.
    again = 0 if then in (0, 0xF) else 4
    assert end.executed == 2 + 1 + 1 + 3 + 4 + again + 2


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize("below", range(1, 4))
def test_the_order_of_the_sides(mode, below, negate):
    """The sides store their masks to one address: the side that comes second wins."""
    p = all_lanes()
    p.li(10, below)
    p.li(28, USER)
    diverge(p, negate)
    p.add(asm.csrr(21, 0xCC4), asm.sw(21, 0, 28), asm.join(20), asm.tmc(0))
    iss, _ = execute(p, mode)
    then = (1 << below) - 1 ^ (0xF if negate else 0)
    second = then if then.bit_count() < 2 else then ^ 0xF
    assert iss.memory.read_word(USER) == second


def test_an_entry_serves_again(mode):
    """Two splits in a row, then a loop over a split: each time both sides and the union."""
    p = all_lanes()
    p.li(10, 1)
    p.add(asm.addi(25, 0, 0), asm.addi(26, 0, 0))
    for _ in range(2):
        diverge(p)
        p.add(asm.addi(25, 25, 1), asm.join(20), asm.csrr(21, 0xCC4), asm.add(26, 26, 21))
    p.add(asm.addi(9, 0, 3))
    p.label("loop")
    diverge(p)
    p.add(asm.addi(25, 25, 1), asm.join(20), asm.csrr(21, 0xCC4), asm.add(26, 26, 21), asm.addi(9, 9, -1))
    p.branch(asm.bne, 9, 0, "loop")
    p.add(asm.tmc(0))
    iss = ended(p, mode)
    assert lanes(iss, 25) == [5] * 4 and lanes(iss, 26) == [5 * 0xF] * 4


def test_the_predicate_is_bit_0_alone(mode):
    p = all_lanes()
    # Lanes 0..3 hold 0, 2, 4, 6: all false though not zero. Negated: all true.
    p.add(asm.csrr(6, 0xCC0), asm.slli(6, 6, 1), asm.split(20, 6), asm.csrr(21, 0xCC4), asm.join(20))
    # 1, 3, 5, 7: all true.
    p.add(asm.addi(6, 6, 1), asm.split(20, 6), asm.csrr(22, 0xCC4), asm.join(20), asm.tmc(0))
    iss, end = execute(p, mode)
    assert lanes(iss, 21) == [0xF] * 4 and lanes(iss, 22) == [0xF] * 4
    assert end.executed == 12


def test_only_active_lanes_count_in_a_split(mode):
    """Inactive lanes on the other side do not make a split diverge, and join does not revive them."""
    p = all_lanes(asm.csrr(6, 0xCC0), asm.sltiu(6, 6, 2))
    p.li(7, 0b0011)
    p.add(asm.tmc(7), asm.split(20, 6), asm.csrr(21, 0xCC4), asm.join(20), asm.addi(8, 0, 1), asm.tmc(0))
    iss, _ = execute(p, mode)
    assert lanes(iss, 21) == [3, 3, 0, 0] and lanes(iss, 8) == [1, 1, 0, 0]


def nested(depth):
    """Splits one lane off at a time, ``depth`` times: lane i counts in x25 how many splits it was the true side of."""
    p = all_lanes(asm.csrr(6, 0xCC0), asm.addi(25, 0, 0))
    for level in range(depth):
        p.add(asm.addi(7, 0, level), asm.sltu(8, 7, 6), asm.split(10 + level, 8), asm.add(25, 25, 8))
    for level in reversed(range(depth)):
        p.add(asm.join(10 + level))
    p.add(asm.csrr(26, 0xCC4), asm.tmc(0))
    return p


@pytest.mark.parametrize("threads", [2, 4, 8])
def test_nested_splits_to_the_full_depth(mode, threads):
    config = SmConfig(warps=2, threads=threads)
    iss = ended(nested(threads - 1), mode, config)
    # A lane's own copy of the pointer: levels below it are divergent.
    assert lanes(iss, 25) == list(range(threads))
    assert lanes(iss, 26) == [(1 << threads) - 1] * threads
    assert iss.stack.pointer.tolist() == [0, 0]


def test_a_full_stack_is_a_fault_only_when_it_diverges(mode):
    config = SmConfig(warps=1, threads=4)
    p = all_lanes(asm.csrr(6, 0xCC0), asm.andi(7, 6, 1), asm.split(10, 7))
    # Lanes revived by tmc: the machine allows it, so the stack can be filled.
    for level in range(3):
        p.add(asm.addi(5, 0, -1), asm.tmc(5), asm.split(11 + level, 7 if level < 2 else 0))
    p.add(asm.addi(5, 0, -1), asm.tmc(5))
    where = p.here
    p.add(asm.split(14, 7))
    iss, end = execute(p, mode, config)
    assert end.status is EndStatus.FAULT
    fault = end.fault
    assert (fault.cause, fault.warp, fault.pc, fault.address) == (FaultCause.STACK_OVERFLOW, 0, where, 0)
    assert lanes(iss, 13) == [3] * 4, "a split that does not diverge is fine with a full stack"
    assert lanes(iss, 14) == [0] * 4 and iss.stack.pointer[0] == 3 and iss.pc[0] == where


@pytest.mark.parametrize("pointer", [1, 7, 0xFFFFFFFF])
def test_join_above_the_pointer_is_a_fault(mode, pointer):
    p = asm.Program()
    p.li(6, pointer)
    where = p.here
    p.add(asm.join(6))
    iss, end = execute(p, mode)
    fault = end.fault
    assert (fault.cause, fault.warp, fault.pc, fault.address) == (FaultCause.STACK_UNDERFLOW, 0, where, 0)
    assert iss.pc[0] == where


def test_join_at_the_pointer_does_nothing(mode):
    iss, end = execute([asm.join(0), asm.addi(7, 0, 1), asm.tmc(0)], mode)
    assert end.executed == 3 and lanes(iss, 7)[0] == 1


# pred


@pytest.mark.parametrize("negate", [False, True])
def test_pred_keeps_the_true_lanes(mode, negate):
    p = all_lanes(asm.csrr(6, 0xCC0), asm.addi(9, 0, 0b1111), asm.pred(6, 9, negate), asm.addi(7, 0, 1), asm.tmc(0))
    iss, _ = execute(p, mode)
    assert lanes(iss, 7) == ([1, 0, 1, 0] if negate else [0, 1, 0, 1])


def test_pred_restores_the_mask_of_the_leader_when_none_is_left(mode):
    p = all_lanes()
    # rs2 in lane i: 2 + i; the leader's is 5.
    p.add(asm.csrr(9, 0xCC0), asm.addi(9, 9, 2), asm.addi(6, 0, 6), asm.pred(6, 9), asm.addi(7, 0, 1), asm.tmc(0))
    iss, _ = execute(p, mode)
    assert lanes(iss, 7) == [1, 0, 1, 0]


def test_pred_does_not_use_rs2_while_a_lane_is_left(mode):
    p = all_lanes(asm.csrr(6, 0xCC0), asm.sltiu(6, 6, 1), asm.pred(6, 0), asm.addi(7, 0, 1), asm.tmc(0))
    iss, _ = execute(p, mode)
    assert lanes(iss, 7) == [1, 0, 0, 0]


def test_pred_with_an_empty_restore_mask_ends_the_warp(mode):
    iss, end = execute([asm.pred(0, 0), asm.addi(7, 0, 1)], mode)
    assert end.status is EndStatus.ENDED and end.executed == 1 and lanes(iss, 7)[0] == 0


def test_pred_loop_with_a_trip_count_per_lane(mode):
    p = all_lanes(asm.csrr(6, 0xCC0), asm.csrr(9, 0xCC4), asm.addi(7, 0, 0))
    p.label("loop")
    p.add(asm.sltu(8, 7, 6), asm.pred(8, 9))
    # The leader tells whether lanes are left: all that are left agree.
    p.branch(asm.beq, 8, 0, "end")
    p.add(asm.addi(7, 7, 1))
    p.jal(0, "loop")
    p.label("end")
    p.add(asm.csrr(10, 0xCC4), asm.tmc(0))
    iss, end = execute(p, mode)
    assert end.status is EndStatus.ENDED
    assert lanes(iss, 7) == [0, 1, 2, 3]
    assert lanes(iss, 10) == [0xF] * 4
