"""Searches that several units share: a place with a given value, the places of a line, the place to replace."""

from ...machine.events import NONE
from .compiled import inlined

__all__ = ["first_of", "hashed", "least_recently_used", "places_of"]


@inlined
def first_of(places, count, value):
    """Return the lowest of the first ``count`` places that holds ``value`` (NONE: a free place), or NONE."""
    for number in range(count):
        if places[number] == value:
            return number
    return NONE


@inlined
def places_of(lines, uncached_lines, count, line, uncached):
    """Return the set of places that hold a line; all uncached lines count as one."""
    found = 0
    for number in range(count):
        if lines[number] == line or (uncached and lines[number] != NONE and uncached_lines[number]):
            found |= 1 << number
    return found


@inlined
def hashed(line, sets, bits):
    """Return the set of a line: the exclusive or of its number's bits in groups of the set index's width."""
    index = 0
    while line:
        index ^= line & sets - 1
        line >>= bits
    return index


@inlined
def least_recently_used(lines, used, first, ways):
    """Return the place for a new line in the set from ``first`` on: a free one, else the least recently used."""
    victim = NONE
    for place in range(first, first + ways):
        if lines[place] == NONE:
            return place
        if victim == NONE or used[place] < used[victim]:
            victim = place
    return victim
