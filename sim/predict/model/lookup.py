"""The lookup stage: an access proceeds or waits (docs/memory.md, "Lookup waits").

An access that waits there blocks all that follow it.
"""

from ...machine.events import NONE, Wait
from . import l1
from .compiled import inlined
from .policies import lowest
from .search import first_of

__all__ = ["adds_part", "find", "look_up"]


@inlined
def find(m, install, sent, arrives):
    """Look up the line and choose the next store: (place in the cache, entries, MSHRs, entry to be offered)."""
    config, lsu = m.config[0], m.lsu[0]
    chosen = l1.chosen_entry(config, lsu, sent, arrives)
    if not lsu.held:
        return NONE, 0, 0, chosen
    uncached = lsu.held_line < config.user_line
    hit = l1.hit_place(m, lsu.held_line)
    requested = l1.requested_set(config, lsu, lsu.held_line, uncached)
    if config.ordered:
        l1.place(m, hit, uncached)
        if requested and not (lsu.filled_valid and lowest(requested) == lsu.filled_miss):
            hit = NONE
    return hit, l1.entries_of(config, lsu, lsu.held_line, uncached), requested, chosen


@inlined
def _fills_its_set(lsu, install):
    """Whether a line of the held access's set enters the cache in this cycle."""
    return install != NONE and lsu.filled_set == lsu.held_set


@inlined
def adds_part(m, found, install):
    """Return whether the access becomes a part that waits for memory, and the MSHR that it waits for."""
    config, lsu = m.config[0], m.lsu[0]
    hit, same, requested, _ = found
    if not lsu.held or lsu.held_store or hit != NONE or _fills_its_set(lsu, install) or same:
        return False, NONE
    if first_of(lsu.part_miss, config.load_parts, NONE) == NONE:
        return False, NONE
    uncached = lsu.held_line < config.user_line
    if requested and config.dcache and not uncached:
        return True, lowest(requested)
    free = first_of(lsu.miss_line, config.line_requests, NONE)
    if free == NONE or (uncached and requested) or (config.ordered and not lsu.may_place):
        return False, NONE
    return True, free


@inlined
def look_up(m, found, install, accepts, hit_free):
    """Decide whether the access in the lookup proceeds or waits (memory.md, "Lookup waits")."""
    config, lsu = m.config[0], m.lsu[0]
    hit, same, requested, chosen = found
    lsu.goes = lsu.hit = lsu.joins = lsu.forward = lsu.wait = lsu.stays = 0
    lsu.installed, lsu.entry, lsu.hit_at = install, NONE, hit
    if not lsu.held:
        return
    uncached = lsu.held_line < config.user_line
    lsu.hit = hit != NONE
    if lsu.held_store:
        joined = l1.joined_entry(config, lsu, same, uncached, chosen)
        lsu.joins = joined != NONE
        lsu.entry = joined if joined != NONE else first_of(lsu.entry_line, config.store_buffer, NONE)
        if _fills_its_set(lsu, install):
            lsu.wait = Wait.FILL
        elif lsu.entry == NONE:
            lsu.wait = Wait.BUFFER
        elif install != NONE or (accepts and requested):
            lsu.wait = Wait.FILL
    else:
        if not lsu.hit and not uncached and same and not config.ordered:
            youngest = l1.youngest_entry(config, lsu, same)
            # The bytes are compared in one cycle, or in two.
            lsu.stays = config.lookup_latency == 2 and not lsu.held_again
            # With two cycles, the bytes are read for one purpose at a time: a load waits for the others.
            reads = config.lookup_latency == 2 and (lsu.picked != NONE or (accepts and config.dcache))
            lsu.forward = not lsu.stays and not reads and lsu.held_bytes & ~lsu.entry_bytes[youngest] == 0
            lsu.entry = youngest
        lsu.wait = _load_waits(m, found, install, hit_free, uncached)
        lsu.joins = requested and config.dcache and not uncached and lsu.wait == 0 and not lsu.hit and not lsu.forward
    lsu.goes = lsu.wait == 0
    lsu.event_line, lsu.event_store, lsu.event_warp = lsu.held_line, lsu.held_store, lsu.held_warp
    lsu.event_first, lsu.event_uncached = lsu.held_first, uncached
    lsu.event_row, lsu.event_lanes = lsu.held_row, lsu.held_lanes


@inlined
def _load_waits(m, found, install, hit_free, uncached):
    config, lsu = m.config[0], m.lsu[0]
    _, same, requested, _ = found
    answered = lsu.held_register == NONE or hit_free
    if _fills_its_set(lsu, install):
        return Wait.FILL
    if lsu.hit:
        return 0 if answered else Wait.WRITEBACK
    if same:
        return 0 if lsu.forward and answered else Wait.ORDER
    if uncached and requested:
        return Wait.ORDER
    if first_of(lsu.part_miss, config.load_parts, NONE) == NONE:
        return Wait.PARTS
    if requested and config.dcache:
        return 0
    if config.ordered and not lsu.may_place:
        return Wait.MSHR
    return Wait.MSHR if first_of(lsu.miss_line, config.line_requests, NONE) == NONE else 0
