"""Random expressions of OpenCL C without side effects and without undefined behaviour."""

import operator
import random
from collections.abc import Callable, Sequence

import numpy as np

from tests.riscv_kernels.opencl.fuzz.functions import INTEGER, by_element, unsigned
from tests.riscv_kernels.opencl.fuzz.values import (
    DTYPES,
    INTEGERS,
    Expr,
    Work,
    call,
    cast,
    convert,
    element,
    kind_of,
    limits,
    literal,
    width,
)

__all__ = ["Expressions", "binary", "compare", "variable"]

_ARITHMETIC: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
}
_COMPARISONS = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt}
_MODES = ("", "rte", "rtz", "rtp", "rtn")


def variable(kind: str, name: str) -> Expr:
    return Expr(kind, name, lambda work: work.variables[name])


def binary(sign: str, a: Expr, b: Expr) -> Expr:
    """Of two integers of one kind; it is calculated without a sign, since an overflow is undefined with one."""
    name = element(a.kind)
    wide = kind_of("ulong" if name in ("long", "ulong") else "uint", width(a.kind))
    function, dtype, inner = _ARITHMETIC[sign], DTYPES[name], DTYPES[element(wide)]

    def value(work: Work) -> np.ndarray:
        return function(a.value(work).astype(inner), b.value(work).astype(inner)).astype(dtype)

    if width(a.kind) == 1:
        return Expr(a.kind, f"({a.kind})(({wide}){a.text} {sign} ({wide}){b.text})", value)
    if name.startswith("u"):
        return Expr(a.kind, f"({a.text} {sign} {b.text})", value)
    same = kind_of(unsigned(name), width(a.kind))
    return Expr(a.kind, f"as_{a.kind}(as_{same}({a.text}) {sign} as_{same}({b.text}))", value)


def compare(sign: str, a: Expr, b: Expr) -> Expr:
    """0 or 1."""
    function = _COMPARISONS[sign]
    return Expr("int", f"({a.text} {sign} {b.text})",
                lambda work: function(a.value(work), b.value(work)).astype(np.int32))


