"""The report of a difference between the hardware and the golden model."""

from __future__ import annotations

__all__ = ["Mismatch", "memory_mismatch"]


class Mismatch(Exception):
    """The SM and the golden model disagree; the text is the whole report."""


def memory_mismatch(address: int, expected: int, got: int) -> Mismatch:
    """Return the report of a byte that differs at the end."""
    return Mismatch(f"lock step: memory at the end, byte {address:#010x}: expected {expected:#04x}, got {got:#04x}")
