"""Built-in functions: every value within its limit.

`python -m tests.riscv_kernels.opencl.measure_builtins` measures them with more values.
"""

import itertools
import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tests.riscv_kernels.opencl import builtin_integers as integers
from tests.riscv_kernels.opencl.builtin_runs import arguments_of, edges, evaluate, floats, source, ulp_error, worst
from tests.riscv_kernels.opencl.builtin_table import FUNCTIONS
from tests.riscv_kernels.opencl.builtin_vectors import WIDTHS, float_source, integer_source, vector_call
from tests.riscv_kernels.opencl.measure_builtins import BEGIN, END, PAGE, limit_of
from tests.support.tiers import long_but, more_but

SEED = 1
GROUPS = {kind: [each for each in FUNCTIONS if each.arguments == kind] for kind in ("x", "xy", "xyz", "xn")}


@pytest.mark.slow
@pytest.mark.parametrize("kind", more_but(GROUPS, ["xy"]))
def test_floats(tmp_path, kind):
    """A few of the command's values."""
    found = worst(GROUPS[kind], tmp_path, SEED, 24)
    assert [f"{one.function.name}: {one.error} ulp: {one.place}" for one in found if not one.good] == []


def wrong(words, calls, columns):
    """Calls whose 64-bit words are not the exact ones."""
    found = []
    for (call, value), row in zip(calls, words, strict=True):
        for values, got in zip(columns, row.tolist(), strict=True):
            exact = value(*values)
            if exact is not None and got != exact & integers.WORD:
                found.append(f"{call} of {values} is {got:#x}, exact {exact & integers.WORD:#x}")
    return found[:5]


def joined(words):
    """Rows of low and of high words as 64-bit words."""
    return words[::2].astype(np.uint64) | words[1::2].astype(np.uint64) << np.uint64(32)


def integer_columns(kind, count):
    rng = np.random.default_rng(SEED)
    values = integers.integers_of(kind, rng, count)
    others = [[int(one) for one in rng.permutation(np.array(values, object))] for _ in range(2)]
    return [values, *others]


@pytest.mark.slow
@pytest.mark.parametrize("kind", long_but(integers.TYPES, ("long",)))
def test_integers(tmp_path, kind):
    columns = integer_columns(kind, 40)
    calls = list(integers.integer_calls(kind).items())
    inputs = [words for values in columns for words in integers.words_of(values)]
    words = joined(evaluate(integers.source_of(kind, [call for call, _ in calls]), tmp_path, inputs, 2 * len(calls)))
    assert wrong(words, calls, list(zip(*columns, strict=True))) == []


@pytest.mark.more
def test_nothing_is_concluded_from_sums_that_wrap(tmp_path):
    """A compiler that takes it that they cannot divides them as numbers of a known sign."""
    columns = integer_columns("int", 40)
    calls = [
        (f"({call}) / 7", lambda x, y, z, value=value: math.trunc(Fraction(value(x, y, z), 7)))
        for call, value in integers.integer_calls("int").items()
        if call.startswith(("mad", "mul", "abs", "hadd", "rhadd"))
    ]
    inputs = [words for values in columns for words in integers.words_of(values)]
    # None of the three is below zero, and the compiler knows it.
    text = integers.source_of("int", [re.sub(r"\b([xyz])\b", r"(\1 & INT_MAX)", call) for call, _ in calls])
    words = joined(evaluate(text, tmp_path, inputs, 2 * len(calls)))
    assert wrong(words, calls, [[each & 0x7FFF_FFFF for each in row] for row in zip(*columns, strict=True)]) == []


def floats_to_convert():
    """Edges, halves and limits of the integer types among them."""
    rng = np.random.default_rng(SEED)
    steps = (-1.5, -1, -0.5, 0, 0.5)
    limits = [sign * (2.0**bits + step) for bits in (7, 8, 15, 16) for step in steps for sign in (1, -1)]
    return np.concatenate([edges(), floats(rng, 60), np.array([0.5, 1.5, 2.5, -0.5, -1.5, *limits], np.float32)])


