"""The statistics of a region (docs/counters.md), recounted from the events of every cycle."""

import bisect
import itertools
import random
from collections import defaultdict
from dataclasses import replace

import pytest

from metronome.hdl.config import Coordination, Prediction
from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.layouts.probe import LookupWait
from metronome.hdl.memory.lsu import HIT_LATENCY, LOCAL_LATENCY, MISS_OVERHEAD
from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.machine.memory.stacks import to_bus
from metronome.sim.machine.statistics import REASONS, LineAccesses
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run_many
from tests.hdl.sm_harness import USER, finish, spawn
from tests.support.builds import TINY, on
from tests.support.tiers import more_but
from tests.system.counter_recount import counter_recount
from tests.system.rtl_programs import RawProgram
from tests.system.scheme_builds import QUICK, SIZES, build_of, builds
from tests.system.statistics_recount import load_latency, recount

SEED = 20261124
MREGION = 0x7C0
LANE, WARP, SHARED, APART, LOCAL, UNCACHED = 7, 8, 16, 17, 18, 19
#: Kernel, memory; sgemm has the size of a matrix. A kernel closes its region, a program below does not.
KERNELS = (("psort", "fixed"), ("sgemm", "dram"), ("psum", "dram"), ("diverge", "fixed"))


def mixed(config, rng, length):
    """All warps do everything that makes a warp wait, with accesses to shared, own, local and uncached words."""
    p = Program()
    p.add(asm.csrrwi(0, MREGION, 1))
    spawn(p, config.warps, "all")
    p.label("all")
    p.add(*asm.li(6, (1 << config.threads) - 1), asm.tmc(6), asm.csrr(LANE, 0xCC0), asm.csrr(WARP, 0xCC1))
    p.add(asm.slli(9, LANE, 2), asm.slli(10, LANE, 6), asm.slli(11, WARP, 9))
    for register, base, offset in (
        (SHARED, USER, 9), (APART, USER + 0x4000, 10), (LOCAL, config.memory_map.local, 9), (UNCACHED, 0x2000, 9),
    ):
        p.add(*asm.li(register, base), asm.add(register, register, offset))
    p.add(asm.add(APART, APART, 11))

    def address():
        base = rng.choice((SHARED, SHARED, APART, APART, LOCAL, UNCACHED))
        return 64 * rng.randrange(8), base

    blocks = {
        "load": lambda: [asm.lw(12, *address()), asm.addi(13, 12, 1)],
        "loads": lambda: [rng.choice((asm.lw, asm.flw))(register, *address()) for register in range(20, 26)],
        "prefetch": lambda: [asm.lw(0, *address()), asm.lw(12, *address())],
        "stores": lambda: [rng.choice((asm.sw, asm.sb, asm.fsw))(12, *address()) for _ in range(3)],
        "forward": lambda: [
            asm.sw(LANE, 64 * 9, APART), asm.lw(0, 64 * 9, APART), asm.lw(12, 64 * 9, APART), asm.add(13, 12, 12),
        ],
        "rewrite": lambda: [
            asm.lw(12, 0, APART), asm.addi(12, 12, 1), *(asm.sw(12, 4 * word, APART) for word in range(4)),
        ],
        "uncached": lambda: [asm.sw(12, 0, UNCACHED), asm.lw(12, 0, UNCACHED), asm.lw(13, 64, UNCACHED)],
        "fence": lambda: [asm.sw(12, *address()), asm.fence()],
        "multiply": lambda: [asm.mul(13, LANE, LANE), asm.add(13, 13, 13), asm.mul(14, 13, 13), asm.addi(15, 9, 1)],
        "divide": lambda: [asm.div(13, WARP, LANE), asm.rem(14, LANE, WARP), asm.addi(13, 13, 1)],
        "float": lambda: [
            asm.fadd_s(1, 2, 3), asm.fmadd_s(4, 1, 2, 3), asm.fdiv_s(5, 4, 1), asm.feq_s(0, 5, 4), asm.feq_s(12, 4, 1),
        ],
        "flags": lambda: [asm.fmul_s(1, 2, 3), asm.feq_s(0, 1, 2), asm.csrr(12, 0x001)],
        "split": lambda: [asm.split(12, LANE), asm.addi(13, 13, 1), asm.join(12)],
        "others": lambda: [asm.addi(13, 13, 1)] * rng.randrange(1, 6),
    }
    first = rng.sample(list(blocks), len(blocks))
    for number in range(length):
        p.add(*blocks[first[number] if number < len(first) else rng.choice(first)]())
        if rng.random() < 0.2:
            p.branch(rng.choice((asm.beq, asm.bne)), WARP, 0, f"after{number}")
            p.add(*[asm.addi(14, 14, 1)] * rng.randrange(3))
            p.label(f"after{number}")
        if rng.random() < 0.2:
            p.li(15, rng.randrange(1, 4))
            p.label(f"again{number}")
            p.add(asm.addi(15, 15, -1))
            p.branch(asm.bne, 15, 0, f"again{number}")
            p.jal(0, f"on{number}")
            p.add(asm.nop())
            p.label(f"on{number}")
        if rng.random() < 0.1:
            p.add(*asm.li(13, 0), *asm.li(14, config.warps), asm.bar(13, 14))
    finish(p)
    return RawProgram(p.assemble())


