"""Common code for the host side of all kernels: buffers in memory, comparing results, fused multiply-add in numpy."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from metronome.hdl.config import MemoryMap, SmConfig

__all__ = ["ARGUMENT_BYTES", "Buffers", "KernelError", "Problem", "ReadMemory", "Reader", "compare", "compare_close",
           "fma32", "random_values", "require_size", "value_word"]

#: ``read(address, count) -> bytes``
ReadMemory = Callable[[int, int], bytes]

#: The space for the argument block, before the buffers.
ARGUMENT_BYTES = 0x1000
_ALIGNMENT = 64
#: One memory line after each buffer stays zero, to detect a kernel that writes past the end.
_GUARD_BYTES = 64
_MOST_MESSAGES = 8
#: The initial value of an output: as a float a NaN, as an integer a value that is unlikely to occur by chance.
UNWRITTEN = 0xFFA5A5A5

_FLOAT_BITS = struct.Struct("<f")
#: The types of a buffer's elements.
_WORDS = (np.dtype(np.int32), np.dtype(np.uint32), np.dtype(np.float32))


class KernelError(ValueError):
    """A kernel, type or size that cannot be run; the message has one line."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One input of a kernel and the check of its output."""

    #: The argument block, at the user area's start.
    arguments: bytes
    #: name -> (address, initial bytes)
    buffers: dict[str, tuple[int, bytes]]
    #: Returns the mismatches after the run, one line each; an empty list means that the kernel passed.
    check: Callable[[ReadMemory], list[str]]


def _require_words(what: str, values: object) -> None:
    """Raise TypeError unless ``values`` is an array of 32-bit elements; others would not be stored as intended."""
    if not isinstance(values, np.ndarray):
        raise TypeError(f"{what} must be a numpy array, not {type(values).__name__}")
    if values.dtype not in _WORDS:
        names = ", ".join(each.name for each in _WORDS)
        raise TypeError(f"{what} must have elements of one of {names}, not {values.dtype}: use astype")


@dataclass(frozen=True, kw_only=True)
class Reader:
    """The ``read`` function of a check: it refuses addresses outside memory, and knows the buffers."""

    read: ReadMemory
    memory_map: MemoryMap
    #: As in a :class:`Problem`.
    buffers: dict[str, tuple[int, bytes]]

    def __call__(self, address: int, count: int) -> bytes:
        """Return ``count`` bytes from ``address``.

        Raises
        ------
        TypeError, ValueError
            If an argument is not a whole number, the count is negative, or a byte is outside memory.
        """
        for what, value in (("address", address), ("count", count)):
            if not hasattr(value, "__index__"):
                raise TypeError(f"{what} of read must be a whole number, not {value!r}")
        first, size = operator.index(address), operator.index(count)
        if size < 0:
            raise ValueError(f"count of read must be at least 0, not {size}")
        low, end = self.memory_map.first, self.memory_map.end
        if not low <= first <= first + size <= end:
            memory = f"memory, which is {low:#x} to {end - 1:#010x}"
            raise ValueError(f"{size} bytes from {first:#x} are not all in {memory}")
        return self.read(first, size)

    def require_whole(self, name: str, address: int, size: int) -> None:
        """Raise ValueError if ``address`` is in a buffer that does not end ``size`` bytes later."""
        for buffer, (first, data) in self.buffers.items():
            rest = first + len(data) - address
            if first <= address < first + len(data) and size != rest:
                raise ValueError(
                    f"the expected value of {name!r} has {size // 4} elements ({size} bytes), but buffer {buffer!r} "
                    "has "
                    f"{rest // 4} ({rest} bytes) from {address:#x}: both must have the same length"
                )