@pytest.mark.more
@pytest.mark.parametrize("kind", long_but([*integers.TYPES, "float"], ("float",)))
def test_conversions(tmp_path, kind):
    """convert_T, _sat and not, in every mode, from one type to all."""
    calls = list(integers.conversions(kind))
    if kind == "float":
        inputs = [floats_to_convert()]
        columns = [(float(value),) for value in inputs[0]]
    else:
        values = integer_columns(kind, 40)
        inputs = [words for each in values for words in integers.words_of(each)]
        columns = [(value,) for value in values[0]]
    words = joined(evaluate(integers.source_of(kind, [call for call, _ in calls]), tmp_path, inputs, 2 * len(calls)))
    assert wrong(words, calls, columns) == []


HALVES = """__kernel void k(__global const uint *in, __global int *out, uint n)
{
    const uint i = get_global_id(0);
    const float x = as_float(in[i]);
    __global half *to = (__global half *)out;
    out[i] = as_int(vload_half(i & 0xffff, (__global const half *)in));
    vstore_half(x, 2 * (n + i), to);
    vstore_half_rte(x, 2 * (2 * n + i), to);
    vstore_half_rtz(x, 2 * (3 * n + i), to);
    vstore_half_rtp(x, 2 * (4 * n + i), to);
    vstore_half_rtn(x, 2 * (5 * n + i), to);
}
"""


def half_of(x, mode):
    """The bits of a float16."""
    with np.errstate(over="ignore"):
        near = np.float16(np.float32(x))
        if mode != "rte" and np.isfinite(x):
            up = mode == "rtp" or (mode == "rtz" and x < 0)
            if float(near) < x and up:
                near = np.nextafter(near, np.float16(np.inf))
            elif float(near) > x and not up:
                near = np.nextafter(near, np.float16(-np.inf))
    near = np.float16(np.copysign(near, np.float32(x))) if not np.isnan(x) else near
    return int(near.view(np.uint16))


@pytest.mark.more
def test_halves(tmp_path):
    """Each half that there is, and floats around the limits of half."""
    rng = np.random.default_rng(SEED)
    limits = np.array([65504, 65519.996, 65520, 65536, 1e9, 2**-14, 2**-24, 2**-25, 2**-25 * 1.001, 2**-26,
                       2**-15 * 1.0003], np.float32)
    sample = np.concatenate([edges(), limits, -limits, floats(rng, 100)])
    halves = rng.permutation(np.arange(1 << 16, dtype=np.uint16))[:2 * len(sample)]
    words = np.concatenate([halves.view(np.uint32), sample.view(np.uint32)])
    rows = evaluate(HALVES, tmp_path, [words], 6)
    loaded = words.view(np.uint16)[:len(words)].view(np.float16).astype(np.float32)
    got = rows[0].view(np.float32)
    assert ((got == loaded) & (np.signbit(got) == np.signbit(loaded)) | np.isnan(got) & np.isnan(loaded)).all()
    for row, mode in zip(rows[1:], ("rte", "rte", "rtz", "rtp", "rtn"), strict=True):
        for x, bits in zip(words.view(np.float32).tolist(), row.tolist(), strict=True):
            assert (bits & 0x7FFF) > 0x7C00 if math.isnan(x) else bits & 0xFFFF == half_of(x, mode), (x, mode)