def requests_for(config, pairs, preset):
    """Two kernels and two programs, the pairs of policies in turn, on constant latency and on DRAM."""
    _, size, side, _ = SIZES[preset]
    turns = itertools.cycle(pairs)
    kernels = KERNELS[:2] if config.prediction is Prediction.NOT_TAKEN else KERNELS[2:]
    programs = [
        (prepare(name, "int32", side if name == "sgemm" else size, 1, config), memory) for name, memory in kernels
    ]
    programs += [
        (mixed(config, random.Random(f"{SEED}/{preset}/{number}"), 40), memory)
        for number, memory in enumerate(("fixed", "dram"))
    ]
    for program, memory in programs:
        fetch, issue = next(turns)
        yield RunRequest(
            launch=program, policy=issue, fetch_policy=fetch, memory=memory, latency=20, trace=True,
            memory_options=MemoryOptions(commands=memory == "dram"), max_cycles=100_000,
        )


def check(config, requests):
    """Hardware's statistics = recount; what all runs have counted together."""
    results = run_many(config, requests)
    for number, (request, result) in enumerate(zip(requests, results, strict=True)):
        what = f"seed {SEED}, run {number}: {request.fetch_policy}-{request.policy}, {request.memory}"
        assert result.status == "ended", f"{what}: {result.status}"
        assert result.region == recount(config, result.events), what
        counters = counter_recount(config, result.events)
        assert {name: result.counters[name] for name in counters} == counters, what
        check_sums(config, result, what)
        check_memory(config, result, what)
    return results


def check_sums(config, result, what):
    """What must be true of the sums, whoever has counted them."""
    region, counters = result.region, result.counters
    assert {warp.total for warp in region.warps} == {counters["cycles"]}, what
    assert sum(warp.instructions for warp in region.warps) == counters["committed"], what
    assert sum(warp.nops for warp in region.warps) == counters["nops"], what
    assert sum(warp.stalls[StallReason.LOAD] for warp in region.warps) == counters["load_wait_cycles"], what
    loads = region.loads
    parts = loads.hits + loads.merges + loads.forwards + loads.misses + loads.uncached
    assert loads.accesses == parts >= loads.instructions, what
    if config.dcache_bytes == 0:
        assert loads.hits == loads.merges == region.stores.hits == 0, what


def check_memory(config, result, what):
    """The whole run's line accesses are what the SM asked memory for, and the DRAM's rows what its commands say."""
    events, lookup = result.events, result.events["lookup"]
    accesses, stores = lookup["access"] == 1, lookup["store"] == 1
    lines = [store_lines(config, event) for event in events["store"] if event["valid"]]
    assert (accesses & stores).sum() == sum(lines), what
    assert (accesses & stores & (lookup["first"] == 1)).sum() == sum(map(bool, lines)), what
    if result.memory_commands is None:
        return
    statistics = result.memory_statistics
    alone = (lookup["hit"] == 0) & (lookup["merge"] == 0) & (lookup["forward"] == 0)
    asked = int((accesses & ~stores & alone).sum() + (events["front"]["woken"] != 0).sum())
    # The SM ends without waiting for the fetches that it does not need any more.
    fetches = config.icache_mshrs if config.icache_bytes else config.warps
    assert asked <= statistics["reads"] <= asked + fetches, what
    assert statistics["writes"] == (accesses & stores & (lookup["merge"] == 0)).sum(), what
    assert row_outcomes(result.memory_commands) == {name: statistics[name] for name in ROWS}, what


