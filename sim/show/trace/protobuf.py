"""The part of the Protocol Buffers wire format that traces need: fields of messages, and many similar messages at once.

Source: protobuf.dev, "Encoding". A number can be padded with bytes that add nothing, which every reader accepts. Many
messages of one kind therefore have the same length and form an array.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["Template", "double", "fixed", "number", "text"]

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def _varint(value: int, width: int = 0) -> bytes:
    """Encode a number, padded to ``width`` bytes."""
    parts = bytearray()
    while value > 0x7F or len(parts) < width - 1:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def number(field: int, value: int, width: int = 0) -> bytes:
    """Encode a field with a non-negative integer in at least ``width`` bytes."""
    return _varint(field << 3 | _VARINT) + _varint(value, width)


def text(field: int, value: str | bytes) -> bytes:
    """Encode a field with a string or a message."""
    content = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | _BYTES) + _varint(len(content)) + content


def fixed(field: int, value: int) -> bytes:
    """Encode a field with a 64-bit number."""
    return _varint(field << 3 | _FIXED64) + value.to_bytes(8, "little")


def double(field: int, value: float) -> bytes:
    """Encode a field with a floating-point number."""
    return _varint(field << 3 | _FIXED64) + np.array([value], "<f8").tobytes()


class Template:
    """A message that is written many times with different numbers.

    ``make`` makes the message from numbers given by name; ``widths`` is the number of bytes for each.
    """

    def __init__(self, make: Callable[..., bytes], **widths: int) -> None:
        zeros = dict.fromkeys(widths, 0)
        self._message = np.frombuffer(make(**zeros), np.uint8)
        #: By name: the position of its number, and its size in bytes.
        self._holes: dict[str, tuple[int, int]] = {}
        for name, width in widths.items():
            ones = np.frombuffer(make(**{**zeros, name: (1 << 7 * width) - 1}), np.uint8)
            self._holes[name] = int(np.flatnonzero(ones != self._message)[0]), width

    def fill(self, **values: np.ndarray) -> bytes:
        """Return the messages, one after another, for numbers given by name, one array each.

        Raises
        ------
        ValueError
            If a number is too large.
        """
        count = len(next(iter(values.values())))
        found = np.repeat(self._message[None], count, axis=0)
        for name, numbers in values.items():
            first, width = self._holes[name]
            rest = numbers.astype(np.uint64)
            for place in range(width):
                more = np.uint64(0x80 if place < width - 1 else 0)
                found[:, first + place] = rest & np.uint64(0x7F) | more
                rest = rest >> np.uint64(7)
            if rest.any():
                raise ValueError(f"{name} must be below {1 << 7 * width}, not {int(numbers.max())}")
        return found.tobytes()
