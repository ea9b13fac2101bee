"""Programs whose runs were once longer than their bounds: thread masks, splits and pred, as no compiler writes them."""

import dataclasses

import pytest

from metronome.hdl.isa.csrs import Csr
from metronome.hdl.presets import TINY
from metronome.sim.program.assembler import asm
from tests.sim.analysis.assembled import DATA, INPUTS, ONES, ZEROS, Assembled, holds, launch_of, one, refused, words
from tests.sim.registers import A0, A1, A2, A3, A4, A6, S0, T0, T1, T2, T3, T4, T5, T6
from tests.support.tiers import some_more

pytestmark = pytest.mark.slow

FOUR = dataclasses.replace(TINY, threads=4)


@pytest.mark.parametrize("policy", ["lrr", "srr"])
@pytest.mark.parametrize("by", [lambda: asm.tmc(T1), lambda: asm.pred(A0, T1)], ids=["tmc", "pred"])
def test_a_number_without_a_bit_of_a_lane_ends_the_warp(policy, by):
    """4 is not 0, but no mask of two lanes."""
    program = Assembled(depends=False)
    program.warps(2, "work")
    program.warps(1, "work")
    program.li(T5, DATA)
    program.add(asm.lw(T4, 0, T5))
    program.branch(asm.bne, T4, 0, "short")
    program.turns(300)
    program.label("short")
    program.add(asm.tmc(0))
    program.label("work")
    program.mask(3)
    program.constants({T0: INPUTS, T5: DATA, A0: 0, A1: 1})
    program.add(asm.lw(T1, 0, T0), asm.andi(T1, T1, 3), asm.addi(T1, T1, 1))
    program.add(by(), asm.nop(), asm.tmc(T2), asm.sw(A1, 0, T5), asm.tmc(0))
    refused(one(policy), program, "may be empty")


@pytest.mark.parametrize(("low", "step", "fine"), [(5, 11, False), (1, 2, True), (17, 2, True), (15, 1, False)])
def test_which_masks_may_be_empty(low, step, fine):
    """Of four lanes, one of two numbers: those from the lower to the greater one are taken to be possible."""
    program = Assembled(depends=False)
    program.constants({T0: INPUTS, T3: step, T5: DATA})
    program.add(asm.lw(T1, 0, T0), asm.andi(T1, T1, 1), asm.mul(T1, T1, T3), asm.addi(T1, T1, low))
    program.add(asm.tmc(T1), asm.nop())
    program.mask(1)
    config = one(preset=FOUR)
    if fine:
        holds(config, program)
    else:
        refused(config, program, "may be empty")


def two_sides(*, of_all, then):
    """A split of two lanes. Its first side makes both active, by what ``of_all`` is, and does ``then``."""
    program = Assembled()
    program.mask(3)
    program.add(asm.csrr(S0, Csr.THREAD_ID))
    program.constants({T3: 3, T4: 1})
    program.add(asm.slti(A1, S0, 1), asm.split(A2, A1))
    program.branch(asm.beq, A1, 0, "other")
    program.add(*of_all)
    then(program)
    program.add(asm.tmc(T4))
    program.turns(300, asm.nop())
    program.label("other")
    program.add(asm.join(A2), asm.tmc(0))
    return program


@pytest.mark.parametrize("of_all", [[asm.tmc(T3)], [asm.pred(0, T3)]], ids=["tmc", "pred"])
def test_lanes_of_the_other_side(of_all):
    """They would take another branch later on than was decided at the split."""
    program = two_sides(of_all=of_all, then=lambda program: program.li(A1, 1))
    refused(one(), program, "of the other side of a split")


def test_fewer_lanes_of_a_side():
    """A mask of lanes that are there for certain is none of other lanes."""
    program = two_sides(of_all=[asm.tmc(T4)], then=lambda program: None)
    bound, longest = holds(one(), program)
    assert longest < bound.cycles < 2 * longest


def test_a_mask_read_beside_lanes_of_the_other_side():
    """It was taken to have three lanes at most."""
    program = Assembled(depends=False)
    program.mask(15)
    program.add(asm.csrr(S0, Csr.THREAD_ID))
    program.constants({T0: INPUTS, T2: 15})
    program.add(asm.lw(T1, 0, T0), asm.andi(T1, T1, 1), asm.slti(A1, S0, 2), asm.split(A2, A1))
    program.branch(asm.beq, A1, 0, "other")
    program.add(
        asm.tmc(T2), asm.csrr(A3, Csr.ACTIVE_THREADS), asm.tmc(A3), asm.slti(A4, S0, 2), asm.addi(T3, S0, -2),
        asm.sltiu(T3, T3, 1), asm.and_(T3, T3, T1), asm.or_(A4, A4, T3), asm.split(A6, A4),
        asm.csrr(T3, Csr.ACTIVE_THREADS),
    )
    program.li(T4, 7)
    program.branch(asm.bne, T3, T4, "skip")
    program.turns(1000)
    program.label("skip")
    program.add(asm.join(A6))
    program.mask(3)
    program.label("other")
    program.add(asm.join(A2), asm.nop())
    program.mask(1)
    refused(one(preset=FOUR), program, "of the other side of a split")


