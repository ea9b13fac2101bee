"""Predictions of SMs that get their blocks from a unit of the GPU, against the RTL in every cycle of every SM."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.gpu.config import Dispatch, GpuConfig, Interconnect, L2Kind
from metronome.hdl.presets import BASE, PIPELINES
from metronome.sim.machine.engines import CannotPredictError
from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.predict.gpu.predictor import predict_gpu
from metronome.sim.program.assembler import asm
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.kernels import KERNELS, prepare, prepare_source
from tests.sim.machine.golden.iss_programs import FREE, SCRATCH
from tests.support.builds import DISPATCHING, STATIC_GPU, on
from tests.support.tiers import some_long
from tests.system.rtl_programs import RawProgram
from tests.system.test_dispatch_rtl import BLOCKS, CORE, PLACE, UNIT, VALUE
from tests.system.test_gpu_prediction_rtl import agree, program, request, verdict
from tests.system.test_gpu_races_rtl import MEMORIES, RacingProgram

#: The model of several SMs takes a minute to compile.
pytestmark = pytest.mark.more

SEED = 20261130
REASON = "the dispatch unit hands out blocks"
ON = [{"memory": "fixed"}, {"memory": "dram"}, {"memory": "random", "latency": 60}, {"memory": "tdm"},
      {"memory": "random", "latency": 200, "memory_options": MemoryOptions(adversarial=True)}]


def exact(gpu, launch, memories):
    for seed, memory in enumerate(memories):
        predicted = agree(gpu, request(launch, gpu, seed=seed, **memory))
        assert predicted.stepped == REASON and predicted.result.exit_code == 0
        assert launch.check(predicted.result.memory) == []


@pytest.mark.parametrize("gpu", DISPATCHING)
@pytest.mark.parametrize("name", some_long(["psum", *sorted({*KERNELS} - {"psum"})], 1))
def test_kernels(gpu, name):
    exact(gpu, prepare(name, config=gpu.sm_of(0), compiling=Compiling().for_gpu(gpu)), ON)


@pytest.mark.parametrize("gpu", DISPATCHING)
@pytest.mark.parametrize("shape", some_long([(33, 4, 6), (64, 1, 9), (24, 2, 4), (30, 3, 1)], 1))
def test_uneven_grids(gpu, shape):
    blocks, threads, heavy = shape
    numbers = {"BLOCKS": blocks, "THREADS": threads, "STEPS": 20, "EVERY": gpu.sms, "HEAVY": heavy}
    flags = tuple(f"-D{name}={value}" for name, value in numbers.items())
    exact(gpu, prepare_source(BLOCKS, None, gpu.sm_of(0), replace(Compiling().for_gpu(gpu), flags=flags)), ON[:3])


class TakingProgram(RacingProgram):
    """Also takes blocks, with loads of each size, and launches grids; some of its places are in the unit's line."""

    def __init__(self, rng, gpu, blocks):
        self._line = gpu.dispatch_address
        super().__init__(rng, gpu.sm_of(0), blocks)

    def _straight(self):
        p, rng = self.program, self.rng
        kind = rng.choices(("other", "take", "launch"), (10, 3, 1))[0]
        if kind == "other":
            super()._straight()
            return
        p.li(SCRATCH, self._line)
        register = rng.choice(FREE)
        if kind == "launch":
            p.add(asm.andi(register, register, rng.choice((7, 63, 2047))), asm.sw(register, 0, SCRATCH))
        for _ in range(rng.randrange(1, 4)):
            op, size = rng.choice([(asm.lw, 4), (asm.lw, 4), (asm.lhu, 2), (asm.lb, 1)])
            p.add(op(rng.choice(FREE), size * rng.randrange(64 // size), SCRATCH))

    def _addresses(self, pattern):
        if self.rng.random() < 0.1:
            return [self._line + self.rng.choice([0, 4 * lane, 64]) for lane in range(self.config.threads)]
        return super()._addresses(pattern)


@pytest.mark.parametrize("count", some_long([8, 200], 1))
@pytest.mark.parametrize("gpu", DISPATCHING)
def test_random_programs_that_take_blocks(gpu, count):
    bad = []
    for number in range(count):
        rng = random.Random(f"{SEED}/{count}/{number}")
        launch = RawProgram(TakingProgram(rng, gpu, rng.randrange(3, 9)).program.assemble())
        memory, latency, options = rng.choice(MEMORIES)
        found, predicted = verdict(gpu, request(
            launch, gpu, policy=rng.choice(gpu.sm.policies), memory=memory, latency=latency, memory_options=options,
            seed=number,
        ))
        if not found.passed or predicted.stepped != REASON:
            bad.append(f"program {number} on {memory}: {predicted.stepped} {found.complaints()[:2]}")
    assert not bad, f"seed {SEED}: {len(bad)} of {count}\n" + "\n".join(bad[:3])


@pytest.mark.parametrize("gpu", [DISPATCHING[0]])
def test_a_fault_and_a_deadlock(gpu):
    # SM 0 launches a grid and takes blocks beside the end of the run; the last SM faults, or waits for all.
    take = [asm.lw(VALUE, 0, UNIT), asm.addi(VALUE, VALUE, 1)]
    first = [asm.addi(VALUE, 0, 9), asm.sw(VALUE, 0, UNIT), *take * 5, asm.tmc(0)]
    launch = [*asm.li(UNIT, gpu.dispatch_address), asm.csrr(CORE, 0xCC2), asm.bne(CORE, 0, 4 * len(first) + 4), *first]
    meet = [*asm.li(VALUE, 1 << 31), asm.addi(PLACE, 0, gpu.sms), asm.bar(VALUE, PLACE)]
    for last, status in (([*take, asm.lw(VALUE, 1, UNIT)], "fault"), ([*take, *meet], "deadlock")):
        for memory in ON[:3]:
            assert agree(gpu, request(program(*launch, *last), gpu, **memory)).result.status == status


def test_instructions_from_the_line_of_the_unit_are_refused():
    jumps = program(*asm.li(UNIT, STATIC_GPU.dispatch_address), asm.jalr(0, UNIT, 0))
    with pytest.raises(CannotPredictError, match="SM 0 fetches instructions from 0xffc0: the dispatch unit answers"):
        predict_gpu(STATIC_GPU, request(jumps, STATIC_GPU))


#: Of BASE: each interconnect, L2, number of SMs and dispatch, and the pipeline for chips.
WIDE = {
    "4-dynamic": GpuConfig(sm=BASE, sms=4, dispatch=Dispatch.DYNAMIC),
    "2-static": GpuConfig(sm=BASE, sms=2, dispatch=Dispatch.STATIC),
    "2-dynamic-priority-shared": GpuConfig(
        sm=BASE, sms=2, dispatch=Dispatch.DYNAMIC, interconnect=Interconnect.FIXED_PRIORITY, l2=L2Kind.SHARED),
    "4-static-tdm-divided": GpuConfig(
        sm=BASE, sms=4, dispatch=Dispatch.STATIC, interconnect=Interconnect.TDM, slot_cycles=2, l2=L2Kind.DIVIDED),
    "4-dynamic-tdm-shared-fpga": GpuConfig(
        sm=replace(BASE, **PIPELINES["fpga"]), sms=4, dispatch=Dispatch.DYNAMIC, interconnect=Interconnect.TDM,
        l2=L2Kind.SHARED),
    "2-dynamic-divided-fpga": GpuConfig(
        sm=replace(BASE, **PIPELINES["fpga"]), sms=2, dispatch=Dispatch.DYNAMIC, l2=L2Kind.DIVIDED),
}


@pytest.mark.long
@pytest.mark.parametrize("gpu", [pytest.param(gpu, id=name, marks=on(name)) for name, gpu in WIDE.items()])
@pytest.mark.parametrize("name", sorted(KERNELS))
def test_kernels_on_base(gpu, name):
    exact(gpu, prepare(name, config=gpu.sm_of(0), compiling=Compiling().for_gpu(gpu)), ON[:2])
