"""The functions ``run``, ``predict``, ``trace`` and ``wcet`` of the package ``metronome``.

Each does what the command of its name does, and returns the result instead of printing it. Bad input raises
:class:`UsageError`, a ValueError, with the line that the command prints. Errors in your own policy or ``host.py`` keep
their type.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from metronome.hdl.config import SmConfig
from metronome.sim.machine.engines import Engine
from metronome.sim.show.trace.formats import FIGURES, MOST_CYCLES, WAVEFORMS

from ..commands.asking import AskedRun, WatchOptions
from ..commands.predicting import finishes_of, issues_of_all, slow_policy
from ..commands.tracing import TraceFile, about, trace_files, traced, window_of
from ..commands.tracing_gpu import check_gpu_traces, traced_gpu
from ..commands.waving import check_waveforms, waved
from ..commands.wcet import BoundOptions as CommandBounds
from ..commands.wcet import bounded, check_bounds
from ..options.gpu import GpuOptions
from ..process.backend import backend_of
from ..process.errors import UsageError
from .arguments import BoundOptions, Name, Options, asked_by, text_of
from .checking import checked
from .results import BoundResult, Prediction, Result

if TYPE_CHECKING:
    from metronome.hdl.gpu.config import GpuConfig
    from metronome.sim.predict.gpu.predictor import GpuPrediction
    from metronome.sim.predict.predictor import Prediction as Predicted
    from metronome.sim.run.types import RunResult

__all__ = ["BoundOptions", "BoundResult", "Options", "Prediction", "Result", "UsageError", "predict", "run", "trace",
           "wcet"]


@checked
def run(
    program: Name, *, machine: Name | SmConfig = "BASE", policy: Name | None = None, size: int | None = None,
    seed: int = 1, sms: int | None = None, check: bool = False, memcheck: bool | None = None,
    **options: Unpack[Options],
) -> Result:
    """Run a program on the simulated SM and check its result, as ``metronome run`` does.

    The first run of a machine builds its simulation, which takes a minute or more.

    Parameters
    ----------
    program
        The name of a kernel, a folder with ``kernel.c``, or a ``.c``, ``.cl``, ``.elf`` or ``.vxbin`` file.
    machine
        The name of a preset, a ``.toml`` file of fields, or a configuration.
    policy
        The name of a warp policy, or ``FILE.py:CLASS``; by default the machine's first policy.
    size, seed
        The problem size of a kernel, by default its own, and the seed of its inputs.
    sms
        The number of SMs: 1 (default), 2, 4, 8 or 16. ``settings`` has the other fields of a GPU (docs/gpu.md).
    check
        Compare every instruction with the golden model, and check every memory access unless ``memcheck=False``.
    memcheck
        Check every memory access; by default as ``check``, but with several SMs False.
    options
        See :class:`Options`.

    Raises
    ------
    UsageError
        For anything that cannot be run. A run that fails raises nothing: see ``passed`` and ``complaints``.
    """
    watch = WatchOptions(check=check, memcheck=memcheck)
    asked, warnings = asked_by(
        program, machine, policy, (size, seed), options, watch, gpu=GpuOptions(sms=sms))
    backend = backend_of(None)
    if asked.gpu is not None:
        return _result(asked, backend.run_gpu(asked.gpu, asked.request, _ignore, _ignore), warnings)
    backend.require_tools([asked.config])
    return _result(asked, backend.run(asked.config, asked.request, _ignore, _ignore), warnings)


@checked
def predict(
    program: Name, *, machine: Name | SmConfig = "BASE", policy: Name | None = None, size: int | None = None,
    seed: int = 1, sms: int | None = None, **options: Unpack[Options],
) -> Prediction:
    """Compute a run exactly, without the hardware, as ``metronome predict`` does. Arguments and errors: :func:`run`.

    Only the front end ``swas`` can be predicted. The first call compiles the model, which takes half a minute.
    """
    asked, warnings = asked_by(
        program, machine, policy, (size, seed), options, gpu=GpuOptions(sms=sms))
    backend = backend_of(None)
    if asked.gpu is not None:
        return _prediction(asked, backend.predict_gpu(asked.gpu, asked.request, _ignore, None), warnings)
    return _prediction(asked, backend.predict(asked.config, asked.request, _ignore, None), warnings)


@checked
def trace(
    program: Name, output: Name, *, machine: Name | SmConfig = "BASE", policy: Name | None = None,
    size: int | None = None, seed: int = 1, sms: int | None = None, engine: Literal["rtl", "predict"] = "rtl",
    first: int | None = None, last: int | None = None, **options: Unpack[Options],
) -> Result:
    """Run a program, and write every cycle to the file ``output``, as ``metronome trace`` does.

    The end of the file's name selects the format: ``.html``, ``.csv``, ``.parquet`` and others (docs/looking.md).
    ``engine="predict"`` computes the run instead. ``first`` and ``last`` are the cycles of a figure (.svg, .pdf), which
    needs both, or of a waveform (``--from`` and ``--to``). Other arguments, and errors: :func:`run`.
    """
    files = trace_files([os.fspath(output)], "output")
    waveforms = [file for file in files if file.kind in WAVEFORMS]
    if waveforms and engine == Engine.PREDICT:
        raise UsageError("a waveform is that of the hardware: leave out engine='predict'")
    figure = next((file.path.name for file in files if file.kind in FIGURES), None)
    if figure is not None and (first is None or last is None):
        raise UsageError(f"{figure}: a figure shows at most {MOST_CYCLES} cycles of one SM: add first=CYCLE and "
                         "last=CYCLE")
    window = window_of(files, "--output", first, last)
    check_waveforms(waveforms, first, last, also=window is not None)
    written = [("output", file.path) for file in files]
    asked, warnings = asked_by(
        program, machine, policy, (size, seed), options, outputs=written, gpu=GpuOptions(sms=sms),
        of_gpu=lambda gpu: check_gpu_traces(gpu, files, "output"))
    backend, config = backend_of(None), asked.config
    seen = [] if waveforms else files
    if seen and not config.probe:
        raise UsageError("a trace needs the probe: leave out probe=False")
    if asked.gpu is not None:
        return _traced_gpu(asked, asked.gpu, files, engine, warnings)
    if engine == Engine.PREDICT:
        with traced(seen, config, about(asked), window=window) as watcher:
            predicted = backend.predict(config, asked.request, _ignore, None, watcher)
        return _prediction(asked, predicted, warnings)
    backend.require_tools([config], waves=bool(waveforms))
    with traced(seen, config, about(asked), window=window) as watcher, waved(waveforms, config, first, last) as waves:
        request = dataclasses.replace(asked.request, waves=waves)
        result = backend.run(config, request, _ignore, _ignore, watcher)
    return _result(asked, result, warnings)


@checked
def wcet(
    program: Name, *, machine: Name | SmConfig = "BASE", policy: Name | None = None, size: int | None = None,
    seed: int = 1, sms: int | None = None, **options: Unpack[BoundOptions],
) -> BoundResult:
    """Bound the cycles of a program for all inputs, as ``metronome wcet`` does. Arguments and errors: :func:`run`.

    See :class:`BoundOptions` for the further arguments. A program without a bound raises UsageError.
    """
    given: dict[str, Any] = dict(options)
    bounds = CommandBounds(
        observe=given.pop("observe", 0), rtl=given.pop("hardware", True), compose=given.pop("compose", False),
        memory_bound=given.pop("memory_bound", None), flow_facts=text_of(given.pop("flow_facts", None)),
        ranges=[f"{name}={low}..{high}" for name, (low, high) in given.pop("ranges", {}).items()],
    )
    check_bounds(bounds)
    asked, warnings = asked_by(program, machine, policy, (size, seed), given, gpu=GpuOptions(sms=sms))
    found = bounded(None, asked, bounds, _ignore, warnings.append)
    bound, observed = found.bound, found.observed
    return BoundResult(
        cycles=bound.cycles, exact=bound.exact, parts=bound.parts, loops=bound.loops,
        assumptions=tuple(each.text for each in bound.assumptions),
        observed=None if observed is None else observed.cycles, complaint=found.complaint(bounds.memory_bound),
        warnings=tuple(warnings), found=found,
    )


def _traced_gpu(
    asked: AskedRun, gpu: GpuConfig, files: Sequence[TraceFile], engine: str, warnings: Sequence[str]
) -> Result:
    backend = backend_of(None)
    with traced_gpu(files, gpu, about(asked)) as watchers:
        if engine == Engine.PREDICT:
            predicted = backend.predict_gpu(gpu, asked.request, _ignore, None, watchers)
        else:
            result = backend.run_gpu(gpu, asked.request, _ignore, _ignore, watchers)
    return _prediction(asked, predicted, warnings) if engine == Engine.PREDICT else _result(asked, result, warnings)


def _ignore(line: str) -> None:
    """Ignore progress reports, and the output of a program, which is in its result."""


def _result(asked: AskedRun, result: RunResult, warnings: Sequence[str]) -> Result:
    made: Result = Result._of(asked.outcome(result), warnings)
    return made


def _prediction(asked: AskedRun, predicted: Predicted | GpuPrediction, warnings: Sequence[str]) -> Prediction:
    slow = slow_policy(predicted, asked.request.policy)
    issued = predicted.issued
    by_sm = issued if isinstance(issued, tuple) else (issued,)
    made: Prediction = Prediction._of(
        asked.outcome(predicted.result, Engine.PREDICT), [*warnings, *([] if slow is None else [slow])],
        issued=issues_of_all(issued) if isinstance(issued, tuple) else issued,
        finishes=tuple(finish for each in by_sm for finish in finishes_of(each, asked.config.warps)),
        prediction=predicted,
    )
    return made
