"""Programs whose runs were once longer than their bounds: thread masks, splits and pred, as no compiler writes them."""

import dataclasses

import pytest

from metronome.hdl.isa.csrs import Csr
from metronome.hdl.presets import TINY
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.program.assembler.asm import (
    add,
    addi,
    and_,
    andi,
    beq,
    bne,
    csrr,
    fadd_s,
    join,
    lw,
    mul,
    nop,
    or_,
    pred,
    slli,
    slti,
    sltiu,
    split,
    sub,
    sw,
    tmc,
)
from tests.sim.analysis.assembled import (
    A0,
    DATA,
    INPUTS,
    ONES,
    S0,
    T0,
    T1,
    T2,
    T3,
    T4,
    T5,
    T6,
    ZEROS,
    Assembled,
    bound_of,
    holds,
    launch_of,
    one,
    words,
)
from tests.support.tiers import some_more

pytestmark = pytest.mark.slow

A1, A2, A3, A4, A6 = (A0 + each for each in (1, 2, 3, 4, 6))
FOUR = dataclasses.replace(TINY, threads=4)


def mask(program, lanes):
    """Only these lanes go on."""
    program.li(T2, lanes)
    program.add(tmc(T2))


def refused(config, program, what):
    with pytest.raises(RefusedError, match=what) as fact:
        bound_of(config, launch_of(config, program))
    assert fact.value.pc


def spin(program, register, turns=None):
    """Turns of an empty loop: as many as the register holds."""
    if turns is not None:
        program.li(register, turns)
    name = f"spin {program.here}"
    program.label(name)
    program.add(addi(register, register, -1))
    program.branch(bne, register, 0, name)


@pytest.mark.parametrize("policy", ["lrr", "srr"])
@pytest.mark.parametrize("by", [lambda: tmc(T1), lambda: pred(A0, T1)], ids=["tmc", "pred"])
def test_a_number_without_a_bit_of_a_lane_ends_the_warp(policy, by):
    """4 is not 0, but no mask of two lanes."""
    program = Assembled(depends=False)
    program.warps(2, "work")
    program.warps(1, "work")
    program.li(T5, DATA)
    program.add(lw(T4, 0, T5))
    program.branch(bne, T4, 0, "short")
    spin(program, T6, 300)
    program.label("short")
    program.add(tmc(0))
    program.label("work")
    mask(program, 3)
    program.li(T0, INPUTS)
    program.li(T5, DATA)
    program.li(A0, 0)
    program.li(A1, 1)
    program.add(lw(T1, 0, T0), andi(T1, T1, 3), addi(T1, T1, 1), by(), nop(), tmc(T2), sw(A1, 0, T5), tmc(0))
    refused(one(policy), program, "may be empty")


@pytest.mark.parametrize(("low", "step", "fine"), [(5, 11, False), (1, 2, True), (17, 2, True), (15, 1, False)])
def test_which_masks_may_be_empty(low, step, fine):
    """Of four lanes, one of two numbers: those from the lower to the greater one are taken to be possible."""
    program = Assembled(depends=False)
    program.li(T0, INPUTS)
    program.li(T3, step)
    program.li(T5, DATA)
    program.add(lw(T1, 0, T0), andi(T1, T1, 1), mul(T1, T1, T3), addi(T1, T1, low), tmc(T1), nop())
    mask(program, 1)
    program.add(tmc(0))
    config = one(preset=FOUR)
    if fine:
        holds(config, program)
    else:
        refused(config, program, "may be empty")


def two_sides(*, of_all, then):
    """A split of two lanes. Its first side makes both active, by what ``of_all`` is, and does ``then``."""
    program = Assembled()
    mask(program, 3)
    program.add(csrr(S0, Csr.THREAD_ID))
    program.li(T3, 3)
    program.li(T4, 1)
    program.add(slti(A1, S0, 1), split(A2, A1))
    program.branch(beq, A1, 0, "other")
    program.add(*of_all)
    then(program)
    program.add(tmc(T4))
    program.turns(300, nop())
    program.label("other")
    program.add(join(A2), tmc(0))
    return program


@pytest.mark.parametrize("of_all", [[tmc(T3)], [pred(0, T3)]], ids=["tmc", "pred"])
def test_lanes_of_the_other_side(of_all):
    """They would take another branch later on than was decided at the split."""
    program = two_sides(of_all=of_all, then=lambda program: program.li(A1, 1))
    refused(one(), program, "not on this side of a split")


def test_fewer_lanes_of_a_side():
    """A mask of lanes that are there for certain is none of other lanes."""
    program = two_sides(of_all=[tmc(T4)], then=lambda program: None)
    bound, longest = holds(one(), program)
    assert longest < bound.cycles < 2 * longest


def test_a_mask_read_beside_lanes_of_the_other_side():
    """It was taken to have three lanes at most."""
    program = Assembled(depends=False)
    mask(program, 15)
    program.add(csrr(S0, Csr.THREAD_ID))
    program.li(T0, INPUTS)
    program.li(T2, 15)
    program.add(lw(T1, 0, T0), andi(T1, T1, 1), slti(A1, S0, 2), split(A2, A1))
    program.branch(beq, A1, 0, "other")
    program.add(
        tmc(T2), csrr(A3, Csr.ACTIVE_THREADS), tmc(A3), slti(A4, S0, 2), addi(T3, S0, -2), sltiu(T3, T3, 1),
        and_(T3, T3, T1), or_(A4, A4, T3), split(A6, A4), csrr(T3, Csr.ACTIVE_THREADS))
    program.li(T4, 7)
    program.branch(bne, T3, T4, "skip")
    spin(program, T6, 1000)
    program.label("skip")
    program.add(join(A6))
    mask(program, 3)
    program.label("other")
    program.add(join(A2), nop())
    mask(program, 1)
    program.add(tmc(0))
    refused(one(preset=FOUR), program, "not on this side of a split")


