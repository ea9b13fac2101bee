"""math.h: the machine gives the host's bits, the bounds hold, nothing branches."""

import re

import mpmath
import numpy as np
import pytest

from metronome.hdl.presets import PAPER, TINY
from metronome.sim.program.compiler.elf_cache import RUNTIME, build_elf
from metronome.sim.program.elf import load_elf
from tests.riscv_kernels.iss_runs import PROGRAMS, RESULTS, finished
from tests.riscv_kernels.libm import host
from tests.riscv_kernels.library_runs import prepare
from tests.riscv_kernels.measure_libm import BOUNDS, measure, pow_pairs
from tests.support.tiers import some_more

#: In the order of programs/functions.c.
NAMES = ("powf", *host.FUNCTIONS, "sqrtf", "fabsf", "fminf", "copysignf")
BRANCH, QUIET_NAN = 0x63, 0x7FC00000


def arguments(count, seed):
    """Pairs from every range of powf, as float32: any bits among them, and every corner with every other."""
    kinds = pow_pairs(np.random.default_rng(seed), count).values()
    x, y = (np.concatenate([pair[side] for pair in kinds]).view(np.float32) for side in (0, 1))
    return x, y


def expected(name, x, y):
    if name == "sqrtf":
        with np.errstate(invalid="ignore"):
            return np.sqrt(x)
    if name == "fminf":
        return np.where(np.isnan(x), y, np.where(np.isnan(y) | (x < y), x, np.where((x == y) & np.signbit(x), x, y)))
    if name in ("fabsf", "copysignf"):
        return np.abs(x) if name == "fabsf" else np.copysign(x, y)
    return host.evaluate(name, x, y) if name == "powf" else host.evaluate(name, x)


def bits_of(values):
    """Every NaN is the same: the host's have a sign and a payload."""
    words = values.astype(np.float32).view(np.uint32)
    return np.where(np.isnan(values), np.uint32(QUIET_NAN), words)


def differences(config, x, y):
    threads = min(len(x), config.harts)
    done = finished(prepare("functions", config, (len(x), threads), (x, y)), config)
    got = done.words(RESULTS, len(NAMES) * len(x)).view(np.float32).reshape(len(NAMES), -1)
    found = []
    for name, values in zip(NAMES, got, strict=True):
        wrong = np.flatnonzero(bits_of(values) != bits_of(expected(name, x, y)))
        found += [f"{name}({x[i]!r}, {y[i]!r}) is {values[i]!r}" for i in wrong[:3]]
    return found


# Slow, as all that need the host's library: zig's first compilation for a host takes half a minute.
@pytest.mark.slow
@pytest.mark.parametrize("count", some_more([5000, 20_000], 1))
def test_the_machine_gives_the_hosts_bits(count):
    x, y = arguments(count, seed=2)
    assert differences(PAPER, x, y) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDS)
def test_bounds(name):
    """Over every 8191st float, or so many pairs; the command takes all."""
    error, at = measure(name, step=8191, pairs=100_000)
    assert 0 <= error <= BOUNDS[name], at


#: The host's double precision is the reference of the bounds, so it is compared with a third party's.
EXACT = {
    "expf": mpmath.exp, "exp2f": lambda x: mpmath.mpf(2) ** x, "logf": mpmath.log,
    "log2f": lambda x: mpmath.log(x) / mpmath.log(2), "log10f": mpmath.log10, "sinf": mpmath.sin, "cosf": mpmath.cos,
    "tanf": mpmath.tan, "tanhf": mpmath.tanh, "erff": mpmath.erf,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
def test_against_exact_values(name):
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(-4, 4, 60), 10.0 ** rng.uniform(-30, 30, 60)]).astype(np.float32)
    x = np.abs(x) if name.startswith("log") else np.clip(x, -80, 80) if name.startswith("exp") else x
    with mpmath.workprec(300):
        for argument, got in zip(x.tolist(), host.evaluate(name, x).tolist(), strict=True):
            exact = EXACT[name](mpmath.mpf(argument))
            ulp = mpmath.mpf(2) ** (mpmath.floor(mpmath.log(abs(exact), 2)) - 23)
            assert abs(got - exact) / ulp <= BOUNDS[name], argument


@pytest.mark.parametrize(("program", "names"), [
    ("functions", (*host.FUNCTIONS, "powf")), ("formats", ("__extendsfdf2",)),
])
def test_no_function_has_a_branch(program, names):
    image = load_elf(build_elf([PROGRAMS / f"{program}.c"], name=program), TINY.memory_map)
    code = image.segments[0]
    for name in names:
        first, size = image.symbols[name]
        assert size >= 8, name
        words = np.frombuffer(code.data[first - code.address:first - code.address + size], np.uint32)
        assert not (words & 0x7F == BRANCH).any(), name




def test_the_bounds_are_those_of_the_pages():
    header = (RUNTIME / "math.h").read_text()
    page = (RUNTIME.parent / "README.md").read_text()
    for name, bound in BOUNDS.items():
        if bound:
            assert re.search(rf"^float {name}\(.*\); +/\* {bound:.2f}\b", header, re.MULTILINE), name
            assert f"| `{name}` | {bound:.2f} |" in page, name
