"""The Fermi study's model (sections 6.1 and 6.2): the instructions of a warp, each with the cost of its kind.

T is the sum over the kinds of cycles per instruction times instructions; dependent and independent arithmetic are
separate kinds. A load of global memory costs its latency less the instructions between it and its use (equation 8). In
the best case a load costs no more than a store, in the worst its whole latency. The model assumes that warps do not
delay each other, so it does not apply to more warps than the issue slots allow (section 6.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from .mix import Mix, Step
from .parameters import Parameters

__all__ = ["Case", "cpi_cycles", "holds", "load_latency"]


class Case(StrEnum):
    """How the latency of loads is counted."""

    BEST = "best"
    AVERAGE = "average"
    WORST = "worst"


def load_latency(mix: Mix, parameters: Parameters) -> float:
    """The mean over all loads, with the measured latency of local loads, hits and misses."""
    if not mix.loads:
        return 0.0
    local = (mix.loads - mix.global_loads) / mix.loads
    hits = mix.hits / mix.lines if mix.lines else 0.0
    return local * parameters.local + (1 - local) * (hits * parameters.hit + (1 - hits) * parameters.miss)


def cpi_cycles(mix: Mix, parameters: Parameters, case: Case) -> float:
    """Cycles of the slowest warp; 0 for a mix without warps."""
    latency = parameters.miss if case is Case.WORST else load_latency(mix, parameters)
    return max((_warp(steps, parameters, latency, case) for steps in mix.warps), default=0.0)


def holds(mix: Mix, parameters: Parameters, cycles: float) -> bool:
    """Whether this many cycles have an issue slot for every instruction of every warp."""
    return mix.instructions * parameters.issue <= cycles


def _warp(steps: Sequence[Step], parameters: Parameters, latency: float, case: Case) -> float:
    """The cycle in which the instruction after the last would be selected."""
    selected: list[float] = []
    now = 0.0
    for place, step in enumerate(steps):
        if case is Case.AVERAGE and step.needs_load is not None:
            now = max(now, selected[place - step.needs_load] + latency)
        if step.needs == 1:
            before = steps[place - 1].kind
            now = max(now, selected[place - 1] + parameters.distance.get(before, 0.0))
        selected.append(now)
        now += latency if step.kind == "load" and case is Case.WORST else parameters.interval[step.kind]
    return now