def test_lanes_from_outside_of_a_split():
    program = Assembled(depends=False)
    program.mask(15)
    program.add(asm.csrr(S0, Csr.THREAD_ID))
    program.read_input(asm.andi(T1, T1, 1), asm.slli(T1, T1, 2), asm.addi(T1, T1, 3))
    program.mask(3)
    program.add(asm.slti(A1, S0, 1), asm.split(A2, A1))
    program.branch(asm.beq, A1, 0, "second")
    program.add(asm.tmc(T1))
    program.mask(1)
    program.label("second")
    program.add(asm.join(A2), asm.tmc(0))
    refused(one(preset=FOUR), program, "of the other side of a split")


def test_a_branch_behind_pred_asks_other_lanes():
    """pred leaves lane 1, which was not asked."""
    program = Assembled()
    program.mask(3)
    program.add(asm.csrr(A1, Csr.THREAD_ID))
    program.li(T3, 2)
    program.mask(1)
    program.add(asm.pred(A1, T3))
    program.unless(asm.bne, A1, 0, asm.tmc(0))
    program.turns(300, asm.nop())
    _, longest = holds(one(), program)
    assert longest > 600


@pytest.mark.more
def test_what_is_outside_of_a_split_on_two_paths():
    """What one of them does to a lane outside, behind the split, the other has not done."""
    program = Assembled(depends=False)
    program.mask(15)
    program.add(asm.csrr(S0, Csr.THREAD_ID))
    program.constants({A0: 300, T3: 8, T4: 15})
    program.mask(3)
    program.read_input(asm.slti(A1, S0, 1), asm.split(A2, A1))
    program.branch(asm.beq, A1, 0, "side")
    program.label("side")
    program.branch(asm.bne, T1, 0, "later")
    program.add(asm.join(A2), asm.nop())
    program.jal(0, "end")
    program.label("later")
    program.add(asm.join(A2))
    program.li(T4, 15)
    program.add(asm.tmc(T4))
    program.li(A0, 1)
    program.mask(3)
    program.label("end")
    program.li(T3, 8)
    program.add(asm.tmc(T3), asm.addi(T6, A0, 0))
    program.loop(T6)
    _, longest = holds(one(preset=FOUR), program)
    assert longest > 600


@pytest.mark.more
@pytest.mark.parametrize("swapped", some_more([False, True], 1))
def test_the_older_of_two_masks(swapped):
    """Which of two registers has it differs on two paths."""
    program = Assembled(depends=False)
    program.mask(7)
    program.add(asm.csrr(S0, Csr.THREAD_ID))
    program.constants({A3: 7, T4: 1, T5: 100})
    program.read_input()
    both = [asm.csrr(A3, Csr.ACTIVE_THREADS), asm.csrr(A4, Csr.ACTIVE_THREADS)]
    fewer = [asm.csrr(A4, Csr.ACTIVE_THREADS), asm.slti(A1, S0, 2), asm.pred(A1, 0), asm.csrr(A3, Csr.ACTIVE_THREADS)]
    program.branch(asm.bne, T1, 0, "other")
    program.add(*(fewer if swapped else both))
    program.jal(0, "on")
    program.label("other")
    program.add(*(both if swapped else fewer))
    program.jal(0, "on")
    program.label("on")
    program.add(asm.nop(), asm.tmc(A4), asm.pred(0, A3), asm.tmc(T4))
    program.li(T6, 7)
    program.add(asm.sub(T6, T6, A3), asm.mul(T6, T6, T5))
    program.branch(asm.beq, T6, 0, "end")
    program.loop(T6)
    program.label("end")
    _, longest = holds(one(preset=FOUR), program)
    assert longest > 600


@pytest.mark.parametrize("policy", some_more(["lrr", "srr", "prr"], 2))
@pytest.mark.parametrize("cache", [{}, {"dcache_bytes": 0}], ids=["cache", "none"])
def test_a_load_from_one_of_two_places_waits_for_a_store(policy, cache):
    program = Assembled(depends=False)
    program.constants({T0: INPUTS, T5: DATA})
    program.add(asm.lw(T1, 0, T0), asm.andi(T1, T1, 8), asm.add(T4, T5, T1))
    program.turns(100, asm.sw(T5, 0, T5), asm.lw(T2, 4, T4), asm.add(T2, T2, T2))
    config = one(policy, store_buffer=64, load_parts=32, dcache_mshrs=32, **cache)
    holds(config, launch_of(config, program), [ZEROS, ONES, words(8)], latency=60)


@pytest.mark.parametrize(("instruction", "what"), [
    (asm.sw(T1, 0, 0), "address 0x00000000 is outside memory"), (asm.fadd_s(1, 2, 3, 5), "illegal instruction"),
    (asm.csrr(T2, 0x123), "unknown csr"),
], ids=["store", "rounding", "csr"])
def test_a_way_that_ends_in_a_fault(instruction, what):
    program = Assembled(depends=False)
    program.read_input()
    program.unless(asm.beq, T1, 0, instruction)
    program.add(asm.nop(), asm.tmc(0))
    refused(one(), program, f"this instruction, which would fault: {what}")
