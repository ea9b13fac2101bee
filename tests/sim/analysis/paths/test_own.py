"""What a lane that may be active finds again: words that it has stored, and registers behind a loop that it left.

Each program of assembly takes long exactly if the lane does not find that.
"""

import dataclasses
import random

import pytest

from metronome.hdl.isa.csrs import Csr
from metronome.hdl.presets import BASE, TINY
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.analysis.paths import fact_filter
from metronome.sim.analysis.paths.path import Path
from metronome.sim.analysis.paths.private_values import MaskSnapshot, PrivateWords
from metronome.sim.program.assembler import asm
from tests.sim.analysis.assembled import DATA, INPUTS, ONES, ZEROS, Assembled, bound_of, holds, launch_of, one, words
from tests.sim.analysis.programs import compiled, machine
from tests.sim.registers import A0, A1, A2, A3, A4, A5, A6, S0, T0, T1, T2, T4, T6
from tests.support.tiers import some_long, some_more

pytestmark = pytest.mark.slow

LONG, SHORT = 240, 5
FOUR = dataclasses.replace(one(), threads=4)
#: Inputs of two lanes: neither, one, the other, both.
EACH = [words(a, b) for a in (0, 1) for b in (0, 1)]

HEAD = """#include "metronome.h"
uint32_t inputs[16] = {1};
uint32_t out[16];
static const uint32_t n = 8;
"""
TAIL = """
static void work(__attribute__((unused)) const void *arg) { const uint32_t i = blockIdx.x; uint32_t x = inputs[i]; %s }
int main(void) { return spawn_threads(1, &n, 0, work, 0); }
"""
APART = "__attribute__((noinline)) static uint32_t "
PROGRAMS = {
    "a function is called where lanes differ": (
        APART + "f(uint32_t x) { if (x > 100) return 7; return x * 3 + 1; }"
        + APART + "g(uint32_t x) { return f(x) + f(x + 1); }",
        "uint32_t y; if (x & 1) y = g(x); else y = f(x) - 2; out[i] = y;"),
    "a loop to the lesser of two numbers": ("", (
        "uint32_t y = 0, m = x < 12 ? x : 12; "
        "for (uint32_t k = 0; k < m; k++) y = y * 3 + (y >> 5) + k; out[i] = y;")),
    "it returns out of a loop": (
        APART + "f(uint32_t x) { for (uint32_t j = 0; j < 6; j++) { if (x & (1u << j)) return j; } return 32; }",
        "uint32_t y = f(x); if (y > 3) out[i] = y; else out[i] = f(x >> 2) + 1;"),
    "a switch in a loop": ("", (
        "for (int j = 0; j < 2; j++) { switch (x >> 4 * j & 7) { case 0: x += 3; break; case 1: x *= 7; break; "
        "case 2: x /= 3; break; case 3: x ^= inputs[x & 15]; break; case 4: out[x & 15] = j; break; "
        "case 5: x = x % 11; default: x = ~x; } } out[i] = x;")),
}


@pytest.mark.parametrize("preset", some_long([TINY, BASE], 1), ids=["TINY", "BASE"])
@pytest.mark.parametrize("name", some_more(PROGRAMS, 1))
def test_programs_as_people_write_them(tmp_path, name, preset):
    before, body = PROGRAMS[name]
    config = machine(preset)
    launch = compiled(tmp_path, HEAD + before + TAIL % body, config=config)
    rng = random.Random(name)
    values = [[rng.choice((0, 1, 2, 5, 13, 64, 200, rng.getrandbits(32))) for _ in range(16)] for _ in range(12)]
    inputs = [words(*each) for each in values]
    bound, longest = holds(config, launch, [ZEROS, ONES, *inputs])
    assert not bound.exact and bound.cycles < 2.5 * longest


def begin(program, lanes=3):
    """Four lanes. A0 is their word of the inputs, of the first ``lanes`` only; A1 a word of their own, A2 another's."""
    program.mask(15)
    program.add(asm.csrr(S0, Csr.THREAD_ID), asm.slli(A1, S0, 2), asm.xori(A2, A1, 4))
    program.li(T0, INPUTS)
    program.add(asm.add(T0, T0, A1), asm.lw(A0, 0, T0), asm.sltiu(T2, S0, lanes), asm.sub(T2, 0, T2))
    program.add(asm.and_(A0, A0, T2), *asm.li(T0, DATA), asm.add(A1, A1, T0), asm.add(A2, A2, T0))
    program.constants({A3: LONG, A4: SHORT})


