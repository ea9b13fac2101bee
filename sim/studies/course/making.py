"""Reference values: the statistics of the solution, which is the predictor's own policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ...predict.predictor import Recordings
from .cases import CaseError, Kit, measure

__all__ = ["make_reference"]


def make_reference(kit: Kit, tell: Callable[[str], None] = lambda step: None) -> Kit:
    """Return the same cases with the values of the solution. Raises CaseError."""
    reference, recordings = {}, Recordings()
    for case in kit.cases:
        tell(f"run {case.name}")
        statistics = measure(case, kit.folder, recordings=recordings)
        if statistics is None:
            raise CaseError(f"case {case.name}: it does not end")
        reference[case.name] = statistics
    return dataclasses.replace(kit, reference=reference)
