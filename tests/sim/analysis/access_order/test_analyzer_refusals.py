"""Programs whose accesses are not the same in every run are refused, with the place."""

import dataclasses

import pytest

from metronome.hdl.presets import BASE, TINY
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.program import kernels as kernel
from tests.sim.analysis.access_order.programs import compiled, listing_of
from tests.support.tiers import more_but

pytestmark = pytest.mark.slow

FRAME = """
static volatile uint32_t words[64];
volatile uint32_t inputs[16] = {1}; /* not cleared at the start */
static uint32_t volatile sink;

static void work(const void *unused)
{
    (void)unused;
    %s
}

int main(void)
{
    const uint32_t blocks = simt_num_warps() * simt_num_threads();
    (void)sink;
    %s
    return 0;
}
"""
USUAL = "region_begin(); spawn_threads(1, &blocks, 0, work, 0); region_end();"
ONE_GROUP = "const uint32_t one = 1; region_begin(); spawn_threads(1, &one, &blocks, work, 0); region_end();"


def listed(folder, body, main=USUAL, config=BASE):
    launch = compiled(folder, FRAME % (body, main), config)
    address, size = launch.image.symbols["inputs"]
    return listing_of(config, dataclasses.replace(launch, loads={"inputs": (address, bytes(size))})), launch


def refused(folder, body, main=USUAL, config=BASE):
    with pytest.raises(RefusedError) as raised:
        listed(folder, body, main, config)
    assert "\n" not in str(raised.value)
    return raised.value


@pytest.mark.parametrize(("body", "reason"), [
    ("words[inputs[0] & 7] = 1;", "an address that it loads or stores depends on the inputs"),
    ("if (inputs[0] & 1) words[blockIdx.x] = 1;", "its control flow depends on the inputs"),
    ("sink = simt_active_warps();", "it reads the mask of active warps, which depends on the schedule"),
    ("words[5] = 1;", "warps race: warp 1 stores"),
    ("SIMT_CSR_WRITE(CSR_MSCRATCH, 3);", "it writes mscratch, while other warps are active"),
    ("simt_bar(0, 5);", "no run ends by itself: deadlock"),
    *more_but([
        ("sink = words[inputs[0] & 7];", "an address that it loads or stores depends on the inputs"),
        ("while (simt_cycle() < 100) {}", "its control flow depends on the inputs"),
        ("words[blockIdx.x] = 1; sink = words[blockIdx.x ^ 4];", "warps race"),
        ("policy_set(POLICY_GROUP_WARPS, 1);", "it writes mpolicy, while other warps are active"),
        ("if (simt_warp_id() == 0) policy_set(POLICY_GROUP_WARPS, inputs[0]);",
         "or the order of warps depends on the inputs"),
        ("*(volatile uint32_t *)3 = 1;", "every run faults: store misaligned of warp 0"),
        ("region_begin(); words[blockIdx.x] = 1; region_end();", "the accesses in the region depend on the schedule"),
        ("words[blockIdx.x] = 1; if (simt_warp_id() == 1) region_end();", ("the accesses in the region depend on the "
                                                                          "schedule")),
    ], []),
])
def test_the_reason(tmp_path, body, reason):
    error = refused(tmp_path, body)
    assert reason in str(error)
    assert "ends by itself" in reason or error.pc is not None


def test_an_access_of_which_the_schedule_says_whether_it_is_in_the_region(tmp_path):
    main = "spawn_threads(1, &blocks, 0, work, 0); region_end();"
    error = refused(tmp_path, "if (simt_warp_id() == 0) region_begin(); words[blockIdx.x] = 1;", main)
    assert "the region depend on the schedule" in str(error)


def test_no_region(tmp_path):
    assert "opens no measured region" in str(refused(tmp_path, ";", "spawn_threads(1, &blocks, 0, work, 0);"))


