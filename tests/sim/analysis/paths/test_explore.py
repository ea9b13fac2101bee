"""All paths: no run of the golden model executes an instruction more often than was said, whatever the inputs."""


import numpy as np
import pytest

from metronome.hdl.presets import BASE, TINY
from metronome.sim.analysis.bound.search import with_inputs
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.analysis.paths import fact_filter
from metronome.sim.program import kernels as kernel
from tests.sim.analysis.programs import all_paths, compiled, machine, one_run
from tests.support.tiers import some_more

RUNS = 8

HEAD = """#include "metronome.h"
uint32_t inputs[16] = {1}; /* not zeroed at the start */
uint32_t out[64];
#define WORK static void work(__attribute__((unused)) const void *arg)
"""
#: Programs whose paths depend on the inputs, each with what was hard about it.
PROGRAMS = {
    "counted loop": """WORK {
        uint32_t key = inputs[blockIdx.x & 15] & 7, sum = 0;
        for (uint32_t i = 0; i < key; i++) sum += i ^ key;
        out[blockIdx.x & 63] = sum; }""",
    "branch in a loop in a branch": """WORK {
        uint32_t key = inputs[blockIdx.x & 15], sum = 1;
        if (key & 1) { uint32_t i = 0;
            while (i < (key >> 1 & 3)) { if (key >> (i + 4) & 1) sum *= 3; else { sum += 5; sum ^= key; } i++; } }
        else if (key & 2) sum = key >> 3;
        out[blockIdx.x & 63] = sum; }""",
    "two sides that store": """WORK {
        uint32_t key = inputs[blockIdx.x & 15];
        if (key & 4) { out[blockIdx.x & 63] = key; if (key & 8) out[63] = 1; } else out[62] = 2; }""",
}
TAIL = """
int main(void) { const uint32_t n = 8; return spawn_threads(1, &n, 0, work, 0); }
"""


def _kinds(seed: int, size: int) -> bytes:
    """Inputs of several kinds, by seed."""
    random = np.random.default_rng(seed)
    if seed % 3 == 0:
        return random.integers(0, 256, size, dtype=np.uint8).tobytes()
    words = random.integers(0, 16 if seed % 3 == 1 else 1 << 10, size // 4 + 1, dtype=np.uint32)
    return words.tobytes()[:size]


def _holds(config, launch, runs=RUNS):
    """How often the run that comes nearest executes what was said of all, as a share."""
    explored, most = all_paths(config, launch)
    nearest = 0.0
    places = launch.buffers | launch.loads
    for seed in range(runs):
        inputs = {name: _kinds(seed, len(data)) for name, (_, data) in places.items()}
        counts = one_run(config, with_inputs(launch, inputs))
        for warp, its in enumerate(counts):
            for pc, count in its.items():
                assert count <= most[warp].get(pc, 0), (seed, warp, hex(pc))
        nearest = max(nearest, sum(map(sum, map(dict.values, counts))) / sum(map(sum, map(dict.values, most))))
    return explored, nearest


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    "psort", "psort_group", pytest.param("blackscholes", marks=pytest.mark.more),
    pytest.param("kmeans", marks=pytest.mark.more),
])
def test_kernels(name):
    config = machine(TINY)
    explored, nearest = _holds(config, kernel.prepare(name, None, 16, 1, config), runs=6)
    assert explored.sure == name.startswith("psort")
    assert nearest > 0.9


@pytest.mark.more
def test_branches_three_deep_and_loops():
    config = machine(TINY)
    explored, nearest = _holds(config, kernel.prepare("diverge", None, 8, 1, config), runs=6)
    assert not explored.sure
    assert nearest > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("config", some_more([TINY, BASE], 1), ids=["TINY", "BASE"])
def test_programs(tmp_path, name, config):
    launch = compiled(tmp_path, HEAD + PROGRAMS[name] + TAIL, config=config)
    explored, nearest = _holds(machine(config), launch)
    assert not explored.sure
    assert nearest > 0.4


#: Programs of which nothing can be said, and what is said instead.
REFUSED = {
    "no bound": ("""WORK { uint32_t x = inputs[0], n = 0;
        while (x != 1) { x = x & 1 ? 3 * x + 1 : x / 2; n++; } out[0] = n; }""", "the end of this loop depends"),
    "recursion": ("""__attribute__((noinline)) uint32_t down(uint32_t x) {
        return x < 2 ? x : down(x - 1) * 3 + down(x - 2); }
        WORK { out[0] = down(5); }""", "recursion"),
    "indirect": ("""static uint32_t a(uint32_t x) { return x + 1; } static uint32_t b(uint32_t x) { return x * 5; }
        static uint32_t (*const which[2])(uint32_t) = {a, b};
        WORK { out[0] = which[inputs[0] & 1](3); }""", "an indirect jump"),
    "anywhere": ("WORK { *(volatile uint32_t *)inputs[0] = 1; }", "may store anywhere"),
    "endless": ("""WORK { for (;;) ; }""", "a jump to itself"),
    "code": ("""WORK { *(volatile uint32_t *)&work = 0x13; }""", "self-modifying code"),
    "barrier": ("""WORK { if (inputs[blockIdx.x]) __syncthreads(); }""", "barrier"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(fact_filter, "_MOST_TURNS", 40)
    text, reason = REFUSED[name]
    tail = TAIL
    if name == "barrier":
        tail = TAIL.replace("&n, 0,", "&n, &n,").replace("n = 8", "n = 4")
    launch = compiled(tmp_path, HEAD + text + tail)
    with pytest.raises(RefusedError, match=reason) as refused:
        all_paths(machine(TINY), launch)
    assert refused.value.pc is not None
