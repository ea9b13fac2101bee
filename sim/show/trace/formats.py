"""The formats of a trace: what each is, and who writes it. Without the writers, so that a command starts fast."""

from __future__ import annotations

import importlib
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig

    from .about import About
    from .cycles import Sink

__all__ = ["FORMATS", "WAVEFORMS", "writer_of"]


class Format(NamedTuple):
    """A format: what a file of it is, and the module here and the class that write it.

    The class is called with the configuration, the binary file and what the trace says of its run
    (:class:`sim.show.trace.about.About`), and is a :class:`sim.show.trace.cycles.Sink`.
    """

    about: str
    module: str = ""  # none: it is made of what the simulation dumps
    kind: str = ""


#: By the end of the file's name.
FORMATS = {
    ".html": Format("a page with a picture of the schedule", "page", "HtmlTrace"),
    ".csv": Format("events as CSV", "tables", "CsvTrace"),
    ".parquet": Format("events as Parquet", "tables", "ParquetTrace"),
    ".kanata": Format("the pipeline, for the viewer Konata", "kanata", "KanataTrace"),
    ".pftrace": Format("slices and counters, for Perfetto", "perfetto", "PerfettoTrace"),
    ".vcd": Format("all signals"),
    ".fst": Format("all signals, compact"),
    ".gtkw": Format("how GTKWave shows them"),
}
#: Those that are made of what the simulation dumps.
WAVEFORMS = tuple(name for name, each in FORMATS.items() if not each.module)


def writer_of(name: str, config: SmConfig, file: IO[bytes], about: About) -> Sink:
    """The writer of a trace of the format ``name``, one of :data:`FORMATS` that is no waveform."""
    each = FORMATS[name]
    kind: Any = getattr(importlib.import_module(f".{each.module}", __package__), each.kind)
    writer: Sink = kind(config, file, about)
    return writer
