"""The L1: lookup, data cache, misses and their parts, write buffer, lines from memory (docs/memory.md).

An access at the head of the queue in c is in the lookup in c+1. What waits there holds back everything behind it.
"""

from ...machine.events import NONE
from .compiled import inlined
from .search import least_recently_used, places_of

__all__ = ["chosen_entry", "entries_of", "hit_place", "installs", "joined_entry", "place", "requested_set", "set_of",
           "youngest_entry"]


@inlined
def set_of(config, line):
    """The set of a line: the exclusive or of all groups of set bits of its number."""
    index = 0
    while line:
        index ^= line & config.dcache_sets - 1
        line >>= config.dcache_bits
    return index


@inlined
def hit_place(m, line):
    """Where the data cache holds the line in the lookup, or NONE."""
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
    """With ordered channels: where the line in the lookup is, or is to be, and whether it could get a place.

    That is the least recently used one of its set. The use of the cycle before is not known yet, and a place that
    waits for its line is not given away.
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
    """The line that goes into the cache in this cycle, the one after its answer, or NONE."""
    goes = config.dcache and lsu.filled_valid and lsu.filled_fresh and not lsu.filled_error
    return lsu.filled_line if goes and lsu.filled_line >= config.user_line else NONE


@inlined
def requested_set(config, lsu, line, uncached):
    """The MSHRs that have this line (all uncached lines are one), a bit each."""
    if lsu.misses == 0:
        return 0
    return places_of(lsu.miss_line, lsu.miss_uncached, config.line_requests, line, uncached)


# The write buffer.


@inlined
def entries_of(config, lsu, line, uncached):
    """The entries of a line (all uncached lines are one), a bit each."""
    if lsu.entries == 0:
        return 0
    return places_of(lsu.entry_line, lsu.entry_uncached, config.store_buffer, line, uncached)


@inlined
def chosen_entry(config, lsu, sent):
    """The entry that is offered to memory from the next cycle on, or NONE; ``sent``: what is offered now is taken.

    In turn, of those that wait for no older access to their line.
    """
    if lsu.unsent_entries == 0 or (lsu.request != NONE and not sent):
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
    """The entry that a store joins, or NONE: one of its line that has not been sent, and is not about to be."""
    if not uncached:
        for number in range(config.store_buffer):
            if same >> number & 1 and not lsu.entry_sent[number] and number != chosen:
                return number
    return NONE


@inlined
def youngest_entry(config, lsu, same):
    """The entry that a load reads, or NONE: of a line's two the one that has not been sent."""
    first = NONE
    for number in range(config.store_buffer):
        if same >> number & 1:
            if not lsu.entry_sent[number]:
                return number
            if first == NONE:
                first = number
    return first
