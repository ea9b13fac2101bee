"""tb/examples/cocotb: the same on the bare line port, driven from Python."""

import pytest

from tests.support.builds import on
from tests.tb.examples import example_runs as examples
from tests.tb.examples.example_runs import KERNELS

pytestmark = [on("TINY"), pytest.mark.slow]


def agrees(kernel, size, simulator, tmp_path):
    launch, image = examples.launched(kernel, size, tmp_path)
    own = examples.own_run(launch, 5)
    export = examples.write_export(tmp_path / "export")
    result = examples.cocotb_run(export, image, simulator, "--latency", 5, cwd=tmp_path)
    assert (result["exit_code"], result["total_cycles"]) == (0, own.total_cycles)
    assert result["counters"] == examples.without_oracles(examples.counters_of(own))
    examples.check_dump(launch, tmp_path / "memory")


@examples.needs_icarus
@pytest.mark.parametrize("kernel", [KERNELS[0], *(pytest.param(each, marks=pytest.mark.long) for each in KERNELS[1:])])
def test_on_icarus(kernel, tmp_path):
    agrees(kernel, 2, "icarus", tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kernel", KERNELS)
def test_on_verilator(kernel, tmp_path):
    agrees(kernel, None, "verilator", tmp_path)
