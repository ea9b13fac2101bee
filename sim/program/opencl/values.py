"""Encode an argument that is not a pointer as the bytes that the kernel reads."""

from __future__ import annotations

import re
import struct

import numpy as np

__all__ = ["packed", "short"]

_SCALARS = {
    "char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "q", "ulong": "Q",
    "float": "f",
}
_VECTOR = re.compile(r"([a-z]+?)(2|3|4|8|16)")


def packed(what: str, value: object, kind: str, size: int) -> bytes:
    """Return ``value`` as an argument of the OpenCL type ``kind``, which has ``size`` bytes.

    Raises
    ------
    ValueError
        If it does not fit; ``what`` names the argument.
    """
    if kind in _SCALARS:
        return _scalar(what, value, kind)
    vector = _VECTOR.fullmatch(kind)
    if vector and vector[1] in _SCALARS:
        count = int(vector[2])
        if not isinstance(value, list | tuple | np.ndarray) or len(value) != count:
            raise ValueError(f"{what} is of type {kind}: give {count} numbers, not {short(value)}")
        return b"".join(_scalar(what, one, vector[1]) for one in value).ljust(size, b"\0")
    data = value.tobytes() if isinstance(value, np.generic | np.ndarray) else value
    if not isinstance(data, bytes | bytearray) or len(data) != size:
        raise ValueError(f"{what} is of type {kind}: give its {size} bytes (struct.pack), not {short(value)}")
    return bytes(data)


def _scalar(what: str, value: object, kind: str) -> bytes:
    plain = value.item() if isinstance(value, np.generic) else value
    allowed = (int, float) if kind == "float" else (int,)
    try:
        if not isinstance(plain, allowed):
            raise ValueError
        return struct.pack(f"<{_SCALARS[kind]}", plain)
    except (ValueError, struct.error, OverflowError):
        raise ValueError(f"{what} is of type {kind}: {short(value)} does not fit") from None


def short(value: object) -> str:
    """Return a wrong value for a message: one line, not too long."""
    return " ".join(repr(value).split())[:80]
