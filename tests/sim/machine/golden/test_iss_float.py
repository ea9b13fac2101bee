"""Floating-point instructions: which operands, which rounding mode, which result register.

The arithmetic itself is tested in test_fp; here operands are small integers, on which every operation is exact, or
cases where rounding modes differ.
"""

import random

import numpy as np
import pytest

from metronome.sim.program.assembler import asm
from tests.sim.machine.golden.iss_harness import load

RNE, RTZ, RDN, RUP, RMM = range(5)


def bits(values):
    return np.array(values, np.float32).view(np.uint32)


def machine(words, values):
    """All lanes active; f<n> holds values[n] (four floats), x<n> integers for negative keys' absolute number."""
    iss = load(words)
    iss.set_masks(np.array([0]), np.ones((1, 4), bool))
    for register, lanes in values.items():
        iss.poke(0, 32 + register, 0xF, bits(lanes))
    return iss


def floats(commit):
    return commit.values.view(np.float32).tolist()


CASES = [
    (asm.fadd_s(9, 1, 2), lambda a, b, c: a + b), (asm.fsub_s(9, 1, 2), lambda a, b, c: a - b),
    (asm.fmul_s(9, 1, 2), lambda a, b, c: a * b), (asm.fdiv_s(9, 4, 2), lambda a, b, c: a * b / b),
    (asm.fsqrt_s(9, 5), lambda a, b, c: abs(a)),
    (asm.fmadd_s(9, 1, 2, 3), lambda a, b, c: a * b + c), (asm.fmsub_s(9, 1, 2, 3), lambda a, b, c: a * b - c),
    (asm.fnmsub_s(9, 1, 2, 3), lambda a, b, c: -(a * b) + c), (asm.fnmadd_s(9, 1, 2, 3), lambda a, b, c: -(a * b) - c),
    (asm.fmin_s(9, 1, 2), lambda a, b, c: min(a, b)), (asm.fmax_s(9, 1, 2), lambda a, b, c: max(a, b)),
    (asm.fsgnj_s(9, 1, 2), lambda a, b, c: abs(a) * (-1 if b < 0 else 1)),
    (asm.fsgnjn_s(9, 1, 2), lambda a, b, c: abs(a) * (1 if b < 0 else -1)),
    (asm.fsgnjx_s(9, 1, 2), lambda a, b, c: a * (-1 if b < 0 else 1)),
]  # fmt: skip
INTEGER_CASES = [
    (asm.feq_s(9, 1, 2), lambda a, b: a == b), (asm.flt_s(9, 1, 2), lambda a, b: a < b),
    (asm.fle_s(9, 1, 2), lambda a, b: a <= b), (asm.fcvt_w_s(9, 1), lambda a, b: a),
    (asm.fcvt_wu_s(9, 5), lambda a, b: a * a),
    (asm.fclass_s(9, 1), lambda a, b: 1 << 1 if a < 0 else 1 << 6),
]  # fmt: skip


def operands(rng):
    a, b, c = ([rng.choice([-1, 1]) * rng.randrange(1, 100) for _ in range(4)] for _ in range(3))
    b[0] = a[0]
    products = [x * y for x, y in zip(a, b, strict=True)]
    return a, b, c, {1: a, 2: b, 3: c, 4: products, 5: [x * x for x in a]}


@pytest.mark.parametrize("word, expected", CASES)
def test_floating_point_results(word, expected):
    for seed in range(5):
        a, b, c, registers = operands(random.Random(seed))
        iss = machine([word], registers)
        commit = iss.step(0)
        assert commit.rd == 32 + 9
        assert floats(commit) == [float(expected(*lane)) for lane in zip(a, b, c, strict=True)], f"seed {seed}"
        assert iss.regs[0, 41].tolist() == commit.values.tolist() and iss.fcsr[0] == 0


@pytest.mark.parametrize("word, expected", INTEGER_CASES)
def test_integer_results(word, expected):
    for seed in range(5):
        a, b, _, registers = operands(random.Random(seed))
        commit = machine([word], registers).step(0)
        assert commit.rd == 9
        got = commit.values.tolist()
        assert got == [int(expected(*lane)) & 0xFFFFFFFF for lane in zip(a, b, strict=True)], f"seed {seed}"


def test_moves_and_conversions_from_integer():
    iss = machine([asm.fmv_x_w(5, 1), asm.fmv_w_x(2, 6), asm.fcvt_s_w(3, 7), asm.fcvt_s_wu(4, 7)], {1: [1, -1, 0, 2]})
    patterns = np.array([0x7F800001, 0xFFFFFFFF, 0, 0x80000000], np.uint32)
    iss.poke(0, 6, 0xF, patterns)
    iss.poke(0, 7, 0xF, np.array([0xFFFFFFFE, 5, 0, 0x80000000], np.uint32))
    commits = [iss.step(0) for _ in range(4)]
    assert [commit.rd for commit in commits] == [5, 34, 35, 36]
    assert commits[0].values.tolist() == bits([1, -1, 0, 2]).tolist()
    assert commits[1].values.tolist() == patterns.tolist()
    assert floats(commits[2]) == [-2.0, 5.0, 0.0, -(2.0**31)]
    assert floats(commits[3]) == [2.0**32, 5.0, 0.0, 2.0**31]
    # Only 0xFFFFFFFE as unsigned is inexact.
    assert iss.fcsr[0] == 1


@pytest.mark.parametrize("mode, down, up, half", [(RNE, 0, 1, 2), (RTZ, 0, 0, 2), (RDN, 0, 0, 2), (RUP, 1, 1, 3),
                                                  (RMM, 0, 1, 3)])  # fmt: skip
@pytest.mark.parametrize("dynamic", [False, True])
def test_rounding_modes_static_and_dynamic(mode, down, up, half, dynamic):
    """0.25, 0.75, 2.5 and -2.5 to integer; the mode in frm counts only where the instruction says so."""
    frm, rm = (mode, asm.DYN) if dynamic else ((mode + 1) % 5, mode)
    iss = machine([asm.csrrwi(0, 2, frm), asm.fcvt_w_s(5, 1, rm)], {1: [0.25, 0.75, 2.5, -2.5]})
    iss.step(0)
    negative = {RNE: -2, RTZ: -2, RDN: -3, RUP: -2, RMM: -3}[mode]
    assert iss.step(0).values.view(np.int32).tolist() == [down, up, half, negative]
    assert iss.fcsr[0] == frm << 5 | 1


def test_flags_of_a_result_that_goes_to_x0_are_raised():
    iss = machine([asm.fcvt_w_s(0, 1), asm.feq_s(0, 1, 2)], {1: [0.5] * 4, 2: [1.0] * 4})
    assert iss.step(0).rd is None and iss.fcsr[0] == 1
    assert iss.regs[0, 0].tolist() == [0] * 4


def test_flags_stick():
    iss = machine([asm.fdiv_s(3, 1, 2), asm.fsqrt_s(4, 5), asm.fadd_s(6, 1, 1)], {1: [1] * 4, 2: [0] * 4, 5: [-1] * 4})
    assert [(iss.step(0), int(iss.fcsr[0]))[1] for _ in range(3)] == [8, 24, 24]
