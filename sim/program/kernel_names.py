"""The names of our own kernels: whoever only asks whether a name is one needs no kernel's host.py, and no numpy."""

from __future__ import annotations

__all__ = ["KERNELS"]

#: The names, in the order of a listing.
KERNELS = (
    "vecadd", "saxpy", "sgemm", "psort", "transpose", "psum", "diverge", "conv3", "sfilter",
    "conv_rows", "conv_columns", "row_sums",
    "blackscholes", "hotspot", "hotspot3d", "kmeans", "psort_group", "sgemm_group",
    "backprop", "gaussian", "nn", "nw", "pathfinder", "srad",
)
