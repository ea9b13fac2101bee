"""OpenCL kernels on the RTL in lock step: local memory, barriers, divergent loops, work-groups of several warps."""

from pathlib import Path

import pytest

from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run_many
from tests.support.builds import BASE, TINY, on
from tests.support.tiers import some_long, some_more
from tests.system.rtl_programs import problems

KERNELS = Path(__file__).parents[1] / "riscv_kernels" / "opencl" / "kernels"
NAMES = ("matmul", "reduction", "scan", "bitonic", "collatz", "arguments", "nbody", "mandelbrot", "volume")


def check(name, config, memories):
    launch = prepare(str(KERNELS / name), config=config)
    requests = [
        RunRequest(launch=launch, policy="lrr", memory=memory, latency=latency, seed=2, check=True, memcheck=True)
        for memory, latency in memories
    ]
    for result in run_many(config, requests):
        assert not problems(result), problems(result)
        assert result.memcheck == []
        assert not launch.check(result.memory)


@on("TINY")
@pytest.mark.slow
@pytest.mark.parametrize("name", some_more(NAMES, 1))
def test_kernel_in_lock_step(name):
    check(name, TINY, (("fixed", 20), ("random", 40)))


@on("BASE")
@pytest.mark.more
@pytest.mark.parametrize("name", some_long(NAMES[:5], 1))
def test_kernel_in_lock_step_on_more_warps(name):
    check(name, BASE, (("random", 40),))
