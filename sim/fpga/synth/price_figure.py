"""The figure for :mod:`.price`: area and clock rate of the front ends by number of warps, and those of the SMs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from metronome.hdl.config import Coordination

from ...show.drawing.charts import draw, point_panels
from ...show.drawing.palette import SERIES
from .families import DEFAULT_FAMILY
from .price import Case, Price

__all__ = ["figure"]

_COLOURS = dict(zip(map(str, Coordination), SERIES, strict=False))
_AREAS = {"luts": "LUTs", "ffs": "FFs", "brams": "block RAMs"}


def _title(case: Case, what: str) -> str:
    family = "" if case.fpga.family.name == DEFAULT_FAMILY else f"{case.fpga.family.name}: "
    return f"{family}{what}, front end by warps" if case.unit == "frontend" else f"{family}{what}, whole SM"


def _points(prices: Sequence[Price]) -> Iterator[dict[str, Any]]:
    """A point for each figure, panel by panel; the range of a clock rate covers the seeds."""
    def group(price: Price) -> tuple[str, str]:
        return price.case.unit, price.case.fpga.family.name

    for unit in dict.fromkeys(map(group, prices)):
        of_unit = [price for price in prices if group(price) == unit]
        for field, what in _AREAS.items():
            for price in of_unit:
                if price.area is not None:
                    count = getattr(price.area, field)
                    yield _point(price.case, what, count, count, count, str(count))
        for price in of_unit:
            if price.rates is not None:
                low, middle, high = price.rates
                said = f"{middle:.1f} ({low:.1f} to {high:.1f})"
                yield _point(price.case, "Fmax, MHz", low, middle, high, said)


def _point(case: Case, what: str, low: float, middle: float, high: float, said: str) -> dict[str, Any]:
    return {
        "panel": _title(case, what), "group": case.size, "series": case.mode.value, "shape": case.prediction.value,
        "low": low, "value": middle, "high": high, "said": f"{case.name}: {what} {said}",
    }


def figure(prices: Sequence[Price]) -> str | None:
    """Return the SVG, or None if nothing was measured."""
    points = list(_points(prices))
    if not points:
        return None
    return draw(point_panels(
        points, series=_COLOURS, legend="front end", shapes="prediction", groups_are="warps, or preset",
        values_are="number, or MHz",
    ))
