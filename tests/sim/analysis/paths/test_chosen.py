"""One of two values, chosen by a condition with ``czero``: what a loop to it is bounded by, against all inputs."""

import random

import numpy as np
import pytest

from metronome.sim.analysis.paths.arithmetic import Arithmetic
from metronome.sim.program.assembler import asm
from tests.sim.analysis.assembled import INPUTS, Assembled, bound_of, launch_of, one, runs_of, words
from tests.sim.registers import A0, A1, A2, A3, A4, T0, T2, T4, T6
from tests.support.tiers import some_more

pytestmark = pytest.mark.slow

VALUES = range(-3, 16)
SEED = 5


def drawn(rng):
    """A program whose loop has as many turns as a choice says, between 1 and 64."""
    program = Assembled()
    program.li(T0, INPUTS)
    program.add(asm.lw(A0, 4, T0))
    # Between -3 and 15: an interval of both signs, or only of one.
    program.add(asm.andi(A0, A0, 15))
    if rng.random() < 0.3:
        program.add(asm.addi(A0, A0, -3))
    program.add(asm.addi(A1, A0, rng.randint(-14, 14)) if rng.random() < 0.7 else asm.xori(A1, A0, 5))
    program.li(A2, rng.randint(0, 15))
    constant = rng.randint(-2, 15)
    program.add(rng.choice([
        asm.sltiu(T4, A0, constant), asm.slti(T4, A0, constant), asm.sltu(T4, A2, A0), asm.sltu(T4, A0, A2),
        asm.slt(T4, A0, A2), asm.xori(T4, A0, constant), asm.sub(T4, A0, A2), asm.andi(T4, A0, 1),
    ]))
    program.add(asm.sltiu(T2, A0, rng.randint(0, 15)))
    first, second = rng.sample([asm.czero_eqz, asm.czero_nez], 2) if rng.random() < 0.7 else [asm.czero_eqz] * 2
    other = T4 if rng.random() < 0.7 else T2
    sources = [A0, A1, A2]
    kept = rng.choice(sources)
    if rng.random() < 0.3:
        # The source is gone when its value is chosen.
        program.add(first(A1, A1, T4))
        program.li(A0, 7)
        program.add(asm.addi(A3, A1, rng.randint(-3, 14)))
    elif rng.random() < 0.5:
        program.add(first(A3, kept, T4), asm.addi(A3, A3, rng.randint(-3, 14)))
    else:
        program.add(first(A3, kept, T4), second(A4, rng.choice(sources), other))
        program.add(rng.choice([asm.or_, asm.add, asm.add, asm.xor, asm.sub])(A3, A3, A4))
    program.add(asm.andi(T6, A3, 63), asm.addi(T6, T6, 1))
    program.label("spin")
    # So long that a turn more is longer than all that the bound adds.
    program.add(*[asm.nop()] * 60, asm.addi(T6, T6, -1))
    program.branch(asm.bne, T6, 0, "spin")
    program.add(asm.tmc(0))
    return program


def check(seed):
    """The bound, and the longest of the runs with all inputs."""
    program = drawn(random.Random(f"{SEED}/{seed}"))
    launch = launch_of(one(), program, words(0, 0))
    bound = bound_of(one(), launch)
    longest = max(runs_of(one(), launch, [words(0, value) for value in VALUES]))
    assert longest <= bound.cycles, f"seed {seed}"
    return bound, longest


@pytest.mark.parametrize("seed", some_more(range(12), 5))
def test_no_run_is_longer(seed):
    check(seed)


@pytest.mark.long
def test_many():
    bounds = [check(seed)[0] for seed in range(12, 400)]
    assert sum(bool(bound.loops) for bound in bounds) > 300


SELECTED = Arithmetic._selected


def half(*arguments):
    low, high = SELECTED(*arguments)
    return low, np.maximum(low, high // 2)


@pytest.mark.parametrize(("name", "bug", "seed"), [
    ("_selected", half, 0),
    ("_exclusive", lambda *arguments: True, 46),
], ids=["a part of what is kept", "any two are apart"])
def test_a_bug_is_seen(monkeypatch, name, bug, seed):
    """By the first program that shows it."""
    monkeypatch.setattr(Arithmetic, name, bug)
    with pytest.raises(AssertionError, match="seed"):
        check(seed)
