"""A run on the simulated SM, and its files: ``metronome run`` and ``metronome trace``."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from metronome.sim.show.trace.formats import WAVEFORMS

from ..options.program import long_start
from ..output.profiling import Counted
from ..process.backend import Backend, backend_of
from ..process.errors import UsageError
from ..process.progress import print_console, show_progress
from .asking import AskedRun, RunOptions, asked_run
from .tracing import TraceFile, about, traced, window_of
from .tracing_gpu import check_gpu_traces, traced_gpu
from .waving import check_waveforms, waved

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig
    from metronome.hdl.gpu.config import GpuConfig

__all__ = ["simulate"]


def simulate(
    ctx: typer.Context, options: RunOptions, traces: Sequence[TraceFile], option: str,
    window: tuple[int | None, int | None] = (None, None),
) -> int:
    """Run a program according to the options; every cycle goes to the files ``traces``.

    ``option``: the option of those files; ``window``: first and last cycle of waveforms and figures. Returns the exit
    status.
    """
    waveforms = [file for file in traces if file.kind in WAVEFORMS]
    shown = window_of(traces, option, *window)
    check_waveforms(waveforms, *window, also=shown is not None)
    backend = backend_of(ctx)
    with contextlib.ExitStack() as stack:
        begun = None

        def before(config: SmConfig) -> None:
            nonlocal begun
            backend.require_tools([config], waves=bool(waveforms))
            if not waveforms:
                begun = stack.enter_context(backend.begun(config))

        asked = asked_run(
            ctx, options, [(option, file.path) for file in traces], before=before,
            of_gpu=lambda gpu: check_gpu_traces(gpu, traces, option))
        seen = [file for file in traces if file not in waveforms]
        if (seen or options.shown.profile) and not asked.config.probe:
            named = option if seen else "--profile"
            raise UsageError(f"{named} needs the probe: leave out --set probe=false")
        if asked.gpu is not None:
            return _simulate_gpu(backend, asked, asked.gpu, traces, profile=options.shown.profile)
        note = long_start(asked.launch, asked.config.threads)
        if note is not None:
            print(f"metronome: note: {note}", file=sys.stderr, flush=True)
        counted = Counted(asked.config, asked.launch.image) if options.shown.profile else None
        sinks = [] if counted is None else counted.profiles
        with (
            show_progress() as progress, traced(seen, asked.config, about(asked), sinks, shown) as watcher,
            waved(waveforms, asked.config, *window) as waves,
        ):
            request = dataclasses.replace(asked.request, waves=waves)
            result = backend.run(asked.config, request, progress, print_console, watcher, begun)
    status = asked.finish(result, profiled=counted)
    if waves is not None and waves.first is not None and waves.first >= result.total_cycles:
        print(f"metronome: the waveform is empty: the run has only {result.total_cycles} cycles", file=sys.stderr)
    return status


def _simulate_gpu(
    backend: Backend, asked: AskedRun, gpu: GpuConfig, traces: Sequence[TraceFile], *, profile: bool
) -> int:
    """Run a program on several SMs, and return the exit status."""
    counted = Counted(asked.config, asked.launch.image, gpu.sms) if profile else None
    sinks = [] if counted is None else counted.profiles
    with show_progress() as progress, traced_gpu(traces, gpu, about(asked), sinks) as watchers:
        result = backend.run_gpu(gpu, asked.request, progress, print_console, watchers)
    return asked.finish(result, profiled=counted)