def test_code_that_is_stored(tmp_path):
    text = """
    volatile uint32_t *const code = (volatile uint32_t *)&work;
    region_begin(); code[0] = code[0]; spawn_threads(1, &blocks, 0, work, 0); region_end();
    """
    assert "self-modifying" in str(refused(tmp_path, ";", text))


@pytest.mark.parametrize("body", [
    "words[threadIdx.x] = 1; __syncthreads(); sink = words[threadIdx.x ^ 7];",
    "sink = words[threadIdx.x ^ 7]; __syncthreads(); words[threadIdx.x] = 1;",
])
def test_a_barrier_orders(tmp_path, body):
    body = body.replace("sink = ", "words[threadIdx.x + 32] = ")
    listed(tmp_path, body, ONE_GROUP)
    assert "warps race" in str(refused(tmp_path, body.replace("__syncthreads();", ""), ONE_GROUP))


def test_a_barrier_of_others_does_not_order(tmp_path):
    body = """
    if (simt_warp_id() < 2) { words[threadIdx.x] = 1; simt_bar(1, 2); }
    if (simt_warp_id() == %d) words[32 + threadIdx.x] = words[threadIdx.x & 3];
    """
    listed(tmp_path, body % 1, ONE_GROUP)
    assert "warps race" in str(refused(tmp_path, body % 3, ONE_GROUP))


@pytest.mark.more
def test_who_meets_whom(tmp_path):
    assert "which warps meet warp 2 at its barrier depends" in str(refused(tmp_path, "simt_bar(0, 2);"))
    assert "wait at the same barrier for 2 and for 3 warps" in str(refused(tmp_path, "simt_bar(0, simt_warp_id() ? 3 "
                                                                                     ": 2);"))
    ordered = "if (simt_warp_id() < 2) simt_bar(0, 2); simt_bar(1, 4); if (simt_warp_id() > 1) simt_bar(0, 2);"
    listed(tmp_path, ordered)
    # Behind one of those who met is behind the meeting.
    chain = """
    const uint32_t me = simt_warp_id();
    if (me < 2) simt_bar(1, 2);
    if (me == 1 || me == 2) simt_bar(2, 2);
    if (me == 0 || me == 2) simt_bar(1, 2);
    """
    listed(tmp_path, chain, ONE_GROUP, dataclasses.replace(BASE, warps=8))
    assert "which warps meet" in str(refused(tmp_path, ordered.replace("simt_bar(1, 4);", "")))


def test_bytes_of_one_word_do_not_race(tmp_path):
    listed(tmp_path, "((volatile uint8_t *)words)[blockIdx.x] = 1;")
    refused(tmp_path, "((volatile uint8_t *)words)[blockIdx.x & 7] = 1;")


def test_local_memory_races_too(tmp_path):
    error = refused(tmp_path, "((volatile uint32_t *)local_memory(64))[0] = 1;", ONE_GROUP)
    assert "warps race" in str(error)


def test_the_end_of_a_warp_orders(tmp_path):
    main = """
    region_begin(); spawn_threads(1, &blocks, 0, work, 0);
    for (uint32_t i = 0; i < blocks; i++) sink += words[i];
    spawn_threads(1, &blocks, 0, work, 0); region_end();
    """
    listed(tmp_path, "words[blockIdx.x] = 1;", main)


@pytest.mark.parametrize(("name", "where"), [
    ("psort", "psort/kernel.c:24"), ("diverge", "diverge/kernel.c:20"), ("blackscholes", "blackscholes/kernel.c:24"),
    ("kmeans", "kmeans/kernel.c:33"), ("psort_group", "psort_group/kernel.c:25"),
])
def test_kernels_that_depend_on_their_inputs(name, where):
    launch = kernel.prepare(name, None, None, 1, TINY)
    with pytest.raises(RefusedError, match="depends on the inputs") as raised:
        listing_of(TINY, launch)
    assert launch.image.source_line(raised.value.pc).endswith(where)
