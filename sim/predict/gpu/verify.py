"""Compare a predicted run on a GPU with the hardware, every cycle of every SM."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from metronome.hdl.gpu.config import GpuConfig

from ...run.gpu.types import GpuRunResult
from ..verify import RESULT_FIELDS, FirstDifference, Verification, Verifier, field_differences, result_differences

__all__ = ["GpuVerifier"]

#: Those of one SM are compared SM by SM.
_FIELDS = (*(name for name in RESULT_FIELDS if name not in ("hang", "counters", "region")), "fault_sm", "l2")


class GpuVerifier:
    """Compares the trace of a run with a prediction; ``sms`` are the prediction's watchers."""

    def __init__(self, gpu: GpuConfig, events: list[np.ndarray]) -> None:
        self.sms = [Verifier(gpu.sm_of(number), each) for number, each in enumerate(events)]

    def verdict(self, measured: GpuRunResult, predicted: GpuRunResult) -> Verification:
        """Return the outcome when both have ended; texts name the SM."""
        differences = result_differences(measured, predicted, _FIELDS)
        first: FirstDifference | None = None
        for number, sm in enumerate(self.sms):
            of_sm = field_differences(_of_sm(measured, number), _of_sm(predicted, number), ("counters", "hang"))
            differences += [f"SM {number}: {text}" for text in of_sm]
            if sm.parting is not None and (first is None or sm.parting.cycle < first.cycle):
                first = replace(sm.parting, unit=f"SM {number}, {sm.parting.unit}")
        return Verification(
            mismatches=sum(sm.all_mismatches for sm in self.sms), parting=first, differences=tuple(differences))


def _of_sm(result: GpuRunResult, number: int) -> Any:
    """The result with the counters and the waiting warps of one SM."""
    # A prediction does not tell the lanes.
    hang = [replace(warp, lanes="") for warp in result.sm_hang[number]] if result.sm_hang else []
    return replace(result, counters=result.sm_counters[number], hang=hang)
