"""How far each warp has come over time: the curves of the Fermi study's figures 46 to 49."""

from __future__ import annotations

from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig

__all__ = ["STEPS", "progress_of"]

#: The run is cut into so many parts of equal length, or fewer where they would be shorter than a cycle.
STEPS = 60


def progress_of(config: SmConfig, cycles: int, issued: np.ndarray) -> dict[str, Any]:
    """``cycles``, the ends of the parts of a run, and ``warps``, of each the instructions issued before each end.

    Parameters
    ----------
    issued
        Every issue of the run (:data:`sim.predict.model.records.ISSUED`); NOPs are left out.
    """
    ends = np.unique(np.linspace(0, cycles, STEPS + 1).round().astype(np.int64))
    real = issued[issued["pc"] >= 0]
    counts = [np.searchsorted(np.sort(real["cycle"][real["warp"] == w]), ends).tolist() for w in range(config.warps)]
    return {"cycles": ends.tolist(), "warps": counts}
