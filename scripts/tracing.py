"""Files of a trace: ``--trace`` of ``metronome run``, ``metronome predict`` and ``metronome trace``."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from .errors import UsageError
from .outputs import require_writable

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig
    from metronome.sim.runner_types import Watcher
    from metronome.sim.trace.cycles import Cycles, Sink

__all__ = ["FORMATS", "TraceOption", "trace_files", "traced"]

#: What a trace can be, by the end of its file's name.
FORMATS = {".csv": "events as CSV", ".parquet": "events as Parquet", ".kanata": "the pipeline, for the viewer Konata"}

TraceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trace", metavar="FILE", help=f"Write what happened in every cycle: {', '.join(FORMATS)}. Repeatable.",
    ),
]


def trace_files(names: Sequence[str] | None, option: str) -> list[Path]:
    """The files, tried out.

    Raises
    ------
    UsageError
        For a name that does not say which format, or a file that cannot be written.
    """
    for name in names or []:
        if Path(name).suffix not in FORMATS:
            raise UsageError(f"{option}: the name of the file has to end in one of {', '.join(FORMATS)}, not {name!r}")
    return [require_writable(name, option) for name in names or []]


def _sink(path: Path, config: SmConfig, source: Callable[[int], str | None], file: IO[bytes]) -> Sink:
    from metronome.sim.trace.kanata import KanataTrace
    from metronome.sim.trace.tables import CsvTrace, ParquetTrace

    if path.suffix == ".kanata":
        return KanataTrace(config, file, source)
    return {".csv": CsvTrace, ".parquet": ParquetTrace}[path.suffix](config, file)


class _Output:
    """One file of a trace, written beside its place; a sink of cycles."""

    def __init__(self, path: Path, config: SmConfig, source: Callable[[int], str | None]) -> None:
        self._path, self._in_place = path, not path.exists() or path.is_file()
        with self._errors():
            # What is no file (a device, a pipe) is written when all is there.
            folder = path.parent if self._in_place else None
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=folder)
            self._file, self._part = os.fdopen(handle, "w+b"), Path(name)
        self._sink = _sink(path, config, source, self._file)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageError(f"cannot write {self._path}: {error.strerror or error}") from None

    def begin(self) -> None:
        with self._errors():
            self._sink.begin()

    def take(self, cycles: Cycles) -> None:
        with self._errors():
            self._sink.take(cycles)

    def finish(self) -> None:
        with self._errors():
            self._sink.finish()
            self._file.close()
            if self._in_place:
                umask = os.umask(0)
                os.umask(umask)
                self._part.chmod(0o666 & ~umask)
                self._part.replace(self._path)
            else:
                with self._part.open("rb") as source, self._path.open("wb") as target:
                    shutil.copyfileobj(source, target)

    def close(self) -> None:
        """Leave nothing behind but what is finished."""
        with contextlib.suppress(OSError):  # a full disk has been told already
            self._file.close()
        self._part.unlink(missing_ok=True)


@contextlib.contextmanager
def traced(
    paths: Sequence[Path], config: SmConfig, source: Callable[[int], str | None]
) -> Iterator[Watcher | None]:
    """Who is to be told of every cycle so that the files are written; None if there are none.

    ``source``: the source line of a pc, or None. However the run ends, they have what was told until then. If one
    cannot be written, none of it is left.
    """
    if not paths:
        yield None
        return
    from metronome.sim.trace.cycles import CycleStream

    with contextlib.ExitStack() as stack:
        outputs = []
        for path in paths:
            output = _Output(path, config, source)
            stack.callback(output.close)
            outputs.append(output)
        stream = CycleStream(config, outputs)
        stream.begin()
        try:
            yield stream
        except UsageError:
            raise  # nothing was run, or a file cannot be written
        except BaseException:
            stream.finish()
            raise
        stream.finish()
