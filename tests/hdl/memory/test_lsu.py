"""The load/store unit: random programs against sequential execution, order, faults, fences, reset."""

import gc
import itertools
import random

import pytest
from amaranth.hdl import ResetInserter, Signal
from amaranth.sim import SimulatorContext

from metronome.hdl.config import FaultCause, MemoryMap, SmConfig
from metronome.hdl.isa.ops import LsuOp
from metronome.hdl.memory.lanes.entrance import Entrance
from metronome.hdl.memory.lanes.scratchpad import Scratchpad
from metronome.hdl.memory.lsu import HIT_LATENCY, Lsu
from tests.hdl.lib.simulate import drive, pulse
from tests.hdl.memory import lsu_programs as programs
from tests.hdl.memory.lsu_harness import LsuBench, Simulation
from tests.hdl.memory.lsu_programs import LOCAL, USER, small
from tests.hdl.memory.lsu_reference import Access, Reference
from tests.hdl.memory.lsu_traffic import Traffic
from tests.support.tiers import long_but, more_but, some_long, some_more

#: Every number of lanes and every cache once, the tightest of all, and what finds a mutant (tests/mutants).
BRIEF = [(1, "uncached"), (2, "tight"), (2, "cached"), (4, "single"), (4, "tight"), (1, "cached")]


@pytest.mark.slow
@pytest.mark.parametrize("seed", some_long(range(4), 1))
@pytest.mark.parametrize(
    ("threads", "cache"), more_but(long_but(itertools.product([1, 2, 4], programs.CACHES), BRIEF), BRIEF[1:2]))
def test_random_program_equals_sequential_execution(threads: int, cache: str, seed: int) -> None:
    rng = random.Random(100 * threads + seed)
    config = small(threads, cache=cache)
    bench = LsuBench(config, seed=seed, traffic=programs.random_traffic(rng))
    bench.run(programs.random_program(rng, config, 120))


@pytest.mark.more
@pytest.mark.parametrize("cache", more_but(programs.CACHES, ["tight"]))
@pytest.mark.parametrize("threads", long_but([1, 2], [2]))
def test_crowded_programs(threads: int, cache: str) -> None:
    config = small(threads, cache=cache)
    for seed in range(8):
        rng = random.Random(seed)
        LsuBench(config, seed=seed, traffic=programs.crowded_traffic(rng)).run(programs.crowded_program(rng, config))


@pytest.mark.long
@pytest.mark.parametrize("cache", programs.CACHES)
@pytest.mark.parametrize("threads", [1, 2])
def test_more_crowded_programs(threads: int, cache: str) -> None:
    config = small(threads, cache=cache)
    for seed in [*range(8, 15), *range(1000, 1100)]:
        rng = random.Random(seed)
        LsuBench(config, seed=seed, traffic=programs.crowded_traffic(rng)).run(programs.crowded_program(rng, config))


@pytest.mark.slow
def test_a_line_arrives_in_every_cycle_around_a_store() -> None:
    for seed, (program, traffic) in enumerate(programs.arrivals()):
        LsuBench(small(1, cache="cached"), seed=seed, traffic=traffic).run(program)


@pytest.mark.more
@pytest.mark.parametrize("cache", more_but(programs.CACHES, ["tight"]))
def test_highest_lane_wins_a_byte(cache: str) -> None:
    config = small(4, cache=cache)
    LsuBench(config, seed=3).run(programs.overlapping_stores(random.Random(3), config, 30))


@pytest.mark.more
@pytest.mark.parametrize("cache", more_but(long_but(programs.CACHES, ["uncached", "tight"]), ["tight"]))
def test_random_program_with_errors_from_memory(cache: str) -> None:
    """A bad line faults once an access, its lanes get nothing, and everything else goes on."""
    rng = random.Random(77)
    config = small(4, cache=cache)
    traffic = programs.random_traffic(rng)
    traffic.bad = lambda line: line % 3 == 1
    bench = LsuBench(config, seed=77, traffic=traffic)
    bench.run(programs.random_program(rng, config, 120))
    causes = {fault[1] for fault in bench.faults}
    assert {FaultCause.LOAD_ACCESS, FaultCause.STORE_ACCESS} <= causes


@pytest.mark.long
def test_thirty_two_lanes() -> None:
    rng = random.Random(5)
    config = SmConfig(threads=32, warps=32)
    bench = LsuBench(config, seed=5, traffic=programs.random_traffic(rng))
    bench.run(programs.random_program(rng, config, 12))


