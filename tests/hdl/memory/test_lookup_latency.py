"""The load/store unit with two cycles to the lookup: the same programs, the same model, a cycle later."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.config import FaultCause, SmConfig
from metronome.hdl.isa.ops import LsuOp
from metronome.hdl.memory.lsu import HIT_LATENCY, LOCAL_LATENCY, MISS_OVERHEAD
from tests.hdl.memory import lsu_programs as programs
from tests.hdl.memory.lsu_harness import LsuBench
from tests.hdl.memory.lsu_programs import LOCAL, USER, small
from tests.hdl.memory.lsu_reference import Access
from tests.hdl.memory.lsu_traffic import Traffic
from tests.support.tiers import more_but, some_long

CASES = [(1, "uncached"), (2, "tight"), (2, "cached"), (4, "single"), (4, "tight"), (1, "cached")]


def config_of(threads: int, cache: str) -> SmConfig:
    return replace(small(threads, cache=cache), lookup_latency=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", some_long(range(8), 1))
@pytest.mark.parametrize(("threads", "cache"), more_but(CASES, CASES[2:3]))
def test_random_program_equals_sequential_execution(threads: int, cache: str, seed: int) -> None:
    rng = random.Random(100 * threads + seed)
    config = config_of(threads, cache)
    LsuBench(config, seed=seed, traffic=programs.random_traffic(rng)).run(programs.random_program(rng, config, 120))


@pytest.mark.more
@pytest.mark.parametrize("cache", programs.CACHES)
def test_crowded_programs(cache: str) -> None:
    config = config_of(2, cache)
    for seed in range(8):
        rng = random.Random(seed)
        LsuBench(config, seed=seed, traffic=programs.crowded_traffic(rng)).run(programs.crowded_program(rng, config))


@pytest.mark.more
def test_a_line_arrives_around_a_store() -> None:
    for seed, (program, traffic) in enumerate(programs.arrivals()):
        LsuBench(config_of(1, "cached"), seed=seed, traffic=traffic).run(program)


@pytest.mark.more
@pytest.mark.parametrize("cache", programs.CACHES)
def test_errors_from_memory(cache: str) -> None:
    rng = random.Random(77)
    config = config_of(4, cache)
    traffic = programs.random_traffic(rng)
    traffic.bad = lambda line: line % 3 == 1
    bench = LsuBench(config, seed=77, traffic=traffic)
    bench.run(programs.random_program(rng, config, 120))
    assert {FaultCause.LOAD_ACCESS, FaultCause.STORE_ACCESS} <= {fault[1] for fault in bench.faults}


@pytest.mark.more
def test_latencies() -> None:
    """A miss, a hit, a load that the write buffer answers, a local load."""
    bench = LsuBench(config_of(2, "cached"), traffic=Traffic(latency=lambda rng, write: 20))
    bench.run([Access(warp=0, op=LsuOp.LW, address=[USER, USER + 4], mask=3, rd=1)])
    assert [part[0] for part in bench.wb] == [bench.takes[0] + 2 + MISS_OVERHEAD + 1 + 20]
    again = [Access(warp=0, op=LsuOp.LW, address=[USER, USER + 4], mask=3, rd=1, writes_rd=True)]
    local = [Access(warp=1, op=LsuOp.LW, address=[LOCAL, LOCAL + 4], mask=3, rd=2)]
    bench = LsuBench(config_of(2, "cached"), traffic=Traffic(latency=lambda rng, write: 1, take=0.05))
    bench.run([*again, *again])
    assert bench.wb[1][0] == bench.takes[1] + 2 + HIT_LATENCY + 1
    bench = LsuBench(config_of(2, "cached"))
    bench.run(local)
    assert bench.wb[0][0] == bench.takes[0] + 2 + LOCAL_LATENCY + 1
    bench = LsuBench(config_of(2, "cached"), traffic=Traffic(latency=lambda rng, write: 100))
    bench.run([
        Access(warp=0, op=LsuOp.SW, address=[USER, USER + 4], mask=3, data=[1, 2]),
        Access(warp=1, op=LsuOp.LW, address=[USER, USER + 4], mask=3, rd=1),
    ])
    # In the lookup the load waits for a cycle while its bytes are compared, and for one in which the store's are read.
    assert bench.wb[0][0] == bench.takes[1] + 2 + HIT_LATENCY + 3
