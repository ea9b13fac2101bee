"""Partitions of an SM with several schedulers (docs/design.md): warp w is warp w // S of partition w % S.

A partition's records (FRONT, ISSUE, CONTROL) have its own warp numbers, and ``config[1]`` is its configuration.
"""

from .compiled import inlined
from .records import Machine

__all__ = ["global_warp", "owned", "partition", "spread"]


@inlined
def partition(m, p):
    """Return the machine as partition ``p`` sees it."""
    return Machine(
        m.config, m.front, m.issue, m.control, m.whole, m.lsu, m.port, m.observer, m.code, m.steps, m.first, m.known,
        m.addresses, m.shared, m.writers, m.icache_line, m.icache_code, m.icache_used, m.dcache_line, m.dcache_used,
        m.dcache_owner, m.lists, m.issued, m.events, m.choices, p,
    )


@inlined
def global_warp(m, w):
    """Return the number in the SM of a partition's warp."""
    return w * m.config[0].schedulers + m.part


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
def spread(m, mine):
    """Return the set of warps of the SM for a set of the partition's warps."""
    count = m.config[0].schedulers
    if count == 1:
        return mine
    warps = 0
    for w in range(m.config[1].warps):
        warps |= (mine >> w & 1) << (w * count + m.part)
    return warps
