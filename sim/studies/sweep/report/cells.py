"""Table cells: values and how they are shown."""

from __future__ import annotations

from typing import Any

from .model import Cell

__all__ = ["UNKNOWN", "change", "count", "holds", "ratio", "share", "span", "text"]

#: Shown for a missing value.
UNKNOWN = Cell(None, "\u2013", "unknown")


def text(value: Any, kind: str = "") -> Cell:
    """A value as it is."""
    return UNKNOWN if value is None else Cell(value, str(value), kind)


def count(value: int | None) -> Cell:
    """A number with thin spaces between thousands."""
    return UNKNOWN if value is None else Cell(value, f"{value:,}".replace(",", "\u202f"))


def ratio(value: float | None, digits: int = 2) -> Cell:
    """A ratio or a rate."""
    return UNKNOWN if value is None else Cell(value, f"{value:.{digits}f}")


def share(part: float | None, whole: float | None) -> Cell:
    """A part in %; the cell's value is also in %."""
    if part is None or not whole:
        return UNKNOWN
    return Cell(100 * part / whole, f"{100 * part / whole:.2f} %")


def change(value: float | None, kind: str = "") -> Cell:
    """A change in %, with its sign and without the unit; one decimal, or more if one would show nothing."""
    if value is None:
        return UNKNOWN
    digits = next((digits for digits in range(1, 6) if abs(value) >= 10**-digits), 6)
    shown = "0" if value == 0 else f"{value:+.{digits}f}".replace("-", "\u2212")
    return Cell(value, shown, kind)


def span(values: list[float] | list[int], digits: int = 0) -> Cell:
    """The minimum and maximum, or the only value."""
    if not values:
        return UNKNOWN
    least, most = min(values), max(values)
    shown = [f"{each:,.{digits}f}".replace(",", "\u202f").replace("-", "\u2212") for each in (least, most)]
    if shown[0] == shown[1]:
        return Cell(least, shown[0])
    return Cell(f"{least} to {most}", " to ".join(shown))


def holds(value: bool) -> Cell:
    """Whether a required condition holds."""
    return Cell("yes" if value else "no", "yes" if value else "no", "good" if value else "bad")
