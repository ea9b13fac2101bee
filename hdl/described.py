"""Values that carry their meaning: members of an enumeration, and fields of a configuration."""

from __future__ import annotations

import dataclasses
import enum
from typing import Self, TypeVar

__all__ = ["DescribedEnum", "setting"]

T = TypeVar("T")


class DescribedEnum(enum.IntEnum):
    """An enumeration of numbers whose members have a meaning: ``NAME = number, "what it means"``."""

    about: str

    def __new__(cls, number: int, about: str = "") -> Self:
        """A member with its number as value."""
        member = int.__new__(cls, number)
        member._value_ = number
        member.about = about
        return member


def setting(default: T, about: str, *, unit: str | None = None) -> T:
    """A dataclass field that is a setting: its default, its meaning and its unit."""
    return dataclasses.field(default=default, metadata={"about": about, "unit": unit})
