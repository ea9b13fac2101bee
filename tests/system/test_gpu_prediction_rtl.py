"""Predictions of several SMs against the RTL, in every cycle of every SM."""

import random
from dataclasses import replace

import numpy as np
import pytest

from metronome.hdl.gpu.config import Interconnect
from metronome.sim.machine.engines import CannotPredictError
from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.predict.gpu.predictor import predict_gpu
from metronome.sim.predict.gpu.verify import GpuVerifier
from metronome.sim.program.assembler import asm
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.kernels import KERNELS, prepare, prepare_source
from metronome.sim.run.gpu.runner import run_gpu
from metronome.sim.run.runner import RunRequest
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.support.builds import GPU, L2_GPU, PARTS_GPU, SMALL_GPU, on
from tests.support.tiers import some_more
from tests.system.rtl_programs import RawProgram
from tests.system.test_gpu_races_rtl import MEMORIES, RacingProgram

#: The model of several SMs takes a minute to compile.
pytestmark = pytest.mark.more

SEED = 20261129
GPUS = [pytest.param(GPU, id="GPU", marks=on("GPU")), pytest.param(SMALL_GPU, id="SMALL_GPU", marks=on("SMALL_GPU"))]
WITH_L2 = [*GPUS, *(pytest.param(gpu, id=name, marks=on(name)) for name, gpu in {
    "L2_GPU": L2_GPU, "PARTS_GPU": PARTS_GPU}.items())]
CORE, PLACE, VALUE, ID, COUNT = range(5, 10)
DATA = 0x2_0000


def verdict(gpu, request, *, steps=False):
    """The verdict of --verify, and the prediction. Registers survive a reset: each run is a process."""
    measured = run_gpu(gpu, replace(request, trace=True))
    verifier = GpuVerifier(gpu, measured.sm_events)
    predicted = predict_gpu(gpu, request, watchers=verifier.sms, steps=steps)
    return verifier.verdict(measured, predicted.result), predicted


def agree(gpu, request, **how):
    found, predicted = verdict(gpu, request, **how)
    assert found.passed, found.complaints()[:3]
    return predicted


def program(*words):
    p = asm.Program()
    p.add(*words, asm.tmc(0))
    return RawProgram(p.assemble())


def request(launch, gpu, **fields):
    return RunRequest(**{"launch": launch, "policy": gpu.sm.policies[0], "max_cycles": 2_000_000} | fields)


@pytest.mark.parametrize("count", some_more([8, 300], 1))
@pytest.mark.parametrize("gpu", WITH_L2)
def test_random_programs_that_race(gpu, count):
    bad, stepped = [], set()
    for number in range(count):
        rng = random.Random(f"{SEED}/{count}/{number}")
        kind = rng.choice([RacingProgram, RandomProgram])
        launch = RawProgram(kind(rng, gpu.sm_of(0), blocks=rng.randrange(3, 9)).program.assemble())
        memory, latency, options = rng.choice(MEMORIES)
        found, predicted = verdict(gpu, request(
            launch, gpu, policy=rng.choice(gpu.sm.policies), memory=memory, latency=latency, memory_options=options,
            seed=number,
        ))
        stepped.add(predicted.stepped)
        if not found.passed:
            bad.append(f"program {number} on {memory}: {found.complaints()[:2]}")
    assert not bad, f"seed {SEED}: {len(bad)} of {count}\n" + "\n".join(bad[:3])
    assert "SMs race" in stepped


@pytest.mark.parametrize("gpu", WITH_L2)
@pytest.mark.parametrize("name", some_more(["psum", *sorted({*KERNELS} - {"psum"})], 1))
def test_kernels(gpu, name):
    launch = prepare(name, config=gpu.sm_of(0), compiling=Compiling(several_sms=True))
    for seed, memory in enumerate([
        {"memory": "fixed"}, {"memory": "dram"}, {"memory": "random", "latency": 60},
        {"memory": "random", "latency": 200, "memory_options": MemoryOptions(adversarial=True)},
    ]):
        # Instructions known in advance, and one by one.
        known = agree(gpu, request(launch, gpu, seed=seed, **memory))
        assert known.stepped is None
        stepped = agree(gpu, request(launch, gpu, seed=seed, **memory), steps=True)
        assert stepped.result.total_cycles == known.result.total_cycles
        assert launch.check(known.result.memory) == []


@pytest.mark.more
@pytest.mark.parametrize("gpu", [
    *(replace(GPU, interconnect=kind) for kind in Interconnect), replace(L2_GPU, interconnect=Interconnect.TDM),
    replace(PARTS_GPU, interconnect=Interconnect.ROUND_ROBIN), replace(PARTS_GPU, sms=4, l2_requests=8),
], ids=lambda gpu: f"{gpu.sms}-{gpu.interconnect}-{gpu.l2}")
def test_interconnects(gpu):
    for name in ("psort", "transpose"):
        launch = prepare(name, config=gpu.sm_of(0), compiling=Compiling(several_sms=True))
        assert agree(gpu, request(launch, gpu, memory="dram")).stepped is None


