"""Random kernels in OpenCL C: each has local memory and a barrier, and says itself what it stores."""

import random
from dataclasses import dataclass, field

import numpy as np

from tests.riscv_kernels.opencl.fuzz.expressions import Expressions, variable
from tests.riscv_kernels.opencl.fuzz.functions import BITS, EDGES, EXACT, MATHEMATICS, Limited
from tests.riscv_kernels.opencl.fuzz.phases import Phases
from tests.riscv_kernels.opencl.fuzz.statements import Statement, assign, sequence
from tests.riscv_kernels.opencl.fuzz.values import DTYPES, Expr, Work, element, literal, width

__all__ = ["NAMES", "RandomKernel", "Slot", "random_kernel"]

#: Macros that a host program gives by -D.
NAMES = ("size", "low", "bits", "high", "value", "count", "x", "a", "n", "p", "result", "index", "mode", "type", "name")
_WIDE = ("uchar", "char", "short", "ushort", "long", "ulong", "uint2", "uint4", "int4", "int8", "float2", "float4",
         "float8", "uchar4", "ushort4", "ulong2")
_HELPERS = ("mingle", "powf", "expf", "floorf", "fabsf", "sqrtf", "fminf", "logf", "sinf", "roundf", "ldexpf", "blend",
            "truncf", "ceilf", "fmodf", "strlen_of", "a0", "sp", "ra", "t0", "x5")


@dataclass(frozen=True)
class Slot:
    """A word that every work-item stores: its bits, or a float within an error."""

    expected: np.ndarray
    limit: Limited | None = None
    text: str = ""


@dataclass
class RandomKernel:
    seed: int
    source: str
    options: str
    name: str
    local: tuple[int, ...]
    groups: int
    turns: int
    #: Bytes of the ``__local`` pointer that it is given.
    passed: int
    inputs: np.ndarray
    floats: np.ndarray
    #: What the interpreter has found, in the order in which each work-item stores it.
    slots: list[Slot] = field(default_factory=list)

    @property
    def items(self) -> int:
        return self.groups * int(np.prod(self.local))


def _helpers(writer: Expressions) -> list[str]:
    """Functions of the source, some with names of C's library, which OpenCL C leaves to its users."""
    lines = []
    rng = writer.rng
    for name in rng.sample(_HELPERS, 2):
        kind = "float" if name.endswith("f") else rng.choice(("uint", "int"))
        one = name in ("expf", "floorf", "fabsf", "sqrtf", "logf", "sinf", "roundf", "truncf", "ceilf")
        count = 1 if one else 2
        kinds = ("float", "int") if name == "ldexpf" else (kind,) * count
        parameters = [variable(each, f"p{place}") for place, each in enumerate(kinds)]
        inner = Expressions(rng)
        inner.modes = writer.modes
        for each in parameters:
            inner.variables.setdefault(each.kind, []).append(each)
        inner.variables.setdefault("uint", [literal("uint", 5)])
        body = inner.of(kind, 2)
        given = ", ".join(f"{each.kind} {each.text}" for each in parameters)
        lines.append(f"{kind} {name}({given}) {{ return {body.text}; }}")

        def make(*arguments: Expr, name=name, kind=kind, parameters=parameters, body=body) -> Expr:
            def value(work: Work) -> np.ndarray:
                outer = work.variables
                values = {p.text: np.broadcast_to(a.value(work), (work.items,)).astype(DTYPES[p.kind])
                          for p, a in zip(parameters, arguments, strict=True)}
                work.variables = {**outer, **values}
                found = body.value(work)
                work.variables = outer
                return found

            return Expr(kind, f"{name}({', '.join(each.text for each in arguments)})", value)

        writer.helpers.append((kind, kinds, make))
    return lines


def _macros(writer: Expressions) -> str:
    rng = writer.rng
    given = []
    for name in rng.sample(NAMES, rng.randrange(1, 4)) :
        number = rng.randrange(1, 17)
        given.append(f"-D{name}={number}")
        writer.variables["int"].append(Expr("int", name, lambda work, number=number: np.int32(number)))
    return " ".join(given)


def _mathematics(rng: random.Random, floats: np.ndarray, source: str) -> list[tuple[str, Slot]]:
    """Calls of mathematical functions, and what they are worth; also of those whose C name the source has taken."""
    taken = [name for name in EXACT | MATHEMATICS if f" {name}f(" in source and rng.random() < 0.7]
    made = []
    for name in [*taken, *(rng.choice(tuple(EXACT if rng.random() < 0.4 else MATHEMATICS))
                           for _ in range(rng.randrange(1, 4)))]:
        limited = (EXACT | MATHEMATICS)[name]
        turn = rng.randrange(1, len(floats))
        values = [floats.astype(np.float64), np.roll(floats, -turn).astype(np.float64)][: limited.arguments]
        texts = ["in_floats[at]", f"in_floats[(at + {turn}) % items]"][: limited.arguments]
        if limited.whole:
            power = rng.choice((0, 1, 2, 3, -1, -4, 7, 24, -30, 16777217, -16777217, 140))
            values[1], texts[1] = np.full(floats.shape, power), str(power)
        with np.errstate(all="ignore"):
            made.append((f"as_uint({name}({', '.join(texts)}))", Slot(limited.value(*values), limited, name)))
    return made


