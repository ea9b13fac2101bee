"""Undefined bits through each operation, against all values that these bits may have."""

import itertools
import random

import numpy as np
import pytest

from metronome.sim.run.memcheck.rules import RULES, compared

TOP = 0xFFFF_FFFF
EDGES = (0, 1, 5, 31, 32, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, TOP)


def signed(word):
    return word - (word >> 31 << 32)


def quotient(a, b):
    return TOP if b == 0 else a if (a, b) == (-(1 << 31), -1) else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a, b):
    return a if b == 0 else a - quotient(a, b) * b


#: The instructions, as functions of two words.
OPERATIONS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "xor": lambda a, b: a ^ b, "and": lambda a, b: a & b,
    "or": lambda a, b: a | b, "slt": lambda a, b: signed(a) < signed(b), "sltu": lambda a, b: a < b,
    "sll": lambda a, b: a << (b & 31), "srl": lambda a, b: a >> (b & 31), "sra": lambda a, b: signed(a) >> (b & 31),
    "mul": lambda a, b: a * b, "mulh": lambda a, b: signed(a) * signed(b) >> 32, "mulhu": lambda a, b: a * b >> 32,
    "mulhsu": lambda a, b: signed(a) * b >> 32, "div": lambda a, b: quotient(signed(a), signed(b)),
    "divu": lambda a, b: a // b if b else TOP, "rem": lambda a, b: remainder(signed(a), signed(b)),
    "remu": lambda a, b: a % b if b else a, "czero.eqz": lambda a, b: a if b else 0,
    "czero.nez": lambda a, b: 0 if b else a, "fsgnj.s": lambda a, b: a & ~(1 << 31) | b & 1 << 31,
    "fsgnjn.s": lambda a, b: a & ~(1 << 31) | ~b & 1 << 31, "fsgnjx.s": lambda a, b: a ^ b & 1 << 31,
    "fmv.x.w": lambda a, b: a, "fmv.w.x": lambda a, b: a,
}
#: For these docs/memcheck.md says that the mark is exact; for the others it may be more. Shifts: by a defined number.
EXACT = {"and", "or", "xor", "sll", "srl", "sra", "add", "sub", "slt", "sltu", "czero.eqz", "czero.nez", "fsgnj.s",
         "fsgnjn.s", "fsgnjx.s", "fmv.x.w", "fmv.w.x"}
BRANCHES = {
    "beq": lambda a, b: a == b, "bne": lambda a, b: a != b, "blt": lambda a, b: signed(a) < signed(b),
    "bge": lambda a, b: signed(a) >= signed(b), "bltu": lambda a, b: a < b, "bgeu": lambda a, b: a >= b,
}


def words(rng, count):
    """Words and their undefined bits: few, so that all their values can be tried."""
    values = [rng.choice((*EDGES, rng.getrandbits(32), rng.getrandbits(5))) for _ in range(count)]
    masks = [sum(1 << bit for bit in rng.sample(range(32), rng.randrange(4))) if rng.random() < 0.8 else 0
             for _ in range(count)]
    return np.array(values, np.uint32), np.array(masks, np.uint32)


def possible(value, mask):
    """All that a word may be if these bits of it are undefined."""
    bits = [bit for bit in range(32) if mask >> bit & 1]
    for chosen in itertools.product((0, 1), repeat=len(bits)):
        yield value & ~mask | sum(each << bit for each, bit in zip(chosen, bits, strict=True))


def changing(operation, a, va, b, vb):
    """The bits of the result that are not the same for all values."""
    results = {int(operation(x, y)) & TOP for x in possible(a, va) for y in possible(b, vb)}
    first = results.pop()
    return sum(1 << bit for bit in range(32) if any((first ^ each) >> bit & 1 for each in results))


@pytest.mark.parametrize("immediate", [False, True], ids=["register", "immediate"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_what_may_change_is_undefined(name, immediate):
    seed = f"rules/{name}/{immediate}"
    rng = random.Random(seed)
    for _ in range(12):
        (a, va), (b, vb) = words(rng, 8), words(rng, 8)
        if immediate:
            b, vb = np.uint32(int(b[0])), np.zeros_like(va)
        found = RULES[name](a, va, b, vb)
        assert found.dtype == np.uint32 and found.shape == a.shape, seed
        for lane, mark in enumerate(found.tolist()):
            other = int(b) if immediate else int(b[lane])
            wanted = changing(OPERATIONS[name], int(a[lane]), int(va[lane]), other, int(vb[lane]))
            assert wanted & ~mark == 0, (seed, lane)
            if name in EXACT and not (name in ("sll", "srl", "sra") and vb[lane] & 31):
                assert wanted == mark, (seed, lane)


def test_each_rule_is_tried():
    assert set(RULES) - set(OPERATIONS) == {"feq.s", "flt.s", "fle.s"}


@pytest.mark.parametrize("name", BRANCHES)
def test_branches(name):
    rng = random.Random(f"branches/{name}")
    for _ in range(12):
        (a, va), (b, vb) = words(rng, 8), words(rng, 8)
        found = compared(name, a, va, b, vb)
        wanted = [bool(changing(BRANCHES[name], *map(int, each))) for each in zip(a, va, b, vb, strict=True)]
        assert found.tolist() == wanted, name