def test_lanes_from_outside_of_a_split():
    program = Assembled(depends=False)
    mask(program, 15)
    program.add(csrr(S0, Csr.THREAD_ID))
    program.li(T0, INPUTS)
    program.add(lw(T1, 0, T0), andi(T1, T1, 1), slli(T1, T1, 2), addi(T1, T1, 3))
    mask(program, 3)
    program.add(slti(A1, S0, 1), split(A2, A1))
    program.branch(beq, A1, 0, "second")
    program.add(tmc(T1))
    mask(program, 1)
    program.label("second")
    program.add(join(A2), tmc(0))
    refused(one(preset=FOUR), program, "not on this side of a split")


def test_a_branch_behind_pred_asks_other_lanes():
    """pred leaves lane 1, which was not asked."""
    program = Assembled()
    mask(program, 3)
    program.add(csrr(A1, Csr.THREAD_ID))
    program.li(T3, 2)
    mask(program, 1)
    program.add(pred(A1, T3))
    program.branch(bne, A1, 0, "long")
    program.add(tmc(0))
    program.label("long")
    program.turns(300, nop())
    program.add(tmc(0))
    _, longest = holds(one(), program)
    assert longest > 600


def test_what_is_outside_of_a_split_on_two_paths():
    """What one of them does to a lane outside, behind the split, the other has not done."""
    program = Assembled(depends=False)
    mask(program, 15)
    program.add(csrr(S0, Csr.THREAD_ID))
    program.li(A0, 300)
    program.li(T3, 8)
    program.li(T4, 15)
    mask(program, 3)
    program.li(T0, INPUTS)
    program.add(lw(T1, 0, T0), slti(A1, S0, 1), split(A2, A1))
    program.branch(beq, A1, 0, "side")
    program.label("side")
    program.branch(bne, T1, 0, "later")
    program.add(join(A2), nop())
    program.jal(0, "end")
    program.label("later")
    program.add(join(A2))
    program.li(T4, 15)
    program.add(tmc(T4))
    program.li(A0, 1)
    mask(program, 3)
    program.label("end")
    program.li(T3, 8)
    program.add(tmc(T3), addi(T6, A0, 0))
    spin(program, T6)
    program.add(tmc(0))
    _, longest = holds(one(preset=FOUR), program)
    assert longest > 600


@pytest.mark.parametrize("swapped", some_more([False, True], 1))
def test_the_older_of_two_masks(swapped):
    """Which of two registers has it differs on two paths."""
    program = Assembled(depends=False)
    mask(program, 7)
    program.add(csrr(S0, Csr.THREAD_ID))
    program.li(A3, 7)
    program.li(T4, 1)
    program.li(T5, 100)
    program.li(T0, INPUTS)
    program.add(lw(T1, 0, T0))
    both = [csrr(A3, Csr.ACTIVE_THREADS), csrr(A4, Csr.ACTIVE_THREADS)]
    fewer = [csrr(A4, Csr.ACTIVE_THREADS), slti(A1, S0, 2), pred(A1, 0), csrr(A3, Csr.ACTIVE_THREADS)]
    program.branch(bne, T1, 0, "other")
    program.add(*(fewer if swapped else both))
    program.jal(0, "on")
    program.label("other")
    program.add(*(both if swapped else fewer))
    program.jal(0, "on")
    program.label("on")
    program.add(nop(), tmc(A4), pred(0, A3), tmc(T4))
    program.li(T6, 7)
    program.add(sub(T6, T6, A3), mul(T6, T6, T5))
    program.branch(beq, T6, 0, "end")
    spin(program, T6)
    program.label("end")
    program.add(tmc(0))
    _, longest = holds(one(preset=FOUR), program)
    assert longest > 600


@pytest.mark.parametrize("policy", some_more(["lrr", "srr", "prr"], 2))
@pytest.mark.parametrize("cache", [{}, {"dcache_bytes": 0}], ids=["cache", "none"])
def test_a_load_from_one_of_two_places_waits_for_a_store(policy, cache):
    program = Assembled(depends=False)
    program.li(T0, INPUTS)
    program.li(T5, DATA)
    program.add(lw(T1, 0, T0), andi(T1, T1, 8), add(T4, T5, T1))
    program.turns(100, sw(T5, 0, T5), lw(T2, 4, T4), add(T2, T2, T2))
    program.add(tmc(0))
    config = one(policy, store_buffer=64, load_parts=32, dcache_mshrs=32, **cache)
    holds(config, launch_of(config, program), [ZEROS, ONES, words(8)], latency=60)


@pytest.mark.parametrize(("instruction", "what"), [
    (sw(T1, 0, 0), "address 0x00000000 is outside memory"), (fadd_s(1, 2, 3, 5), "illegal instruction"),
    (csrr(T2, 0x123), "unknown csr"),
], ids=["store", "rounding", "csr"])
def test_a_way_that_ends_in_a_fault(instruction, what):
    program = Assembled(depends=False)
    program.li(T0, INPUTS)
    program.add(lw(T1, 0, T0))
    program.branch(beq, T1, 0, "on")
    program.add(instruction)
    program.label("on")
    program.add(nop(), tmc(0))
    refused(one(), program, f"its run would end in a fault: {what}")
