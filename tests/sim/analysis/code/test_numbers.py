"""Intervals of any form against words: what an instruction makes of words that lie in them lies in what is said."""

import random

import numpy as np
import pytest

from metronome.sim.analysis.code import numbers
from metronome.sim.analysis.code.intervals import RULES
from metronome.sim.analysis.code.numbers import TOP, meet, signed, unsigned
from metronome.sim.analysis.code.real_intervals import estimate
from metronome.sim.machine.golden.float_ops import compute
from metronome.sim.machine.golden.integer import SIGNED, UNSIGNED

SEED = 41
LANES = 120
#: Words at which something ends.
_ENDS = (0, 1, 2, 31, 255, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, TOP - 1, TOP, 0x3F80_0000, 0xBF80_0000, 0x7F80_0000,
         0xFF80_0000, 0x7F7F_FFFF, 0x007F_FFFF, 0x8000_0100)


def _word(rng: random.Random) -> int:
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(_ENDS)
    if kind == 1:
        return rng.randrange(-40, 41) & TOP
    if kind == 2:
        return int(np.float32(rng.uniform(-9, 9)).view(np.uint32))
    return rng.randrange(1 << 32)


def _interval(rng: random.Random):
    """(low, high, a word in it) of one lane, of a random form."""
    first, second = _word(rng), _word(rng)
    if rng.random() < 0.5:
        # A narrow one: most rules say nothing of a wide one.
        second = first + rng.randrange(40) & TOP
    order = rng.choice(("unsigned", "signed", "real"))
    if order == "real":
        spots = [int(numbers.places((np.array([each]),) * 2)[0][0]) for each in (first, second)]
        low, high = numbers.from_places(np.array([min(spots)]), np.array([max(spots)]))
        place = rng.randint(min(spots), max(spots))
        return int(low[0]), int(high[0]), int(numbers.from_places(np.array([place]), np.array([place]))[0][0])
    shift = 1 << 32 if order == "signed" else 0
    ends = sorted(each - (shift if each >> 31 else 0) for each in (first, second))
    low, high = numbers.from_integers(np.array([ends[0]]), np.array([ends[1]]))
    return int(low[0]), int(high[0]), rng.choice((ends[0], ends[1], rng.randint(*ends))) & TOP


def _intervals(rng: random.Random):
    found = [_interval(rng) for _ in range(LANES)]
    low, high, words = (np.array(each) for each in zip(*found, strict=True))
    return (low, high), words.astype(np.uint32)


def _inside(interval, words) -> np.ndarray:
    return meet(interval, (words.astype(np.int64),) * 2)[1]


def test_orders_keep_words():
    rng = random.Random(SEED)
    a, words = _intervals(rng)
    assert _inside(a, words).all()
    integers = words.astype(np.int64)
    low, high = unsigned(a)
    assert ((low <= integers) & (integers <= high)).all()
    low, high = signed(a)
    by_sign = words.view(np.int32).astype(np.int64)
    assert ((low <= by_sign) & (by_sign <= high)).all()
    b, others = _intervals(rng)
    both = numbers.hull(a, b)
    assert _inside(both, words).all() and _inside(both, others).all()
    common, possible = meet(a, b)
    in_both = _inside(b, words)
    assert possible[in_both].all() and _inside(common, words)[in_both].all()
    left, possible = numbers.without(a, others.astype(np.int64))
    differs = words != others
    assert possible[differs].all() and _inside(left, words)[differs].all()


def _integer(rule: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if rule.startswith("czero"):
        return np.where((b == 0) == (rule == "czero.eqz"), 0, a).astype(np.uint32)
    out = np.zeros(len(a), np.uint32)
    with np.errstate(over="ignore"):
        if rule in SIGNED:
            SIGNED[rule](a.view(np.int32), b.view(np.int32), out.view(np.int32))
        else:
            UNSIGNED[rule](a, b, out)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("rule", sorted(RULES))
def test_integer_rules(rule: str):
    rng = random.Random(f"{SEED}/{rule}")
    narrowed = 0
    for turn in range(6):
        (a, words), (b, others) = _intervals(rng), _intervals(rng)
        if turn % 2:
            # A constant, as most second operands are.
            constant = rng.choice((1, 2, 3, 4, 7, 16, 31, TOP, TOP - 3, 0x8000_0000, 0))
            others = np.full(LANES, constant, np.uint32)
            b = others.astype(np.int64), others.astype(np.int64)
        found = RULES[rule](a, b)
        wrong = np.flatnonzero(~_inside(found, _integer(rule, words, others)))
        assert not len(wrong), (SEED, rule, [(each[0][i], each[1][i]) for i in wrong[:1] for each in (a, b, found)])
        narrowed += int((found[1] - found[0] < TOP).sum())
    assert narrowed > 40, "the rule says something of some intervals"


_REAL = ("fadd.s", "fsub.s", "fmul.s", "fdiv.s", "fsqrt.s", "fmadd.s", "fmsub.s", "fnmsub.s", "fnmadd.s", "fmin.s",
         "fmax.s", "feq.s", "flt.s", "fle.s", "fcvt.w.s", "fcvt.wu.s", "fcvt.s.w", "fcvt.s.wu")


@pytest.mark.slow
@pytest.mark.parametrize("rule", _REAL)
def test_real_rules(rule: str):
    rng = random.Random(f"{SEED}/{rule}")
    count = 3 if rule.startswith(("fmadd", "fmsub", "fnm")) else 1 if rule.startswith(("fsqrt", "fcvt")) else 2
    narrowed = 0
    for mode in range(5):
        drawn = [_intervals(rng) for _ in range(count)]
        found = estimate(rule, [each for each, _ in drawn], same=False, mode=mode)
        result = compute(rule, [words for _, words in drawn], mode)
        wrong = np.flatnonzero(~_inside(found, result))
        assert not len(wrong), (SEED, rule, mode, [(each[0][i], each[1][i]) for i in wrong[:1] for each, _ in drawn])
        narrowed += int((found[1] - found[0] < TOP).sum())
    assert narrowed > 20, "the rule says something of some intervals"


@pytest.mark.parametrize("rule", ["fsgnj.s", "fsgnjn.s", "fsgnjx.s"])
def test_signs(rule: str):
    a, words = _intervals(random.Random(f"{SEED}/{rule}"))
    sign = np.uint32(1 << 31)
    result = {"fsgnj.s": words, "fsgnjn.s": words ^ sign, "fsgnjx.s": words & ~sign}[rule]
    assert _inside(estimate(rule, [a, a], same=True, mode=0), result).all()
