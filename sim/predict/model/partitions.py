"""Partitions of an SM with several schedulers (docs/design.md): warp w is warp w // S of partition w % S.

A partition's records (FRONT, ISSUE, CONTROL) have its own warp numbers, and ``config[1]`` is its configuration.
"""

from .compiled import inlined

__all__ = ["global_warp", "owned", "spread", "spread_of", "warp_of"]


@inlined
def warp_of(m, p, w):
    """Return the number in the SM of a warp of partition ``p``."""
    return w * m.config[0].schedulers + p


@inlined
def global_warp(m, w):
    """Return the number in the SM of a warp of the partition ``m.part``."""
    return warp_of(m, m.part, w)


@inlined
def owned(m, warps):
    """Return the partition's part of a set of warps of the SM."""
    count = m.config[0].schedulers
    if count == 1:
        return warps
    mine = 0
    for w in range(m.config[1].warps):
        mine |= (warps >> (w * count + m.part) & 1) << w
    return mine


@inlined
def spread_of(m, p, mine):
    """Return the set of warps of the SM for a set of warps of partition ``p``."""
    count = m.config[0].schedulers
    if count == 1:
        return mine
    warps = 0
    for w in range(m.config[1].warps):
        warps |= (mine >> w & 1) << (w * count + p)
    return warps


@inlined
def spread(m, mine):
    """Return the set of warps of the SM for a set of warps of the partition ``m.part``."""
    return spread_of(m, m.part, mine)
