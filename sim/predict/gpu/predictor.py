"""Predict runs on a GPU of several SMs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from metronome.hdl.config import LINE_BYTES
from metronome.hdl.gpu.config import Dispatch, GpuConfig

from ...machine.events import WARPS
from ...machine.memory.stacks import restore
from ...machine.memory.store import SparseMemory
from ...run.gpu.runner import summed
from ...run.gpu.types import GpuRunResult
from ...run.jobs import job_of
from ...run.types import RunRequest, Watcher, present, unpack_memory
from .. import sums
from ..model import machine
from ..model.compiled import SEVERAL_SMS, compiling
from ..model.gpu import advance_gpu
from ..model.records import CODE, STEP
from ..predictor import refuse, smallest
from ..setup import Executed
from ..sm_run import OrderMattersError
from .running import GpuPredictionRun, new_gpu
from .streams import GpuStreams, record_gpu

__all__ = ["GpuPrediction", "predict_gpu", "prepare_gpu"]


@dataclass(frozen=True, kw_only=True)
class GpuPrediction:
    """A predicted run on a GPU; as :class:`sim.predict.predictor.Prediction`, but ``issued`` is by SM."""

    result: GpuRunResult
    issued: tuple[np.ndarray, ...]
    stepped: str | None
    asked: int = 0
    reason: str = ""


def _silent(cycle: int) -> None:
    """Ignore progress reports."""


def prepare_gpu() -> None:
    """Load the compiled model of several SMs, or compile it, as :func:`sim.predict.predictor.prepare`."""
    nobody = np.zeros((1, WARPS), np.int64)
    nothing = new_gpu(
        smallest(), Executed(np.zeros(1, STEP), nobody, nobody, np.zeros((1, 1), np.uint32)),
        code=np.zeros(1, CODE), shared=np.zeros(1, np.int64), sms=1,
    )
    with compiling(SEVERAL_SMS):
        reason = advance_gpu(nothing, 0)
    if reason != machine.FINISHED:
        raise RuntimeError("a GPU without a warp has not stopped")


def predict_gpu(
    gpu: GpuConfig, request: RunRequest, *, on_console: Callable[[str], None] | None = None,
    tell: Callable[[int], None] = _silent, steps: bool = False, watchers: Sequence[Watcher] | None = None,
) -> GpuPrediction:
    """Predict the run of ``request`` on ``gpu``.

    Parameters
    ----------
    on_console
        Called at the end with each line that the program printed.
    tell
        Called from time to time with the current cycle.
    steps
        Run the golden models in step with the prediction, instruction by instruction, even if that is not needed.
    watchers
        For each SM, the receiver of the events of every cycle. Perhaps one more, for the transfers at the memory port.

    Raises
    ------
    ValueError
        If ``gpu`` cannot run the request. The subclass CannotPredictError: if the run cannot be predicted.
    """
    config = gpu.sm_of(0)
    refuse(config, request.policy, check=request.check or request.memcheck)
    job = job_of(config, request)
    prepare_gpu()
    started = time.perf_counter()
    initial = unpack_memory(config, job.pages)
    known: GpuStreams | str = "requested"
    if gpu.dispatch is not Dispatch.NONE:
        known = "the dispatch unit hands out blocks"
    elif not steps:
        known = record_gpu(gpu, initial.copy(), job, request.max_cycles)
    if isinstance(known, GpuStreams) and any(
        config.memory_map.console // LINE_BYTES in each.stored for each in known.sms
    ):
        known = "the program prints"
    attempts: list[GpuStreams | None] = [None] if isinstance(known, str) else [known, None]
    stepped = known if isinstance(known, str) else None
    for streams in attempts:
        memory = initial.copy()
        run = GpuPredictionRun(gpu, request, job, memory, streams, watchers)
        try:
            for watcher in watchers or ():
                watcher.begin()
            run.run(tell)
            break
        except OrderMattersError as error:
            stepped = str(error)
    if streams is None:
        restore(config, memory)
    else:
        memory = streams.sms[0].memory.copy()
    for line in run.memory.console_text() if on_console else ():
        on_console(line)  # type: ignore[misc]
    choosers = [sm.chooser for sm in run.sms if sm.chooser is not None]
    return GpuPrediction(
        result=_result(run, request, memory, time.perf_counter() - started),
        issued=tuple(np.concatenate(sm.issued) for sm in run.sms), stepped=stepped,
        asked=sum(each.asked for each in choosers), reason=choosers[0].reason if choosers else "",
    )


def _result(run: GpuPredictionRun, request: RunRequest, memory: SparseMemory, seconds: float) -> GpuRunResult:
    """Return the result of a finished run in the form of a hardware run; ``memory`` is the final memory."""
    gpu, config = run.gpu, run.gpu.sm_of(0)
    faults = [sums.fault(sm.whole) for sm in run.sms]
    first = next((number for number, fault in enumerate(faults) if fault is not None), None)
    stopped = None if first is None else faults[first]
    for sm in run.sms:
        sm.sums["ended"], sm.sums["deadlock"] = run.link["ended"], run.link["deadlock"]
    status = sums.status(run.sms[0].sums, stopped)
    counters = [sums.counters(sm.sums) for sm in run.sms]
    return GpuRunResult(
        status=status, exit_code=memory.read_word(config.memory_map.exit_code), total_cycles=run.cycle, memory=memory,
        fault=stopped, fault_sm=first, counters=present(gpu.sm, summed(counters)),
        sm_counters=[present(gpu.sm, each) for each in counters], console="".join(run.memory.console_text()),
        sm_hang=[] if status == "ended" else [
            sums.hang(sm.config, memory, sm.sums, sm.whole, request.policy) for sm in run.sms
        ],
        memory_statistics=run.memory.model.statistics(run.cycle), argument_missing=run.memory.model.read_unwritten,
        sim_seconds=seconds, l2=None if run.l2 is None else run.l2.counters(),
    )
