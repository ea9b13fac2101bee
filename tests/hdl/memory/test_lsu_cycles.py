"""The load/store unit's exact cycle counts: coalescing, bank conflicts, latency, throughput."""

import pytest
from amaranth.sim import SimulatorContext

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import LsuOp
from metronome.hdl.memory.lsu import HIT_LATENCY, LOCAL_LATENCY, MISS_OVERHEAD
from tests.hdl.memory.lsu_harness import LsuBench
from tests.hdl.memory.lsu_reference import Access, Reference
from tests.hdl.memory.lsu_traffic import Traffic
from tests.support.tiers import more_but, some_more

pytestmark = pytest.mark.slow

USER = 0x1_0000
LOCAL = 0xFFFF_0000


def config_for(threads: int, cache: int = 0) -> SmConfig:
    """``cache``: bytes of the data cache."""
    return SmConfig(threads=threads, warps=4, local_bytes=1024, load_parts=16, dcache_bytes=cache, dcache_ways=2)


def after(first: list[Access], *, second: list[Access], threads: int, latency: int = 1) -> LsuBench:
    """Run ``second`` when ``first`` is long done: what it needs is in the cache."""
    bench = LsuBench(config_for(threads, 1024), traffic=Traffic(latency=lambda rng, write: latency))
    reference = Reference(bench.config)

    async def testbench(ctx: SimulatorContext) -> None:
        await bench.play(ctx, first, reference)
        await bench.play(ctx, second, reference)

    bench.simulate(testbench)
    return bench


def local_cost(threads: int, op: LsuOp, address: list[int]) -> int:
    """Cycles between a local access and the same access again: what the first one costs."""
    data = list(range(threads))
    access = [Access(warp=warp, op=op, address=address, mask=(1 << threads) - 1, data=data) for warp in range(2)]
    probe = [Access(warp=warp, op=LsuOp.LW, address=[LOCAL] * threads, mask=1) for warp in (2, 3)]
    bench = LsuBench(config_for(threads))
    bench.run([probe[0], *access, probe[1]])
    before, after = (next(part[0] for part in bench.wb if part[1] == warp) for warp in (2, 3))
    # The second probe comes behind both accesses.
    total = after - before - 1
    assert total % 2 == 0, f"the two accesses cost {total} cycles"
    return total // 2


@pytest.mark.parametrize(("threads", "stride", "lines"), [
    (4, 4, 1), (4, 32, 2), (4, 68, 4),
    *more_but([
        (4, 0, 1), (4, 8, 1), (4, 16, 1), (4, 64, 4), (4, 128, 4), (2, 4, 1), (2, 60, 1), (2, 64, 2), (1, 64, 1),
    ], []),
])
@pytest.mark.parametrize("op", some_more([LsuOp.SW, LsuOp.LW], 1))
def test_lines_of_a_stride(threads: int, stride: int, lines: int, op: LsuOp) -> None:
    """One request a line, in consecutive cycles, the first of them three or four cycles after stage X."""
    bench = LsuBench(config_for(threads))
    bench.run([Access(warp=0, op=op, address=[USER + stride * lane for lane in range(threads)],
                      mask=(1 << threads) - 1, data=list(range(threads)))])
    stage_x = bench.takes[0] + 2
    assert bench.requests == [stage_x + (3 if op is LsuOp.LW else 4) + number for number in range(lines)]


def test_lanes_of_alternating_lines_join_the_lowest() -> None:
    bench = LsuBench(config_for(4))
    bench.run([Access(warp=0, op=LsuOp.LW, address=[USER + 64, USER, USER + 68, USER + 4], mask=0b1111)])
    assert [sorted(part[3]) for part in bench.wb] == [[0, 2], [1, 3]]
    assert [part[4] for part in bench.wb] == [False, True]


@pytest.mark.parametrize("threads", [2, 4])
def test_bank_conflict_table(threads: int) -> None:
    """A stride of s words puts the lanes into threads / gcd(s, threads) banks; strides are powers of two here."""
    stride = 1
    while stride <= threads:
        address = [LOCAL + 4 * stride * lane for lane in range(threads)]
        assert local_cost(threads, LsuOp.LW, address) == stride, f"load, stride {stride}"
        assert local_cost(threads, LsuOp.SW, address) == stride, f"store, stride {stride}"
        stride *= 2