@pytest.mark.parametrize("gpu", GPUS)
def test_a_fault_and_a_deadlock(gpu):
    last = gpu.sms - 1
    fault = [asm.csrr(CORE, 0xCC2), *asm.li(ID, last), asm.bne(CORE, ID, 8), asm.lw(VALUE, 0, 0),
             asm.addi(VALUE, VALUE, 1), asm.jal(0, -4)]
    result = agree(gpu, request(program(*fault), gpu)).result
    assert (result.status, result.fault_sm) == ("fault", last)
    meet = [*asm.li(ID, 1 << 31), *asm.li(COUNT, gpu.sms), asm.bar(ID, COUNT)]
    alone = [asm.csrr(CORE, 0xCC2), asm.beq(CORE, 0, 4 * len(meet) + 4), *meet]
    result = agree(gpu, request(program(*alone), gpu)).result
    assert result.status == "deadlock"
    assert [warps[0].active for warps in result.sm_hang] == [number > 0 for number in range(gpu.sms)]


@pytest.mark.parametrize("gpu", GPUS)
def test_a_stale_line_is_read_again_and_again(gpu):
    # SM 0 waits for a word that another SM stores, with a fence in the loop; without one it would see the first value.
    fence = asm.fence()
    wait = [asm.lw(VALUE, 0, PLACE), fence, asm.beq(VALUE, 0, -8), asm.sw(VALUE, 64, PLACE), asm.tmc(0)]
    store = [*[asm.addi(COUNT, 0, 40), asm.addi(COUNT, COUNT, -1), asm.bne(COUNT, 0, -4)],
             asm.addi(VALUE, 0, 7), asm.sw(VALUE, 0, PLACE)]
    words = [*asm.li(PLACE, DATA), asm.csrr(CORE, 0xCC2), asm.bne(CORE, 0, 4 * len(wait) + 4), *wait, *store]
    predicted = agree(gpu, request(program(*words), gpu))
    assert predicted.result.memory.read_word(DATA + 64) == 7
    assert predicted.stepped is not None
    quick = [asm.addi(0, 0, 0) if word == fence else word for word in words]
    assert predict_gpu(gpu, request(program(*quick), gpu, max_cycles=5000)).result.status == "hang"


@on("GPU")
def test_barriers_of_fewer_sms(tmp_path):
    # With a count below the number of SMs the golden model and the hardware may pair others.
    meet = [*asm.li(ID, 1 << 31), asm.addi(COUNT, 0, 2), asm.bar(ID, COUNT)]
    slow = [asm.csrr(CORE, 0xCC2), asm.addi(CORE, CORE, -1), asm.bge(CORE, 0, -4)]
    predicted = agree(GPU, request(program(*slow, *meet, *slow, *meet), GPU, max_cycles=3000))
    assert predicted.stepped == "a barrier between SMs is not one of all SMs"


@pytest.mark.parametrize("gpu", GPUS)
def test_a_program_that_prints(gpu, tmp_path):
    path = tmp_path / "program.c"
    path.write_text('''#include "metronome.h"
        #include <stdio.h>
        static uint32_t seen[64];
        static void work(const void *unused) { (void)unused; seen[blockIdx.x] = blockIdx.x + 1; }
        int main(void)
        {
            const uint32_t n = 64;
            spawn_threads(1, &n, 0, work, 0);
            uint32_t sum = 0;
            for (uint32_t i = 0; i < n; i++)
                sum += seen[i];
            printf("%u\\n", sum);
            return 0;
        }''')
    launch = prepare_source(path, None, gpu.sm_of(0), Compiling(several_sms=True))
    predicted = agree(gpu, request(launch, gpu))
    assert predicted.result.console == "2080\n"
    assert predicted.stepped == "the program prints"


def test_what_cannot_be_predicted():
    with pytest.raises(CannotPredictError, match="a prediction runs none"):
        predict_gpu(GPU, request(program(), GPU, check=True))


@on("GPU")
def test_code_that_another_sm_changes_is_refused():
    # SM 1 executes a word again and again that SM 0 replaces: without a fence.i it still has the old one.
    nop, one = asm.addi(0, 0, 0), asm.addi(VALUE, VALUE, 1)
    changes = [*asm.li(VALUE, one), asm.sw(VALUE, 0, PLACE), asm.tmc(0)]
    loop = [nop, asm.addi(COUNT, COUNT, -1), asm.bne(COUNT, 0, -8)]
    base = 0x8000_0000
    body = [asm.csrr(CORE, 0xCC2), asm.addi(COUNT, 0, 200), asm.bne(CORE, 0, 4 * len(changes) + 4), *changes]
    place = asm.li(PLACE, base)
    at = base + 4 * (len(place) + len(body))
    place = asm.li(PLACE, at)
    assert len(asm.li(PLACE, base)) <= len(place)
    at = base + 4 * (len(place) + len(body))
    words = [*asm.li(PLACE, at), *body, *loop]
    with pytest.raises(CannotPredictError, match=r"SM [123], warp 0 executes .* changes code after it was fetched"):
        predict_gpu(GPU, request(program(*words), GPU))


@on("GPU")
def test_events_are_those_of_each_sm():
    launch = prepare("vecadd", size=64, config=GPU.sm_of(0), compiling=Compiling(several_sms=True))

    class Issues:
        def begin(self):
            self.seen = []

        def take(self, events):
            self.seen.append(events["executed"][events["executed"] >= 0])

    watchers = [Issues() for _ in range(GPU.sms)]
    result = predict_gpu(GPU, request(launch, GPU), watchers=watchers).result
    counts = [len(np.concatenate(each.seen)) for each in watchers]
    assert sum(counts) > result.counters["committed"] and len(set(counts)) > 1
