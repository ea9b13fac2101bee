"""Packets of a Perfetto trace: slices and counters (:mod:`.perfetto`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .protobuf import Template, number, text

__all__ = ["CATEGORIES", "COUNTER", "Packets", "annotation"]

_BEGIN, _END, COUNTER = 1, 2, 4
#: Size in bytes of a number: a time, a track, a name or source line, a pc or mask, a count.
_TIME, _TRACK, _NAME, _VALUE, _COUNT = 6, 3, 3, 5, 3
ANNOTATIONS = ("pc", "lanes", "source", "address")
#: Categories of slices.
CATEGORIES = ("issue", "nop", "stall", "memory", "region", "oracle")
_SLICE = {"time": _TIME, "track": _TRACK, "name": _NAME}


def annotation(name: str, field: int, value: int, width: int = 0) -> bytes:
    """Return an annotation of a slice."""
    return text(4, number(1, ANNOTATIONS.index(name) + 1) + number(field, value, width))


class Packets:
    """The packets of one sequence, which has names of its own."""

    def __init__(self, sequence: int) -> None:
        self.sequence = sequence
        #: Packets that are written many times.
        self._templates = {
            "issue": Template(self._issue, **_SLICE, pc=_VALUE, lanes=_VALUE, source=_NAME),
            "nop": Template(lambda **values: self.begin("nop", **values), **_SLICE),
            "stall": Template(lambda **values: self.begin("stall", **values), **_SLICE),
            "oracle": Template(lambda **values: self.begin("oracle", **values), **_SLICE),
            "end": Template(self.end, time=_TIME, track=_TRACK),
            "count": Template(self.count, time=_TIME, track=_TRACK, value=_COUNT),
        }

    def first(self) -> bytes:
        """Return the packet before all others, with the names of categories and annotations."""
        interned = [text(3, number(1, place) + text(2, name)) for place, name in enumerate(ANNOTATIONS, 1)]
        interned += [text(1, number(1, place) + text(2, name)) for place, name in enumerate(CATEGORIES, 1)]
        return text(1, number(13, 1) + number(10, self.sequence) + text(12, b"".join(interned)))

    def names(self, new: Sequence[bytes]) -> bytes:
        """Return a packet with further names."""
        return text(1, number(10, self.sequence) + number(13, 2) + text(12, b"".join(new)))

    def fill(self, kind: str, **values: np.ndarray) -> bytes:
        """Return many packets of one kind, with numbers from arrays."""
        return self._templates[kind].fill(**values)

    def packet(self, content: bytes, time: int) -> bytes:
        """Return the packet of an event."""
        return text(1, number(8, time, _TIME) + number(10, self.sequence) + number(13, 2) + text(11, content))

    def begin(self, category: str, time: int, track: int, name: int, more: bytes = b"") -> bytes:
        """Return the beginning of a slice."""
        kind = number(9, _BEGIN) + number(3, CATEGORIES.index(category) + 1)
        return self.packet(kind + number(11, track, _TRACK) + number(10, name, _NAME) + more, time)

    def end(self, time: int, track: int) -> bytes:
        """Return the end of the slice on a track."""
        return self.packet(number(9, _END) + number(11, track, _TRACK), time)

    def count(self, time: int, track: int, value: int) -> bytes:
        """Return a value of a counter."""
        return self.packet(number(9, COUNTER) + number(11, track, _TRACK) + number(30, value, _COUNT), time)

    def _issue(self, time: int, track: int, name: int, pc: int, lanes: int, source: int) -> bytes:
        more = annotation("pc", 7, pc, _VALUE) + annotation("lanes", 7, lanes, _VALUE)
        return self.begin("issue", time, track, name, more + annotation("source", 17, source, _NAME))
