"""A run's lookups beside its listing."""

from dataclasses import replace

import numpy as np
import pytest

from metronome.hdl.presets import TINY
from metronome.sim.analysis.access_order.estimate import CacheSize, LruCache, estimate, lookups
from metronome.sim.analysis.access_order.measured_misses import Lookups, Verified, measured
from metronome.sim.program import kernels as kernel
from tests.sim.analysis.access_order.programs import listing_of

SIZE = CacheSize(128, 1)


@pytest.fixture(scope="module")
def listing():
    return listing_of(TINY, kernel.prepare("vecadd", None, 8, 1, TINY))


@pytest.fixture
def right(listing):
    """What a machine does that looks up in the order of the listing."""
    rows = [(each.warp, line, each.store) for each in listing.sequence for line in each.lines]
    cache = LruCache(SIZE)
    hits = [
        each.listed and line >= listing.user_line and cache.look_up(line, each.store)
        for each in listing.sequence for line in each.lines
    ]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Lookups(*columns, ~np.array(hits) & ~columns[2].astype(bool))


def test_misses_are_compared_by_pc(listing, right):
    found = estimate(lookups(listing), SIZE)
    assert Verified.of(found, measured(listing, right)).mismatches == 0
    listed = np.array([each.listed for each in listing.sequence for _ in each.lines])
    other = right.missed.copy()
    other[np.flatnonzero(other & listed)[0]] = False
    assert Verified.of(found, measured(listing, replace(right, missed=other))).mismatches == 1
    none = measured(listing, replace(right, missed=np.zeros_like(other)))
    assert Verified.of(found, none).mismatches == sum(counts.misses > 0 for counts in found.by_pc.values()) > 1


def test_another_order_is_seen(listing, right):
    assert measured(listing, right).disorder == 0
    warps = [each.warp for each in listing.sequence for _ in each.lines]
    listed = [each.listed for each in listing.sequence for _ in each.lines]
    at = next(n for n in range(1, len(warps)) if listed[n - 1] and warps[n] != warps[n - 1])
    order = np.arange(len(warps))
    order[[at - 1, at]] = at, at - 1
    swapped = Lookups(*(column[order] for column in (right.warp, right.line, right.store, right.missed)))
    assert (measured(listing, swapped).disorder, measured(listing, swapped).unlisted) == (2, 0)


def test_what_is_missing_or_not_listed_is_seen(listing, right):
    columns = right.warp, right.line, right.store, right.missed
    assert measured(listing, Lookups(*(column[:-1] for column in columns))).unlisted == 1
    lines = right.line.copy()
    lines[-1] += 1
    assert measured(listing, replace(right, line=lines)).unlisted == 2