def store_lines(config, event):
    """Lines of global memory that a store touches."""
    lanes = [int(address) for lane, address in enumerate(event["address"]) if event["mask"] >> lane & 1]
    local = range(config.memory_map.local, config.memory_map.local + config.local_bytes)
    return len({to_bus(config, address) // config.line_bytes for address in lanes if address not in local})


ROWS = ("row_hits", "row_closed", "row_conflicts")


def row_outcomes(commands):
    """What each access of a bank's data found: its bank had been precharged for it, else activated, else neither."""
    found, since = dict.fromkeys(ROWS, 0), defaultdict(set)
    for command in commands:
        if command.kind in ("RD", "WR"):
            before = since.pop(command.bank, set())
            found["row_conflicts" if "PRE" in before else "row_closed" if "ACT" in before else "row_hits"] += 1
        else:
            since[command.bank].add(command.kind)
    return found


@pytest.mark.parametrize(("preset", "scheme", "prediction", "caches"), list(builds(QUICK[1:])))
def test_statistics_are_the_recount(preset, scheme, prediction, caches):
    config, pairs = build_of(preset, scheme, prediction, caches)
    results = check(config, list(requests_for(config, pairs, preset)))
    regions = [result.region for result in results]
    cached = config.dcache_bytes > 0
    for name in ("forwards", "misses", "uncached", *(("hits", "merges") if cached else ())):
        assert any(getattr(region.loads, name) for region in regions), f"no load of the kind {name}"
    for name in ("merges", "uncached", *(("hits",) if cached else ())):
        assert any(getattr(region.stores, name) for region in regions), f"no store of the kind {name}"
    reasons = {reason for region in regions for warp in region.warps for reason in REASONS if warp.stalls[reason]}
    assert reasons >= set(REASONS) - {StallReason.BUFFER}, set(REASONS) - reasons
    assert (StallReason.BUFFER in reasons) == (scheme is not Coordination.SWAS)
    waits = {reason for region in regions for reason, count in region.waits.items() if count}
    assert LookupWait.ORDER in waits, waits


#: A data cache so small that every kind of wait occurs; no cache at all; stacks that are not interleaved.
OTHER = {
    "none": {"dcache_bytes": 0, "icache_bytes": 0},
    "plain": {"interleave_stacks": False},
    "tight": {"dcache_bytes": 128, "dcache_ways": 1, "dcache_mshrs": 1, "store_buffer": 1, "load_parts": 2},
}


@pytest.mark.long
@pytest.mark.parametrize("caches", OTHER)
@pytest.mark.parametrize(("preset", "scheme"), [("TINY", Coordination.SWAS), ("BASE", Coordination.BASELINE)])
def test_other_memory_systems(preset, scheme, caches):
    config, pairs = build_of(preset, scheme, Prediction.NOT_TAKEN)
    config = replace(config, **OTHER[caches])
    results = check(config, list(requests_for(config, pairs, preset)))
    waits = {reason for result in results for reason, count in result.region.waits.items() if count}
    if caches == "tight":
        assert waits >= set(LookupWait) - {LookupWait.NONE, LookupWait.PARTS}, waits


@on("TINY")
def test_by_hand():
    """One warp, one thing after the other: every figure follows from the documented latencies."""
    p = Program()
    p.add(*asm.li(5, USER), *asm.li(6, TINY.memory_map.local), *asm.li(7, 0x1000), *asm.li(8, 3))
    p.add(asm.csrrwi(0, MREGION, 1))
    for load in (asm.lw(11, 0, 5), asm.lw(11, 4, 5), asm.flw(1, 0, 6), asm.lw(11, 0, 7), asm.lw(11, 4, 7)):
        p.add(load, asm.fence(), asm.fmv_x_w(12, 1), asm.addi(12, 11, 0))
    # Both lanes, two lines: the first is in the cache.
    p.add(asm.tmc(8), *asm.li(5, USER), asm.csrr(9, 0xCC0), asm.slli(9, 9, 6), asm.add(10, 5, 9))
    p.add(asm.lw(11, 0, 10), asm.addi(12, 11, 0), asm.sw(11, 0, 10), asm.fence(), asm.lw(0, 0, 10), asm.fence())
    p.add(*[asm.addi(12, 12, 1)] * 8, asm.csrrwi(0, MREGION, 0))
    finish(p)
    request = RunRequest(launch=RawProgram(p.assemble()), policy="lrr", latency=20, trace=True)
    (result,) = check(TINY, [request])
    region = result.region
    hit, miss, local = HIT_LATENCY + 1, MISS_OVERHEAD + 20 + 1, LOCAL_LATENCY + 1
    # The second line of the last load is looked up one cycle after the first.
    latencies = [miss, hit, local, miss, miss, miss + 1]
    assert (region.load_latency.total, region.load_latency.maximum) == (sum(latencies), max(latencies))
    assert region.load_latency.histogram[2:6] == (2, 0, 4, 0) and region.load_latency.count == 6
    assert region.loads == LineAccesses(instructions=6, accesses=8, hits=4, misses=2, uncached=2, merges=0, forwards=0)
    assert region.stores == LineAccesses(instructions=1, accesses=2, hits=2, merges=0, uncached=0)
    assert region.loads.per_instruction == pytest.approx(8 / 6)
    assert set(region.waits.values()) == {0}
    first, second = region.warps
    assert second.inactive == result.counters["cycles"] and second.total == second.inactive
    assert (first.inactive, first.not_selected) == (0, 0)


@pytest.fixture(scope="module")
def traced():
    """A traced run with everything in it."""
    request = list(requests_for(TINY, [(None, policy) for policy in TINY.policies], "TINY"))[-1]
    (result,) = check(TINY, [request])
    return TINY, result


def write_of_a_load(events):
    """The cycle in which a load in the middle of the region is done."""
    middle = load_latency(events).count // 2
    return bisect.bisect_left(range(len(events)), middle, key=lambda end: load_latency(events[:end]).count) - 1


def issue_of_a_load(events):
    """The cycle in which a load in the middle of the region that writes a register is in stage X."""
    word = events["issue"]["instruction"]
    loads = (events["issue"]["valid"] == 1) & (word & 0x7F == 0x03) & (word >> 7 & 31 != 0)
    cycles = (loads & (events["control"]["region"] == 1)).nonzero()[0]
    return cycles[len(cycles) // 2]


#: A part of the record, a flag of it, and what must be there beside it.
FLAGS = (
    ("lookup", "access", ()), ("lookup", "first", ("access",)), ("lookup", "store", ("access",)),
    ("lookup", "uncached", ("access",)), ("lookup", "hit", ("access",)), ("lookup", "merge", ("access",)),
    ("lookup", "forward", ("access",)), ("lookup", "wait", ()), ("control", "region", ()),
    ("control", "active", ("region",)), ("control", "waiting", ("region",)), ("wb", "valid", ()),
    ("issue", "valid", ()),
)


@on("TINY")
@pytest.mark.slow
@pytest.mark.parametrize(("part", "flag", "beside"), more_but(FLAGS, FLAGS[:5]))
def test_a_lost_event_shows(traced, part, flag, beside):
    config, result = traced
    events = result.events.copy()
    happens = (events[part][flag] != 0) & (events["control"]["region"] == 1)
    for other in beside:
        happens &= events[part][other] != 0
    cycles = happens.nonzero()[0]
    # An instruction or a write that nobody waits for may be lost without a trace: a load's begin and end its latency.
    chosen = {"wb": write_of_a_load, "issue": issue_of_a_load}
    lost = chosen[part](events) if part in chosen else cycles[len(cycles) // 2]
    assert happens[lost]
    events[part][flag][lost] = 0
    try:
        same = recount(config, events) == result.region
    except (AssertionError, ValueError, KeyError):  # the rest of the run makes no sense without it
        same = False
    assert not same
