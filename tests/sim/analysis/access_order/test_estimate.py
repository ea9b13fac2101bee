"""The abstract cache against a reference that remembers everything and knows nothing of sets but a formula."""

import random

import pytest

from metronome.hdl.presets import BASE
from metronome.sim.analysis.access_order.estimate import CacheSize, Counts, Lookup, LruCache, compare, estimate, lookups
from metronome.sim.analysis.access_order.records import Access, Listing, Place
from metronome.sim.program import kernels as kernel
from tests.sim.analysis.access_order.programs import listing_of
from tests.support.tiers import some_long


def folded(line, sets):
    """The set by bits: bit b of it is the parity of the line's bits b, b + n, b + 2 n, .."""
    bits = sets.bit_length() - 1
    return sum((sum(line >> at & 1 for at in range(bit, 32, bits)) & 1) << bit for bit in range(bits)) if bits else 0


def remembered(sequence, size):
    """Hit or miss of each lookup: a line is there if fewer than ``ways`` others of its set were used since.

    What is used is what was loaded, or stored to while it was there; so it is decided backwards in the history.
    """
    used, outcomes = [], []
    for each in sequence:
        hit = False
        if size.bytes and not each.uncached:
            place = folded(each.line, size.sets)
            others = set()
            for line in reversed(used):
                if line == each.line:
                    hit = len(others) < size.ways
                    break
                if folded(line, size.sets) == place:
                    others.add(line)
            if hit or not each.store:
                used.append(each.line)
        outcomes.append(hit)
    return outcomes


def random_sequence(rng, length):
    """Lines that collide, neighbours, far ones; few pcs."""
    base = rng.randrange(1 << 26)
    steps = (0, 1, 2, 3, 64, 128, 4096, 4097)
    near = [base + rng.choice(steps) * rng.randrange(4) for _ in range(rng.randrange(2, 24))]
    return [
        Lookup(4 * rng.randrange(6), rng.random() < 0.3, rng.choice(near), rng.random() < 0.05) for _ in range(length)
    ]


@pytest.mark.parametrize("seed", some_long(range(60), 12))
def test_random_sequences(seed):
    rng = random.Random(seed)
    for _ in range(20):
        sequence = random_sequence(rng, rng.randrange(200))
        ways = rng.choice((1, 2, 3, 4, 8))
        size = CacheSize(rng.choice((0, 1, 1, 2, 4, 8)) * 64 * ways, ways)
        expected = {}
        for each, hit in zip(sequence, remembered(sequence, size), strict=True):
            expected.setdefault(each.pc, []).append((each.store, hit))
        found = estimate(sequence, size)
        assert list(found.by_pc) == sorted(expected)
        total = Counts()
        for pc, outcomes in expected.items():
            counts = Counts(
                hits=outcomes.count((False, True)), misses=outcomes.count((False, False)),
                stores=sum(store for store, _ in outcomes), store_hits=outcomes.count((True, True)),
            )
            assert found.by_pc[pc] == counts, (seed, pc)
            total = Counts(*(getattr(total, name) + getattr(counts, name) for name in vars(counts)))
        assert found.total == total
        assert found.total.loads == sum(not each.store for each in sequence)


@pytest.mark.parametrize("size", [CacheSize(64), CacheSize(512, 2), CacheSize(16384, 4), CacheSize(65536, 16)])
def test_sets_are_those_of_the_machine(size):
    rng = random.Random(size.bytes)
    cache = LruCache(size)
    for _ in range(200):
        line = rng.randrange(1 << 26)
        place = cache.set_of(line)
        assert place == folded(line, size.sets) < size.sets


def outcomes(size, *accesses):
    """H or M of each of ``accesses``, written as L5 or S5."""
    sequence = [Lookup(0x100 + 4 * number, text[0] == "S", int(text[1:])) for number, text in enumerate(accesses)]
    found = estimate(sequence, size)
    return "".join("H" if counts.hits or counts.store_hits else "M" for counts in found.by_pc.values())


