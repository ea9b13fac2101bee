"""OpenCL kernels in the style of the usual suites, each checked with numpy after a run on the golden model."""

from pathlib import Path

import pytest

from metronome.hdl.presets import BASE, MID, TINY
from metronome.sim.iss import EndStatus
from metronome.sim.kernel import prepare
from tests.riscv_kernels.iss_runs import run_launch
from tests.tiers import some_slow

FOLDER = Path(__file__).parent / "kernels"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/kernel.cl"))
#: Sources with several kernels, and the ones that are not host.py's usual one.
OTHERS = {"gaussian": "multipliers"}
#: What sim.divergence refuses, since the compiler sets a register to the same constant in both arms of a branch.
REFUSED = pytest.mark.xfail(reason="a barrier in a loop whose bound is set again in a branch", strict=True)
ON_LARGE = [pytest.param(name, marks=REFUSED) if name == "lu" else name for name in NAMES]


def failures(name, config, size=None, seed=1, function=None):
    """What is wrong after a run, each line with all it takes to run it again."""
    launch = prepare(str(FOLDER / name), size=size, seed=seed, config=config, function=function)
    run = run_launch(launch, config)
    found = launch.check(run.memory)
    if run.end.status is not EndStatus.ENDED:
        found.append(f"{run.end} at {run.end.fault and launch.image.source_line(run.end.fault.pc)}")
    if run.exit_code:
        found.append(f"exit code {run.exit_code}")
    return [f"{name} size {size} seed {seed} {config.warps}x{config.threads}: {line}" for line in found]


def test_there_are_kernels():
    assert len(NAMES) >= 15


@pytest.mark.parametrize("name", some_slow(NAMES, 6))
def test_kernel_passes(name):
    assert failures(name, TINY) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_LARGE)
def test_kernel_passes_on_larger_machines(name):
    for config in (BASE, MID):
        assert failures(name, config, seed=2) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_LARGE)
def test_kernel_passes_with_other_sizes(name):
    for size in (3, 13):
        assert failures(name, BASE, size, seed=3) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_the_other_kernel_of_a_source(name):
    assert failures(name, BASE, function=OTHERS[name]) == []