def test_loads_of_one_word_broadcast_and_stores_do_not() -> None:
    same = [LOCAL + 8] * 4
    assert local_cost(4, LsuOp.LW, same) == 1
    assert local_cost(4, LsuOp.SW, same) == 4
    # Two words of one bank, two lanes each; bytes of one word are one word.
    assert local_cost(4, LsuOp.LW, [LOCAL, LOCAL + 16, LOCAL, LOCAL + 16]) == 2
    assert local_cost(4, LsuOp.LBU, [LOCAL, LOCAL + 1, LOCAL + 2, LOCAL + 3]) == 1
    assert local_cost(4, LsuOp.SB, [LOCAL, LOCAL + 1, LOCAL + 2, LOCAL + 3]) == 4


@pytest.mark.parametrize("latency", [1, 5])
def test_latency_of_a_global_load(latency: int) -> None:
    """From stage X to wb: the fixed overhead and memory's own."""
    bench = LsuBench(config_for(4), traffic=Traffic(latency=lambda rng, write: latency))
    bench.run([Access(warp=0, op=LsuOp.LW, address=[USER + 4 * lane for lane in range(4)], mask=15)])
    assert [part[0] for part in bench.wb] == [bench.takes[0] + 2 + MISS_OVERHEAD + latency]


def test_latency_of_a_local_load() -> None:
    bench = LsuBench(config_for(4))
    bench.run([Access(warp=0, op=LsuOp.LW, address=[LOCAL + 4 * lane for lane in range(4)], mask=15)])
    assert [part[0] for part in bench.wb] == [bench.takes[0] + 2 + LOCAL_LATENCY]


@pytest.mark.parametrize("base", [USER, LOCAL])
def test_one_load_a_cycle(base: int) -> None:
    """32 independent coalesced loads: taken, requested and written back in 32 consecutive cycles each."""
    bench = LsuBench(config_for(4))
    bench.run([
        Access(warp=number % 4, op=LsuOp.LW, rd=1 + number // 4, mask=15,
               address=[base + 16 * number + 4 * lane for lane in range(4)])
        for number in range(32)
    ])
    first = bench.takes[0]
    assert list(bench.takes.values()) == list(range(first, first + 32))
    if base == USER:
        assert bench.requests == list(range(bench.requests[0], bench.requests[0] + 32))
    written = [part[0] for part in bench.wb]
    assert written == list(range(written[0], written[0] + 32))


@pytest.mark.more
def test_one_store_a_cycle_to_different_lines() -> None:
    bench = LsuBench(config_for(2))
    bench.run([
        Access(warp=number % 4, op=LsuOp.SW, address=[USER + 64 * number, USER + 64 * number + 4], mask=3, data=[1, 2])
        for number in range(24)
    ])
    assert bench.requests == list(range(bench.requests[0], bench.requests[0] + 24))


