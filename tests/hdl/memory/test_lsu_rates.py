"""The load/store unit's rates behind a data cache: misses, stores, both in turn, hits among them."""

from itertools import pairwise

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import LsuOp
from metronome.hdl.layouts.probe import LookupWait
from metronome.hdl.memory.lsu import HIT_LATENCY
from tests.hdl.memory.lsu_harness import LsuBench
from tests.hdl.memory.lsu_reference import Access, Reference
from tests.hdl.memory.lsu_traffic import Traffic
from tests.support.tiers import some_more

pytestmark = pytest.mark.slow

LINE = 0x1_0000 // 64
#: From the lookup of a miss to the next one with its register, and of a store to the next with its entry, but for
#: memory's latency.
TURN = 3


def config_of(*, mshrs: int = 16, entries: int = 16) -> SmConfig:
    return SmConfig(threads=1, warps=2, local_bytes=1024, load_parts=16, dcache_bytes=2048, dcache_ways=2,
                    dcache_mshrs=mshrs, store_buffer=entries)


def access(number: int, line: int, op: LsuOp = LsuOp.LW) -> Access:
    return Access(warp=number % 2, op=op, rd=number // 2, address=[64 * line], mask=1, data=[number])


def run(config: SmConfig, program: list[Access], *, latency: int, warm: list[Access] | None = None) -> LsuBench:
    """Run ``program`` when ``warm`` is done."""
    bench = LsuBench(config, traffic=Traffic(latency=lambda rng, write: latency))
    reference = Reference(config)

    async def testbench(ctx: object) -> None:
        if warm:
            await bench.play(ctx, warm, reference)
        await bench.play(ctx, program, reference)

    bench.simulate(testbench)
    return bench


def consecutive(cycles: list[int]) -> bool:
    return cycles == list(range(cycles[0], cycles[0] + len(cycles)))


def done(bench: LsuBench) -> list[int]:
    """The cycles in which an access was through the lookup."""
    return [cycle for cycle, event in bench.lookups if event.access]


@pytest.mark.parametrize("latency", some_more([1, 10], 1))
def test_one_miss_a_cycle(latency: int) -> None:
    """With as many registers as a request takes cycles: looked up, requested and written back in a row."""
    bench = run(config_of(), [access(number, LINE + number) for number in range(32)], latency=latency)
    assert consecutive(done(bench)) and consecutive(bench.requests)
    assert consecutive([cycle for cycle, *_ in bench.wb])


@pytest.mark.more
@pytest.mark.parametrize("op", some_more([LsuOp.LW, LsuOp.SW], 1))
def test_the_rate_with_few_registers_or_entries(op: LsuOp) -> None:
    """Four lines in every latency + 3 cycles."""
    bench = run(config_of(mshrs=4, entries=4), [access(number, LINE + number, op) for number in range(16)], latency=10)
    assert [later - earlier for earlier, later in zip(bench.requests, bench.requests[4:], strict=False)] == (
        [10 + TURN] * 12)


def in_turn(latency: int) -> LsuBench:
    program = [access(number, LINE + number, (LsuOp.LW, LsuOp.SW)[number % 2]) for number in range(24)]
    return run(config_of(), program, latency=latency)


def test_misses_and_stores_in_turn() -> None:
    """One access a cycle through the lookup; memory is asked in every cycle, for loads and stores in turn."""
    bench = in_turn(60)
    assert consecutive(done(bench))
    # A load is at memory one cycle after its lookup, a store two: the second cycle has nothing to ask for.
    first = bench.requests[0]
    assert bench.requests == [first, *range(first + 2, first + 2 + 23)]
    kinds = [write for _, write in bench.asked]
    assert all(earlier != later for earlier, later in pairwise(kinds[1:-1]))


@pytest.mark.more
@pytest.mark.parametrize("latency", [1, 5])
def test_stores_between_lines_that_arrive(latency: int) -> None:
    """A store waits in the cycle in which a line goes into the cache; nothing else costs a cycle."""
    bench = in_turn(latency)
    fills = {cycle for cycle, event in bench.lookups if event.fill}
    held = [cycle for cycle, event in bench.lookups if event.wait]
    assert {event.wait for _, event in bench.lookups} == {LookupWait.NONE, LookupWait.FILL}
    assert set(held) <= fills and len(held) >= 3
    assert consecutive(sorted({*held, *done(bench)}))


def test_hits_between_misses() -> None:
    """Every second load hits: it is written back as fast as ever, and neither kind loses a cycle."""
    warm = [access(0, LINE)]
    program = [access(number, LINE + (40 + number if number % 2 else 0)) for number in range(20)]
    bench = run(config_of(), program, latency=30, warm=warm)
    assert consecutive(done(bench))
    hits = [cycle for cycle, warp, *_ in bench.wb if warp == 0]
    assert hits == [bench.takes[number] + 2 + HIT_LATENCY for number in range(0, 20, 2)]
    assert bench.requests == [bench.takes[number] + 2 + 3 for number in range(1, 20, 2)]


def test_hits_in_a_row_while_lines_arrive() -> None:
    """A line on its way into the cache takes no cycle from loads of others; each answer takes one writeback."""
    warm = [access(0, LINE)]
    program = [access(1, LINE + 20), access(3, LINE + 21), *(access(2 * number, LINE) for number in range(20))]
    bench = run(config_of(), program, latency=6, warm=warm)
    written = [cycle for cycle, *_ in bench.wb]
    assert consecutive(written) and len(written) == 22
    assert len(done(bench)) == 22 and done(bench)[-1] - done(bench)[0] == 23
