"""One run of an experiment, executed anywhere: here, in a separate process, or on a worker of a cluster."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

from ...analysis.access_order.estimate import estimate_of
from ...build.gpu import build_gpu
from ...build.simulator import BuildError, build
from ...machine.engines import CannotPredictError, Engine
from ...machine.policies.files import PolicyFileError
from ...program.compiler.elf_cache import ToolchainError
from ...program.elf import ImageError
from ...program.kernels import KernelError
from ...run.gpu.outcome import GpuParts
from ...run.gpu.runner import GpuRefusedError, run_gpu
from ...run.outcome import Outcome
from ...run.profiling import built_by_profile
from ...run.runner import SimulationError
from ...run.runner import run as simulate
from ...run.types import RunRequest, RunResult
from .progress import progress_of
from .record import Run
from .rows import failed_row, result_row

if TYPE_CHECKING:
    from metronome.hdl.gpu.config import GpuConfig

    from ...predict.predictor import Prediction, Recordings

__all__ = ["TRIES", "build_machine", "execute"]

#: The number of times a run is started if its process dies, whether the simulation's or the worker's own.
TRIES = 3
#: The number of short runs after which the time for a profile-guided build is saved.
_MANY_RUNS = 200
#: Errors whose text is one clear line for the user.
_PLAIN = (BuildError, CannotPredictError, GpuRefusedError, ImageError, KernelError, PolicyFileError, SimulationError,
          ToolchainError)


def execute(run: Run, key: str) -> dict[str, Any]:
    """Execute the run and return its row. If it fails, the row has a ``reason``."""
    try:
        outcome, more = _outcome(run)
        return result_row(run, key, outcome, more)
    except Exception as error:  # whatever it is, the sweep continues and the row records it
        text = str(error) if isinstance(error, _PLAIN) else f"{type(error).__name__}: {error}"
        return failed_row(run, key, text.splitlines()[0].strip().rstrip(":") if text else type(error).__name__)


def _outcome(run: Run) -> tuple[Outcome, dict[str, Any]]:
    """The outcome, and the values that only a sweep's row has: the progress of its warps, the misses of its list."""
    run.load_policies()
    launch, listing = run.with_listing()
    request = run.request(launch)
    forecast = progress = None
    if run.gpu is not None:
        return GpuParts(
            machine=run, config=run.config, gpu=run.gpu, launch=launch, request=request, engine=run.engine,
            result=_predicted_gpu(run.gpu, request) if run.engine is Engine.PREDICT else _simulated(run, request),
        ), {}
    if run.engine is Engine.PREDICT:
        prediction = _predicted(run, request)
        result = prediction.result
        progress = progress_of(run.config, result.total_cycles, prediction.issued) if run.progress else None
    else:
        result = _simulated(run, request)
    if run.forecast and result.events is not None:
        from ...predict.forecast import forecast_against

        forecast = forecast_against(run.config, request, result.events, _recordings())
    return Outcome(
        machine=run, config=run.config, launch=launch, request=request, result=result, engine=run.engine,
        forecast=forecast,
    ), {"progress": progress, "estimated_misses": listing and estimate_of(listing, run.config).total.misses}


def _simulated(run: Run, request: RunRequest) -> RunResult:
    for _ in range(TRIES - 1):
        with contextlib.suppress(SimulationError):  # the simulation may have been killed for lack of memory
            return _simulated_once(run, request)
    return _simulated_once(run, request)


def _simulated_once(run: Run, request: RunRequest) -> RunResult:
    return simulate(run.config, request) if run.gpu is None else run_gpu(run.gpu, request)


def _predicted_gpu(gpu: GpuConfig, request: RunRequest) -> RunResult:
    from ...predict.gpu.predictor import predict_gpu

    return predict_gpu(gpu, request).result


def _predicted(run: Run, request: RunRequest) -> Prediction:
    from ...predict.predictor import predict

    return predict(run.config, request, recordings=_recordings())


@functools.cache
def _recordings() -> Recordings:
    """The recordings of this process: consecutive runs of the same program share one."""
    from ...predict.predictor import Recordings

    return Recordings()


def _prepare_model(run: Run) -> None:
    if run.gpu is not None:
        from ...predict.gpu.predictor import prepare_gpu

        prepare_gpu()
        return
    from ...predict.predictor import prepare

    prepare()


def build_machine(run: Run, runs: int) -> str | None:
    """Build the simulation of the run's machine, or the model, unless it is cached; return the error, if any.

    ``runs``: how many runs follow. For many, the build is profile-guided.
    """
    if run.engine is Engine.PREDICT:
        _prepare_model(run)
        return None
    try:
        run.load_policies()
        if run.gpu is not None:
            build_gpu(run.gpu)
            return None
        build(run.config)
        if runs >= _MANY_RUNS:
            # Without a profile, the usual simulation runs.
            with contextlib.suppress(BuildError):
                built_by_profile(run.config)
    except (BuildError, PolicyFileError) as error:
        return " ".join(str(error).split())
    return None
