"""Trace files: ``--trace`` of ``metronome run``, ``metronome predict`` and ``metronome trace``."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metronome.sim.machine.gpu_settings import gpu_changes
from metronome.sim.show.trace.formats import FIGURES, FORMATS, MOST_CYCLES, Window, WindowError, writer_of

from ..output.outputs import STDOUT, require_writable
from ..process.errors import UsageError
from .result import memory_of

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig
    from metronome.sim.run.types import Watcher
    from metronome.sim.show.trace.about import About
    from metronome.sim.show.trace.cycles import Cycles, Sink

    from .asking import AskedRun

__all__ = ["FormatOption", "Output", "TraceFile", "TraceOptions", "about", "trace_files", "traced",
           "window_of", "written"]


FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="NAME",
        help=f"The format of every traced file, whatever its name: {', '.join(name[1:] for name in FORMATS)}.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class TraceOptions:
    """Trace files, besides the other results of a run."""

    trace: Annotated[
        list[str] | None,
        typer.Option(
            "--trace", metavar="FILE", help=f"Write a trace of every cycle: {', '.join(FORMATS)}. Repeatable.",
        ),
    ] = None
    trace_format: FormatOption = None


@dataclass(frozen=True)
class TraceFile:
    """A file to be written, in one of :data:`FORMATS`."""

    path: Path
    kind: str


def trace_files(names: Sequence[str] | None, option: str, kind: str | None = None) -> list[TraceFile]:
    """Return the files after checking that they are writable. ``kind``: the format given by --format.

    Raises
    ------
    UsageError
        If a name does not determine the format, or a file cannot be written.
    """
    if kind is not None and f".{kind}" not in FORMATS:
        raise UsageError(f"--format must be one of {', '.join(known[1:] for known in FORMATS)}, not {kind!r}")
    if kind is not None and not names:
        raise UsageError(f"--format is that of traced files: name one with {option}")
    for name in names or []:
        if name == STDOUT:
            raise UsageError(f"{option}: a trace is a file, and cannot go to standard output, where the table goes")
        if kind is None and Path(name).suffix not in FORMATS:
            raise UsageError(
                f"{option}: the name of the file must end in one of {', '.join(FORMATS)}, not {name!r}; "
                "or say --format"
            )
    return [
        TraceFile(require_writable(name, option), Path(name).suffix if kind is None else f".{kind}")
        for name in names or []
    ]


def window_of(files: Sequence[TraceFile], option: str, first: int | None, last: int | None) -> Window | None:
    """Return the cycles of the figures among ``files``, given by --from and --to; None without figures.

    Raises
    ------
    UsageError
        If one of them is missing, or if they do not make a readable figure.
    """
    figures = [file.path.name for file in files if file.kind in FIGURES]
    if not figures:
        return None
    if option != "--output":
        raise UsageError(f"{option} {figures[0]}: a figure shows some cycles: metronome trace --from CYCLE --to CYCLE")
    if first is None or last is None:
        raise UsageError(f"{figures[0]}: a figure shows at most {MOST_CYCLES} cycles of one SM: add --from CYCLE and "
                         "--to CYCLE")
    if not 0 <= first < last:
        raise UsageError(
            f"{figures[0]}: --from must be a cycle, from 0 on, and --to a later one, not {first} and {last}"
        )
    if last + 1 - first > MOST_CYCLES:
        raise UsageError(
            f"{figures[0]}: {last + 1 - first} cycles cannot be read in one figure: at most {MOST_CYCLES}, such as "
            f"--to {first + MOST_CYCLES - 1}"
        )
    return Window(first, last)


def about(asked: AskedRun) -> About:
    """Return the description of the run that the traces contain."""
    from metronome.sim.show.trace.about import About

    config, request, launch = asked.config, asked.request, asked.launch
    size = "" if launch.size is None else f" ({launch.dtype}, size {launch.size})"
    facts = [
        ("program", f"{launch.name}{size}"), ("machine", asked.machine.title),
        *([] if asked.gpu is None else [(name, str(value)) for name, value in gpu_changes(asked.gpu).items()]),
        ("warps", f"{config.warps} x {config.threads} threads"), ("front end", str(config.coordination.value)),
        *([] if request.fetch_policy is None else [("fetch policy", request.fetch_policy)]),
        ("issue policy", request.policy), ("prediction", str(config.prediction)), ("memory", memory_of(request)),
        ("seed", str(request.seed)),
    ]
    name = f"{launch.name}, {config.coordination.value} {request.policy}, {asked.machine.title}"
    return About(name=name, facts=facts, image=launch.image)


class Output:
    """One output file, written to a temporary file beside it."""

    def __init__(self, path: Path) -> None:
        self._path, self._in_place = path, not path.exists() or path.is_file()
        #: Folder of the temporary file; None for the system's temporary folder.
        self.folder = path.parent if self._in_place else None
        with self.errors():
            # A device or a pipe is written only after the trace is complete.
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=self.folder)
            self.file, self.part = os.fdopen(handle, "w+b"), Path(name)

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the file into a UsageError with its name."""
        try:
            yield
        except OSError as error:
            raise UsageError(f"cannot write {self._path}: {error.strerror or error}") from None

    def put_in_place(self) -> None:
        """Move the complete file into place."""
        with self.errors():
            self.file.close()
            if self._in_place:
                umask = os.umask(0)
                os.umask(umask)
                self.part.chmod(0o666 & ~umask)
                self.part.replace(self._path)
            else:
                with self.part.open("rb") as source, self._path.open("wb") as target:
                    shutil.copyfileobj(source, target)

    def close(self) -> None:
        """Close the file and remove the temporary file."""
        with contextlib.suppress(OSError):  # a full disk has already been reported
            self.file.close()
        self.part.unlink(missing_ok=True)


