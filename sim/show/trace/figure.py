"""A window of a run as a figure for a paper: warps over cycles, as SVG or PDF, readable without colours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, NamedTuple

import numpy as np

from metronome.hdl.config import SmConfig

from ...program.assembler.disassembly import disassemble
from ..drawing.palette import PALETTE
from ..drawing.vector import Drawing, text_width
from .about import About
from .cycles import Cycles
from .formats import MOST_CYCLES, Window, WindowError
from .legend import LEGEND
from .tracks import WARP_WORDS, Tracks

__all__ = ["LETTERS", "PdfFigure", "SvgFigure", "figure_colour"]

#: The letter of each state that has one, so that a figure can be read without colours. An issue is a dark cell.
LETTERS = {
    "nop_start": "S", "nop_miss": "M", "nop_redirect": "J", "load": "L", "data": "D", "unit": "U", "writeback": "W",
    "drain": "O", "icache": "I", "control": "C", "barrier": "B", "buffer": "E", "idle": "-", "policy": "P",
}
_SIGNS = next(iter(LEGEND.values()))
_ISSUED = 1 + WARP_WORDS.index("issued")
_NOPS = tuple(1 + place for place, word in enumerate(WARP_WORDS) if word.startswith("nop_"))
#: A letter needs this width.
_LETTERED = 5.0
#: The width of a page with two columns, and the space to the left of the cells and around everything, in points.
_WIDTH, _GUTTER, _MARGIN = 504.0, 36.0, 6.0
#: A cell is at most this wide. From the second width on, an issue shows its instruction.
_WIDEST, _NAMED = 32.0, 24.0
_ROW, _TICK, _SMALL, _SIZE = 13.0, 3.0, 6.5, 8.0
#: The part of white in the colour of a state that is not an issue: textures and letters are black.
_WHITE = 0.6


class _Slice(NamedTuple):
    """A state of a warp from cycle ``begin`` until before ``end``; ``text``: the instruction of an issue."""

    begin: int
    end: int
    word: str
    text: str


def figure_colour(word: str) -> str:
    """Return the colour of a state: dark for an issue, white for a ready warp, else pale."""
    if word == "ready":
        return "#ffffff"
    colour = PALETTE[_SIGNS[word].colour][0]
    if word == "issued":
        return colour
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * _WHITE):02x}" for part in parts)


class SvgFigure:
    """A sink of cycles that draws the cycles of ``window``. ``file`` is a binary file."""

    def __init__(self, config: SmConfig, file: IO[bytes], about: About, window: Window) -> None:
        self._config, self._file, self._about, self._window = config, file, about, window

    def begin(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        self._tracks = Tracks(self._config)
        self._states: list[np.ndarray] = []
        self._codes: list[np.ndarray] = []
        self._cycles = 0

    def take(self, partitions: Sequence[Cycles]) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        first, last = (max(0, edge - self._cycles) for edge in (self._window.first, self._window.last + 1))
        count = len(partitions[0])
        self._cycles += count
        if first < count and last > first:
            part = self._tracks.of(partitions)
            self._states.append(part.states[: self._config.warps, first:last])
            self._codes.append(part.codes[:, first:last])

    def finish(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`.

        Raises
        ------
        WindowError
            If the run was over before the end of the window. Nothing is written then.
        """
        if self._cycles <= self._window.last:
            raise WindowError(f"--to {self._window.last}: the run has only the cycles 0 to {self._cycles - 1}")
        states, codes = np.concatenate(self._states, axis=1), np.concatenate(self._codes, axis=1)
        # A NOP has a cell of its own if its letter fits there.
        alone = (_ISSUED, *_NOPS) if _cell_width(self._window) >= _LETTERED else (_ISSUED,)
        rows = {
            warp: list(self._slices(row, codes[warp % len(codes)], alone)) for warp, row in enumerate(states)
        }
        self._file.seek(0)
        self._file.truncate()
        self._file.write(self._content(_draw(rows, self._window, self._about.name)))

    def _content(self, drawing: Drawing) -> bytes:
        return drawing.svg().encode()

    def _slices(self, states: np.ndarray, codes: np.ndarray, alone: Sequence[int]) -> Iterator[_Slice]:
        """Yield the states of one warp: equal neighbours are one slice, except those in ``alone``."""
        begin = 0
        for at in range(1, len(states) + 1):
            state = int(states[begin])
            if at < len(states) and states[at] == state and state not in alone:
                continue
            if state:
                pc, word = self._tracks.codes[codes[begin]]
                text = disassemble(word, pc).partition(" ")[0] if state == _ISSUED and codes[begin] else ""
                yield _Slice(self._window.first + begin, self._window.first + at, WARP_WORDS[state - 1], text)
            begin = at


