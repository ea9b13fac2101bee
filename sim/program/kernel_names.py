"""Names of our own kernels, and of element types. They do not import a kernel's host.py, and so not numpy."""

from __future__ import annotations

from ..build.sources import ROOT

__all__ = ["C_TYPES", "KERNELS"]

#: Element type -> its name in C.
C_TYPES = {"int32": "int32_t", "float32": "float"}

#: The template that ``metronome new`` copies, which is not a kernel of the library.
_SKELETON = "skeleton"
#: The kernels that a listing begins with.
_FIRST = (
    "vecadd", "saxpy", "sgemm", "psort", "transpose", "psum", "diverge", "conv3", "sfilter",
    "conv_rows", "conv_columns", "row_sums",
    "blackscholes", "hotspot", "hotspot3d", "kmeans", "psort_group", "sgemm_group",
    "backprop", "gaussian", "nn", "nw", "pathfinder", "srad",
)


def _names() -> tuple[str, ...]:
    found = {source.parent.name for source in (ROOT / "riscv_kernels").glob("*/kernel.c")}
    return (*_FIRST, *sorted(found - {*_FIRST, _SKELETON}))


#: The names, in the order of a listing: a folder of riscv_kernels is a kernel.
KERNELS = _names()
