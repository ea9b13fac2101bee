"""Inputs of a launch that may vary, and their ranges: buffers, files, arguments and variables."""

from __future__ import annotations

import dataclasses
import itertools
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...program.kernels import Launch
from .numbers import Interval, from_integers, from_places

__all__ = ["Inputs", "Range", "RangeError", "contents_of", "initialised", "outside", "require_apart"]

_WORD = 4


class RangeError(Exception):
    """A range that does not fit the program. The message is one line."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """A range of inputs: the numbers in [``first``, ``end``) lie between ``low`` and ``high``, inclusive.

    - ``text``: the range as written. ``size``: the bytes of each number.
    - ``real``: the numbers and ends are float32; otherwise they are integers, ``signed`` or not.
    - ``late``: the numbers belong to a variable. The range holds when ``main`` is entered, even if the start-up code
      stored something else.
    - ``undescribed``: no debug information shows whether the compiler had to read the variable.
    """

    text: str
    first: int
    end: int
    low: float
    high: float
    real: bool = False
    size: int = _WORD
    signed: bool = False
    late: bool = False
    undescribed: bool = False

    @property
    def name(self) -> str:
        """The name of the input."""
        return self.text.partition("=")[0]

    @property
    def count(self) -> int:
        """How many numbers have the range."""
        return (self.end - self.first) // self.size

    @property
    def said(self) -> str:
        """The range as text."""
        low, high = self.text.partition("=")[2].split("..", 1)
        kind = "float32" if self.real else f"{8 * self.size}-bit {'signed' if self.signed else 'unsigned'} integers"
        return f"{self.name} in {low}..{high} ({kind})"

    @property
    def _sign(self) -> int:
        return 1 << 8 * self.size - 1

    def _ends(self) -> tuple[int, int]:
        """Return the positions of the two ends in the order of the numbers."""
        if not self.real:
            return int(self.low), int(self.high)
        words = np.array([struct.unpack("<I", struct.pack("<f", each))[0] for each in (self.low, self.high)])
        low, high = self._ordered(words).tolist()
        return low, high

    def _ordered(self, words: np.ndarray) -> np.ndarray:
        """Return the positions of words in the order of their numbers (int64)."""
        numbers, sign = words.astype(np.int64), self._sign
        if self.real:
            # -0.0 comes before 0.0.
            return np.where(numbers >= sign, sign - 1 - numbers, numbers)
        return np.where(numbers >= sign, numbers - 2 * sign, numbers) if self.signed else numbers

    def _words(self, places: np.ndarray) -> np.ndarray:
        """Return the words at positions in the order of the numbers."""
        if self.real:
            places = np.where(places < 0, self._sign - 1 - places, places)
        return (places & 2 * self._sign - 1).astype(np.uint32)

    @property
    def interval(self) -> Interval:
        """The interval of the numbers (sim.analysis.code.numbers)."""
        low, high = (np.array([end]) for end in self._ends())
        return from_places(low, high) if self.real else from_integers(low, high)

    def confine(self, words: np.ndarray) -> np.ndarray:
        """Return ``words`` (uint32), with those outside the range moved into it modulo its length."""
        low, high = self._ends()
        places = self._ordered(words)
        inside = (places >= low) & (places <= high)
        return self._words(np.where(inside, places, low + (places - low) % (high - low + 1)))

    def draw(self, random: np.random.Generator) -> bytes:
        """Draw random numbers from the range, uniformly by position in the order."""
        low, high = self._ends()
        return self.packed(self._words(random.integers(low, high, self.count, dtype=np.int64, endpoint=True)))

    def packed(self, words: np.ndarray) -> bytes:
        """Return words as bytes of memory."""
        return words.astype(f"<u{self.size}").tobytes()

    def unpacked(self, data: bytes) -> np.ndarray:
        """Return bytes of memory as words (uint32)."""
        return np.frombuffer(data, f"<u{self.size}").astype(np.uint32)

    @property
    def corners(self) -> tuple[int, int]:
        """The words of the least and the greatest number."""
        low, high = self._words(np.array(self._ends())).tolist()
        return low, high


@dataclass(frozen=True)
class Inputs:
    """The inputs of ``launch``: its buffers and files, with any contents within the ``ranges``.

    If a range lies elsewhere, in the argument block or a variable, its words are inputs, too.
    """

    launch: Launch
    ranges: Sequence[Range] = ()

    @property
    def places(self) -> dict[str, tuple[int, bytes]]:
        """The address and the contents in this launch of each place, by name."""
        places = {name: place for name, place in (self.launch.buffers | self.launch.loads).items() if place[1]}
        areas = [(address, address + len(data)) for address, data in places.values()]
        for each in self.ranges:
            if not any(first <= each.first and each.end <= end for first, end in areas):
                places[each.text] = each.first, contents_of(self.launch, each.first, each.end)
        return places

    @property
    def said(self) -> str:
        """The inputs for which a bound holds, as text."""
        launch = self.launch
        parts = [f"with {each.said}" for each in self.ranges]
        # A buffer whose words all have ranges is not mentioned.
        free = [
            name for name, (address, data) in (launch.buffers | launch.loads).items()
            if data and not any(each.first <= address and address + len(data) <= each.end for each in self.ranges)
        ]
        if free:
            else_ = any(next(self._parts(name, self.places[name][1]), None) is not None for name in free)
            parts.append(f"whatever {' and '.join(free)} hold{'s' * (len(free) == 1)}{' elsewhere' * else_}")
        if launch.arguments:
            ranged = any(self._is_argument(each) for each in self.ranges)
            parts.append(f"with {'all other ' * ranged}arguments as given")
        others = "all other variables" if any(each.late for each in self.ranges) else "all variables"
        parts.append(f"{others} as the program initialises them")
        return ", ".join(parts[:-1]) + (" and " if parts[:-1] else "with ") + parts[-1]

    def _is_argument(self, each: Range) -> bool:
        offset = each.first - self.launch.argument_address
        return 0 <= offset < len(self.launch.arguments)

    @property
    def late(self) -> list[Range]:
        """The ranges that apply again when ``main`` is entered."""
        return [each for each in self.ranges if each.late and self.launch.main is not None]

    @property
    def areas(self) -> list[tuple[int, int]]:
        """The addresses [first, end) of each place."""
        return [(address, address + len(data)) for address, data in self.places.values()]

    @property
    def own(self) -> dict[str, bytes]:
        """The contents in this launch, moved into the ranges, by name."""
        return {name: self.confined(name, data) for name, (_, data) in self.places.items()}

    def _parts(self, name: str, data: bytes) -> Iterator[tuple[Range, slice]]:
        """Return the ranges in the place ``name``, and their slices of its ``data``."""
        address = self.places[name][0]
        for each in self.ranges:
            first, end = max(each.first, address), min(each.end, address + len(data))
            if first < end:
                yield each, slice(first - address, end - address)

    def confined(self, name: str, data: bytes) -> bytes:
        """Return ``data`` for the place ``name``, moved into the ranges."""
        changed = bytearray(data)
        for each, part in self._parts(name, data):
            changed[part] = each.packed(each.confine(each.unpacked(data[part])))
        return bytes(changed)

    def extreme(self, contents: Mapping[str, bytes], *, high: bool) -> dict[str, bytes]:
        """Return ``contents`` by name, with the least or greatest number of each range."""
        return self._changed(contents, lambda each: each.packed(np.full(each.count, each.corners[high])))

    def drawn(self, contents: Mapping[str, bytes], random: np.random.Generator) -> dict[str, bytes]:
        """Return ``contents`` by name, with random numbers of each range."""
        return self._changed(contents, lambda each: each.draw(random))

    def _changed(self, contents: Mapping[str, bytes], make: Callable[[Range], bytes]) -> dict[str, bytes]:
        changed = dict(contents)
        for name in self.places:
            filled = bytearray(contents[name])
            for each, part in self._parts(name, contents[name]):
                filled[part] = make(each)[: part.stop - part.start]
            changed[name] = bytes(filled)
        return changed

    def filled(self, contents: Mapping[str, bytes]) -> Launch:
        """Return the launch with these contents, by name, and without its result check."""
        launch = self.launch

        def other(places: dict[str, tuple[int, bytes]]) -> dict[str, tuple[int, bytes]]:
            return {name: (address, contents.get(name, data)) for name, (address, data) in places.items()}

        buffers, loads, arguments = other(launch.buffers), other(launch.loads), bytearray(launch.arguments)
        at_main = {}
        late = {each.text for each in self.ranges if each.late}
        for name, (address, data) in self.places.items():
            if name in buffers or name in loads:
                continue
            data = contents.get(name, data)
            offset = address - launch.argument_address
            if 0 <= offset < len(arguments):
                arguments[offset : offset + len(data)] = data
            else:
                loads[name] = address, data
                if name in late:
                    at_main[name] = address, data
        return dataclasses.replace(
            launch, buffers=buffers, loads=loads, arguments=bytes(arguments), at_main=at_main, check=lambda memory: []
        )


def contents_of(launch: Launch, first: int, end: int) -> bytes:
    """Return the initial contents of memory, which come from the argument block or a segment; elsewhere zeros."""
    offset = first - launch.argument_address
    if 0 <= offset < len(launch.arguments):
        return launch.arguments[offset : offset + end - first]
    for segment in launch.image.segments:
        if segment.address <= first and end <= segment.end:
            data = segment.data[first - segment.address : end - segment.address]
            return data + bytes(end - first - len(data))
    return bytes(end - first)


def initialised(launch: Launch, each: Range) -> bool:
    """Return whether the launch initialises the numbers of a range rather than zeroing them."""
    if not each.late:
        return True
    return any(its.address <= each.first < its.address + len(its.data) for its in launch.image.segments)


def outside(launch: Launch, each: Range) -> bool:
    """Return whether the launch has a number outside the range."""
    places = (launch.buffers | launch.loads).values()
    around = next((place for place in places if place[0] <= each.first and each.end <= place[0] + len(place[1])), None)
    data = contents_of(launch, each.first, each.end)
    if around is not None:
        data = around[1][each.first - around[0] : each.end - around[0]]
    own = each.unpacked(data)
    return bool((each.confine(own) != own).any())


def require_apart(ranges: Iterable[Range]) -> None:
    """Raise RangeError if two ranges overlap."""
    ordered = sorted(ranges, key=lambda each: each.first)
    for before, after in itertools.pairwise(ordered):
        if after.first < before.end:
            raise RangeError(f"{before.text} and {after.text} overlap: give each word one range")