def spin(program, register):
    """Turns of an empty loop, as many as the register of the second lane says."""
    program.mask(2)
    program.add(asm.addi(T6, register, 0))
    program.loop(T6)
    program.add(asm.tmc(0))


@pytest.mark.more
@pytest.mark.parametrize(("body", "turns"), [
    ([asm.sw(A4, 0, A1), asm.lw(T6, 0, A1)], SHORT),
    ([asm.sw(A4, 0, A1), asm.sw(A3, 0, A2), asm.lw(T6, 0, A1)], LONG),
    ([asm.sw(A4, 0, A1), asm.sw(A3, 0, A2), asm.sw(A4, 0, A1), asm.lw(T6, 0, A1)], SHORT),
], ids=["alone", "the other lane stores there", "it stores again"])
def test_a_loop_on_a_side(body, turns):
    """As long as what each lane finds in its word says; with one lane on the side the other stores nothing."""
    program = Assembled()
    begin(program)
    program.add(asm.sw(A3, 0, A1), asm.andi(T4, A0, 1), asm.split(T1, T4))
    program.branch(asm.beq, T4, 0, "off")
    program.add(*body)
    program.loop(T6)
    program.label("off")
    program.add(asm.join(T1), asm.tmc(0))
    bound, longest = holds(FOUR, program, EACH)
    assert (longest > 3 * LONG) == (bound.cycles > 3 * LONG) == (turns == LONG)


def test_a_store_to_an_address_that_is_not_known(monkeypatch):
    """It may be one's own word."""
    monkeypatch.setattr(fact_filter, "_MOST_TURNS", 40)
    program = Assembled()
    begin(program)
    program.add(asm.andi(T4, A0, 1), asm.split(T1, T4))
    program.branch(asm.beq, T4, 0, "off")
    program.add(asm.andi(A5, A0, 4), asm.add(A5, A5, T0), asm.sw(A4, 0, A1), asm.sw(A3, 0, A5), asm.lw(A5, 0, A1))
    program.loop(A5)
    program.label("off")
    program.add(asm.join(T1), asm.tmc(0))
    with pytest.raises(RefusedError, match="the end of this loop depends on the inputs"):
        bound_of(FOUR, launch_of(FOUR, program))


def loop_left(program, *body):
    """Lanes whose word is even leave a loop at a ``pred``; the others execute the body; all go on.

    If there are no others, T6 and the word of the lane become what the body makes of them.
    """
    program.add(asm.csrr(A5, Csr.ACTIVE_THREADS), asm.andi(T4, A0, 1), asm.pred(T4, A5))
    program.branch(asm.beq, T4, 0, "none")
    program.add(*body, asm.pred(0, A5))
    program.jal(0, "left")
    program.label("none")
    program.add(asm.addi(T6, A4, 0), asm.sw(A4, 0, A1))
    program.label("left")
    program.add(asm.nop())


@pytest.mark.more
@pytest.mark.parametrize(("before", "body", "behind"), [
    ([asm.addi(T6, A3, 0)], [asm.addi(T6, A4, 0)], []),
    ([asm.sw(A3, 0, A1)], [asm.sw(A4, 0, A1)], [asm.lw(T6, 0, A1)]),
], ids=["a register", "a word"])
@pytest.mark.parametrize("uncertain", some_more([True, False], 1))
def test_a_loop_that_lanes_leave(before, body, behind, uncertain):
    """Who left it first has not done what the others did."""
    program = Assembled()
    begin(program)
    if uncertain:
        program.add(asm.addi(T6, A4, 0), asm.sw(A3, 0, A1), asm.andi(T4, A0, 2), asm.srli(T4, T4, 1), asm.split(T1, T4))
        program.branch(asm.beq, T4, 0, "off")
    program.add(*before)
    loop_left(program, *body)
    program.add(*behind)
    if uncertain:
        program.label("off")
        program.add(asm.join(T1))
    spin(program, T6)
    inputs = [words(a, b) for a in (2, 3) for b in (2, 3)]
    _, longest = holds(FOUR, program, inputs)
    assert longest > 2 * LONG


@pytest.mark.more
def test_lanes_that_leave_a_loop_and_do_not_come_back():
    """They go on behind the split, and have what they had."""
    program = Assembled()
    begin(program)
    program.add(asm.sw(A4, 0, A1), asm.addi(T6, A4, 0), asm.andi(T4, A0, 2), asm.srli(T4, T4, 1), asm.split(T1, T4))
    program.branch(asm.beq, T4, 0, "off")
    program.add(asm.sw(A4, 0, A1), asm.andi(T4, A0, 4), asm.srli(T4, T4, 2), asm.split(A6, T4))
    program.unless(
        asm.beq, T4, 0, asm.sw(A3, 0, A1), asm.csrr(A5, Csr.ACTIVE_THREADS), asm.andi(T4, A0, 1), asm.pred(T4, A5),
        asm.nop(), asm.sw(A4, 0, A1),
    )
    program.add(asm.join(A6), asm.lw(T6, 0, A1))
    program.label("off")
    program.add(asm.join(T1))
    spin(program, T6)
    _, longest = holds(FOUR, program, [words(a, b, 2) for a in (6, 7) for b in (6, 7)])
    assert longest > 2 * LONG


