"""The load/store unit on interleaved stacks: lines per access, random programs, the addresses that it reports."""

import random

import pytest

import metronome.hdl.memory.lanes.coalescer
import metronome.hdl.memory.lanes.entrance
import metronome.hdl.memory.lsu
import metronome.hdl.memory.seam
from metronome.hdl.config import FaultCause, SmConfig
from metronome.hdl.isa.ops import LsuOp
from metronome.hdl.presets import PAPER
from tests.hdl.memory.lsu_harness import LsuBench, Simulation
from tests.hdl.memory.lsu_programs import LOADS, STORES, small
from tests.hdl.memory.lsu_reference import Access
from tests.hdl.memory.lsu_traffic import Traffic
from tests.support.tiers import long_but, more_but, some_more

pytestmark = pytest.mark.slow

TOP, STACK = 0xFFFF_0000, 8192
WARPS = 3


def stack_access(rng: random.Random, config: SmConfig) -> Access:
    """An access of few words of the stacks: the lanes' own at one offset, or anything around the borders."""
    op = rng.choice(LOADS + STORES)
    size = 1 << (op.value & 3)
    warp = rng.randrange(WARPS)
    low = TOP - STACK * config.harts
    address = []
    together = rng.random() < 0.5
    offset = 4 * rng.randrange(4) + rng.randrange(4)
    for lane in range(config.threads):
        hart = warp * config.threads + lane if together else rng.randrange(config.harts)
        base = TOP - STACK * (hart + 1)
        place = base + offset if together else rng.choice((base, low, TOP)) + rng.randrange(-8, 8)
        address.append(place // size * size)
    if size > 1 and rng.random() < 0.05:
        address[rng.randrange(config.threads)] += rng.randrange(1, size)
    return Access(
        warp=warp, op=op, address=address, mask=rng.randrange(1, 1 << config.threads), rd=rng.randrange(64),
        data=[rng.getrandbits(32) for _ in address], offset=rng.randrange(-2048, 2048), pc=4 * rng.getrandbits(30),
    )


def run_random(config: SmConfig, seed: int, *, bad: bool = False, simulation: Simulation | None = None) -> LsuBench:
    rng = random.Random(seed)
    traffic = Traffic(latency=lambda rng, write: rng.randint(1, 9), wb_ready=0.7, reorder=True)
    if bad:
        traffic.bad = lambda line: line % 3 == 1
    bench = LsuBench(config, seed=seed, traffic=traffic, simulation=simulation)
    bench.run([stack_access(rng, config) for _ in range(80)])
    return bench


@pytest.mark.parametrize(
    ("threads", "interleave"), more_but(
        long_but([(1, True), (2, True), (4, True), (2, False)], [(2, True), (2, False)]), [(2, True)])
)
def test_random_programs(threads: int, interleave: bool) -> None:
    for seed in range(2):
        run_random(small(threads, WARPS, "cached", interleave_stacks=interleave), seed)


@pytest.mark.more
@pytest.mark.parametrize("threads", long_but([2, 4], [2]))
def test_random_programs_with_errors_from_memory(threads: int) -> None:
    """Faults of all four kinds name the program's address (:class:`LsuBench` compares them)."""
    causes: set[int] = set()
    for seed in range(3):
        bench = run_random(small(threads, WARPS, "cached"), 100 + seed, bad=True)
        causes |= {fault[1] for fault in bench.faults}
    assert causes == {FaultCause.LOAD_ACCESS, FaultCause.STORE_ACCESS, FaultCause.LOAD_MISALIGNED,
                      FaultCause.STORE_MISALIGNED}


@pytest.mark.more
@pytest.mark.parametrize(("threads", "lines"), [
    (2, 1), *more_but([(1, 1), (4, 1)], []), pytest.param(32, 2, marks=pytest.mark.long),
])
def test_lines_of_an_access(threads: int, lines: int) -> None:
    """threads * 4 / 64 lines for one word, half or byte of every lane's stack; without interleaving one a lane."""
    # Small configurations are those of the other tests: each costs seconds.
    for interleave in (True, False) if threads == 2 else (True,):
        config = PAPER if threads == 32 else small(threads, WARPS, "cached", interleave_stacks=interleave)
        for number, op in enumerate((LsuOp.SW, LsuOp.LH, LsuOp.SB)[: 1 if threads == 32 else 3]):
            address = [TOP - STACK * (threads + lane) - 64 - 128 * number for lane in range(threads)]
            bench = LsuBench(config)
            bench.run([Access(warp=1, op=op, address=address, mask=(1 << threads) - 1, data=list(range(threads)))])
            assert len(bench.requests) == (lines if interleave else threads)


#: Each report with the program's address: what it looks like when it is not turned back, or too often.
BUGS = {
    "not permuted": (metronome.hdl.memory.lanes.entrance, "to_bus"),
    "store event": (metronome.hdl.memory.lsu, "to_program"),
    "misaligned": (metronome.hdl.memory.lanes.coalescer, "to_program"),
    "refused": (metronome.hdl.memory.seam, "to_program"),
}


@pytest.mark.more
@pytest.mark.parametrize("bug", some_more(BUGS, 1))
def test_bugs_are_seen(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one of the translations left out, the random programs fail."""
    module, name = BUGS[bug]
    monkeypatch.setattr(module, name, lambda m, config, address, name: address)
    config = small(2, WARPS, "cached")
    simulation = Simulation(config)
    with pytest.raises(AssertionError, match="seed"):
        for seed in range(3):
            run_random(config, 100 + seed, bad=True, simulation=simulation)
