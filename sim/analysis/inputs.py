"""What of a launch may vary, and between which bounds: the contents of its buffers, files, arguments and variables."""

from __future__ import annotations

import dataclasses
import itertools
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metronome.sim.kernel import Launch

from .lanes import TOP

__all__ = ["ARGUMENTS", "Inputs", "Range", "RangeError", "require_apart", "resolve"]

_WORD = 4
_SIGN = 1 << 31
#: The name of the argument block.
ARGUMENTS = "arg"


class RangeError(Exception):
    """A range that the program has no place for; one line."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """The words of [``first``, ``end``) hold numbers from ``low`` to ``high``, both included; ``text``: as written.

    ``real``: they are float32, and so are the two; else 32-bit integers, with a sign if ``low`` has one.
    """

    text: str
    first: int
    end: int
    low: float
    high: float
    real: bool = False

    def _ends(self) -> tuple[int, int]:
        """The least and the greatest place in the order of the numbers."""
        if not self.real:
            return int(self.low), int(self.high)
        words = np.array([struct.unpack("<I", struct.pack("<f", each))[0] for each in (self.low, self.high)])
        low, high = self._ordered(words).tolist()
        return low, high

    def _ordered(self, words: np.ndarray) -> np.ndarray:
        """The places of words in the order of the numbers that they hold (int64)."""
        numbers = words.astype(np.int64)
        if self.real:
            # -0.0 comes before 0.0.
            return np.where(numbers >= _SIGN, _SIGN - 1 - numbers, numbers)
        return np.where(numbers >= _SIGN, numbers - TOP - 1, numbers) if self.low < 0 else numbers

    def _words(self, places: np.ndarray) -> np.ndarray:
        """The words at these places of the order."""
        if self.real:
            places = np.where(places < 0, _SIGN - 1 - places, places)
        return (places & TOP).astype(np.uint32)

    @property
    def interval(self) -> tuple[int, int]:
        """The least and the greatest word as unsigned numbers: all of them if both signs are there."""
        low, high = self._ends()
        if low < 0 <= high:
            return 0, TOP
        ends = sorted(self._words(np.array([low, high])).tolist())
        return ends[0], ends[1]

    def confine(self, words: np.ndarray) -> np.ndarray:
        """``words`` (uint32), those outside of the range moved into it, modulo its length."""
        low, high = self._ends()
        places = self._ordered(words)
        inside = (places >= low) & (places <= high)
        return self._words(np.where(inside, places, low + (places - low) % (high - low + 1)))

    @property
    def corners(self) -> tuple[int, int]:
        """The words of the least and the greatest number."""
        low, high = self._words(np.array(self._ends())).tolist()
        return low, high


@dataclass(frozen=True)
class Inputs:
    """What of ``launch`` may vary: buffers and files, which hold anything, but where ``ranges`` say otherwise.

    A range of words that are in none of them, in the argument block or of a variable, makes them vary.
    """

    launch: Launch
    ranges: Sequence[Range] = ()

    @property
    def places(self) -> dict[str, tuple[int, bytes]]:
        """Name -> (address, what is there in this launch)."""
        places = {name: place for name, place in (self.launch.buffers | self.launch.loads).items() if place[1]}
        areas = [(address, address + len(data)) for address, data in places.values()]
        for each in self.ranges:
            if not any(first <= each.first and each.end <= end for first, end in areas):
                places[each.text] = each.first, _contents(self.launch, each.first, each.end)
        return places

    @property
    def areas(self) -> list[tuple[int, int]]:
        """[first, end) of each place."""
        return [(address, address + len(data)) for address, data in self.places.values()]

    @property
    def own(self) -> dict[str, bytes]:
        """What the launch has there, moved into the ranges."""
        return {name: self.confined(name, data) for name, (_, data) in self.places.items()}

    def confined(self, name: str, data: bytes) -> bytes:
        """``data`` for the place ``name``, moved into the ranges."""
        address = self.places[name][0]
        changed = bytearray(data)
        for each in self.ranges:
            first, end = max(each.first, address), min(each.end, address + len(data))
            if first < end:
                words = np.frombuffer(data[first - address : end - address], "<u4")
                changed[first - address : end - address] = each.confine(words).astype("<u4").tobytes()
        return bytes(changed)

    def extreme(self, contents: Mapping[str, bytes], *, high: bool) -> dict[str, bytes]:
        """``contents`` by name, with the least, or greatest, number in all words that have a range."""
        changed = dict(contents)
        for name, (address, data) in self.places.items():
            filled = bytearray(contents[name])
            for each in self.ranges:
                first, end = max(each.first, address), min(each.end, address + len(data))
                if first < end:
                    word = each.corners[high].to_bytes(_WORD, "little")
                    filled[first - address : end - address] = word * ((end - first) // _WORD)
            changed[name] = bytes(filled)
        return changed

    def filled(self, contents: Mapping[str, bytes]) -> Launch:
        """The launch with these contents, by name; its check says nothing about them."""
        launch = self.launch

        def other(places: dict[str, tuple[int, bytes]]) -> dict[str, tuple[int, bytes]]:
            return {name: (address, contents.get(name, data)) for name, (address, data) in places.items()}

        buffers, loads, arguments = other(launch.buffers), other(launch.loads), bytearray(launch.arguments)
        for name, (address, data) in self.places.items():
            if name in buffers or name in loads:
                continue
            data = contents.get(name, data)
            offset = address - launch.argument_address
            if 0 <= offset < len(arguments):
                arguments[offset : offset + len(data)] = data
            else:
                loads[name] = address, data
        return dataclasses.replace(
            launch, buffers=buffers, loads=loads, arguments=bytes(arguments), check=lambda memory: []
        )


def _contents(launch: Launch, first: int, end: int) -> bytes:
    """What is in memory at the start, of the argument block or of a segment."""
    offset = first - launch.argument_address
    if 0 <= offset < len(launch.arguments):
        return launch.arguments[offset : offset + end - first]
    for segment in launch.image.segments:
        if segment.address <= first and end <= segment.end:
            data = segment.data[first - segment.address : end - segment.address]
            return data + bytes(end - first - len(data))
    return bytes(end - first)


def resolve(
    launch: Launch, text: str, name: str, words: tuple[int, int] | None, ends: tuple[float, float], *, real: bool
) -> Range:
    """The range that says of ``name``, or of its ``words`` from the first to the last, that they are in ``ends``.

    Raises
    ------
    RangeError
        If there is no such place, or if an argument is not in its range.
    """
    places = {name: (address, len(data)) for name, (address, data) in (launch.buffers | launch.loads).items()}
    places.setdefault(ARGUMENTS, (launch.argument_address, len(launch.arguments)))
    place = places.get(name) or launch.image.symbols.get(name)
    if place is None:
        at = next((each for each in places.values() if name.isalnum() and _number(name) == each[0]), None)
        if at is None:
            raise RangeError(f"no buffer or variable is named {name!r}; there are {', '.join(sorted(places))}")
        place = at
    address, size = place
    first, last = (0, size // _WORD - 1) if words is None else words
    if last < first or (last + 1) * _WORD > size:
        raise RangeError(f"{name} has {size // _WORD} words, numbered from 0")
    if address % _WORD:
        raise RangeError(f"{name} does not begin at a word, but at {address:#x}")
    found = Range(
        text=text, first=address + first * _WORD, end=address + (last + 1) * _WORD, low=ends[0], high=ends[1], real=real
    )
    if launch.argument_address <= found.first < launch.argument_address + len(launch.arguments):
        own = np.frombuffer(_contents(launch, found.first, found.end), "<u4")
        if bool((found.confine(own) != own).any()):
            raise RangeError(f"the argument is {', '.join(map(str, own.tolist()))} in this launch: not in the range")
    return found


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def require_apart(ranges: Iterable[Range]) -> None:
    """Raise RangeError if two ranges are of the same word."""
    ordered = sorted(ranges, key=lambda each: each.first)
    for before, after in itertools.pairwise(ordered):
        if after.first < before.end:
            raise RangeError(f"{before.text} and {after.text} are of the same words")
