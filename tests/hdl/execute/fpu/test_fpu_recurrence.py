"""The digit recurrence against Python's integer division and square root."""

import math
import random

import pytest

from metronome.hdl.execute.fpu.recurrence import ROOT_BITS, STEPS, Recurrence
from tests.hdl.lib.simulate import drive, simulate, simulated
from tests.support.tiers import some_slow

LOW, HIGH = 1 << 23, (1 << 24) - 1
EDGES = [LOW, LOW + 1, LOW + 2, 3 << 22, (3 << 22) - 1, (3 << 22) + 1, 0xB504F3, 0xB504F4, 0xAAAAAA, HIGH - 1, HIGH]


def division(a: int, b: int, omitted: int) -> tuple[int, bool]:
    """The quotient with 25 bits after the point, ``omitted`` places down; whether more follows."""
    quotient, remainder = divmod(a << ROOT_BITS - 1 >> omitted, b)
    return quotient, remainder != 0 or (a << ROOT_BITS - 1) % (1 << omitted) != 0


def square_root(a: int, odd: bool) -> tuple[int, bool]:
    """The same for the root: ``a`` has 23 bits after the point. The last bit only says that more follows."""
    radicand = (a << odd) << 25
    root = math.isqrt(radicand)
    return root, root * root != radicand


def run(cases: list[tuple[bool, bool, int, int, int]], rng: random.Random, label: str, held: bool = False) -> None:
    """Each case is (square_root, odd, a, b, omitted); there are pauses between the steps, with noise on the inputs.

    ``held``: the trial of a step is in a register.
    """
    part = Recurrence(holds_trial=held)

    async def testbench(ctx):
        for is_root, odd, a, b, omitted in cases:
            drive(ctx, part, load=1, step=0, square_root=is_root, odd=odd and not held, a=a, b=b, zero=0)
            await ctx.tick()
            ctx.set(part.load, 0)
            if held:
                drive(ctx, part, prepare=1, double=odd)
                await ctx.tick()
                drive(ctx, part, prepare=0, double=rng.getrandbits(1))
            for k in range(STEPS):
                for port in (part.a, part.b, part.odd):
                    ctx.set(port, rng.getrandbits(len(port)))
                ctx.set(part.step, 0)
                if rng.random() < 0.2:
                    await ctx.tick()
                drive(ctx, part, step=1, active=2 * k + 1 >= omitted, first=2 * k >= omitted)
                await ctx.tick()
            ctx.set(part.step, 0)
            await ctx.tick()
            found = ctx.get(part.root), bool(ctx.get(part.remainder))
            what = f"{label}: root {is_root} odd {odd} a {a:#x} b {b:#x} omitted {omitted}"
            if is_root:
                root, more = square_root(a, odd)
                assert (found[0] >> 1, found[0] & 1 or found[1]) == (root, more), what
            else:
                assert found == division(a, b, omitted), what

    simulate(part, testbench)


@pytest.mark.more
def test_division_of_edges():
    omissions = (0, 1, 2, 25, 26)
    cases = [(False, False, a, b, omitted) for a in EDGES for b in EDGES for omitted in omissions]
    run(cases, random.Random(1), "seed 1")


@pytest.mark.parametrize("held", [False, True])
def test_square_root_of_edges(held):
    squares = [n * n << 24 - (n * n).bit_length() for n in (2049, 2050, 2896, 2897, 3000, 4094, 4095)]
    cases = [(True, odd, a, b, 0) for a in EDGES + squares for b in (LOW, HIGH) for odd in (False, True)]
    run(cases, random.Random(2), "seed 2", held)


@simulated(Recurrence)
async def test_zero(ctx, part):
    """A radicand of 0, and a quotient that is to be 0 whatever the operands."""
    for is_root, zero, a in ((1, 0, 0), (0, 1, HIGH), (0, 0, 0)):
        for port, value in ((part.load, 1), (part.square_root, is_root), (part.odd, is_root), (part.zero, zero),
                            (part.a, a), (part.b, LOW)):
            ctx.set(port, value)
        await ctx.tick()
        for port, value in ((part.load, 0), (part.step, 1), (part.active, 1), (part.first, 1)):
            ctx.set(port, value)
        for _ in range(STEPS):
            await ctx.tick()
        assert (ctx.get(part.root), ctx.get(part.remainder)) == (0, 0), (is_root, zero, a)


@pytest.mark.more
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("seed", some_slow([3, 4], 0))
def test_random(seed, held):
    rng = random.Random(seed)
    cases = []
    for _ in range(150):
        is_root = rng.random() < 0.5
        cases.append((is_root, is_root and rng.random() < 0.5, rng.randint(LOW, HIGH), rng.randint(LOW, HIGH),
                      0 if is_root else rng.choice((0, 0, rng.randrange(30)))))
    run(cases, rng, f"seed {seed}", held)
