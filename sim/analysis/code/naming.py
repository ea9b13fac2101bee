"""Ranges given by name: of buffers, files, the argument block, and variables with their types."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass

import numpy as np

from ...program.kernel_names import KERNELS
from ...program.kernels import Launch
from ...program.variables import ElementType, element_types
from .inputs import Range, RangeError, contents_of

__all__ = ["ARGUMENTS", "range_of"]

_WORD = 4
#: The name of the argument block.
ARGUMENTS = "arg"
#: Numbers from here on round to infinity in float32: half a unit above its greatest number.
_LARGEST = (2 - 2**-24) * 2.0**127


@dataclass(frozen=True)
class _Place:
    """A named place: ``size`` bytes at ``address``, of a ``type`` if known; ``late``: whether it is a variable."""

    address: int
    size: int
    type: ElementType | None = None
    late: bool = False


def range_of(launch: Launch, text: str, name: str, words: tuple[int, int] | None, ends: tuple[str, str]) -> Range:
    """Return the range between two ``ends`` for ``name``, or for its numbers ``words`` from first to last.

    Raises
    ------
    RangeError
        If there is no such place, its type has no such numbers, or an argument is outside its range.
    """
    place = _place(launch, name)
    if place.type is not None and place.type.fixed:
        raise RangeError(
            f"{name} is {place.type.fixed} and not volatile: the compiler may have used its initial value, so a "
            "bound might not hold for the range: declare it volatile"
        )
    size = _size(place, name, whole=words is None)
    count = place.size // size
    first, last = (0, count - 1) if words is None else words
    if last < first or last >= count:
        raise RangeError(f"{name} has {count} {'words' if size == _WORD else 'numbers'}, numbered from 0")
    if place.address % size:
        raise RangeError(f"{name} begins at {place.address:#x}, which is not the address of a word")
    typed = place.type if place.type is not None and place.type.bytes == size else None
    low, high, real, signed = _numbers(name, typed, ends, size)
    # All buffers of our kernels have elements of one type; others may mix them.
    if real and launch.dtype == "int32" and name in launch.buffers and launch.name in KERNELS:
        raise RangeError(f"{name} has int32 elements: write integers, not {ends[0]}..{ends[1]}")
    # -0.0 comes before 0.0.
    if low > high or (real and (low, math.copysign(1, low)) > (high, math.copysign(1, high))):
        raise RangeError(f"{ends[0]} is above {ends[1]}: write {ends[1]}..{ends[0]}")
    found = Range(
        text=text, first=place.address + first * size, end=place.address + (last + 1) * size, low=low, high=high,
        real=real, size=size, signed=signed, late=place.late, undescribed=place.late and place.type is None,
    )
    if launch.argument_address <= found.first < launch.argument_address + len(launch.arguments):
        own = np.frombuffer(contents_of(launch, found.first, found.end), "<u4")
        if bool((found.confine(own) != own).any()):
            raise RangeError(f"the argument of this launch is {', '.join(map(str, own.tolist()))}, which is outside "
                             "the range")
    return found


def _place(launch: Launch, name: str) -> _Place:
    image = launch.image
    places = {name: (address, len(data)) for name, (address, data) in (launch.buffers | launch.loads).items()}
    places.setdefault(ARGUMENTS, (launch.argument_address, len(launch.arguments)))
    if name in places:
        return _Place(*places[name])
    if name in image.symbols:
        if any(name == function for _, _, function in image.functions):
            raise RangeError(f"{name} is a function")
        several = image.places_of(name)
        if len(several) > 1:
            there = " and ".join(f"{address:#x}" for address, _ in several)
            raise RangeError(f"the program has several variables named {name}, at {there}: give them different names")
        address, size = image.symbols[name]
        if not any(segment.address <= address and address + size <= segment.end for segment in image.segments):
            raise RangeError(f"{name} is not in loaded memory: a __local object cannot have a range")
        return _Place(address, size, element_types(image.content).get(address), late=True)
    at = next((each for each in places.values() if name.isalnum() and _number(name) == each[0]), None)
    if at is None:
        raise RangeError(_unknown(launch, name, sorted(places)))
    return _Place(*at)


def _unknown(launch: Launch, name: str, places: list[str]) -> str:
    functions = {function for _, _, function in launch.image.functions}
    variables = [
        each for each, (_, size) in launch.image.symbols.items()
        if size and each not in functions and not each.startswith("__")
    ]
    # The name of a variable in a function is prefixed by the function's name.
    near = [each for each in variables if each.rpartition(".")[2] == name]
    near += [each for each in difflib.get_close_matches(name, [*places, *variables], 3, 0.5) if each not in near]
    names = f"similar names: {', '.join(near)}" if near else f"names: {', '.join([*places, *sorted(variables)[:8]])}"
    return (
        f"no buffer or variable is named {name!r}; {names} (if the compiler has replaced it by a constant, declare "
        "it volatile)"
    )


def _size(place: _Place, name: str, *, whole: bool) -> int:
    """Return the number of bytes of each number."""
    kind = place.type
    if kind is None:
        return place.size if place.size in (1, 2) else _WORD
    if (kind.kind == "float" and kind.bytes == _WORD) or (kind.kind in ("signed", "unsigned") and kind.bytes <= _WORD):
        return kind.bytes
    if whole:
        raise RangeError(
            f"{name} is {kind.name}, of {kind.bytes} bytes: give the range of one of its 32-bit words, such as "
            f"{name}[0]"
        )
    return _WORD


def _numbers(name: str, kind: ElementType | None, ends: tuple[str, str], size: int) -> tuple[float, float, bool, bool]:
    """Return the ends, whether they are float32, and whether they are signed integers."""
    hexadecimal = any("x" in each.lower() for each in ends)
    point = not hexadecimal and any(not each.lstrip("+-").isdigit() for each in ends)
    if hexadecimal and any("." in each for each in ends):
        raise RangeError("both numbers must be float32, or both integers")
    if kind is not None and kind.kind != "float" and point:
        raise RangeError(f"{name} is {kind.name}: its range must consist of integers")
    if point or (kind is not None and kind.kind == "float" and not hexadecimal):
        low, high = (float(each) for each in ends)
        if not all(math.isfinite(each) and abs(each) < _LARGEST for each in (low, high)):
            raise RangeError("both numbers must be finite float32")
        return low, high, True, False
    low, high = (int(each, 0) if "x" in each.lower() else int(each) for each in ends)
    top, least = (1 << 8 * size) - 1, -(1 << 8 * size - 1)
    if kind is None or kind.kind == "float" or (low, high) == (0, top):
        # The ends as written decide on the sign. For any type, the full range may be written without a sign.
        if not (0 <= low <= top and 0 <= high <= top) and not (least <= low < -least and least <= high < -least):
            raise RangeError(f"both numbers must be {8 * size}-bit integers, both signed or both unsigned")
        return low, high, False, min(low, high) < 0
    signed = kind.kind == "signed"
    first, last = (least, -least - 1) if signed else (0, top)
    if not (first <= low <= last and first <= high <= last):
        raise RangeError(f"{name} is {kind.name}: its range must lie in {first} to {last}")
    return low, high, False, signed


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None
