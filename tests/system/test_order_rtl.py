"""The order from a list: kernels and random programs in lock step, every cycle predicted, every miss estimated."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.config import FaultCause
from metronome.sim.analysis.access_order.configuration import Entry, encode, entries_of
from metronome.sim.analysis.access_order.estimate import estimate_of
from metronome.sim.analysis.access_order.measured_misses import Lookups, Verified, measured
from metronome.sim.analysis.access_order.ordered import LIST_ADDRESS, LIST_NAME
from metronome.sim.program.kernels import kernels, prepare
from metronome.sim.run.runner import RunRequest, run
from tests.sim.analysis.access_order.test_analyzer import KERNELS
from tests.support.builds import BASE, LEAST, ORDERED, TINY, UNCACHED, on
from tests.system.ordered_programs import OwnWords, launch_of, listed, ordered
from tests.system.prediction import differences
from tests.system.rtl_programs import problems
from tests.system.scheme_builds import MATRIX_KERNELS
from tests.system.test_channels_rtl import HARD, check_programs

SEED = 20261125


def verified(config, listing, result):
    """What of the run's order and misses is not as listed and estimated."""
    expected = estimate_of(listing, config)
    found = Verified.of(expected, measured(listing, Lookups.of_hardware(result.events)))
    return [f"{found}"] if found.mismatches else []


def check(config, launches, rng):
    """Each with a policy and a memory of its own: lock step, prediction, order, misses."""
    bad = []
    for name, launch in launches:
        ready, listing = listed(config, launch)
        memory, latency, options, _ = rng.choice(HARD)
        request = RunRequest(
            launch=ready, policy=rng.choice(config.policies), memory=memory, latency=latency, memory_options=options,
            seed=rng.randrange(9), check=True, trace=True, max_cycles=2_000_000,
        )
        result = run(config, request)
        texts = [*problems(result), *differences(config, request, result), *verified(config, listing, result)]
        bad += [f"{name} on {memory}, {latency}, {request.policy}: {text}" for text in texts[:1]]
    assert not bad, f"seed {SEED}: {len(bad)} of {len(launches)}\n" + "\n".join(bad[:5])


def kernel_launches(config, size, side):
    return [
        (f"{each.name} {dtype}", prepare(each.name, dtype, side if each.name in MATRIX_KERNELS else size, 1, config))
        for each in kernels() if each.name in KERNELS for dtype in each.types
    ]


def random_launches(config, count, seed):
    rngs = [random.Random(f"{seed}/{config.warps}x{config.threads}/{number}") for number in range(count)]
    return [
        (f"program {number}", launch_of(OwnWords(rng, config, blocks=rng.randrange(3, 9)), config))
        for number, rng in enumerate(rngs)
    ]


@on("ordered")
def test_kernels():
    check(ORDERED, kernel_launches(ORDERED, 11, 3), random.Random(SEED))


@on("ordered")
def test_random_programs():
    check(ORDERED, random_launches(ORDERED, 30, SEED), random.Random(SEED))


@pytest.mark.long
@on("ordered")
def test_many_random_programs():
    check(ORDERED, random_launches(ORDERED, 300, SEED + 1), random.Random(SEED + 1))


@on("ordered")
def test_without_a_list_warps_may_race():
    check_programs(ORDERED, 30, SEED)


@pytest.mark.long
@pytest.mark.parametrize("depth", [2, 3, 4, 5, 7, 10, 16, 32])
@pytest.mark.parametrize("name", ["TINY", "least"])
def test_no_depth_deadlocks(name, depth):
    config = ordered({"TINY": TINY, "least": LEAST}[name], depth)
    check(config, random_launches(config, 32, SEED + depth), random.Random(SEED))


@pytest.mark.long
@pytest.mark.parametrize("name", ["BASE", "uncached"])
def test_larger_machines(name):
    config = ordered({"BASE": BASE, "uncached": UNCACHED}[name], 10)
    check(config, [*kernel_launches(config, 37, 5), *random_launches(config, 60, SEED)], random.Random(SEED))
    check_programs(config, 60, SEED + 1)


def wrong(change):
    """A list of saxpy's accesses that is wrong; the entry at which that is seen."""
    launch, listing = listed(ORDERED, prepare("saxpy", None, 9, 1, ORDERED))
    entries, at = change(entries_of(listing.accesses))
    data = encode(entries)
    return replace(launch, loads=launch.loads | {LIST_NAME: (LIST_ADDRESS, data)}), entries, at


def other_pc(entries):
    at = len(entries) // 2
    return [*entries[:at], replace(entries[at], pc=entries[at].pc + 4), *entries[at + 1 :]], at


def other_kind(entries):
    at = len(entries) // 3
    return [*entries[:at], replace(entries[at], store=not entries[at].store), *entries[at + 1 :]], at


def a_line_more(entries):
    """The next access of the warp is no second line of it."""
    at = len(entries) // 2
    return [*entries[:at], replace(entries[at], lines=entries[at].lines + 1), *entries[at + 1 :]], at


def cut_off(entries):
    return entries[:-5], len(entries) - 5


@on("ordered")
@pytest.mark.parametrize("change", [other_pc, other_kind, cut_off, a_line_more])
def test_an_access_that_is_not_expected(change):
    launch, entries, at = wrong(change)
    request = RunRequest(launch=launch, policy="lrr", memory="fixed", latency=20, trace=True, max_cycles=400_000)
    result = run(ORDERED, request)
    assert result.status == "fault" and result.fault.cause is FaultCause.UNEXPECTED_ACCESS, result.status
    assert result.fault.address == (0 if at >= len(entries) else entries[at].pc)
    assert differences(ORDERED, request, result) == []


def one_too_many(entries):
    return [*entries, Entry(entries[-1].pc, False, 0, 1)], len(entries)


def no_such_warp(entries):
    return [*entries[:9], replace(entries[9], warp=33), *entries[10:]], 9


@on("ordered")
@pytest.mark.parametrize("change", [one_too_many, no_such_warp])
def test_an_access_that_does_not_come(change):
    launch, entries, at = wrong(change)
    request = RunRequest(launch=launch, policy="gtlo", memory="fixed", latency=20, trace=True, max_cycles=400_000)
    result = run(ORDERED, request)
    assert result.status == "fault" and result.fault.cause is FaultCause.MISSING_ACCESS, result.status
    assert (result.fault.pc, result.fault.address) == (entries[at].pc, LIST_ADDRESS + 8 * at)
    assert differences(ORDERED, request, result) == []
