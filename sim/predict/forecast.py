"""Schedules forecast on the assumption that every warp always has its next instruction, and their accuracy.

Crouzet 2024 (section II-C) explains why such a forecast can fail: with two schedulers, a warp whose buffer is empty is
skipped.
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
from .running import PredictionRun

__all__ = ["Forecast", "compare_schedules", "forecast", "forecast_against"]

#: Forecast cycles of the region and of the run; the shares of :func:`compare_schedules`; the reason for no forecast.
COLUMNS = ("cycles", "total_cycles", "same_cycle", "same_place", "problem")


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The forecast of a run: its ``result``, as far as the model counts it, and ``issued`` (ISSUED, with NOPs)."""

    result: RunResult
    issued: np.ndarray


def forecast(config: SmConfig, request: RunRequest, recordings: Recordings) -> Forecast:
    """Forecast the schedule of ``request`` before the run.

    For ``swas``, this is the prediction. For other front ends, it is the schedule of the issue policy if every warp
    always has its next instruction; the fetch policy, the buffers and the I-cache are ignored. Each warp executes the
    instructions that the golden model executed.

    Raises
    ------
    ValueError
        If the warps' instructions are not known before the program runs, or the request cannot be run.
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
    run = PredictionRun(config, request, job, memory.copy(), streams, supplied=True)
    run.run(lambda cycle: None)
    seconds = time.perf_counter() - started
    return Forecast(
        result=result_of(config, request, run, streams.memory.copy(), seconds),
        issued=np.concatenate(run.issued),
    )


def compare_schedules(events: np.ndarray, issued: np.ndarray) -> tuple[float, float]:
    """Return two measures of accuracy, as shares of the forecast issues (``issued``, of type ISSUED).

    The first is the share of issues for which the hardware issues the same warp in the same cycle. The second is the
    share for which the hardware's issue with the same sequence number is of the same warp.

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
    """Compare a run with its forecast: the columns ``forecast.*`` of a sweep (docs/experiments.md)."""
    try:
        made = forecast(config, replace(request, trace=False, check=False, memcheck=False), recordings)
    except ValueError as error:
        return dict.fromkeys(COLUMNS) | {"problem": str(error)}
    same_cycle, same_place = compare_schedules(events, made.issued)
    values = made.result.counters["cycles"] or None, made.result.total_cycles, same_cycle, same_place, None
    return dict(zip(COLUMNS, values, strict=True))
