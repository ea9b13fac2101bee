"""What SM 0 does beside SMs that run anything: with tdm the same in every cycle, otherwise not (docs/gpu.md)."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.gpu.config import GpuConfig, Interconnect
from metronome.sim.program.kernels import prepare
from tests.support.builds import BASE, GPU, PARTS_GPU, SMALL_GPU, TINY, on
from tests.support.tiers import long_but
from tests.system.separation_programs import KINDS, observed, side_by_side

#: The memories that keep SMs apart. With a latency of 1, a response comes in the cycle after its request.
SEPARATING = [{"memory": "fixed", "latency": 1}, {"memory": "fixed", "latency": 20}, {"memory": "tdm"}]
FOUR = replace(GPU, interconnect=Interconnect.TDM)
WIDE = {
    "SMALL_GPU": SMALL_GPU, "four": FOUR, "PARTS_GPU": PARTS_GPU, "slots of 5": replace(FOUR, slot_cycles=5),
    "eight": GpuConfig(sm=TINY, sms=8, interconnect=Interconnect.TDM, slot_cycles=2),
    "BASE": GpuConfig(sm=BASE, sms=2, interconnect=Interconnect.TDM),
}


def beside(gpu, seed, neighbours, **own):
    """SM 0's program of ``seed`` beside each of these kinds of neighbours."""
    return [
        side_by_side(gpu.sm_of(0), random.Random(f"{seed} {kinds}"), kinds, 60, **({"own": random.Random(seed)} | own))
        for kinds in neighbours
    ]


def is_alone(gpu, programs, monkeypatch, what, **memory):
    """SM 0 does the same beside all of them."""
    first, *others = observed(gpu, programs, monkeypatch, **memory)
    assert first[0]["misplaced"] == 0
    for number, each in enumerate(others, start=1):
        assert each[0] == first[0], f"{what}, {memory}: SM 0 feels the neighbours {number}"
    return [result for _, result in (first, *others)]


@on("SMALL_GPU")
def test_with_tdm_an_sm_is_alone(monkeypatch):
    programs = beside(SMALL_GPU, 1, [(kind,) for kind in ("nothing", "stores", "gather", "own lines")])
    results = is_alone(SMALL_GPU, programs, monkeypatch, "seed 1", memory="fixed", latency=20)
    assert len({result.total_cycles for result in results}) > 1
    is_alone(SMALL_GPU, programs[1:3], monkeypatch, "seed 1", memory="tdm")


@on("GPU")
def test_with_round_robin_it_is_not(monkeypatch):
    programs = beside(GPU, 1, [("nothing",) * 3, ("stores",) * 3])
    (one, _), (other, _) = observed(GPU, programs, monkeypatch, memory="fixed", latency=20)
    assert one["requests"] != other["requests"] and one["records"] != other["records"]
    (one, _), (other, _) = observed(GPU, programs, monkeypatch, memory="tdm")
    assert one["counters"]["total_cycles"] < other["counters"]["total_cycles"]


@pytest.mark.more
@on("SMALL_GPU")
def test_dram_and_random_do_not_separate(monkeypatch):
    programs = beside(SMALL_GPU, 2, [("nothing",), ("stores",)])
    for memory in ({"memory": "dram"}, {"memory": "random", "latency": 60}):
        (one, _), (other, _) = observed(SMALL_GPU, programs, monkeypatch, **memory)
        assert one["records"] != other["records"], memory


@pytest.mark.more
@pytest.mark.parametrize("name", long_but(WIDE, ["SMALL_GPU", "four", "PARTS_GPU"]))
@pytest.mark.parametrize("seed", range(3))
def test_hostile_neighbours(name, seed, monkeypatch):
    """Each SM beside SM 0 runs another kind of storm, all the same one, or nothing."""
    gpu = WIDE[name]
    rng = random.Random(f"hostile {name} {seed}")
    kinds = [("nothing",) * (gpu.sms - 1), (rng.choice(KINDS[1:]),) * (gpu.sms - 1)]
    kinds += [tuple(rng.choice(KINDS) for _ in range(gpu.sms - 1)) for _ in range(3)]
    programs = beside(gpu, seed, kinds)
    for memory in SEPARATING:
        is_alone(gpu, programs, monkeypatch, f"{name}, seed {seed}: {kinds}", **memory)


@pytest.mark.more
@pytest.mark.parametrize("kernel", long_but(["psort", "sgemm", "vecadd", "transpose"], ["psort"]))
def test_a_kernel(kernel, monkeypatch):
    """SM 0 runs a kernel that was compiled for one SM, and its results are right."""
    launch = prepare(kernel, config=FOUR.sm_of(0))
    kinds = [("nothing",) * 3, ("stores", "fetches", "gather"), ("all",) * 3]
    programs = beside(FOUR, 0, kinds, own=None, kernel=launch)
    for memory in SEPARATING[1:]:
        for result in is_alone(FOUR, programs, monkeypatch, kernel, **memory):
            assert launch.check(result.memory) == [] and result.exit_code == 0


@pytest.mark.long
@pytest.mark.parametrize("name", ["SMALL_GPU", "four"])
def test_many_programs(name, monkeypatch):
    gpu = WIDE[name]
    for seed in range(100, 200):
        rng = random.Random(seed)
        kinds = [tuple(rng.choice(KINDS) for _ in range(gpu.sms - 1)) for _ in range(2)]
        is_alone(gpu, beside(gpu, seed, kinds), monkeypatch, f"{name}, seed {seed}: {kinds}", **rng.choice(SEPARATING))
