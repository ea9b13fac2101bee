"""Inputs and outputs of a simulation of a GPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metronome.hdl.gpu.config import GpuConfig

from ..types import Job, RunResult, WarpState

__all__ = ["GpuJob", "GpuRunResult"]


@dataclass(frozen=True, kw_only=True)
class GpuJob:
    """A run request as sent to the simulation process; ``job`` has the configuration of SM 0."""

    gpu: GpuConfig
    job: Job


@dataclass(kw_only=True)
class GpuRunResult(RunResult):
    """How a program ended on a GPU: as :class:`sim.run.types.RunResult`, with the SMs one by one.

    ``counters`` are the sums over all SMs, but ``cycles`` the largest of them, and ``total_cycles`` those of the whole
    run. ``hang`` is empty: ``sm_hang`` has the warps of each SM. ``region`` is None.
    """

    #: The SM of ``fault``; None without a fault.
    fault_sm: int | None = None
    #: The lanes of ``fault`` (:func:`.lanes.fault_lanes`), ascending; None if they are not known: lock step finds them.
    fault_lanes: list[int] | None = None
    #: The counters of each SM.
    sm_counters: list[dict[str, Any]] = field(default_factory=list)
    #: The records of each cycle of each SM, if the request has ``trace``; as ``events``, without transfers at the port.
    sm_events: list[np.ndarray] | None = None
    #: The warps of each SM, if the program was cut off.
    sm_hang: list[list[WarpState]] = field(default_factory=list)
    #: The counters of the L2 for the whole run (:func:`hdl.gpu.l2.cache.l2_counters_layout`); None without one.
    l2: dict[str, int] | None = None
