"""--soft-float: the routines give the FPU's bits, every kernel passes its check without FPU, and what is refused."""

import re
from dataclasses import replace

import numpy as np
import pytest

from metronome.hdl.presets import MID, PAPER, TINY
from metronome.sim.program.compiler.elf_cache import ToolchainError, build_elf
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.compiler.soft_float import with_routines
from metronome.sim.program.elf import ImageError, load_elf
from metronome.sim.program.float_code import needs_fpu
from metronome.sim.program.kernels import kernels, prepare, prepare_source
from tests.riscv_kernels import iss_runs, library_runs
from tests.riscv_kernels.iss_runs import PROGRAMS, RESULTS, finished
from tests.riscv_kernels.library_runs import float_bits
from tests.support.tiers import some_more

SOFT = Compiling(soft_float=True)
WITHOUT_FPU = replace(TINY, fpu=False)
QUIET_NAN = 0x7FC00000
#: In the order of programs/float_operations.c.
OPERATIONS = (
    "+", "-", "*", "/", "sqrt", "min", "max", "<", "<=", ">", ">=", "==", "!=", "unordered", "int", "unsigned",
    "from int", "from unsigned", "fma", "x * y + z", "x * y - z", "z - x * y", "negated", "int64", "unsigned64",
    "from int64", "from unsigned64", "lrint", "lround", "floor", "rint", "chain",
)
#: Zero, subnormal, the least normal, around one, around 2^23, 2^24, 2^31, 2^32 and 2^63, the greatest, infinity, NaNs.
EDGES = np.array([
    0, 1, 2, 0x007FFFFF, 0x00400000, 0x00800000, 0x00800001, 0x00FFFFFF, 0x01000000, 0x0C000000, 0x33800000, 0x34000000,
    0x3EFFFFFF, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FC00000, 0x40000000, 0x4AFFFFFF, 0x4B000000,
    0x4B7FFFFF, 0x4B800000, 0x4EFFFFFF, 0x4F000000, 0x4F000001, 0x4F7FFFFF, 0x4F800000, 0x5EFFFFFF, 0x5F000000,
    0x5F800000, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF,
], np.uint32)
EDGES = np.concatenate([EDGES, EDGES | np.uint32(1 << 31)])


def triples(rng, count):
    """Any bits, numbers of like size, pairs of edge values, and sums that cancel."""
    def words(*shape):
        return rng.integers(0, 1 << 32, shape, np.uint64).astype(np.uint32)

    near = (words(3, count) & np.uint32(0x807FFFFF)) | (rng.integers(120, 134, (3, count)) << 23).astype(np.uint32)
    edges = rng.choice(EDGES, (3, count))
    low = words(3, count) & np.uint32(0x80FFFFFF)
    low[0] = near[0]
    product = (near[0].view(np.float32) * near[1].view(np.float32)).view(np.uint32)
    off = rng.integers(-2, 3, count).astype(np.int64)
    cancelling = np.stack([near[0], near[1], (product ^ np.uint32(1 << 31)) + off.astype(np.uint32)])
    # The same for a sum.
    close = np.stack([near[0], (near[0] ^ np.uint32(1 << 31)) + off.astype(np.uint32), near[2]])
    return np.concatenate([words(3, count), near, edges, low, cancelling, close], 1)


def results(config, operands, soft):
    """The program's words: a row for each operation."""
    elf = build_elf([PROGRAMS / "float_operations.c"], name="float_operations", soft_float=soft)
    image = load_elf(elf, config.memory_map)
    assert (needs_fpu(image) is None) == soft
    count = operands.shape[1]
    addresses, placed = library_runs.place(list(operands))
    words = [RESULTS, count, min(count, config.harts), *addresses]
    launch = library_runs.Launch(
        name="float_operations", image=image, memory_map=config.memory_map, buffers=placed,
        arguments=np.array(words, np.uint32).tobytes(),
    )
    return finished(launch, config).words(RESULTS, len(OPERATIONS) * count).reshape(len(OPERATIONS), count)


def canonical(values):
    return np.where(np.isnan(values), np.uint32(QUIET_NAN), values.view(np.uint32))


def of_numpy(x, y):
    """The first 14 operations, as numpy computes them."""
    a, b = x.view(np.float32), y.view(np.float32)
    with np.errstate(all="ignore"):
        floats = [a + b, a - b, a * b, a / b, np.sqrt(a)]
        for sign, pick in ((1, np.fmin), (0, np.fmax)):
            # Zeros of both signs are equal for numpy.
            zero = np.where(np.signbit(a) | np.signbit(b), -0.0, 0.0) if sign else np.where(
                np.signbit(a) & np.signbit(b), -0.0, 0.0)
            floats.append(np.where((a == 0) & (b == 0), zero.astype(np.float32), pick(a, b)))
        tests = [a < b, a <= b, a > b, a >= b, a == b, a != b, np.isnan(a) | np.isnan(b)]
    return np.stack([*(canonical(each) for each in floats), *(each.astype(np.uint32) for each in tests)])


def wrong(got, expected, operands):
    return [f"{OPERATIONS[row]} of {[hex(word) for word in operands[:, column]]}: {got[row, column]:#x}, "
            f"expected {expected[row, column]:#x}" for row, column in np.argwhere(got != expected)[:5]]


@pytest.mark.parametrize("count", some_more([60, 3000], 1))
def test_the_routines_give_the_fpus_bits(count):
    operands = triples(np.random.default_rng(7), count)
    soft = results(replace(PAPER, fpu=False), operands, soft=True)
    assert wrong(soft[:14], of_numpy(*operands[:2]), operands) == [], "seed 7"
    assert wrong(soft, results(PAPER, operands, soft=False), operands) == [], "seed 7"


@pytest.mark.slow
def test_all_pairs_of_edge_values():
    x, y = (side.ravel() for side in np.meshgrid(EDGES, EDGES))
    operands = np.stack([x, y, np.random.default_rng(8).choice(EDGES, len(x))])
    soft = results(replace(PAPER, fpu=False), operands, soft=True)
    assert wrong(soft[:14], of_numpy(x, y), operands) == [], "seed 8"
    assert wrong(soft, results(PAPER, operands, soft=False), operands) == [], "seed 8"
