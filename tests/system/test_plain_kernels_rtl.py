"""Ordinary C on the RTL in lock step: splits, joins and masks that the pass has inserted."""

import numpy as np
import pytest

from metronome.sim.run.runner import RunRequest, run_many
from tests.riscv_kernels.iss_runs import RESULTS
from tests.riscv_kernels.plain.launches import plain_launch
from tests.riscv_kernels.plain.references import PROGRAMS, expected
from tests.riscv_kernels.plain_runs import check_on_hardware
from tests.support.builds import TINY, named, on
from tests.support.tiers import some_long
from tests.system.rtl_programs import problems

#: Exits in the middle of a loop; recursion through three functions; calls in branches; a switch in a loop.
QUICK = ("mandelbrot", "expression", "calls", "interpreter")


def check(names, config, threads):
    requests = [
        RunRequest(
            launch=plain_launch(name, config, "-O2", threads), policy="lrr", memory="fixed", latency=20, check=True,
        )
        for name in names
    ]
    for name, result in zip(names, run_many(config, requests), strict=True):
        assert not problems(result), f"{name}: {problems(result)}"
        got = np.frombuffer(result.memory.read(RESULTS, 16 * threads), np.uint32).reshape(-1, 4)
        assert (got == expected(name, threads)).all(), name


@on("TINY")
@pytest.mark.slow
def test_plain_programs():
    check(QUICK, TINY, 6)


@on("TINY")
@pytest.mark.slow
@pytest.mark.parametrize("seed", some_long(range(1, 4), 1))
def test_a_random_program(seed, tmp_path):
    """More: `python -m tests.riscv_kernels.measure_divergence 1 150 --hardware`."""
    assert check_on_hardware(seed, tmp_path, TINY) == []


@pytest.mark.long
@pytest.mark.parametrize("config", named("TINY", "BASE"))
def test_all_plain_programs(config):
    check(list(PROGRAMS), config, 20)
