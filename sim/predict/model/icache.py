"""The I-cache and its misses (design.md section 3, "Miss"; memory.md, "Without caches").

A fetch made in t is looked up in t+1. A miss suspends its warp from t+2 on and asks for an MSHR in t+2; from t+3 on its
line is offered to memory. If memory answers in c-1, the line enters the cache in c, and the warps that wait for it can
be selected in c+1.
"""

from ...machine.events import NONE
from .compiled import inlined
from .search import least_recently_used

__all__ = ["look_up", "offer", "tick"]


@inlined
def look_up(m):
    """Look up the fetch made in the last cycle: find out whether it misses, and where its word is."""
    config, front = m.config[1], m.front[m.part]
    front.missed = 0
    front.hit_place = front.looked_up = NONE
    if not front.valid1:
        return
    line = front.pc1 >> 6
    found = NONE
    if config.icache:
        first = _set(m, line)
        for place in range(first, first + config.icache_ways):
            if m.icache_line[place] == line:
                found, front.hit_place = m.icache_code[place], place
    elif front.held_line[front.warp1] == line:
        found = front.held_code[front.warp1]
    if found != NONE:
        front.looked_up = found + (front.pc1 >> 2 & 15)
        if m.code[front.looked_up].written and not front.squashed1:
            front.stale = 1
    elif not front.squashed1:
        front.missed = 1


@inlined
def _set(m, line):
    """Return the first place of the line's set in the partition's I-cache."""
    config = m.config[1]
    return (m.part * config.icache_sets + (line & config.icache_sets - 1)) * config.icache_ways


@inlined
def offer(m):
    """Return the MSHR whose line is offered to memory, or NONE. An offer stays until memory takes it.

    With an I-cache, the lowest unsent MSHR is chosen; without one, each warp's MSHR in turn.
    """
    config, front = m.config[1], m.front[m.part]
    if front.locked != NONE:
        return front.locked
    count = config.fetch_requests
    i = -1 if config.icache else front.sent_last
    for _ in range(count):
        i = i + 1 if i + 1 < count else 0
        if front.mshr_line[i] != NONE and not front.mshr_sent[i]:
            return i
    return NONE


@inlined
def tick(m, lookup, redirected, turned, offered, accepted):
    """End the cycle. ``lookup``: the warp whose fetch is looked up and not squashed in this cycle, or NONE.

    ``redirected``, ``turned``: the warps whose fetches are squashed, which ends their suspension. ``offered``: the
    result of :func:`offer`; ``accepted``: whether memory took it.
    """
    config, front = m.config[1], m.front[m.part]
    missing = lookup if front.missed else NONE
    answered, comes = front.answered, front.refill_line
    line_of_lookup = front.pc1 >> 6
    front.refilled_line = comes
    front.refilled = answered != NONE and not front.mshr_stale[answered] and not front.invalidate
    # The warp that asks for an MSHR was chosen in the last cycle: the one that missed then, else the lowest one that
    # was waiting. It does not ask if it has been woken or served since.
    asks = front.missing_warp if front.missed_before else front.chosen_warp
    line = front.missing_line if front.missed_before else front.chosen_line
    if asks != NONE and not front.unasked >> asks & 1:
        asks = NONE
    front.missed_before, front.missing_warp, front.missing_line = missing != NONE, lookup, line_of_lookup
    _choose(m)
    granted, fresh = _grant(m, asks, line)
    if front.invalidate:
        # Lines requested before a fence.i may hold old instructions.
        for i in range(config.fetch_requests):
            if front.mshr_line[i] != NONE and front.mshr_sent[i] and not (fresh and i == granted):
                front.mshr_stale[i] = 1
    if fresh:
        front.mshr_line[granted], front.mshr_sent[granted], front.mshr_stale[granted] = line, 0, 0
    if NONE not in (asks, granted):
        front.unasked &= ~(1 << asks)
    woken = 0
    if answered != NONE and front.suspended:
        for w in range(config.warps):
            if (config.icache or answered == w) and front.pc[w] >> 6 == comes:
                woken |= 1 << w
    if redirected != NONE:
        woken |= 1 << redirected
    if turned != NONE:
        woken |= 1 << turned
    if missing != NONE and not woken >> missing & 1:
        come = answered != NONE and (config.icache or answered == missing) and line_of_lookup == comes
        if not come:
            front.suspended |= 1 << missing
            front.unasked |= 1 << missing
    front.suspended &= ~woken
    front.unasked &= ~woken
    _sent(m, offered, accepted)
    if answered != NONE:
        front.mshr_line[answered] = NONE
    _store(m, answered)


@inlined
def _choose(m):
    """Choose the warp that may ask in the next cycle: the lowest one that is waiting for an MSHR."""
    config, front = m.config[1], m.front[m.part]
    front.chosen_warp = NONE
    if front.unasked == 0:
        return
    for w in range(config.warps):
        if front.unasked >> w & 1 and (config.icache or front.mshr_line[w] == NONE):
            front.chosen_warp, front.chosen_line = w, front.pc[w] >> 6
            return


@inlined
def _grant(m, asks, line):
    """Return the MSHR that takes the miss of ``asks`` (NONE: none is free), and whether the request is new.

    Misses to one line share a request; without an I-cache an MSHR serves its own warp only.
    """
    config, front = m.config[1], m.front[m.part]
    if asks == NONE:
        return NONE, False
    first, end = (0, config.fetch_requests) if config.icache else (asks, asks + 1)
    free = NONE
    for i in range(first, end):
        if front.mshr_line[i] == line:
            return i, False
        if front.mshr_line[i] == NONE and free == NONE:
            free = i
    return free, free != NONE


@inlined
def _sent(m, offered, accepted):
    front = m.front[m.part]
    front.locked = NONE
    if offered != NONE:
        if accepted:
            front.mshr_sent[offered] = 1
            front.sent_last = offered
        else:
            front.locked = offered


@inlined
def _store(m, answered):
    """Store the line that has arrived in the least recently used way of its set; a fence.i empties the cache.

    A use in the previous cycle does not affect the choice of the victim, but counts as older than the fill.
    """
    config, front = m.config[1], m.front[m.part]
    victim = NONE
    if front.refilled and config.icache:
        first = _set(m, front.refill_line)
        victim = least_recently_used(m.icache_line, m.icache_used, first, config.icache_ways)
    if front.used_place != NONE:
        front.stamp += 1
        m.icache_used[front.used_place] = front.stamp
    front.used_place = front.hit_place
    if front.refilled:
        if config.icache:
            front.stamp += 1
            m.icache_line[victim] = front.refill_line
            m.icache_code[victim], m.icache_used[victim] = front.answered_code, front.stamp
        else:
            front.held_line[answered], front.held_code[answered] = front.refill_line, front.answered_code
    if front.invalidate:
        for line in range(config.icache_sets):
            for place in range(_set(m, line), _set(m, line) + config.icache_ways):
                m.icache_line[place] = NONE
        for w in range(config.warps):
            front.held_line[w] = NONE