@pytest.mark.slow
@pytest.mark.parametrize("cache", some_more(["cached", "uncached"], 1))
@pytest.mark.parametrize(("first", "second"), [(LsuOp.SH, LsuOp.LW), (LsuOp.LW, LsuOp.SW), (LsuOp.SW, LsuOp.SW)])
def test_accesses_to_one_line_do_not_meet_in_memory(first: LsuOp, second: LsuOp, cache: str) -> None:
    """The second of two warps waits for the first one's answer (slow memory)."""
    bench = LsuBench(small(2, cache=cache), traffic=Traffic(latency=lambda rng, write: 25))
    bench.run([
        Access(warp=0, op=first, address=[USER, USER + 4], mask=3, data=[0x1111_1111, 0x2222_2222], rd=1),
        # Takes its time, so that the first is on its way when the second comes.
        Access(warp=1, op=LsuOp.LW, address=[LOCAL, LOCAL + 4 * 2 * 7], mask=3, rd=3),
        Access(warp=1, op=second, address=[USER + 4, USER], mask=3, data=[0x3333_3333, 0x4444_4444], rd=2),
    ])
    assert bench.asked == [(USER // 64, first.value >= 8), (USER // 64, second.value >= 8)]
    assert bench.requests[1] > bench.answers[0]


@pytest.mark.slow
@pytest.mark.parametrize(("cache", "requests"), [("uncached", 2), ("cached", 1)])
def test_loads_of_one_line_share_a_request_where_there_is_a_cache(cache: str, requests: int) -> None:
    bench = LsuBench(small(2, cache=cache), traffic=Traffic(latency=lambda rng, write: 25))
    bench.run([Access(warp=warp, op=LsuOp.LW, address=[USER + 8 * warp, USER + 4], mask=3) for warp in range(2)])
    assert len(bench.requests) == requests
    assert max(bench.requests) < bench.answers[0]


def test_a_load_of_stored_bytes_is_answered_by_the_write_buffer() -> None:
    """As fast as a hit, with memory far away; one that needs other bytes too waits for memory."""
    bench = LsuBench(small(2, cache="cached"), traffic=Traffic(latency=lambda rng, write: 100))
    bench.run([
        Access(warp=0, op=LsuOp.SW, address=[USER, USER + 4], mask=3, data=[0x89AB_CDEF, 2]),
        Access(warp=1, op=LsuOp.LH, address=[USER + 2, USER + 4], mask=3, rd=1),
        Access(warp=2, op=LsuOp.LW, address=[USER, USER + 8], mask=3, rd=2),
    ])
    assert bench.results == {1: {0: 0xFFFF_89AB, 1: 2}, 2: {0: 0x89AB_CDEF, 1: 0}}
    assert bench.wb[0][0] == bench.takes[1] + 2 + HIT_LATENCY
    assert bench.asked == [(USER // 64, True), (USER // 64, False)]


@pytest.mark.more
def test_stores_of_one_line_that_wait_share_a_request() -> None:
    """The first is sent at once; the others wait for it together; stores of another line do not wait."""
    bench = LsuBench(small(1), traffic=Traffic(latency=lambda rng, write: 40))
    program = [Access(warp=number % 4, op=LsuOp.SB, address=[USER + number], mask=1, data=[number + 1])
               for number in range(10)]
    program.insert(5, Access(warp=0, op=LsuOp.SW, address=[USER + 64], mask=1, data=[7]))
    bench.run(program)
    line = USER // 64
    assert bench.asked == [(line, True), (line + 1, True), (line, True)]
    assert bench.requests[1] < bench.answers[0] < bench.requests[2]
    assert list(bench.takes.values()) == list(range(11))


@pytest.mark.slow
def test_the_first_store_of_a_line_that_memory_refuses_faults() -> None:
    bench = LsuBench(small(1), traffic=Traffic(latency=lambda rng, write: 9, bad=lambda line: line == USER // 64))
    bench.run([Access(warp=number, op=LsuOp.SB, address=[USER + number], mask=1, data=[number], pc=4 * number)
               for number in range(4)])
    assert [fault[1:] for fault in bench.faults] == [
        (FaultCause.STORE_ACCESS, 0, 0, USER), (FaultCause.STORE_ACCESS, 1, 4, USER + 1),
    ]


@pytest.mark.more
def test_uncached_accesses_are_made_one_after_the_other() -> None:
    """Loads and stores of different lines below the user's memory, with a memory that reorders."""
    bench = LsuBench(small(2, cache="cached"), seed=4,
                     traffic=Traffic(latency=lambda rng, write: rng.randint(1, 30), reorder=True))
    rng = random.Random(4)
    bench.run([
        Access(warp=number % 4, op=rng.choice((LsuOp.SB, LsuOp.LBU)), rd=number, mask=3, data=[number, number],
               address=[64 * rng.randrange(1, 4) + rng.randrange(64) for _ in range(2)])
        for number in range(24)
    ])
    assert all(bench.answers[number] < bench.requests[number + 1] for number in range(len(bench.requests) - 1))


def test_other_lines_do_not_wait_for_a_store() -> None:
    bench = LsuBench(small(2), traffic=Traffic(latency=lambda rng, write: 25))
    bench.run([
        Access(warp=0, op=LsuOp.SW, address=[USER, USER + 4], mask=3, data=[1, 2]),
        Access(warp=1, op=LsuOp.LW, address=[USER + 64, USER + 68], mask=3),
    ])
    assert bench.requests[1] == bench.requests[0] + 1


def test_stores_pending_from_take_to_answer() -> None:
    """The exact cycles of the bit of the storing warp, for a store of two lines; no other bit is ever set."""
    bench = LsuBench(small(2), traffic=Traffic(latency=lambda rng, write: 9))
    bench.run([
        Access(warp=1, op=LsuOp.LW, address=[USER, USER], mask=3),
        Access(warp=2, op=LsuOp.SW, address=[USER + 64, USER + 128], mask=3, data=[1, 2]),
    ])
    assert len(bench.requests) == 3
    expected = [4 if bench.takes[1] < cycle <= bench.answers[2] else 0 for cycle in range(len(bench.pending))]
    assert bench.pending == expected


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cancel", "misaligned", "local"])
def test_stores_pending_without_memory(kind: str) -> None:
    """A store that never reaches memory stops counting when it leaves the unit."""
    address = {"cancel": USER, "misaligned": USER + 1, "local": LOCAL}[kind]
    bench = LsuBench(small(2))
    bench.run([Access(warp=3, op=LsuOp.SW, address=[address, 0], mask=1, data=[7, 7], cancel=kind == "cancel")])
    assert bench.takes == {0: 0}
    last = 2 if kind == "cancel" else 3
    assert bench.pending[: last + 1] == [0] + [8] * last
    assert not any(bench.pending[last + 1 :])


@pytest.mark.slow
@pytest.mark.parametrize(("op", "cause"), [
    (LsuOp.LH, FaultCause.LOAD_MISALIGNED), (LsuOp.SW, FaultCause.STORE_MISALIGNED),
    *more_but([(LsuOp.LW, FaultCause.LOAD_MISALIGNED), (LsuOp.SH, FaultCause.STORE_MISALIGNED)], []),
])
def test_misaligned_faults_at_the_lowest_active_lane_and_does_nothing(op: LsuOp, cause: FaultCause) -> None:
    bench = LsuBench(small(4))
    bench.run([Access(warp=2, op=op, address=[USER + 1, USER + 8, USER + 17, USER + 33], mask=0b1110, pc=0x8000_0010,
                      data=[1, 2, 3, 4])])
    assert [fault[1:] for fault in bench.faults] == [(cause, 2, 0x8000_0010, USER + 17)]
    assert not bench.requests and not bench.wb and not bench.store_events


@pytest.mark.slow
def test_misaligned_lanes_that_are_off_do_not_fault() -> None:
    bench = LsuBench(small(4))
    bench.run([Access(warp=2, op=LsuOp.LW, address=[USER + 1, USER + 8, USER + 16, USER + 3], mask=0b0110)])
    assert not bench.faults and len(bench.requests) == 1


@pytest.mark.slow
def test_access_fault_ends_the_load() -> None:
    """One of two lines is bad: its part has mask 0, the good lanes come, the final part is marked."""
    bench = LsuBench(small(4), traffic=Traffic(bad=lambda line: line == USER // 64 + 1))
    bench.run([Access(warp=1, op=LsuOp.LW, rd=9, address=[USER, USER + 72, USER + 68, USER + 4], mask=0b1111, pc=0x40)])
    assert [fault[1:] for fault in bench.faults] == [(FaultCause.LOAD_ACCESS, 1, 0x40, USER + 72)]
    assert [(part[1:3], sorted(part[3]), part[4]) for part in bench.wb] == [((1, 9), [0, 3], False), ((1, 9), [], True)]


@pytest.mark.slow
def test_two_faults_in_one_cycle_are_both_reported() -> None:
    """Over all distances of a misaligned store behind a load that memory refuses."""
    together = 0
    for gap in range(8):
        bench = LsuBench(small(1), traffic=Traffic(bad=lambda line: line == 4))
        filler = [Access(warp=2, op=LsuOp.LW, address=[LOCAL], mask=1, rd=number) for number in range(gap)]
        bench.run([Access(warp=0, op=LsuOp.LW, address=[256], mask=1), *filler,
                   Access(warp=1, op=LsuOp.SW, address=[USER + 2], mask=1, data=[0])])
        assert len(bench.faults) == 2, f"gap {gap}"
        cycles = [fault[0] for fault in bench.faults]
        together += cycles[1] == cycles[0] + 1 and bench.faults[0][1] == FaultCause.LOAD_ACCESS
    assert together >= 1


def test_overflow_is_raised_by_a_request_without_take() -> None:
    bench = LsuBench(small(2))
    dut, seen = bench.dut, []

    async def testbench(ctx: SimulatorContext) -> None:
        for cycle in range(6):
            drive(ctx, dut, take=cycle == 0, request_valid=cycle in (2, 4))
            seen.append(ctx.get(dut.overflow))
            await ctx.tick()

    bench.simulate(testbench)
    assert seen == [0, 0, 0, 0, 1, 0]


@pytest.mark.slow
def test_reset_empties_the_unit_and_the_cache_and_keeps_local_memory() -> None:
    config, reset = small(2, cache="cached"), Signal()
    simulation = Simulation(config, ResetInserter(reset))
    bench = LsuBench(config, traffic=Traffic(latency=lambda rng, write: 1_000_000), simulation=simulation)
    dut = bench.dut

    async def testbench(ctx: SimulatorContext) -> None:
        reference = Reference(config)
        bench.traffic = Traffic()
        await bench.play(ctx, [
            Access(warp=0, op=LsuOp.SW, address=[LOCAL, LOCAL + 4], mask=3, data=[11, 22]),
            Access(warp=0, op=LsuOp.LW, address=[USER + 256, USER + 256], mask=3),
        ], reference)
        bench.traffic = Traffic(latency=lambda rng, write: 1_000_000)
        # Now leave it full of work that memory does not answer, and reset.
        address = [USER, USER + 64]
        stuck = [Access(warp=1, op=LsuOp.SW, address=address, mask=3, data=[1, 2]) for _ in range(6)]
        with pytest.raises(AssertionError, match="does not end; 6 of 6 taken"):
            await bench.play(ctx, stuck, Reference(config), limit=30)
        assert not ctx.get(dut.idle) and ctx.get(dut.stores_pending) == 2
        for signal in (dut.take, dut.request_valid, dut.mem.response.valid):
            ctx.set(signal, 0)
        await pulse(ctx, reset)
        bench.power_up()
        assert ctx.get(dut.idle) and ctx.get(dut.ready) and not ctx.get(dut.stores_pending)
        assert not ctx.get(dut.mem.request.valid) and not ctx.get(dut.wb.valid)
        bench.traffic = Traffic()
        await bench.play(ctx, [
            Access(warp=3, op=LsuOp.LW, address=[LOCAL + 4, LOCAL], mask=3),
            Access(warp=0, op=LsuOp.LW, address=[USER + 256, USER + 256], mask=3),
        ], reference)
        assert bench.results == {0: {0: 22, 1: 11}, 1: {0: 0, 1: 0}}
        assert bench.asked == [(USER // 64 + 4, False)]

    bench.simulate(testbench)


@pytest.mark.slow
def test_bad_parameters_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # Amaranth reports a component that was made and not used, even one whose making failed.
    monkeypatch.setattr("amaranth._unused.MustUse._MustUse__silence", True)
    with pytest.raises(ValueError, match=r"memory_map\.local must be a multiple of local_bytes, not 4294902272"):
        Lsu(small(2, memory_map=MemoryMap(local=0xFFFF_0200)))
    with pytest.raises(ValueError, match="depth must be at least 3, not 2"):
        Entrance(small(2), depth=2)
    with pytest.raises(ValueError, match="words must be a multiple of 4, not 6"):
        Scratchpad(threads=4, words=6)
    gc.collect()
