"""Victim tags: lines that each warp brought into the data cache and then lost (docs/policies.md)."""

from ...machine.events import NONE, WARPS
from .compiled import inlined
from .records import VICTIMS

__all__ = ["leave", "miss", "reset"]


@inlined
def reset(lsu):
    """Clear all tags."""
    for w in range(WARPS):
        for number in range(VICTIMS):
            lsu.victim_line[w, number] = NONE


@inlined
def miss(config, lsu, adds):
    """Search its warp's tags for the line of a load that misses; if found, remove it and report lost locality."""
    lsu.lost = 0
    if not adds or lsu.held_line < config.user_line:
        return
    w = lsu.held_warp
    for number in range(config.victim_tags):
        if lsu.victim_line[w, number] == lsu.held_line:
            lsu.victim_line[w, number] = NONE
            lsu.lost = 1 << w


@inlined
def leave(config, lsu, line, owner):
    """Record a line that leaves the cache in place of its owner's oldest tag."""
    number = lsu.victim_next[owner]
    lsu.victim_line[owner, number] = line
    lsu.victim_next[owner] = number + 1 if number + 1 < config.victim_tags else 0
