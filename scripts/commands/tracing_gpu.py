"""Trace files of several SMs: ``--trace`` of ``metronome run``, and ``metronome trace``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from metronome.hdl.gpu.config import GpuConfig

from ..process.errors import UsageError
from .tracing import FileSink, Output, TraceFile

if TYPE_CHECKING:
    from metronome.sim.show.trace.about import About
    from metronome.sim.show.trace.cycles import Sink
    from metronome.sim.show.trace.several import GpuTrace

__all__ = ["check_gpu_traces", "traced_gpu"]


def check_gpu_traces(gpu: GpuConfig, files: Sequence[TraceFile], option: str) -> None:
    """Raise UsageError for a format that knows one SM only."""
    from metronome.sim.show.trace.several import GPU_FORMATS

    for file in files:
        if file.kind not in GPU_FORMATS:
            raise UsageError(f"{option} {file.path.name}: a trace of {gpu.sms} SMs is one of {', '.join(GPU_FORMATS)}")


class _Port:
    """Takes the transfers at the memory port for all files."""

    def __init__(self, writers: Sequence[tuple[Output, GpuTrace]]) -> None:
        self._writers = writers

    def begin(self) -> None:
        """See :class:`sim.run.types.Watcher`."""

    def take(self, transfers: Any) -> None:
        """See :class:`sim.run.types.Watcher`."""
        for output, writer in self._writers:
            with output.errors():
                writer.transfers(transfers)


@contextlib.contextmanager
def traced_gpu(
    files: Sequence[TraceFile], gpu: GpuConfig, about: About, others: Sequence[Sink] = ()
) -> Iterator[Sequence[Any] | None]:
    """Yield the watchers of all SMs and of the memory port, which write the files; None if there are none.

    ``others``: for each SM a further sink of its cycles, or none at all. However the run ends, the files contain all
    cycles received until then. If a file cannot be written, no part of it is left.
    """
    if not files and not others:
        yield None
        return
    from metronome.sim.show.trace.cycles import CycleStream
    from metronome.sim.show.trace.several import gpu_writer_of

    with contextlib.ExitStack() as stack:
        writers = []
        for file in files:
            output = Output(file.path)
            stack.callback(output.close)
            writers.append((output, gpu_writer_of(file.kind, gpu, output.file, about)))
        streams = [
            CycleStream(gpu.sm_of(number), [
                *others[number : number + 1], *(FileSink(output, writer.sms[number]) for output, writer in writers)])
            for number in range(gpu.sms)
        ]
        for stream in streams:
            stream.begin()

        def finish() -> None:
            for stream in streams:
                stream.finish()
            for output, writer in writers:
                with output.errors():
                    writer.close()
                output.put_in_place()

        try:
            yield [*streams, _Port(writers)]
        except UsageError:
            raise  # nothing was run, or a file cannot be written
        except BaseException:
            if streams[0].begun:
                finish()
            raise
        finish()