def _words(one: Expr) -> list[tuple[str, Expr]]:
    """An expression as words: the text of each, and its bits."""
    name = element(one.kind)
    parts = [one] if width(one.kind) == 1 else [
        Expr(name, f"{one.text}.s{place:x}", lambda work, place=place: one.value(work)[:, place])
        for place in range(width(one.kind))
    ]
    found = []
    for each in parts:
        if name == "float":
            found.append((f"as_uint({each.text})", each))
            continue
        for shift in (0, 32) if name in ("long", "ulong") else (0,):
            def bits(work: Work, each: Expr = each, shift: int = shift) -> np.ndarray:
                return (each.value(work).astype(np.uint64) >> np.uint64(shift)).astype(np.uint32)

            found.append((f"(uint)((ulong){each.text} >> {shift})" if shift else f"(uint){each.text}",
                          Expr("uint", "", bits)))
    return found


def _variables(writer: Expressions, phases: Phases, inputs: np.ndarray) -> list[Statement]:
    """Declarations of the work-item's own variables."""
    rng = writer.rng
    statements = []
    for number, kind in enumerate(["uint", "uint", "int", "float", *rng.sample(_WIDE, rng.randrange(1, 4))]):
        name = f"v{number}"
        first = Expr("uint", "in_words[at]", lambda work: inputs) if number == 0 else writer.of(kind, 2)
        if kind == "float":
            first = Expr("float", "convert_float(v0 & 1023)", lambda work: (
                work.variables["v0"] & np.uint32(1023)).astype(np.float32))
        statements.append(assign(kind, name, first, declare=True))
        phases.know(variable(kind, name))
    return statements


def _source(kernel: RandomKernel, helpers: list[str], phases: Phases, body: Statement, texts: list[str]) -> str:
    identity = "const int l = get_local_id(0), lanes = get_local_size(0);"
    if len(kernel.local) == 2:
        identity = ("const int l = get_local_id(1) * get_local_size(0) + get_local_id(0), "
                    "lanes = get_local_size(0) * get_local_size(1);")
    parameters = ["__global const uint *in_words", "__global const float *in_floats", "__global uint *out_words",
                  "int turns", *["__local uint *passed"] * bool(kernel.passed)]
    return "\n".join([
        f"/* seed {kernel.seed} */", *phases.types,
        *(f"{kind} times{number}({kind} left, {kind} right) {{ return left * right; }}"
          for kind, number in (("float", ""), ("float2", 2), ("float4", 4), ("float8", 8))),
        *helpers, *phases.functions, f"__kernel void {kernel.name}({', '.join(parameters)})",
        "{", *(f"    {line}" for line in phases.locals), f"    {identity}",
        "    const int at = get_group_id(0) * lanes + l, items = get_num_groups(0) * lanes;",
        *(f"    {line}" for line in body.lines),
        *(f"    out_words[at * {len(texts)} + {place}] = {text};" for place, text in enumerate(texts)), "}", "",
    ])


def random_kernel(seed: int) -> RandomKernel:
    """The kernel of a seed, with its inputs and results.

    More than half have several groups, helper functions and a loop around a barrier.
    """
    rng = random.Random(seed)
    rich = rng.random() < 0.55
    local = rng.choice(((4,), (8,), (16,), (3,), (5,), (7,), (12,), (4, 2), (2, 3), (4, 4)))
    groups = rng.randrange(2, 5) if rich else 1
    lanes, items = int(np.prod(local)), groups * int(np.prod(local))
    turns = rng.randrange(1, 7)
    inputs = np.array([rng.getrandbits(rng.choice((32, 16, 6))) for _ in range(items)], np.uint32)
    ranges = (lambda: rng.choice(EDGES), lambda: rng.uniform(-10, 10),
              lambda: rng.uniform(-1, 1) * 10 ** rng.randrange(-9, 9))
    floats = np.array([rng.choice(ranges)() for _ in range(items)], np.float32)
    writer = Expressions(rng)
    # Each kernel has some of what there is, so that a fault does not hide the others.
    writer.modes, macros, calls = (rng.random() < often for often in (0.3, 0.3, 0.5))
    constants = {
        "l": lambda work: work.local.astype(np.int32), "lanes": lambda work: np.int32(lanes),
        "at": lambda work: np.arange(items).astype(np.int32), "items": lambda work: np.int32(items),
        "turns": lambda work: np.int32(turns),
    }
    writer.variables = {"int": [Expr("int", name, value) for name, value in constants.items()], "uint": []}
    options = _macros(writer) if macros else ""
    helpers = _helpers(writer) if rich or rng.random() < 0.3 else []
    phases = Phases(writer, lanes, turns)
    body = sequence([*_variables(writer, phases, inputs), *phases.of_kernel(loops=1 if rich else 0)])
    words = [each for one in phases.own for each in _words(one)]
    mathematics = _mathematics(rng, floats, "\n".join(helpers)) if calls else []
    kernel = RandomKernel(seed, "", options, rng.choice(("run", "k", "kernel_main", "main_", "compute", "scan")), local,
                          groups, turns, 4 * phases.passed, inputs, floats)
    kernel.source = _source(kernel, helpers, phases, body, [text for text, _ in [*words, *mathematics]])
    work = Work(groups, lanes, np.ones(items, bool))
    with np.errstate(all="ignore"):
        for declare in phases.declarations:
            declare(work)
        body.run(work)
        for text, one in words:
            value = np.broadcast_to(one.value(work), (items,))
            exact = value.dtype == np.float32
            kernel.slots.append(Slot(value.astype(np.float64), BITS, text) if exact else Slot(value, None, text))
    kernel.slots += [slot for _, slot in mathematics]
    return kernel