def test_a_load_comes_in_and_a_store_does_not():
    one = CacheSize(64)
    assert outcomes(one, "L1", "L1") == "MH"
    assert outcomes(one, "S1", "L1") == "MM"
    assert outcomes(one, "L1", "S2", "L1") == "MMH"
    assert outcomes(one, "L1", "S1", "L2", "S1") == "MHMM"


def test_the_least_recently_used_goes():
    two = CacheSize(128, 2)
    assert outcomes(two, "L1", "L2", "L1", "L3", "L1", "L2") == "MMHMHM"
    assert outcomes(two, "L1", "L2", "S1", "L3", "L1") == "MMHMH"
    assert outcomes(two, "L1", "L2", "S3", "L1", "L2") == "MMMHH"


def test_without_a_cache_and_uncached():
    sequence = [Lookup(0, False, 7), Lookup(0, False, 7), Lookup(4, True, 7)]
    assert estimate(sequence, CacheSize(0)).total == Counts(misses=2, stores=1)
    bare = [each._replace(uncached=True) for each in sequence]
    assert estimate(bare, CacheSize(1024, 4)).total == Counts(misses=2, stores=1)
    # It takes nobody's place.
    assert estimate([*sequence, bare[0]._replace(line=9), sequence[0]], CacheSize(64)).total == Counts(2, 2, 1, 1)


def test_no_load_has_no_rate():
    assert estimate([Lookup(0, True, 7)], CacheSize(64)).total.miss_rate is None
    assert estimate([Lookup(0, False, 7), Lookup(4, False, 7)], CacheSize(64)).total.miss_rate == 0.5


def test_lookups_of_a_listing():
    place = Place(0, 1, None)
    before, load = Access(1, 0x10, False, (1,), 0, place, False), Access(1, 0x20, False, (1024, 1023), 1, place, True)
    store = Access(1, 0x24, True, (1024,), 1, place, True)
    listing = Listing((before, load, store), (), 1024)
    assert list(lookups(listing)) == [(0x20, False, 1024, False), (0x20, False, 1023, True), (0x24, True, 1024, False)]


def test_a_larger_cache_of_one_set_never_misses_more():
    sequence = list(lookups(listing_of(BASE, kernel.prepare("sgemm_group", None, None, 1, BASE))))
    misses = [estimate(sequence, CacheSize(64 * ways, ways)).total.misses for ways in range(1, 12)]
    assert misses == sorted(misses, reverse=True) and misses[0] > misses[-1]


def test_compared_with_what_was_measured():
    sequence = [Lookup(8, False, 1), Lookup(8, False, 1), Lookup(4, False, 2), Lookup(12, True, 1)]
    found = estimate(sequence, CacheSize(64))
    assert compare(found, {4: 1, 8: 1}) == []
    assert compare(found, {8: 2, 16: 3}) == [(4, 1, 0), (8, 1, 2), (16, 0, 3)]


@pytest.mark.parametrize(("size", "ways", "text"), [
    (-1, 1, "bytes must be at least 0, not -1"), (64, 0, "ways must be at least 1, not 0"),
    (100, 1, "bytes must be 64 * ways * a power of two, not 100 with ways=1"),
    (192, 1, "bytes must be 64 * ways * a power of two, not 192 with ways=1"),
    (256, 3, "bytes must be 64 * ways * a power of two, not 256 with ways=3"),
])
def test_sizes_that_are_none(size, ways, text):
    with pytest.raises(ValueError, match="^" + text.replace("*", r"\*")):
        CacheSize(size, ways)


@pytest.mark.parametrize(("size", "text"), [
    (CacheSize(16384, 4), "16K/4"), (CacheSize(192, 3), "192/3"), (CacheSize(0), "none"),
])
def test_the_name_of_a_size(size, text):
    assert str(size) == text
