"""Values of OpenCL C in numpy, one row a work-item: the reading of a kernel that no compiler takes part in.

A kind is the name of a type: ``uint``, ``float4``. A scalar is an array (items,), a vector (items, width).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

__all__ = ["DTYPES", "FLOATS", "INTEGERS", "Expr", "Memory", "Work", "call", "cast", "convert", "element", "kind_of",
           "limits", "literal", "width"]

DTYPES = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32, "uint": np.uint32,
    "long": np.int64, "ulong": np.uint64, "float": np.float32,
}
INTEGERS = tuple(DTYPES)[:-1]
FLOATS = ("float",)


def element(kind: str) -> str:
    return re.match("[a-z]+", kind)[0]


def width(kind: str) -> int:
    """1 for a scalar."""
    return int(re.search(r"\d*$", kind)[0] or 1)


def kind_of(name: str, count: int) -> str:
    return name if count == 1 else f"{name}{count}"


def limits(name: str) -> tuple[int, int]:
    about = np.iinfo(DTYPES[name])
    return int(about.min), int(about.max)


@dataclass
class Memory:
    """Local or private memory: an array of ``kind`` for each group, or for each work-item. No two may race."""

    kind: str
    cells: np.ndarray
    shared: bool
    #: Who has stored to a cell since the last barrier, and who has loaded it: -1 nobody, -2 several.
    writer: np.ndarray = field(init=False)
    reader: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.wait()

    def wait(self) -> None:
        self.writer = np.full(self.cells.shape[:2], -1)
        self.reader = np.full(self.cells.shape[:2], -1)


@dataclass
class Work:
    """All work-items of a launch in one step; each group has ``size`` of them."""

    groups: int
    size: int
    active: np.ndarray
    variables: dict[str, np.ndarray] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)

    @property
    def items(self) -> int:
        return self.groups * self.size

    @property
    def local(self) -> np.ndarray:
        return np.arange(self.items) % self.size

    @property
    def group(self) -> np.ndarray:
        return np.arange(self.items) // self.size

    def set(self, name: str, kind: str, value: np.ndarray) -> None:
        shape = (self.items,) if width(kind) == 1 else (self.items, width(kind))
        old = self.variables.setdefault(name, np.zeros(shape, DTYPES[element(kind)]))
        old[self.active] = np.broadcast_to(value, shape)[self.active]

    def _places(self, memory: Memory, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        index = np.broadcast_to(index, (self.items,)).astype(np.int64)
        inside = (index >= 0) & (index < memory.cells.shape[1])
        assert inside[self.active].all(), "the kernel reaches beyond an array"
        return (self.group if memory.shared else np.arange(self.items)), np.where(inside, index, 0)

    def load(self, name: str, index: np.ndarray) -> np.ndarray:
        memory = self.memories[name]
        rows, places = self._places(memory, index)
        if memory.shared:
            for item in np.flatnonzero(self.active):
                at = rows[item], places[item]
                assert memory.writer[at] in (-1, item), f"{name}: a load races with a store"
                memory.reader[at] = item if memory.reader[at] in (-1, item) else -2
        return memory.cells[rows, places]

    def store(self, name: str, index: np.ndarray, value: np.ndarray) -> None:
        memory = self.memories[name]
        rows, places = self._places(memory, index)
        value = np.broadcast_to(value, (self.items, *memory.cells.shape[2:]))
        for item in np.flatnonzero(self.active):
            at = rows[item], places[item]
            if memory.shared:
                same = memory.writer[at] in (-1, item) or np.array_equal(memory.cells[at], value[item])
                assert same and memory.reader[at] in (-1, item), f"{name}: a store races"
                memory.writer[at] = item
            memory.cells[at] = value[item]

    def wait(self) -> None:
        active = self.active.reshape(self.groups, self.size)
        assert (active.all(1) | ~active.any(1)).all(), "a barrier that not all work-items of a group reach"
        for memory in self.memories.values():
            if memory.shared:
                memory.wait()


@dataclass(frozen=True)
class Expr:
    """Text in OpenCL C and what it is worth."""

    kind: str
    text: str
    value: Callable[[Work], np.ndarray]


def literal(kind: str, number: int) -> Expr:
    name = element(kind)
    suffix = {"uint": "u", "long": "l", "ulong": "ul"}.get(name, "")
    if number == limits(name)[0] < -1000000:
        text = f"(-{-number - 1}{suffix} - 1)"
    else:
        text = f"{number}{suffix}" if number >= 0 else f"({number}{suffix})"
    if name not in ("int", "uint", "long", "ulong") or width(kind) > 1:
        text = f"({kind})({text})"
    return Expr(kind, text, lambda work: DTYPES[name](number))


def call(name: str, kind: str, function: Callable[..., np.ndarray], *arguments: Expr) -> Expr:
    """A built-in function, or one whose meaning is ``function``."""
    return Expr(kind, f"{name}({', '.join(each.text for each in arguments)})",
                lambda work: function(*(each.value(work) for each in arguments)))


def cast(kind: str, one: Expr) -> Expr:
    """A C cast between integers."""
    return Expr(kind, f"({kind})({one.text})", lambda work: one.value(work).astype(DTYPES[kind]))


def _rounded(value: Fraction, mode: str) -> int:
    low = value.numerator // value.denominator
    if mode == "rtn":
        return low
    if mode == "rtp":
        return -(-value.numerator // value.denominator)
    if mode == "rtz":
        return low if value >= 0 else -(-value.numerator // value.denominator)
    return round(value)


def _to_float(number: int, mode: str) -> np.float32:
    """An integer as a float: the next one on the side that the mode names."""
    shift = max(abs(number).bit_length() - 24, 0)
    return np.float32(float(_rounded(Fraction(number, 1 << shift), mode) << shift))


def convert(value: np.ndarray, to: str, mode: str, saturate: bool) -> np.ndarray:
    """``convert_`` of section 6.2.3 to a scalar kind, or to a vector of it. Without ``saturate`` values have to fit."""
    result = np.empty(value.shape, DTYPES[to])
    integer = value.dtype.kind in "iu"
    for place, one in np.ndenumerate(value):
        if to == "float":
            result[place] = _to_float(int(one), mode or "rte") if integer else one
            continue
        low, high = limits(to)
        if not integer and not np.isfinite(one):
            number = 0 if np.isnan(one) else (high + 1 if one > 0 else low - 1)
        else:
            number = _rounded(Fraction(int(one) if integer else float(one)), mode or "rtz")
        # Those of work-items that are not active need not fit.
        result[place] = min(max(number, low), high) if saturate else (number - low) % (high - low + 1) + low
    return result
