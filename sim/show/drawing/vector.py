"""Vector drawings for papers, as SVG and PDF: rectangles with textures that also differ without colours, and text.

All lengths are in points, from the upper left corner. The same calls give the same bytes.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence

import vl_convert

__all__ = ["TEXTURES", "Drawing", "text_width"]

#: The names are those of viewer/drawing.js.
TEXTURES = ("plain", "rising", "falling", "level", "upright", "dots", "checks", "grid")
#: The distance of the strokes of a texture. They are on one grid for the whole drawing, so that neighbours join.
_PITCH = 4.0
_FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
#: Mean width of a letter as a part of its size, in the widest of these fonts.
_LETTER = 0.6


def text_width(text: str, size: float) -> float:
    """Return the width of a text in points, or somewhat more."""
    return _LETTER * size * len(text)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


class Drawing:
    """A drawing on white. ``title`` and ``about`` describe it to people who do not see it."""

    def __init__(self, width: float, height: float, *, title: str, about: str) -> None:
        self._size = width, height
        self._title, self._about = title, about
        self._items: list[str] = []

    def rectangle(
        self, place: Sequence[float], *, colour: str, texture: str = "plain", outline: str | None = None
    ) -> None:
        """Draw a rectangle at ``place``: left, top, width, height."""
        left, top, width, height = map(_number, place)
        stroke = "" if outline is None else f' stroke="{outline}" stroke-width="0.4"'
        self._items.append(f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="{colour}"{stroke}/>')
        strokes = "".join(
            f"M{_number(x)} {_number(y)}L{_number(right)} {_number(bottom)}"
            for x, y, right, bottom in _strokes(texture, place[0], place[1], place[0] + place[2], place[1] + place[3])
        )
        if strokes:
            self._items.append(f'<path class="{texture}" d="{strokes}" stroke="#000" stroke-width="0.7"/>')

    def line(self, start: Sequence[float], end: Sequence[float]) -> None:
        """Draw a thin black line."""
        (x, y), (right, bottom) = (map(_number, each) for each in (start, end))
        self._items.append(f'<path d="M{x} {y}L{right} {bottom}" stroke="#000" stroke-width="0.5"/>')

    def text(
        self, place: Sequence[float], text: str, *, size: float, anchor: str = "start", colour: str = "#000",
        upright: bool = False,
    ) -> None:
        """Write a text whose baseline begins, has its middle, or ends at ``place``, as ``anchor`` says.

        ``upright``: from the bottom to the top.
        """
        x, y = map(_number, place)
        turn = f' transform="rotate(-90 {x} {y})"' if upright else ""
        self._items.append(
            f'<text x="{x}" y="{y}" font-size="{_number(size)}" text-anchor="{anchor}" fill="{colour}"{turn}>'
            f"{html.escape(text)}</text>"
        )

    def svg(self, unit: str = "pt") -> str:
        """Return the drawing as SVG, whose width and height are in ``unit``."""
        width, height = map(_number, self._size)
        size = f'width="{width}{unit}" height="{height}{unit}" viewBox="0 0 {width} {height}"'
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{_FONT}" role="img">',
            f"<title>{html.escape(self._title)}</title>", f"<desc>{html.escape(self._about)}</desc>",
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            *self._items, "</svg>", "",
        ])

    def pdf(self) -> bytes:
        """Return the drawing as a PDF of one page, with the fonts it uses."""
        # To the converter a pixel is a point.
        return vl_convert.svg_to_pdf(self.svg(""))


def _strokes(
    texture: str, left: float, top: float, right: float, bottom: float
) -> Iterator[tuple[float, float, float, float]]:
    """Yield the strokes of a texture in a rectangle, each by its two ends: x, y, x, y."""
    if texture in ("level", "grid"):
        yield from ((left, y, right, y) for y in _grid(top, bottom, _PITCH / 2))
    if texture in ("upright", "grid"):
        yield from ((x, top, x, bottom) for x in _grid(left, right, _PITCH / 2))
    if texture == "rising":  # x + y is the same along a stroke
        for both in _grid(left + top, right + bottom):
            first, last = max(left, both - bottom), min(right, both - top)
            yield first, both - first, last, both - last
    if texture == "falling":  # x - y is
        for both in _grid(left - bottom, right - top):
            first, last = max(left, both + top), min(right, both + bottom)
            yield first, first - both, last, last - both
    if texture in ("dots", "checks"):
        length = 1.0 if texture == "dots" else _PITCH / 2
        for row, y in enumerate(_grid(top, bottom, step=_PITCH / 2 if texture == "checks" else _PITCH)):
            for x in _grid(left - length, right, row % 2 * length if texture == "checks" else 0.0):
                yield max(left, x), y, min(right, x + length), y


def _grid(low: float, high: float, offset: float = 0.0, step: float = _PITCH) -> Iterator[float]:
    """Yield the numbers between ``low`` and ``high`` that are ``offset`` more than a multiple of ``step``."""
    number = math.floor((low - offset) / step) + 1
    while number * step + offset < high:
        yield number * step + offset
        number += 1
