"""The L1: lookup, data cache, misses and their parts, write buffer, lines from memory (docs/memory.md).

An access at the head of the queue in c is in the lookup in c+1. An access that waits there blocks all that follow it.
"""

from ...machine.events import NONE
from . import victims
from .compiled import inlined
from .search import hashed, least_recently_used, places_of

__all__ = [
    "chosen_entry", "enter", "entries_of", "give_place", "hit_place", "installs", "joined_entry", "place",
    "requested_set", "set_of", "youngest_entry",
]


@inlined
def set_of(config, line):
    """Return the set of a line in the data cache."""
    return hashed(line, config.dcache_sets, config.dcache_bits)


@inlined
def hit_place(m, line):
    """Return the place of the line in the lookup in the data cache, or NONE."""
    config = m.config[0]
    if not config.dcache:
        return NONE
    first = m.lsu[0].held_set * config.dcache_ways
    for place in range(first, first + config.dcache_ways):
        if m.dcache_line[place] == line:
            return place
    return NONE


@inlined
def place(m, there, uncached):
    """With ordered channels, find the place of the line in the lookup, or the one it would take, and whether it may.

    It would take the least recently used place of its set. It may not if the set was used in the previous cycle, which
    is not recorded yet, or if the place is waiting for its line.
    """
    config, lsu = m.config[0], m.lsu[0]
    lsu.placed, lsu.victim, lsu.may_place = there, NONE, 1
    if there != NONE or uncached or not config.dcache:
        return
    if lsu.used_place != NONE and lsu.used_place // config.dcache_ways == lsu.held_set:
        lsu.may_place = 0
        return
    first = lsu.held_set * config.dcache_ways
    lsu.victim = least_recently_used(m.dcache_line, m.dcache_used, first, config.dcache_ways)
    for number in range(config.line_requests):
        if lsu.miss_line[number] != NONE and lsu.miss_place[number] == lsu.victim:
            lsu.may_place = 0


@inlined
def installs(config, lsu):
    """Return the line that enters the cache in this cycle (the cycle after its answer), or NONE."""
    goes = config.dcache and lsu.filled_valid and lsu.filled_fresh and not lsu.filled_error
    return lsu.filled_line if goes and lsu.filled_line >= config.user_line else NONE


@inlined
def requested_set(config, lsu, line, uncached):
    """Return the set of MSHRs that hold this line; all uncached lines count as one."""
    if lsu.misses == 0:
        return 0
    return places_of(lsu.miss_line, lsu.miss_uncached, config.line_requests, line, uncached)


# The write buffer.


@inlined
def entries_of(config, lsu, line, uncached):
    """Return the set of write buffer entries of a line; all uncached lines count as one."""
    if lsu.entries == 0:
        return 0
    return places_of(lsu.entry_line, lsu.entry_uncached, config.store_buffer, line, uncached)


@inlined
def chosen_entry(config, lsu, sent, arrives):
    """Return the entry chosen for memory, or NONE; ``sent``: memory takes the current offer.

    It is offered from the next cycle on; with a ``lookup_latency`` of 2 it is ``picked`` first, and offered as soon as
    the offer before it has been taken and no line ``arrives``, whose stored bytes are then read. Entries that need not
    wait for an older access to their line are chosen in turn.
    """
    busy = arrives or (lsu.request != NONE and not sent)
    if lsu.unsent_entries == 0 or (busy and (config.lookup_latency == 1 or lsu.picked != NONE)):
        return NONE
    number = lsu.buffered_last
    for _ in range(config.store_buffer):
        number = number + 1 if number + 1 < config.store_buffer else 0
        if (
            lsu.entry_line[number] != NONE and not lsu.entry_sent[number]
            and lsu.entry_after[number] == 0 and lsu.entry_loads[number] == 0
        ):
            return number
    return NONE


@inlined
def joined_entry(config, lsu, same, uncached, chosen):
    """Return the entry that a store joins, or NONE: one of its line that has not been sent.

    With a ``lookup_latency`` of 1 it may not be about to be sent either: its bytes are read in the cycle of the choice.
    """
    if not uncached:
        for number in range(config.store_buffer):
            if same >> number & 1 and not lsu.entry_sent[number] and (number != chosen or config.lookup_latency == 2):
                return number
    return NONE


@inlined
def youngest_entry(config, lsu, same):
    """Return the entry that a load reads, or NONE: if a line has two entries, the one that has not been sent."""
    first = NONE
    for number in range(config.store_buffer):
        if same >> number & 1:
            if not lsu.entry_sent[number]:
                return number
            if first == NONE:
                first = number
    return first


# The cache at the end of a cycle.


@inlined
def enter(m, used, install):
    """Store the line that has arrived in the least recently used way of its set.

    A use in the previous cycle does not affect the choice of the victim, but counts as older than the fill.
    """
    config, lsu = m.config[0], m.lsu[0]
    if not config.dcache:
        return
    victim = lsu.filled_at = NONE
    if install != NONE:
        victim = least_recently_used(
            m.dcache_line, m.dcache_used, lsu.filled_set * config.dcache_ways, config.dcache_ways
        )
    if lsu.used_place != NONE:
        lsu.stamp += 1
        m.dcache_used[lsu.used_place] = lsu.stamp
    lsu.used_place = used
    if install != NONE:
        if config.victim_tags and m.dcache_line[victim] != NONE:
            victims.leave(config, lsu, m.dcache_line[victim], m.dcache_owner[victim])
        m.dcache_owner[victim], lsu.filled_at = lsu.filled_warp, victim
        lsu.stamp += 1
        m.dcache_line[victim], m.dcache_used[victim] = install, lsu.stamp


@inlined
def give_place(m, adds, joined):
    """With ordered channels, give a requested line its place at once; every access counts as a use of the place."""
    config, lsu = m.config[0], m.lsu[0]
    if not config.dcache:
        return
    if lsu.used_place != NONE:
        lsu.stamp += 1
        m.dcache_used[lsu.used_place] = lsu.stamp
    lsu.used_place = lsu.placed if lsu.goes else NONE
    if adds and lsu.miss_line[joined] == NONE:
        # For an uncached line, this is NONE.
        lsu.miss_place[joined] = lsu.victim
        if lsu.victim != NONE:
            lsu.stamp += 1
            m.dcache_line[lsu.victim], m.dcache_used[lsu.victim] = lsu.held_line, lsu.stamp
