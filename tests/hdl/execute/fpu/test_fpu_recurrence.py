"""The digit recurrence against Python's integer division and square root."""

from __future__ import annotations

import math
import random

import pytest
from amaranth.sim import Simulator

from metronome.hdl.execute.fpu.recurrence import STEPS, Recurrence

LOW, HIGH = 1 << 23, (1 << 24) - 1
EDGES = [LOW, LOW + 1, LOW + 2, 3 << 22, (3 << 22) - 1, (3 << 22) + 1, 0xB504F3, 0xB504F4, 0xAAAAAA, HIGH - 1, HIGH]


def division(a: int, b: int) -> tuple[int, bool, bool]:
    """Result with 24 bits after the point, whether there is a remainder, ``less``."""
    less = a < b
    quotient, remainder = divmod((a << 1 if less else a) << 24, b)
    return quotient, remainder != 0, less


def square_root(a: int, odd: bool) -> tuple[int, bool]:
    """The same for the root: ``a`` has 23 bits after the point, the radicand 48."""
    radicand = (a << odd) << 25
    root = math.isqrt(radicand)
    return root, root * root != radicand


def run(cases: list[tuple[bool, bool, int, int]], rng: random.Random, label: str) -> None:
    """Each case is (square_root, odd, a, b); there are pauses between the steps, with noise on the inputs."""
    part = Recurrence()

    async def testbench(ctx):
        for is_root, odd, a, b in cases:
            for port, value in ((part.load, 1), (part.step, 0), (part.square_root, is_root), (part.odd, odd),
                                (part.a, a), (part.b, b)):
                ctx.set(port, value)
            less = ctx.get(part.less)
            await ctx.tick()
            ctx.set(part.load, 0)
            for k in range(STEPS):
                for port in (part.a, part.b, part.odd):
                    ctx.set(port, rng.getrandbits(len(port)))
                ctx.set(part.step, 0)
                if rng.random() < 0.2:
                    await ctx.tick()
                ctx.set(part.step, 1 << STEPS - 1 - k)
                await ctx.tick()
            ctx.set(part.step, 0)
            await ctx.tick()
            found = ctx.get(part.root), bool(ctx.get(part.remainder))
            what = f"{label}: root {is_root} odd {odd} a {a:#x} b {b:#x}"
            if is_root:
                assert found == square_root(a, odd), what
            else:
                assert (*found, bool(less)) == division(a, b), what

    sim = Simulator(part)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.run()


def test_division_of_edges():
    run([(False, False, a, b) for a in EDGES for b in EDGES], random.Random(1), "seed 1")


def test_square_root_of_edges():
    squares = [n * n << 24 - (n * n).bit_length() for n in (2049, 2050, 2896, 2897, 3000, 4094, 4095)]
    cases = [(True, odd, a, b) for a in EDGES + squares for b in (LOW, HIGH) for odd in (False, True)]
    run(cases, random.Random(2), "seed 2")


@pytest.mark.parametrize("seed", [3, 4])
def test_random(seed):
    rng = random.Random(seed)
    cases = [(rng.random() < 0.5, rng.random() < 0.5, rng.randint(LOW, HIGH), rng.randint(LOW, HIGH))
             for _ in range(150)]
    run(cases, rng, f"seed {seed}")
