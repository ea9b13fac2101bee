"""The trace formats: a description of each, and its writer, imported only on use so that a command starts fast."""

from __future__ import annotations

import importlib
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig

    from .about import About
    from .cycles import Sink

__all__ = ["FIGURES", "FORMATS", "MOST_CYCLES", "WAVEFORMS", "Window", "WindowError", "writer_of"]

#: The maximum number of cycles in a figure: a cell is then two points wide.
MOST_CYCLES = 200


class Window(NamedTuple):
    """The first and the last cycle of a figure."""

    first: int
    last: int


class WindowError(ValueError):
    """The figure cannot be drawn: the run ended before the end of the window."""


class Format(NamedTuple):
    """A format: a description of its files, and the module in this package and the class that write it.

    The class is a :class:`sim.show.trace.cycles.Sink`. Its arguments are the configuration, the binary file and the
    facts about the run (:class:`sim.show.trace.about.About`), and for a figure also the :class:`Window`.
    """

    about: str
    module: str = ""  # empty: made from the simulation's dump
    kind: str = ""


#: By file name suffix.
FORMATS = {
    ".html": Format("a page with a picture of the schedule", "page", "HtmlTrace"),
    ".csv": Format("events as CSV", "tables", "CsvTrace"),
    ".parquet": Format("events as Parquet", "tables", "ParquetTrace"),
    ".kanata": Format("the pipeline, for the viewer Konata", "kanata", "KanataTrace"),
    ".pftrace": Format("slices and counters, for Perfetto", "perfetto", "PerfettoTrace"),
    ".svg": Format("some cycles as a figure for a paper", "figure", "SvgFigure"),
    ".pdf": Format("the same figure as PDF", "figure", "PdfFigure"),
    ".vcd": Format("all signals"),
    ".fst": Format("all signals, compact"),
    ".gtkw": Format("display settings for GTKWave"),
}
#: Formats made from the simulation's dump.
WAVEFORMS = tuple(name for name, each in FORMATS.items() if not each.module)
#: Formats that show a window of the run.
FIGURES = tuple(name for name, each in FORMATS.items() if each.module == "figure")


def writer_of(name: str, config: SmConfig, file: IO[bytes], about: About, window: Window | None = None) -> Sink:
    """Make the writer of a trace in the format ``name``, one of :data:`FORMATS` that is not a waveform.

    ``window``: the cycles of a figure; the other formats do not need it.
    """
    each = FORMATS[name]
    kind: Any = getattr(importlib.import_module(f".{each.module}", __package__), each.kind)
    writer: Sink = kind(config, file, about, window) if name in FIGURES else kind(config, file, about)
    return writer