@dataclass
class Buffers:
    """Places a kernel's buffers one after the other, after the argument block."""

    config: SmConfig
    placed: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    _next: int = 0

    def __post_init__(self) -> None:
        self._next = self.config.memory_map.user + ARGUMENT_BYTES

    def place(self, name: str, values: np.ndarray) -> int:
        """Place ``values`` (any shape; int32, uint32 or float32) in memory and return the address.

        Raises
        ------
        TypeError
            For anything but an array of such elements.
        ValueError
            If a buffer of this name exists already.
        KernelError
            If the buffers would overlap the program.
        """
        _require_words(f"buffer {name!r}", values)
        if name in self.placed:
            raise ValueError(f"buffer {name!r} is placed twice: give each its own name")
        address, behind = self._next, self._behind(name, values.size)
        self.placed[name] = (address, np.ascontiguousarray(values).tobytes())
        self._next = behind
        return address

    def _behind(self, name: str, words: int) -> int:
        """Return the first address that the next buffer may use."""
        if words == 0:
            raise ValueError(f"buffer {name!r} has no elements")
        behind = self._next + -(-4 * words // _ALIGNMENT) * _ALIGNMENT + _GUARD_BYTES
        start = self.config.memory_map.start
        if behind > start:
            raise KernelError(
                f"buffer {name!r} of {4 * words} bytes does not fit below the program at {start:#x}: "
                f"there is room for {max(start - self._next - _GUARD_BYTES, 0)}"
            )
        return behind

    def place_output(self, name: str, shape: int | tuple[int, ...]) -> int:
        """Place a buffer for 32-bit results, filled with a pattern that is unlikely to be a result by chance."""
        sides = shape if isinstance(shape, tuple) else (shape,)
        if any(side < 0 for side in sides):
            raise ValueError(f"buffer {name!r}: {shape} is not a number of elements")
        self._behind(name, math.prod(sides))  # before the array is made: its size may be absurd
        return self.place(name, np.full(shape, UNWRITTEN, np.uint32))


def require_size(kernel: str, size: int, most: int) -> None:
    """Raise KernelError unless 1 <= size <= most."""
    if not 1 <= size <= most:
        raise KernelError(f"size of {kernel} must be between 1 and {most}, not {size}")


def value_word(value: int | float | np.generic, dtype: str) -> int:
    """Return one int32 or float32 value as a 32-bit word, for an argument block."""
    if dtype == "float32":
        return int.from_bytes(_FLOAT_BITS.pack(value), "little")
    return int(value) & 0xFFFF_FFFF


def random_values(rng: np.random.Generator, dtype: str, shape: int | tuple[int, ...]) -> np.ndarray:
    """Return random inputs: int32 over the full range; float32 of both signs over eight orders of magnitude."""
    if dtype == "int32":
        return rng.integers(-(1 << 31), 1 << 31, shape, np.int64).astype(np.int32)
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 5, shape)).astype(np.float32)


def _text(word: int, dtype: np.dtype) -> str:
    value = np.array(word, np.uint32).view(dtype)
    return f"{value} ({word:#010x})"


def compare(read: ReadMemory, name: str, address: int, expected: np.ndarray) -> list[str]:
    """Compare a buffer with ``expected`` bit by bit, and the guard line after it with zero.

    Returns at most eight lines that name the element (and a ninth with the number of further ones). Raises TypeError
    unless ``expected`` is an array of int32, uint32 or float32, and ValueError if the buffer has another length.
    """
    return _compare(read, name, address, expected, lambda words, wanted: words != wanted)


def compare_close(
    read: ReadMemory, name: str, address: int, expected: np.ndarray, relative: float = 1e-5, absolute: float = 0.0
) -> list[str]:
    """As :func:`compare`, for float32, with a tolerance of ``absolute`` plus ``relative`` times the expected value."""
    if expected.dtype != np.float32:
        raise TypeError(f"the expected value of {name!r} must have elements of float32, not {expected.dtype}: use "
                        "astype")

    def is_wrong(words: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        return ~np.isclose(words.view(np.float32), wanted.view(np.float32), relative, absolute, equal_nan=True)

    return _compare(read, name, address, expected, is_wrong)


def _compare(
    read: ReadMemory, name: str, address: int, expected: np.ndarray,
    is_wrong: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> list[str]:
    _require_words(f"the expected value of {name!r}", expected)
    if isinstance(read, Reader):
        read.require_whole(name, address, expected.nbytes)
    words = np.frombuffer(read(address, expected.nbytes), np.uint32)
    wanted = np.ascontiguousarray(expected).reshape(-1).view(np.uint32)
    wrong = np.flatnonzero(is_wrong(words, wanted))
    messages = []
    for flat in wrong[:_MOST_MESSAGES].tolist():
        index = ", ".join(str(int(part)) for part in np.unravel_index(flat, expected.shape))
        got, want = _text(int(words[flat]), expected.dtype), _text(int(wanted[flat]), expected.dtype)
        messages.append(f"{name}[{index}] at {address + 4 * flat:#010x} is {got}, expected {want}")
    if len(wrong) > _MOST_MESSAGES:
        messages.append(f"{name}: {len(wrong) - _MOST_MESSAGES} more of {len(wanted)} differ")
    guard = address + -(-expected.nbytes // _ALIGNMENT) * _ALIGNMENT
    if any(read(guard, _GUARD_BYTES)):
        messages.append(f"{name}: the memory past its end, at {guard:#010x}, was written")
    return messages


def fma32(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Compute a * b + c of float32 arrays, rounded once to nearest even, like fmadd.s; no NaN, infinity or overflow.

    The product of two float32 is exact in float64. The sum is rounded to float64 *to odd* (Boldo and Melquiond,
    "Emulation of FMA and correctly rounded sums", 2008), after which rounding to float32 gives the correct result.
    """
    product = a.astype(np.float64) * b.astype(np.float64)
    addend = c.astype(np.float64)
    total = product + addend
    # The exact rounding error of the addition (Knuth's two-sum).
    virtual = total - product
    lost = (product - (total - virtual)) + (addend - virtual)
    even = (total.view(np.int64) & 1) == 0
    toward = np.where(lost > 0, np.inf, -np.inf)
    odd = np.where((lost != 0) & even, np.nextafter(total, toward), total)
    return odd.astype(np.float32)
