"""The data cache against a small reference, access by access: hits, LRU, merged misses, write-through."""

import itertools
import random

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import LsuOp
from tests.hdl.memory.dcache_reference import ReferenceDataCache
from tests.hdl.memory.lsu_harness import LsuBench
from tests.hdl.memory.lsu_reference import Access
from tests.hdl.memory.lsu_traffic import Traffic
from tests.support.tiers import long_but, more_but, some_long, some_more

USER = 0x1_0000
#: Bytes, ways, MSHRs, entries of the write buffer.
SIZES = [(512, 2, 4, 4), (128, 1, 2, 2), (512, 4, 3, 4), (2048, 4, 8, 8)]
#: Every size, and lanes where they meet in few lines.
BRIEF = [(SIZES[0], 1), (SIZES[1], 4), (SIZES[2], 4), (SIZES[3], 1)]


def config_of(size: tuple[int, int, int, int], threads: int) -> SmConfig:
    capacity, ways, mshrs, entries = size
    return SmConfig(
        threads=threads, warps=4, local_bytes=1024, load_parts=8,
        dcache_bytes=capacity, dcache_ways=ways, dcache_mshrs=mshrs, store_buffer=entries,
    )


def program(rng: random.Random, config: SmConfig, length: int) -> list[Access]:
    """Loads, and some stores, of lines that are used again soon, in twice as many lines as there are."""
    count = 2 * config.dcache_bytes // 64
    far = [0, 1 << 20, 1 << 28]
    lines = [USER // 64 + rng.randrange(count) + rng.choice(far) // 64 for _ in range(count)]
    recent = lines[:4]
    accesses = []
    for _ in range(length):
        address = []
        for _lane in range(config.threads):
            line = rng.choice(recent) if rng.random() < 0.6 else rng.choice(lines)
            recent = [*recent[1:], line]
            address.append(64 * line + 4 * rng.randrange(16))
        if rng.random() < 0.5:
            address = [address[0] // 64 * 64 + place % 64 for place in address]
        accesses.append(Access(
            warp=rng.randrange(config.warps), op=LsuOp.SW if rng.random() < 0.25 else LsuOp.LW, rd=rng.randrange(64),
            address=address, mask=rng.randrange(1, 1 << config.threads), data=[rng.getrandbits(32) for _ in address],
        ))
    return accesses


def follow(bench: LsuBench) -> ReferenceDataCache:
    """The reference after the run; an AssertionError says where the unit did something else, or asked memory so."""
    reference = ReferenceDataCache(bench.config, bench.traffic.bad)
    for cycle, event in bench.lookups:
        reference.step(cycle, event)
    reads = [line for line, write in bench.asked if not write]
    assert reads == reference.asked, f"cycle {bench.cycle}: {reads} read instead of {reference.asked}"
    writes = sum(write for _, write in bench.asked)
    assert writes == reference.unmerged_stores, f"cycle {bench.cycle}: {writes} writes"
    assert not reference.outstanding, f"cycle {bench.cycle}: never came: {reference.outstanding}"
    return reference


@pytest.mark.slow
@pytest.mark.parametrize("seed", some_long([3, 0, 1, 2, 4], 1))
@pytest.mark.parametrize(
    ("size", "threads"), more_but(long_but(itertools.product(SIZES, [1, 4]), BRIEF), BRIEF[1:2]), ids=str)
def test_every_access_is_what_the_reference_says(size: tuple[int, int, int, int], threads: int, seed: int) -> None:
    rng = random.Random(seed)
    config = config_of(size, threads)
    longest = rng.choice((1, 6, 40))
    traffic = Traffic(latency=lambda rng, write: rng.randint(1, longest), wb_ready=rng.choice((0.5, 1.0)),
                      request_ready=rng.choice((0.5, 1.0)), reorder=True)
    bench = LsuBench(config, seed=seed, traffic=traffic)
    bench.run(program(rng, config, 150))
    try:
        reference = follow(bench)
    except AssertionError as error:
        pytest.fail(f"seed {seed}: {error}")
    for event in ("hit", "miss", "hit by a store", "evicted"):
        assert reference.seen[event] >= 3, f"seed {seed}: {reference.seen}"


@pytest.mark.more
def test_sets_are_hashed() -> None:
    """Lines at power-of-two distances, as many as the cache holds, stay: a plain index would keep one set's worth."""
    config = config_of((2048, 4, 8, 8), 1)
    for shift in (3, 4, 9, 13):
        lines = [USER // 64 + (number << shift) for number in range(8)]
        loads = [Access(warp=number % 4, op=LsuOp.LW, rd=number // 4, address=[64 * line], mask=1)
                 for number, line in enumerate(lines)]
        bench = LsuBench(config)
        bench.run([*loads, *loads])
        assert len(bench.asked) == 8, f"distance {64 << shift}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", some_more(range(3), 1))
def test_an_error_line_is_not_cached(seed: int) -> None:
    """Every load of it asks memory, or joins one that does, and faults."""
    rng = random.Random(seed)
    config = config_of((512, 2, 4, 4), 1)
    bad = USER // 64 + 1
    traffic = Traffic(latency=lambda rng, write: rng.randint(1, 20), reorder=True, bad=lambda line: line == bad)
    bench = LsuBench(config, seed=seed, traffic=traffic)
    bench.run([Access(warp=rng.randrange(4), op=LsuOp.LW, rd=number, address=[USER + 64 * rng.randrange(3)], mask=1)
               for number in range(40)])
    assert all(event.fill_line != bad for _, event in bench.lookups if event.fill)
    assert all(not event.hit for _, event in bench.lookups if event.access and event.line == bad)
    assert len(bench.faults) >= 5, f"seed {seed}"