@pytest.mark.more
def test_a_store_of_the_other_side():
    """Lanes of the first side store to a word of one that waits for its own."""
    program = Assembled()
    begin(program)
    program.add(asm.sw(A4, 0, A1), asm.andi(T4, A0, 2), asm.srli(T4, T4, 1), asm.split(T1, T4))
    program.branch(asm.beq, T4, 0, "off")
    program.add(asm.sw(A4, 0, A1), asm.andi(T4, A0, 1), asm.split(A6, T4))
    program.branch(asm.beq, T4, 0, "other")
    program.add(asm.sw(A3, 0, A2))
    program.jal(0, "end")
    program.label("other")
    program.add(asm.lw(T6, 0, A1))
    program.loop(T6)
    program.label("end")
    program.add(asm.join(A6))
    program.label("off")
    program.add(asm.join(T1), asm.tmc(0))
    _, longest = holds(FOUR, program, [words(3, 2, 3), words(3, 2, 0), words(2, 0, 3)])
    assert longest > 2 * LONG


def test_a_mask_of_a_side_that_has_ended():
    """A lane that was on the other side has something else in that register: by it any lane may go on."""
    program = Assembled()
    begin(program, 4)
    program.add(asm.addi(T6, A4, 0))
    for register in (A3, A4):
        program.li(register, 15)
    program.mask(3)
    program.add(asm.csrr(A3, Csr.ACTIVE_THREADS), asm.sltiu(T4, S0, 1), asm.split(T1, T4))
    program.unless(asm.beq, T4, 0, asm.csrr(A4, Csr.ACTIVE_THREADS))
    # All four go on, and of the last two some may stop: these have 15 in A3.
    program.add(asm.join(T1), asm.tmc(A4), asm.sltiu(T4, S0, 2), asm.andi(A5, A0, 1))
    program.add(asm.or_(T4, T4, A5), asm.pred(T4, 0), asm.tmc(A3))
    program.add(asm.csrr(T6, Csr.ACTIVE_THREADS), asm.andi(T6, T6, 8), asm.slli(T6, T6, 6), asm.addi(T6, T6, SHORT))
    spin(program, T6)
    _, longest = holds(FOUR, program, [words(0, 0, a, b) for a in (0, 1) for b in (0, 1)])
    assert longest > 2 * LONG


SIDE = ([asm.sw(A4, 0, A1), asm.sw(A3, 0, A2), asm.lw(T6, 0, A1)], LONG)
WORD = ([asm.sw(A3, 0, A1)], [asm.sw(A4, 0, A1)], [asm.lw(T6, 0, A1)], False)
REGISTER = ([asm.addi(T6, A3, 0)], [asm.addi(T6, A4, 0)], [], False)


def keeps_the_first(words, word, lane, own):
    if own is not None:
        words.active.setdefault(word, own)


def keeps_those_of_the_other_side(words, word, lane, own):
    words.active[word] = own
    if own is None:
        del words.active[word]


@pytest.mark.parametrize(("where", "name", "bug", "test", "arguments"), [
    (PrivateWords, "keep", keeps_the_first, test_a_loop_on_a_side, SIDE),
    (PrivateWords, "keep", keeps_those_of_the_other_side, test_a_store_of_the_other_side, ()),
    (Path, "stop", lambda path, lanes: None, test_a_loop_that_lanes_leave, REGISTER),
    (PrivateWords, "whole", lambda words: words.active, test_lanes_that_leave_a_loop_and_do_not_come_back, ()),
    (PrivateWords, "resume", lambda words, snapshot: None, test_a_loop_that_lanes_leave, WORD),
    (MaskSnapshot, "stop", lambda snapshot, on, lanes: snapshot, test_a_loop_that_lanes_leave, REGISTER),
], ids=["another's store", "the other side's", "who stops", "who stays away", "words of who goes on", "with what"])
def test_a_bug_is_seen(monkeypatch, where, name, bug, test, arguments):
    monkeypatch.setattr(where, name, bug)
    with pytest.raises(AssertionError):
        test(*arguments)
