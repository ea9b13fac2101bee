"""What an analysis forecasts that assumes a warp always has its next instruction, and how much of it comes true.

Crouzet 2024 (section II-C) says why it need not: with two schedulers a warp is skipped when its buffer is empty.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metronome.hdl.config import Coordination, SmConfig

from ..run.jobs import job_of
from ..run.types import RunRequest, RunResult, unpack_memory
from .predictor import Recordings, predict, prepare, result_of
from .running import Running

__all__ = ["Forecast", "compare_schedules", "forecast", "forecast_against"]

#: Cycles of the region and of the run as forecast; the shares of :func:`compare_schedules`; why there is no forecast.
COLUMNS = ("cycles", "total_cycles", "same_cycle", "same_place", "problem")


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What was forecast of a run: its ``result`` as far as that is counted, and ``issued`` (ISSUED, NOPs included)."""

    result: RunResult
    issued: np.ndarray


def forecast(config: SmConfig, request: RunRequest, recordings: Recordings) -> Forecast:
    """The schedule of ``request`` as it is known before the run.

    For ``swas`` it is the prediction. For other front ends it is that of the issue policy, if every warp always has its
    next instruction; the fetch policy, the buffers and the I-cache do not count. Each warp executes what the golden
    model has executed.

    Raises
    ------
    ValueError
        For a program of which the warps' instructions are not known before it runs, or a request that cannot be run.
    """
    if config.coordination is Coordination.SWAS:
        prediction = predict(config, request, recordings=recordings)
        return Forecast(result=prediction.result, issued=prediction.issued)
    job = job_of(config, request)
    prepare()
    started = time.perf_counter()
    memory = unpack_memory(config, job.pages)
    streams = recordings.of(config, request, job, memory)
    if isinstance(streams, str):
        raise ValueError(streams)
    run = Running(config, request, job, memory.copy(), streams, supplied=True)
    run.run(lambda cycle: None)
    seconds = time.perf_counter() - started
    return Forecast(
        result=result_of(config, request, run, streams.memory.copy(), seconds),
        issued=np.concatenate(run.issued),
    )


def compare_schedules(events: np.ndarray, issued: np.ndarray) -> tuple[float, float]:
    """Two shares of the issues that were forecast (ISSUED).

    The first is of those in whose cycle the hardware has issued that warp. The second is of those whose warp is that of
    the hardware's issue with the same number.

    ``events``: a run's trace (:attr:`sim.run.types.RunResult.events`).
    """
    selected = events["front"]["select_valid"].astype(bool)
    warps = np.where(selected, events["front"]["select_warp"].astype(np.int64), -1)
    places = issued["cycle"] - int(events["cycle"][0])
    there = (places >= 0) & (places < len(warps))
    same_cycle = np.count_nonzero(warps[places[there]] == issued["warp"][there])
    in_order = warps[selected][: len(issued)]
    same_place = np.count_nonzero(in_order == issued["warp"][: len(in_order)])
    return same_cycle / len(issued), same_place / len(issued)


def forecast_against(
    config: SmConfig, request: RunRequest, events: np.ndarray, recordings: Recordings
) -> dict[str, Any]:
    """What is said of a run and its forecast: the columns ``forecast.*`` of a sweep (docs/experiments.md)."""
    try:
        made = forecast(config, replace(request, trace=False, check=False, memcheck=False), recordings)
    except ValueError as error:
        return dict.fromkeys(COLUMNS) | {"problem": str(error)}
    same_cycle, same_place = compare_schedules(events, made.issued)
    values = made.result.counters["cycles"] or None, made.result.total_cycles, same_cycle, same_place, None
    return dict(zip(COLUMNS, values, strict=True))