class Expressions:
    """Writes expressions over what :attr:`variables` are known."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        #: Whether conversions name a rounding mode.
        self.modes = True
        self.variables: dict[str, list[Expr]] = {}
        #: Functions of the source: kind of the result, kinds of the arguments, and how to call it.
        self.helpers: list[tuple[str, tuple[str, ...], Callable[..., Expr]]] = []

    def constant(self, kind: str) -> Expr:
        if element(kind) == "float":
            number = self.rng.choice((0.5, 1.0, 2.0, -1.5, 0.25, 3.0, 7.0))
            text = f"{number}f" if width(kind) == 1 else f"({kind})({number}f)"
            return Expr(kind, text, lambda work: np.float32(number))
        low, high = limits(element(kind))
        near = [low, high, high - 1, 0, 1, 2, 3, self.rng.randint(low, high), self.rng.randint(0, 100)]
        return literal(kind, self.rng.choice(near))

    def atom(self, kind: str) -> Expr:
        known = self.variables.get(kind, [])
        if known and self.rng.random() < 0.8:
            return self.rng.choice(known)
        return self.constant(kind)

    def of(self, kind: str, depth: int = 2) -> Expr:
        """An expression of ``kind``."""
        if depth == 0:
            return self.atom(kind)
        ways: list[Callable[[str, int], Expr]] = [self._select]
        name, count = element(kind), width(kind)
        if name == "float":
            ways += [self._float_sum] * 3 + ([self._float_of_integer] * 2 if count == 1 else [])
        else:
            ways += [self._binary] * 3 + [self._integer_function] * 2
            if count == 1:
                ways += [self._shifted, self._divided, self._converted, self._converted, self._cast]
        if count > 1:
            ways += [self._made]
        else:
            ways += [self._component]
        ways += [self._helped] * (2 if any(each[0] == kind for each in self.helpers) else 0)
        return self.rng.choice(ways)(kind, depth - 1)

    def condition(self, depth: int = 1) -> Expr:
        kind = self.rng.choice([kind for kind in self.variables if width(kind) == 1])
        first = compare(self.rng.choice(tuple(_COMPARISONS)), self.of(kind, depth), self.of(kind, 0))
        if self.rng.random() < 0.25:
            sign, other = self.rng.choice(("&&", "||")), compare("<", self.of("uint", 0), self.of("uint", 0))
            function = np.logical_and if sign == "&&" else np.logical_or
            return Expr("int", f"({first.text} {sign} {other.text})",
                        lambda work: function(first.value(work), other.value(work)).astype(np.int32))
        return first

    def _binary(self, kind: str, depth: int) -> Expr:
        return binary(self.rng.choice(tuple(_ARITHMETIC)), self.of(kind, depth), self.of(kind, 0))

    def _float_sum(self, kind: str, depth: int) -> Expr:
        """Products are a function's, so that none is fused with a sum."""
        a, b = self.of(kind, depth), self.of(kind, 0)
        sign = self.rng.choice("+-*")
        if sign == "*":
            return call("times" if width(kind) == 1 else f"times{width(kind)}", kind, np.multiply, a, b)
        function = np.add if sign == "+" else np.subtract
        return Expr(kind, f"({a.text} {sign} {b.text})", lambda work: function(a.value(work), b.value(work)))

    def _float_of_integer(self, kind: str, depth: int) -> Expr:
        name = self.rng.choice(("int", "uint", "short", "uchar", "ulong", "long"))
        mode = self._mode()
        return self._conversion("float", self.of(name, depth), mode, saturate=False)

    def _mode(self) -> str:
        return self.rng.choice(_MODES) if self.modes else ""

    def _conversion(self, to: str, one: Expr, mode: str, *, saturate: bool) -> Expr:
        name = f"convert_{to}{'_sat' * saturate}{'_' * bool(mode)}{mode}"
        result = kind_of(to, width(one.kind))
        return Expr(result, f"{name if width(one.kind) == 1 else name.replace(to, result, 1)}({one.text})",
                    lambda work: convert(one.value(work), to, mode, saturate))

    def _converted(self, kind: str, depth: int) -> Expr:
        """From an integer of any kind, or a float; without _sat only what fits."""
        source, mode = self.rng.choice((*INTEGERS, "float")), self._mode()
        one = self.of(source, depth)
        fits = source != "float" and limits(kind)[0] <= limits(source)[0] and limits(source)[1] <= limits(kind)[1]
        return self._conversion(kind, one, mode, saturate=not fits or self.rng.random() < 0.3)

    def _cast(self, kind: str, depth: int) -> Expr:
        return cast(kind, self.of(self.rng.choice(INTEGERS), depth))

    def _integer_function(self, kind: str, depth: int) -> Expr:
        name = element(kind)
        known = [each for each, (_, changed, _) in INTEGER.items()
                 if (name.startswith("u") or not changed) and not (name.endswith("long") and each.endswith("hi"))]
        function = self.rng.choice(known)
        count, changed, meaning = INTEGER[function]
        source = kind
        if changed and self.rng.random() < 0.5:
            source = kind_of(name[1:], width(kind))
        arguments = [self.of(source, depth if place == 0 else 0) for place in range(count)]
        of = element(source)

        def value(work: Work) -> np.ndarray:
            values = [each.value(work) for each in arguments]
            return by_element(lambda *numbers: meaning(of, *numbers), name, *values)

        return Expr(kind, f"{function}({', '.join(self._typed(each) for each in arguments)})", value)

    def _typed(self, one: Expr) -> str:
        """The text with its type: of small types, arithmetic and literals are int."""
        return f"({one.kind})({one.text})" if width(one.kind) == 1 else one.text

    def _shifted(self, kind: str, depth: int) -> Expr:
        one, count = self.of(kind, depth), self.rng.randrange(8 * DTYPES[kind]().itemsize)
        if self.rng.random() < 0.5:
            return Expr(kind, f"({kind})({one.text} >> {count})", lambda work: one.value(work) >> DTYPES[kind](count))
        same = unsigned(kind)
        return Expr(kind, f"({kind})(({same}){one.text} << {count})",
                    lambda work: (one.value(work).astype(DTYPES[same]) << DTYPES[same](count)).astype(DTYPES[kind]))

    def _divided(self, kind: str, depth: int) -> Expr:
        """By what is neither 0 nor -1; C rounds towards zero."""
        one, other = self.of(kind, depth), self.of(kind, 0)
        sign = self.rng.choice("/%")
        positive = f"(({other.text} & 63) + 2)"

        def divide(a: int, b: int) -> int:
            b = (b & 63) + 2
            quotient = abs(a) // b * (1 if a >= 0 else -1)
            return quotient if sign == "/" else a - quotient * b

        return Expr(kind, f"({kind})({one.text} {sign} {positive})",
                    lambda work: by_element(divide, kind, one.value(work), other.value(work)))

    def _select(self, kind: str, depth: int) -> Expr:
        a, b = self.of(kind, depth), self.of(kind, 0)
        if width(kind) > 1:
            name = element(kind)
            mask = kind_of({1: "char", 2: "short", 4: "int", 8: "long"}[DTYPES[name]().itemsize], width(kind))
            c, d = self.of(mask, 0), self.of(mask, 0)

            def chosen(work: Work) -> np.ndarray:
                return np.where(c.value(work) < d.value(work), b.value(work), a.value(work))

            return Expr(kind, f"select({a.text}, {b.text}, {c.text} < {d.text})", chosen)
        c = self.condition(0)
        return Expr(kind, f"({c.text} ? {self._typed(a)} : {self._typed(b)})",
                    lambda work: np.where(c.value(work) != 0, a.value(work), b.value(work)))

    def _made(self, kind: str, depth: int) -> Expr:
        """A vector of scalars, or what is left of one in another order."""
        known = self.variables.get(kind, [])
        if known and width(kind) <= 4 and self.rng.random() < 0.6:
            one, order = self.rng.choice(known), [self.rng.randrange(width(kind)) for _ in range(width(kind))]
            return Expr(kind, f"{one.text}.{''.join('xyzw'[each] for each in order)}",
                        lambda work: one.value(work)[:, order])
        name = element(kind)
        parts = [self.of(name, 0) for _ in range(width(kind))]

        def value(work: Work) -> np.ndarray:
            return np.stack([np.broadcast_to(each.value(work), (work.items,)) for each in parts], 1)

        return Expr(kind, f"({kind})({', '.join(self._typed(each) for each in parts)})", value)

    def _component(self, kind: str, depth: int) -> Expr:
        wide = [each for known, all_of in self.variables.items() if element(known) == kind and width(known) > 1
                for each in all_of]
        if not wide:
            return self.atom(kind)
        one = self.rng.choice(wide)
        place = self.rng.randrange(width(one.kind))
        return Expr(kind, f"{one.text}.s{place:x}", lambda work: one.value(work)[:, place])

    def _helped(self, kind: str, depth: int) -> Expr:
        _, kinds, make = self.rng.choice([each for each in self.helpers if each[0] == kind])
        return make(*(self.of(each, depth if place == 0 else 0) for place, each in enumerate(kinds)))

    def sequence(self, kinds: Sequence[str], depth: int) -> list[Expr]:
        return [self.of(kind, depth) for kind in kinds]
