"""Random programs on several SMs in lock step: all race on a few lines, and a load may see what the contract allows."""

import random

import pytest

from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.program.assembler import asm
from metronome.sim.run.gpu.runner import run_many_gpu
from metronome.sim.run.runner import RunRequest
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.support.builds import GPUS
from tests.support.tiers import some_more
from tests.system.memory_programs import MemoryProgram
from tests.system.rtl_programs import RawProgram

SEED = 20261128
MEMORIES = [
    ("fixed", 1, MemoryOptions()), ("fixed", 20, MemoryOptions()), ("random", 60, MemoryOptions()),
    ("dram", 1, MemoryOptions()), ("random", 200, MemoryOptions(adversarial=True)),
]


class RacingProgram(MemoryProgram):
    """With fences in place of changes of the code, which another SM may execute meanwhile."""

    def _patch(self, rd, rs1):
        self.program.add(asm.fence())


@pytest.mark.parametrize("count", some_more([8, 300], 1))
@pytest.mark.parametrize("kind", [RacingProgram, RandomProgram])
@pytest.mark.parametrize("gpu", GPUS)
def test_random_programs(gpu, kind, count):
    requests = []
    for number in range(count):
        rng = random.Random(f"{SEED}/{count}/{number}")
        program = kind(rng, gpu.sm_of(0), blocks=rng.randrange(3, 9)).program
        memory, latency, options = rng.choice(MEMORIES)
        requests.append(RunRequest(
            launch=RawProgram(program.assemble()), policy=rng.choice(gpu.sm.policies), memory=memory, latency=latency,
            memory_options=options, seed=number, check=True, max_cycles=2_000_000,
        ))
    results = run_many_gpu(gpu, requests)
    bad = [f"program {number} on {requests[number].memory}: {result.status} {result.mismatches[:1]}"
           for number, result in enumerate(results) if result.status != "ended" or not result.checked]
    assert not bad, f"seed {SEED}: {len(bad)} of {count}\n" + "\n".join(bad[:3])