class PdfFigure(SvgFigure):
    """The same figure as PDF."""

    def _content(self, drawing: Drawing) -> bytes:
        return drawing.pdf()


def _cell_width(window: Window) -> float:
    return min(_WIDEST, (_WIDTH - _GUTTER - 2 * _MARGIN) / (window.last + 1 - window.first))


def _draw(rows: Mapping[int, Sequence[_Slice]], window: Window, name: str) -> Drawing:
    """Return the figure; ``rows`` has the states of each warp. A warp that is never active has no row."""
    rows = {warp: row for warp, row in rows.items() if row} or rows
    cell = _cell_width(window)
    left, bottom = _MARGIN + _GUTTER, _MARGIN + _ROW * len(rows)
    words = [word for word in WARP_WORDS if any(each.word == word for row in rows.values() for each in row)]
    places, depth = _legend_places(words)
    drawing = Drawing(
        _WIDTH, bottom + 32 + depth + _MARGIN, title=f"{name}: cycles {window.first} to {window.last}",
        about="A row is a warp and a column is a cycle. Letters and textures are those of the legend.",
    )
    for place, (warp, row) in enumerate(rows.items()):
        top = _MARGIN + _ROW * place
        drawing.text((left - 4, top + _ROW - 4), str(warp), size=_SIZE, anchor="end")
        for each in row:
            box = (left + cell * (each.begin - window.first), top + 0.5, cell * (each.end - each.begin), _ROW - 1)
            _state(drawing, box, each.word, each.text if cell >= _NAMED else "")
    drawing.text((_MARGIN + 8, (_MARGIN + bottom) / 2), "Warp", size=_SIZE, anchor="middle", upright=True)
    _axis(drawing, window, (left, bottom), cell)
    for word, (x, y) in zip(words, places, strict=True):
        y += bottom + 32
        _state(drawing, (x, y, 14, 9), word, "")
        drawing.text((x + 18, y + 7.5), _SIGNS[word].label, size=_SIZE)
    return drawing


def _state(drawing: Drawing, place: tuple[float, float, float, float], word: str, text: str) -> None:
    """Draw a state with its letter, or with the instruction ``text``, if it has room."""
    left, top, width, height = place
    drawing.rectangle(place, colour=figure_colour(word), texture=_SIGNS[word].texture, outline="#000")
    middle, baseline = left + width / 2, top + height / 2 + 0.36 * _SMALL
    if text and text_width(text, _SMALL) <= width:
        drawing.text((middle, baseline), text, size=_SMALL, anchor="middle", colour="#fff")
    letter = LETTERS.get(word)
    if letter is not None and width >= _LETTERED:
        drawing.rectangle((middle - 2.4, top + 1.5, 4.8, height - 3), colour="#ffffff")
        drawing.text((middle, baseline), letter, size=_SMALL, anchor="middle")


def _axis(drawing: Drawing, window: Window, corner: tuple[float, float], cell: float) -> None:
    """Draw the axis of cycles; ``corner`` is where it begins. A number is below the middle of its cycle."""
    left, top = corner
    count = window.last + 1 - window.first
    widest = text_width(f"{window.last:,}", _SIZE) + 8
    step = next(each for power in range(8) for each in (10**power, 2 * 10**power, 5 * 10**power)
                if each * cell >= widest or each >= MOST_CYCLES)
    drawing.line((left, top), (left + cell * count, top))
    for cycle in range(-(-window.first // step) * step, window.last + 1, step):
        x = left + cell * (cycle - window.first + 0.5)
        drawing.line((x, top), (x, top + _TICK))
        drawing.text((x, top + _TICK + _SIZE), f"{cycle:,}", size=_SIZE, anchor="middle")
    drawing.text((left + cell * count / 2, top + _TICK + 2 * _SIZE + 4), "Cycle", size=_SIZE, anchor="middle")


def _legend_places(words: Sequence[str]) -> tuple[list[tuple[float, float]], float]:
    """Return the place of each entry of the legend below its top, and the height of the legend."""
    places, x, y = [], _MARGIN, 0.0
    for word in words:
        width = 18 + text_width(_SIGNS[word].label, _SIZE) + 10
        if x > _MARGIN and x + width > _WIDTH - _MARGIN:
            x, y = _MARGIN, y + 14
        places.append((x, y))
        x += width
    return places, y + 10
