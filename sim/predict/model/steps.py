"""Where the machine keeps the instructions that the warps execute."""

from .compiled import inlined

__all__ = ["place"]


@inlined
def place(m, w, number):
    """Return the index of a warp's instruction in ``steps``."""
    ring = m.config[0].ring
    return m.first[w] + (number & ring if ring else number)
