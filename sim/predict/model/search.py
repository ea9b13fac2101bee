"""What several units look for in their places: one that holds something, those of a line, the one to be replaced."""

from ...machine.events import NONE
from .compiled import inlined

__all__ = ["first_of", "least_recently_used", "places_of"]


@inlined
def first_of(places, count, value):
    """The lowest of the first ``count`` places that holds ``value`` (NONE: that is free), or NONE."""
    for number in range(count):
        if places[number] == value:
            return number
    return NONE


@inlined
def places_of(lines, uncached_lines, count, line, uncached):
    """The places that hold a line, a bit each; all uncached lines are one."""
    found = 0
    for number in range(count):
        if lines[number] == line or (uncached and lines[number] != NONE and uncached_lines[number]):
            found |= 1 << number
    return found


@inlined
def least_recently_used(lines, used, first, ways):
    """The place that a new line takes in the set from ``first`` on: a free one, else the one used longest ago."""
    victim = NONE
    for place in range(first, first + ways):
        if lines[place] == NONE:
            return place
        if victim == NONE or used[place] < used[victim]:
            victim = place
    return victim