@contextlib.contextmanager
def written(path: Path) -> Iterator[Output]:
    """Provide a file that is moved into place on success and removed otherwise."""
    output = Output(path)
    try:
        yield output
        output.put_in_place()
    finally:
        output.close()


class FileSink:
    """A sink of cycles that writes to a file, and names it in errors."""

    def __init__(self, output: Output, sink: Sink) -> None:
        self._output, self._sink = output, sink

    def begin(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        with self._output.errors():
            self._sink.begin()

    def take(self, partitions: Sequence[Cycles]) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        with self._output.errors():
            self._sink.take(partitions)

    def finish(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        with self._output.errors():
            self._sink.finish()


class _Traced(FileSink):
    """Also puts the file in its place."""

    def __init__(self, path: Path, output: Output, sink: Sink) -> None:
        super().__init__(output, sink)
        self.path = path
        #: No cycle was received, and an older file stays.
        self.empty = False
        #: Why a figure could not be drawn.
        self.problem: str | None = None

    def finish(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        with self._output.errors():
            try:
                self._sink.finish()
            except WindowError as error:
                self.problem = f"{self.path.name}: {error}"
        if not self.empty and self.problem is None:
            self._output.put_in_place()


@contextlib.contextmanager
def traced(
    files: Sequence[TraceFile], config: SmConfig, about: About, others: Sequence[Sink] = (),
    window: Window | None = None,
) -> Iterator[Watcher | None]:
    """Yield the receiver of all cycles, which writes the files; None if there are none.

    ``others``: further sinks of cycles. ``window``: the cycles of figures. However the run ends, the files contain all
    cycles received until then; a figure is written only if it has all of its window. If a file cannot be written, no
    part of it is left.
    """
    if not files and not others:
        yield None
        return
    from metronome.sim.show.trace.cycles import CycleStream

    with contextlib.ExitStack() as stack:
        written_to = []
        for file in files:
            output = Output(file.path)
            stack.callback(output.close)
            written_to.append(_Traced(
                file.path, output, writer_of(file.kind, config, output.file, about, window),
            ))
        stream = CycleStream(config, [*others, *written_to])
        stream.begin()
        try:
            yield stream
        except UsageError:
            raise  # nothing was run, or a file cannot be written
        except BaseException:
            for each in written_to:
                each.empty = not stream.begun
            stream.finish()
            raise
        stream.finish()
        for each in written_to:
            if each.problem is not None:
                raise UsageError(each.problem)
