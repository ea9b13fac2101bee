"""The analyzer against the machine, and the total order against whatever orders two accesses."""

import dataclasses
import itertools

import pytest

from metronome.hdl.config import LINE_BYTES
from metronome.hdl.presets import BASE, MID, TINY
from metronome.sim.analysis.access_order.records import Access, Grid, Place
from metronome.sim.program import kernels as kernel
from tests.sim.analysis.access_order.programs import by_warp, compiled, differences, listing_of, predicted
from tests.sim.analysis.access_order.stepped import Stepped
from tests.support.tiers import some_more

KERNELS = [
    "sgemm_group", "transpose", "psum", "hotspot", "vecadd", "saxpy", "sgemm", "conv3", "sfilter", "conv_columns",
    "conv_rows", "hotspot3d", "backprop", "gaussian", "nn", "nw", "pathfinder", "srad",
]
#: Warps that meet at barriers of two groups, in loops of which each has its own number of turns; lanes that part; local
#: memory in some lanes and global memory in the others; what is not cached; stacks; bytes.
MIXED = """
static uint32_t words[4096];
static uint8_t bytes[256];

static void work(const void *unused)
{
    (void)unused;
    const uint32_t me = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t other = threadIdx.x ? me - 1 : me + blockDim.x - 1;
    volatile uint32_t own[4];
    uint32_t *const mine = local_memory(256);
    for (uint32_t turn = 0; turn < 2 + (blockIdx.x & 1); turn++) {
        own[turn & 3] = words[me * 13 + turn];
        if (threadIdx.x & 1) {
            words[1024 + 128 * turn + me] = own[turn & 3];
            bytes[me] = (uint8_t)turn;
        } else {
            uint32_t *const place = threadIdx.x & 2 ? &mine[threadIdx.x] : &words[2048 + me];
            *place = turn;
        }
        __syncthreads();
        words[3072 + me] = words[1024 + other] + bytes[other];
        __syncthreads();
    }
    *(volatile uint32_t *)(0x400 + 4 * me) = me;
}

int main(void)
{
    const uint32_t blocks = 5;
    const uint32_t threads = simt_num_threads() * 2 - 1;
    region_begin();
    spawn_threads(1, &blocks, &threads, work, 0);
    spawn_threads(1, &blocks, 0, work, 0);
    region_end();
    return 0;
}
"""
#: Memory from 0 on is there, and is not cached below 0x10000.
MACHINES = {"TINY": TINY, "BASE": BASE, "MID": dataclasses.replace(MID, warps=6)}


def prepared(name, config):
    return kernel.prepare(name, None, None, 1, config)


@pytest.mark.slow
@pytest.mark.parametrize(("machine", "name"), [
    pytest.param(machine, name, marks=[pytest.mark.more] * (machine != "TINY" or name not in KERNELS[:4]))
    for machine in ("TINY", "BASE") for name in KERNELS
])
def test_the_machine_looks_up_what_is_listed(machine, name):
    config = MACHINES[machine]
    launch = prepared(name, config)
    assert differences(config, listing_of(config, launch), predicted(config, launch)) == []


@pytest.mark.more
@pytest.mark.parametrize("machine", some_more(MACHINES, 1))
@pytest.mark.parametrize("interleave", some_more([True, False], 1))
def test_stacks_divergence_local_memory_and_what_is_not_cached(tmp_path, machine, interleave):
    config = dataclasses.replace(MACHINES[machine], interleave_stacks=interleave)
    launch = compiled(tmp_path, MIXED, config)
    listing = listing_of(config, launch)
    assert differences(config, listing, predicted(config, launch)) == []
    assert any(line < listing.user_line for each in listing.accesses for line in each.lines)
    assert any(len(each.lines) > 1 for each in listing.accesses)