SHUFFLES = [(source, target) for source in (2, 4, 8, 16) for target in (2, 4, 8, 16)]
ELEMENTS = {"uint": "uint", "float": "uint", "uchar": "uchar", "short": "ushort", "long": "ulong"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", long_but(ELEMENTS, ()))
def test_shuffles(tmp_path, kind):
    """Of all widths, with masks that are known to the work-item alone."""
    mask = ELEMENTS[kind]
    lines, expected, row = [], [], 0
    rng = np.random.default_rng(SEED)
    masks = rng.integers(0, 256, (4, 16)).astype(np.uint32)
    for source_width, width in SHUFFLES:
        for name, second in (("shuffle", ""), ("shuffle2", f"y{source_width}, ")):
            call = f"{name}(x{source_width}, {second}m{width})"
            lines.append(f"    vstore{width}(convert_int{width}({call}), 0, out + 16 * ({row} * n + i));")
            both = (1 + bool(second)) * source_width
            expected.append([[int(place) % both + (100 - source_width if int(place) % both >= source_width else 0)
                              for place in own[:width]] for own in masks])
            row += 1
    values = [f"    const {kind}{width} {name}{width} = ({kind}{width})"
              f"({', '.join(map(str, range(base, base + width)))});"
              for width in (2, 4, 8, 16) for name, base in (("x", 0), ("y", 100))]
    values += [f"    const {mask}{width} m{width} = convert_{mask}{width}(vload{width}(0, in + 16 * i));"
               for width in (2, 4, 8, 16)]
    text = "\n".join(["__kernel void k(__global const uint *in, __global int *out, uint n)", "{",
                      "    const uint i = get_global_id(0);", *values, *lines, "}", ""])
    words = evaluate(text, tmp_path, [masks.reshape(-1)], row * 16, items=4).reshape(row, 4, 16)
    for got, exact in zip(words.tolist(), expected, strict=True):
        assert [own[:len(exact[0])] for own in got] == exact


@pytest.mark.more
@pytest.mark.parametrize(("kind", "width"), long_but(itertools.product(GROUPS, WIDTHS), (("xyz", 3),)))
def test_vectors_of_floats(tmp_path, kind, width):
    """Every function of vectors gives the words of the same function of scalars; relations give -1."""
    inputs = [values[:48] for values in arguments_of(kind, SEED, 48)]
    functions = GROUPS[kind]
    for first in range(0, len(functions), 16):
        part = functions[first:first + 16]
        alone = evaluate(source(part, kind), tmp_path / f"alone{first}", inputs, len(part))
        text = float_source(part, kind, width)
        wide = evaluate(text, tmp_path / f"wide{first}", inputs, len(part) * width, 48 // width)
        for each, one, many in zip(part, alone, wide.reshape(len(part), 48), strict=True):
            relation = each.name.startswith("is") or each.name == "signbit"
            assert many.tolist() == ((-one.view(np.int32)).view(np.uint32) if relation else one).tolist(), each.name


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "width"), long_but(itertools.product([*integers.TYPES, "float"], WIDTHS), ()))
def test_vectors_of_integers(tmp_path, kind, width):
    """Integer functions and conversions of vectors give the exact values of each element."""
    count = 96
    if kind == "float":
        inputs = [floats_to_convert()[-count:]]
        columns = [(float(value),) for value in inputs[0]]
        calls = list(integers.conversions(kind))
    else:
        values = [column[-count:] for column in integer_columns(kind, count)]
        inputs = [np.array([value & integers.WORD for value in column], np.uint64).view(np.uint32) for column in values]
        columns = list(zip(*values, strict=True))
        calls = [(call, value) for call, value in integers.integer_calls(kind).items() if vector_call(call, width)]
        calls += [(call, lambda x, y, z, value=value: value(x)) for call, value in integers.conversions(kind)]
    for first in range(0, len(calls), 30):
        part = calls[first:first + 30]
        text = integer_source(kind, [call for call, _ in part], width)
        words = evaluate(text, tmp_path / str(first), inputs, 2 * width * len(part), count // width)
        assert wrong(words.reshape(-1).view(np.uint64).reshape(len(part), count), part, columns) == []


def test_the_distance_in_units_of_the_last_place():
    one = mpmath.mpf(1)
    assert ulp_error(1.0, one) == 0 and ulp_error(1 + 2.0**-23, one) == 1 and ulp_error(1 - 2.0**-24, one) == 0.5
    assert ulp_error(0.0, mpmath.mpf(2) ** -150) == 0.5 and ulp_error(2.0**-149, mpmath.mpf(2) ** -200) <= 1
    assert ulp_error(np.inf, one * 2**200) == 0 and ulp_error(np.inf, one * (2**128 - 2**104)) == 1
    assert ulp_error(-0.0, 0.0) == np.inf and ulp_error(np.nan, one) == np.inf and ulp_error(1.0, np.nan) == np.inf
    assert ulp_error(-1.0, one) == np.inf and ulp_error(np.inf, np.inf) == 0 and ulp_error(-0.0, one / 10**50) == np.inf


def test_the_page_has_every_function_with_its_limit():
    """The errors are the command's: it takes minutes."""
    text = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    stated = re.findall(r"\| `([^`]+)` \| (\S+) \| (\S+) (?=\|)", text)
    assert sorted((name, limit) for name, limit, _ in stated) == sorted(
        (each.name, limit_of(each)) for each in FUNCTIONS if ":" not in each.name)
    assert all(limit == "none" or float(error) <= float(limit) for _, limit, error in stated)
