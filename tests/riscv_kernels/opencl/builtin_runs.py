"""Built-in functions of many values at once on the golden model, and how far their results are from the exact ones."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import mpmath
import numpy as np

from metronome.hdl.presets import PAPER
from tests.riscv_kernels.opencl.builtin_exact import PRECISION
from tests.riscv_kernels.opencl.builtin_table import Function
from tests.riscv_kernels.opencl.runs import words_of

#: 32 lanes, and no check whether lanes part in one branch for different reasons.
CONFIG = PAPER
EDGES = np.array([
    0.0, 2.0**-149, 3 * 2.0**-149, 2.0**-127, (2**23 - 1) * 2.0**-149, 2.0**-126, 2.0**-125, 1e-30, 2.0**-64, 2.0**-25,
    2.0**-24, 2.0**-23, 2.0**-12, 0.125, 0.25, np.nextafter(np.float32(0.5), np.float32(0)), 0.5, 0.625, 0.75, 0.9,
    1 - 2.0**-24, 1.0, 1 + 2.0**-23, 1.5, np.pi / 2, 2.0, 2.5, np.e, 3.0, np.pi, 3.5, 4.0, 4.5, 5.0, 8.0, 9.2, 10.0,
    10.2, 17.5, 34.5, 35.0, 35.04, 35.5, 42.5, 43.5, 44.5, 64.0, 88.72, 88.73, 89.0, 103.9, 104.0, 127.0, 128.0, 129.5,
    149.0, 150.0, 255.0, 1e6, 2**22 + 0.5, 2.0**23 - 0.5, 2.0**23, 2.0**23 + 1, 2.0**24 - 1, 2.0**24, 2.0**24 + 2,
    2.0**31 - 128, 2.0**31, 2.0**32, 2.0**62, 2.0**63, 2.0**64, 1e20, 2.0**100, 2.0**126, 2.0**127,
    np.finfo(np.float32).max, np.inf,
], np.float32)
INTS = np.array([
    *range(-5, 6), 7, 8, 31, 32, 126, 127, 128, 148, 149, 150, 277, 278, 1000, 2**23, 2**24 - 1, 2**24, 2**24 + 1,
    2**25 + 1, 2**30, 2**31 - 65, 2**31 - 1, -23, -24, -126, -127, -149, -150, -278, -1000,
    -(2**24) - 1, -(2**31), -(2**31) + 1,
], np.int64).astype(np.int32)


def floats(rng: np.random.Generator, count: int) -> np.ndarray:
    """A quarter of each: any bits, between -1 and 1, between -10 and 10, of any size up to 2^10 or so."""
    part = -(-count // 4)
    wide = np.exp(rng.uniform(-20, 7, part)) * rng.choice([-1, 1], part)
    bits = rng.integers(0, 1 << 32, part, np.uint32).view(np.float32)
    others = [values.astype(np.float32) for values in (rng.uniform(-1, 1, part), rng.uniform(-10, 10, part), wide)]
    return np.concatenate([bits, *others])[:count]


def edges() -> np.ndarray:
    """Those of both signs, and a NaN."""
    return np.concatenate([EDGES, -EDGES, np.array([np.nan], np.float32)])


def arguments_of(kind: str, seed: int, count: int) -> list[np.ndarray]:
    """Edges, for two arguments a sample of their pairs, and ``count`` random values."""
    rng = np.random.default_rng(seed)
    every = edges()
    if kind == "x":
        return [np.concatenate([every, floats(rng, count)])]
    pairs = 4 * len(every)
    near = rng.permutation(floats(rng, count))
    columns = [np.concatenate([rng.choice(every, pairs), rng.permutation(floats(rng, count))]) for _ in kind[:-1]]
    if kind == "xn":
        return [columns[0], np.concatenate([rng.choice(INTS, pairs), rng.choice(INTS, count // 2),
                                            rng.integers(-40, 41, count - count // 2)]).astype(np.int32)]
    return [*columns, np.concatenate([rng.choice(every, pairs), near])]


_HEAD = """__kernel void k({buffers}, __global int *out, uint n)
{{
    const uint i = get_global_id(0);
{loads}
    float part;
    int whole;
"""


def source(functions: Sequence[Function], kind: str) -> str:
    """A kernel whose work-items evaluate all functions of one argument list."""
    types = {name: "int" if name == "n" else "float" for name in kind}
    own = {"n": "m"}
    buffers = ", ".join(f"__global const {types[name]} *in_{name}" for name in kind)
    loads = "\n".join(f"    const {types[name]} {own.get(name, name)} = in_{name}[i];" for name in kind)
    lines = []
    for row, each in enumerate(functions):
        call = each.call if kind != "xn" else each.call.replace("n)", "m)")
        lines.append(f"    out[{row} * n + i] = {call if each.result == 'int' else f'as_int((float)({call}))'};")
    return _HEAD.format(buffers=buffers, loads=loads) + "\n".join(lines) + "\n}\n"


def evaluate(text: str, folder: Path, inputs: Sequence[np.ndarray], rows: int, items: int | None = None) -> np.ndarray:
    """The words of ``rows`` results of each work-item, of a kernel ``k(inputs, out, n)``."""
    count = len(inputs[0]) if items is None else items
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "k.cl"
    file.write_text(text)
    words = words_of(file, CONFIG, inputs, rows * count, count, global_size=count, options="-w")
    return words.reshape(rows, count)


def ulp_error(got: float, value: object) -> float:
    """The distance in units of the last place of the exact value; infinity for a wrong NaN, infinity or zero."""
    if isinstance(value, int | float):
        if math.isnan(value) or math.isnan(got):
            return 0.0 if math.isnan(value) and math.isnan(got) else math.inf
        if value == 0.0 or math.isinf(value):
            same = got == value and math.copysign(1.0, got) == math.copysign(1.0, value)
            return 0.0 if same else math.inf
        value = mpmath.mpf(value)
    if math.isnan(got) or (math.copysign(1.0, got) < 0) != (value < 0):
        return math.inf
    if math.isinf(got):
        got = math.copysign(2.0**128, got)
    limit = mpmath.mpf(2) ** 128
    if abs(value) >= limit - mpmath.mpf(2) ** 103 and abs(got) == limit:
        return 0.0
    last = max(int(mpmath.frexp(value)[1]) - 24, -149)
    return float(abs(mpmath.mpf(got) - value) / mpmath.mpf(2) ** last)


@dataclasses.dataclass(frozen=True)
class Worst:
    """The worst of a function: its error, and where that was."""

    function: Function
    error: float
    place: str

    @property
    def good(self) -> bool:
        return math.isfinite(self.error) and (self.function.limit is None or self.error <= self.function.limit)


def worst(functions: Sequence[Function], folder: Path, seed: int, count: int) -> list[Worst]:
    """Of functions with the same arguments."""
    kind = functions[0].arguments
    inputs = arguments_of(kind, seed, count)
    words = evaluate(source(functions, kind), folder, inputs, len(functions))
    columns = list(zip(*(values.tolist() for values in inputs), strict=True))
    found = []
    with mpmath.workprec(PRECISION):
        for each, row in zip(functions, words, strict=True):
            got = row.view(np.int32 if each.result == "int" else np.float32).tolist()
            most = (-1.0, "")
            for values, result in zip(columns, got, strict=True):
                value = each.value(*values)
                if value is None:
                    continue
                error = (0.0 if result == value else math.inf) if each.result == "int" else ulp_error(result, value)
                if error > most[0]:
                    most = error, f"{values} is {result!r}, exact {mpmath.nstr(mpmath.mpf(value), 12)}"
            found.append(Worst(each, *most))
    return found