@pytest.mark.more
def test_all_tags_are_used() -> None:
    """With a slow memory, as many lines as there are tags are outstanding, then the requests stop."""
    bench = LsuBench(config_for(1), traffic=Traffic(latency=lambda rng, write: 60))
    bench.run([Access(warp=number % 4, op=LsuOp.LW, rd=1 + number // 4, address=[USER + 64 * number], mask=1)
               for number in range(20)])
    assert bench.requests[15] == bench.requests[0] + 15
    assert bench.requests[16] > bench.answers[0]


def test_local_loads_do_not_hold_up_an_answer_of_memory() -> None:
    """One global load among local loads that fill the writeback: it is delayed by at most one cycle."""
    for latency in (1, 2, 7):
        bench = LsuBench(config_for(2), traffic=Traffic(latency=lambda rng, write, latency=latency: latency))
        bench.run([Access(warp=0, op=LsuOp.LW, address=[USER, USER + 4], mask=3), *(
            Access(warp=1 + number % 3, op=LsuOp.LW, rd=number, address=[LOCAL, LOCAL + 4], mask=3)
            for number in range(24)
        )])
        (cycle,) = (part[0] for part in bench.wb if part[1] == 0)
        assert cycle - (bench.takes[0] + 2 + MISS_OVERHEAD + latency) in (0, 1), f"latency {latency}"


def test_answers_of_memory_do_not_hold_up_a_local_load() -> None:
    """One local load among global loads that answer one a cycle: it is delayed by at most one cycle."""
    bench = LsuBench(config_for(2))
    program = [Access(warp=1 + number % 3, op=LsuOp.LW, rd=number, address=[USER + 8 * number] * 2, mask=3)
               for number in range(24)]
    program.insert(12, Access(warp=0, op=LsuOp.LW, address=[LOCAL, LOCAL + 4], mask=3))
    bench.run(program)
    (cycle,) = (part[0] for part in bench.wb if part[1] == 0)
    assert cycle - (bench.takes[12] + 2 + LOCAL_LATENCY) in (0, 1)


def loads(count: int, threads: int, stride: int, first: int = USER) -> list[Access]:
    """Loads of all lanes, ``stride`` bytes from lane to lane, one behind the other, again and again in 1 KiB."""
    return [
        Access(warp=number % 4, op=LsuOp.LW, rd=number // 4, mask=(1 << threads) - 1,
               address=[first + (stride * (threads * number + lane)) % 1024 for lane in range(threads)])
        for number in range(count)
    ]


def test_latency_of_a_hit() -> None:
    bench = after(loads(4, 4, 64), second=loads(1, 4, 4), threads=4)
    assert [part[0] for part in bench.wb] == [bench.takes[0] + 2 + HIT_LATENCY]
    assert not bench.requests


@pytest.mark.parametrize(("stride", "lines"), more_but([(4, 1), (32, 2), (64, 4)], [(32, 2)]))
def test_one_hit_a_cycle(stride: int, lines: int) -> None:
    """Independent loads whose lines are all in the cache: one line a cycle, without a gap."""
    bench = after(loads(4, 4, 64), second=loads(40, 4, stride), threads=4)
    written = [part[0] for part in bench.wb]
    assert written == list(range(written[0], written[0] + 40 * lines))
    assert not bench.requests


def test_hits_do_not_wait_for_a_miss() -> None:
    miss = Access(warp=3, op=LsuOp.LW, rd=60, mask=15, address=[USER + 4096 + 64 * lane for lane in range(4)])
    bench = after(loads(4, 4, 64), second=[miss, *loads(16, 4, 4)], threads=4, latency=200)
    hits = [part[0] for part in bench.wb if part[2] != 60]
    assert hits == list(range(bench.takes[1] + 2 + HIT_LATENCY + 3, bench.takes[1] + 2 + HIT_LATENCY + 3 + 16))
    assert hits[-1] < bench.answers[0]


@pytest.mark.more
def test_loads_that_share_a_miss_are_answered_one_a_cycle() -> None:
    bench = LsuBench(config_for(4, 1024), traffic=Traffic(latency=lambda rng, write: 40))
    bench.run([Access(warp=number % 4, op=LsuOp.LW, rd=number, mask=15, address=[USER + 4 * lane for lane in range(4)])
               for number in range(8)])
    assert len(bench.requests) == 1
    assert [part[0] for part in bench.wb] == [bench.answers[0] + 2 + number for number in range(8)]


@pytest.mark.parametrize("cache", some_more([1024, 0], 1))
@pytest.mark.parametrize("stride", some_more([64, 0, 4], 1))
def test_one_store_a_cycle(stride: int, cache: int) -> None:
    """To one line, to neighbouring words, to a line each: taken in consecutive cycles while memory keeps up."""
    bench = LsuBench(config_for(1, cache), traffic=Traffic(latency=lambda rng, write: 8))
    bench.run([Access(warp=number % 4, op=LsuOp.SW, address=[USER + stride * number], mask=1, data=[number])
               for number in range(64)])
    assert list(bench.takes.values()) == list(range(64))
    assert len(bench.requests) <= (64 if stride == 64 else 12)


def test_stores_that_hit_do_not_slow_down_loads() -> None:
    """Alternating stores and loads of lines in the cache: one access a cycle, and no line is read again."""
    program = []
    for number, load in enumerate(loads(24, 4, 4)):
        address = [USER + (68 * number + 4 * lane) % 512 for lane in range(4)]
        program += [Access(warp=3, op=LsuOp.SW, address=address, mask=15, data=[number] * 4), load]
    bench = after(loads(4, 4, 64), second=program, threads=4)
    assert list(bench.takes.values()) == list(range(48))
    assert all(write for _, write in bench.asked)
