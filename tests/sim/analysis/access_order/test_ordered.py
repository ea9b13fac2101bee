"""Launches with a list, on the predictor: estimated misses, the order, and what is refused."""

import itertools
from dataclasses import replace

import pytest

from metronome.hdl.presets import BASE, TINY
from metronome.sim.analysis.access_order.analyzer import analyze
from metronome.sim.analysis.access_order.configuration import decode
from metronome.sim.analysis.access_order.estimate import CacheSize
from metronome.sim.analysis.access_order.ordered import LIST_ADDRESS, LIST_NAME, ordered_launch, with_order
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.program import kernels as kernel
from metronome.sim.program.elf import ImageError
from metronome.sim.run.types import RunRequest
from tests.sim.analysis.access_order.measure_misses import difference, machine
from tests.sim.analysis.access_order.programs import compiled, listing_of
from tests.support.tiers import some_more


@pytest.mark.parametrize("case", some_more([
    ("psum", CacheSize(512, 2), "gtlo", "fixed"), ("sgemm_group", CacheSize(16384, 4), "srr", "dram"),
    ("hotspot", CacheSize(128, 1), "lrr", "tdm"), ("nw", CacheSize(0), "gto", "fixed"),
    ("conv_columns", CacheSize(1024, 4), "variable_rate", "dram"), ("transpose", CacheSize(512, 4), "two_level", "tdm"),
], 2))
@pytest.mark.parametrize("preset", some_more([TINY, BASE], 1))
def test_every_miss_is_estimated(preset, case):
    name, size, policy, memory = case
    config = machine(preset, size, dcache_mshrs=2)
    launch = kernel.prepare(name, None, 4 if name in ("sgemm_group", "hotspot", "transpose") else 20, 1, config)
    request = RunRequest(launch=launch, policy=policy, memory=memory, latency=50)
    found, _ = difference(config, launch, analyze(config, request, launch), request)
    assert found.mismatches == 0 and found.misses > 0, found


def test_a_run_with_another_list_is_seen():
    config = machine(TINY, CacheSize(512, 2))
    launch = kernel.prepare("psum", None, 20, 1, config)
    listing = listing_of(config, launch)
    # Two neighbours of different warps change places: a list that can be obeyed, and another order.
    mine = [number for number, each in enumerate(listing.sequence) if each.listed]
    at = next(
        one for one, other in itertools.pairwise(mine)
        if listing.sequence[one].warp != listing.sequence[other].warp
        and listing.sequence[one].epoch == listing.sequence[other].epoch
    )
    sequence = list(listing.sequence)
    sequence[at], sequence[at + 1] = sequence[at + 1], sequence[at]
    request = RunRequest(launch=launch, policy="lrr", memory="fixed", latency=20)
    other = replace(listing, sequence=tuple(sequence))
    assert difference(config, launch, other, request)[0].mismatches == 0
    config_launch = with_order(launch, other, config)
    data = config_launch.loads[LIST_NAME][1]
    assert [each.warp for each in decode(data)] != [each.warp for each in listing.accesses]


def test_only_ordered_channels_get_a_list():
    launch = kernel.prepare("saxpy", None, 8, 1, TINY)
    request = RunRequest(launch=launch, policy="lrr")
    assert ordered_launch(TINY, request, launch) == (launch, None)
    config = machine(TINY, CacheSize(512, 2))
    ready, _ = ordered_launch(config, request, launch)
    address, data = ready.loads[LIST_NAME]
    assert address == LIST_ADDRESS and len(decode(data)) == len(listing_of(config, launch).accesses)
    assert ready.image.entry != launch.image.entry


def test_what_is_in_the_way_is_told():
    config = machine(TINY, CacheSize(512, 2))
    launch = kernel.prepare("saxpy", None, 8, 1, TINY)
    there = replace(launch, loads={"mine": (LIST_ADDRESS + 8, b"1")})
    with pytest.raises(ImageError, match="the list of accesses lies at 0x40000000 to"):
        with_order(there, listing_of(config, launch), config)


def test_two_regions_are_refused(tmp_path):
    text = '#include "metronome.h"\nint main(void) { region_begin(); region_end(); region_begin(); region_end(); }'
    launch = compiled(tmp_path, text, TINY)
    with pytest.raises(RefusedError, match="begins the measured region 2 times"):
        with_order(launch, listing_of(TINY, launch), machine(TINY, CacheSize(512, 2)))