@pytest.mark.slow
@pytest.mark.parametrize(("machine", "seed"), [
    pytest.param(machine, seed, marks=[pytest.mark.more] * (machine != "TINY" or seed > 0))
    for machine in MACHINES for seed in range(3)
])
def test_the_order_extends_every_schedule(tmp_path, machine, seed):
    config = MACHINES[machine]
    launch = compiled(tmp_path, MIXED, config)
    listing = listing_of(config, launch)
    stepped = Stepped(config, launch, seed)
    position = {}
    for warp, rows in enumerate(by_warp(config, listing)):
        assert [(each.pc, each.store, each.lines) for each in rows] == stepped.accesses[warp]
        position |= {(warp, number): each.key for number, each in enumerate(rows)}
    pairs = list(stepped.ordered())
    assert len(pairs) > 20
    assert all(position[first] < position[second] for first, second in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("name", some_more(KERNELS, 2))
def test_the_order_of_kernels(name):
    for config in (TINY, BASE):
        launch = prepared(name, config)
        stepped = Stepped(config, launch, 1)
        rows = by_warp(config, listing_of(config, launch))
        told = [[(each.pc, each.store, each.lines) for each in mine] for mine in rows]
        assert told == stepped.accesses
        assert all(
            rows[first][at].key < rows[second][behind].key for (first, at), (second, behind) in stepped.ordered()
        )


def test_keys_are_all_different():
    for name in ("psum", "hotspot"):
        listing = listing_of(BASE, prepared(name, BASE))
        keys = [each.key for each in listing.sequence]
        assert len(set(keys)) == len(keys) and keys == sorted(keys)


def test_one_pc_of_all_warps_comes_together():
    """Of a kernel without loops each pc of the kernel is one stretch, its warps ascending."""
    listing = listing_of(BASE, kernel.prepare("vecadd", None, 16, 1, BASE))
    image = prepared("vecadd", BASE).image
    own = [each for each in listing.accesses if (image.source_line(each.pc) or "").endswith("vecadd/kernel.c:15")]
    stretches = [(pc, [each.warp for each in rows]) for pc, rows in itertools.groupby(own, key=lambda each: each.pc)]
    assert len(stretches) == len({pc for pc, _ in stretches})
    assert all(warps == [0, 1, 2, 3] for _, warps in stretches)


def test_a_loop_goes_turn_by_turn():
    listing = listing_of(BASE, kernel.prepare("sgemm_group", None, 4, 1, BASE))
    for _, rows in itertools.groupby(listing.accesses, key=lambda each: (each.epoch, each.pc)):
        warps = [each.warp for each in rows]
        assert warps == sorted(set(warps))


def test_the_region_begins_with_a_new_epoch():
    listing = listing_of(BASE, prepared("vecadd", BASE))
    epochs = [each.epoch for each in listing.sequence]
    first = [each.listed for each in listing.sequence].index(True)
    assert max(epochs[:first]) == epochs[first] - 1
    assert {each.warp for each in listing.accesses if each.epoch == epochs[first]} == {0}


def test_the_key():
    assert Access(9, 5, True, (1,), 3, Place(7, 8, (1, 2, 3)), True).key == (3, 5, 7, 8, 9)


#: Warps that end long after the first one, each with loads in its loop; then what main does with all that they stored.
UNEQUAL = """
static volatile uint32_t words[256], sums[16];

static void work(const void *unused)
{
    (void)unused;
    const uint32_t me = blockIdx.x;
    for (uint32_t turn = 0; turn < 1 + 9 * simt_warp_id(); turn++)
        words[me] = words[me] + turn;
    if (%s)
        simt_tmc(0);
}

int main(void)
{
    const uint32_t blocks = simt_num_warps() * simt_num_threads();
    region_begin();
    for (uint32_t launch = 0; launch < 2; launch++) {
        spawn_threads(1, &blocks, %s, work, 0);
        for (uint32_t i = 0; i < blocks; i++)
            sums[launch] += words[i];
    }
    region_end();
    return 0;
}
"""


def test_who_waits_for_the_end_of_others_comes_behind_them(tmp_path):
    launch = compiled(tmp_path, UNEQUAL % ("0", "0"), BASE)
    listing = listing_of(BASE, launch)
    assert differences(BASE, listing, predicted(BASE, launch)) == []
    own = [number for number, each in enumerate(listing.sequence) if launch.image.function_at(each.pc) == "work"]
    summed = [
        number for number, each in enumerate(listing.sequence)
        if launch.image.function_at(each.pc) == "main" and not each.store and each.listed
    ]
    halves = len(own) // 2, len(summed) // 2
    assert own[halves[0] - 1] < summed[0] < summed[halves[1] - 1] < own[halves[0]]


def test_a_warp_that_ends_in_its_block_leaves_it(tmp_path):
    text = UNEQUAL % ("simt_warp_id() == 3", "&(uint32_t){simt_num_threads()}")
    text = text.replace("blocks =", "blocks = 4; // ").replace("me = blockIdx.x", "me = simt_hart_id()")
    launch = compiled(tmp_path, text, BASE)
    places = [each.place for each in listing_of(BASE, launch).accesses if each.warp == 3]
    outside = [place.block is None for place in places]
    # In each of the two launches first outside, then in the block.
    assert [key for key, _ in itertools.groupby(outside)] == [True, False, True, False]


def test_a_barrier_of_one_warp_is_none(tmp_path):
    text = """
static volatile uint32_t words[4];
int main(void)
{
    words[0] = 1;
    region_begin();
    words[1] = 1;
    %s
    words[2] = 2;
    region_end();
    return 0;
}
"""
    epochs = []
    for barrier in ("", "simt_bar(0, 1);"):
        listing = listing_of(TINY, compiled(tmp_path, text % barrier, TINY))
        epochs.append([each.epoch for each in listing.accesses])
    assert epochs[0] == epochs[1] and len(set(epochs[0])) == 1
    # In program order behind the store to words[0], and above it.
    assert epochs[0][0] not in {each.epoch for each in listing.sequence if each.pc < min(listing.pcs)}


def test_work_groups():
    launch, outside = prepared("psum", BASE), set()
    listing = listing_of(BASE, launch)
    assert listing.grids[0] == Grid((8, 1, 1), (8, 1, 1))
    groups = {each.place.group: each.place for each in listing.accesses if each.place.block}
    assert sorted(groups) == list(range(8))
    for each in listing.accesses:
        block = each.place.block
        if block is None:
            assert each.place == Place(0, each.warp, None)
            outside.add(launch.image.function_at(each.pc))
        else:
            # Two groups of two warps are there at a time, so each runs every second block.
            assert block == (each.place.group, 0, 0)
            assert each.warp == each.place.group % 2 * 2 + each.place.member
            assert launch.image.function_at(each.pc) not in ("main", "spawn_threads")
    assert {"main", "spawn_threads"} <= outside


def test_a_grid_of_three_dimensions(tmp_path):
    text = """
volatile uint32_t words[4096];
static void work(const void *unused)
{
    (void)unused;
    words[((blockIdx.z * 3 + blockIdx.y) * 2 + blockIdx.x) * 16 + threadIdx.x] = 1;
}
int main(void)
{
    const uint32_t blocks[3] = {2, 3, 2}, threads[3] = {2, 1, 1};
    region_begin();
    spawn_threads(3, blocks, threads, work, 0);
    region_end();
    return 0;
}
"""
    launch = compiled(tmp_path, text, TINY)
    address, _ = launch.image.symbols["words"]
    listing = listing_of(TINY, launch)
    seen = set()
    for each in listing.accesses:
        number = each.lines[0] - address // LINE_BYTES
        if each.store and each.place.block and 0 <= number < 12:
            x, y, z = each.place.block
            assert number == (z * 3 + y) * 2 + x == each.place.group
            seen.add(number)
    assert seen == set(range(12)) and listing.grids == (Grid((2, 3, 2), (2, 1, 1)),)


def test_what_comes_before_the_region():
    for listing in (listing_of(BASE, prepared(name, BASE)) for name in ("vecadd", "hotspot")):
        flags = [each.listed for each in listing.sequence]
        assert flags[0] is False and True in flags
