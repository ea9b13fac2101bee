"""Where the machine keeps the instructions that the warps execute."""

from .compiled import inlined
from .partitions import global_warp

__all__ = ["place"]


@inlined
def place(m, w, number):
    """Return the index of the instruction of a partition's warp in ``steps``."""
    ring = m.config[0].ring
    return m.first[global_warp(m, w)] + (number & ring if ring else number)
