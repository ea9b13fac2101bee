"""The progress of each warp over time: the curves of figures 46 to 49 of the Fermi study."""

from __future__ import annotations

from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig

__all__ = ["STEPS", "progress_of"]

#: The number of equal parts into which a run is divided; fewer if they would be shorter than a cycle.
STEPS = 60


def progress_of(config: SmConfig, cycles: int, issued: np.ndarray) -> dict[str, Any]:
    """Return ``cycles``, the ends of the parts of a run, and ``warps``, each warp's issued instructions at each end.

    Parameters
    ----------
    issued
        Every issue of the run (:data:`sim.predict.model.records.ISSUED`); NOPs are left out.
    """
    ends = np.unique(np.linspace(0, cycles, STEPS + 1).round().astype(np.int64))
    real = issued[issued["pc"] >= 0]
    counts = [np.searchsorted(np.sort(real["cycle"][real["warp"] == w]), ends).tolist() for w in range(config.warps)]
    return {"cycles": ends.tolist(), "warps": counts}
