"""tb/examples/cocotb: the same on the bare line port, driven from Python."""

import pytest

from tests.support.builds import on
from tests.tb.examples.example_runs import (
    KERNELS,
    check_dump,
    cocotb_run,
    counters_of,
    launched,
    needs_icarus,
    own_run,
    without_oracles,
    write_export,
)

pytestmark = [on("TINY"), pytest.mark.slow]


def agrees(kernel, size, simulator, tmp_path):
    launch, image = launched(kernel, size, tmp_path)
    own = own_run(launch, 5)
    export = write_export(tmp_path / "export")
    result = cocotb_run(export, image, simulator, "--latency", 5, cwd=tmp_path)
    assert (result["exit_code"], result["total_cycles"]) == (0, own.total_cycles)
    assert result["counters"] == without_oracles(counters_of(own))
    check_dump(launch, tmp_path / "memory")


@needs_icarus
@pytest.mark.parametrize("kernel", [KERNELS[0], *(pytest.param(each, marks=pytest.mark.long) for each in KERNELS[1:])])
def test_on_icarus(kernel, tmp_path):
    agrees(kernel, 2, "icarus", tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kernel", KERNELS)
def test_on_verilator(kernel, tmp_path):
    agrees(kernel, None, "verilator", tmp_path)
