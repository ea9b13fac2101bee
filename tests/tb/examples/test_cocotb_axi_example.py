"""tb/examples/cocotb on an export with --bus axi: memory and host are those of cocotbext-axi."""

import subprocess
import sys

import pytest

from tests.support.builds import on
from tests.tb.examples import example_runs as examples

pytestmark = [on("TINY"), pytest.mark.slow]
#: Counters of what a program does, whatever memory it has.
OF_THE_PROGRAM = ("committed", "committed_threads", "loads")


def agrees(kernel, size, simulator, tmp_path):
    launch, image = examples.launched(kernel, size, tmp_path)
    own = examples.counters_of(examples.own_run(launch, 5))
    export = examples.write_export(tmp_path / "export", "axi")
    result = examples.cocotb_run(export, image, simulator, cwd=tmp_path)
    counters = result["counters"]
    assert result["exit_code"] == 0
    assert {name: counters[name] for name in OF_THE_PROGRAM} == {name: own[name] for name in OF_THE_PROGRAM}
    stalls = sum(count for name, count in counters.items() if name.startswith("stalls_"))
    assert counters["cycles"] == counters["committed"] + counters["nops"] + stalls
    assert counters["total_cycles"] > own["total_cycles"], "eight beats take longer than one line"
    examples.check_dump(launch, tmp_path / "memory")


@examples.needs_icarus
@pytest.mark.long  # `make test` has the other example on Icarus, and AXI in tests/hdl/bus
@pytest.mark.parametrize("kernel", examples.KERNELS)
def test_on_icarus(kernel, tmp_path):
    agrees(kernel, 2, "icarus", tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kernel", examples.KERNELS)
def test_on_verilator(kernel, tmp_path):
    agrees(kernel, None, "verilator", tmp_path)


@pytest.mark.more
def test_a_latency_is_refused(tmp_path):
    export = examples.write_export(tmp_path / "export", "axi")
    done = subprocess.run(
        [sys.executable, examples.COCOTB, export, "any.hex", "--latency", "5"], cwd=tmp_path,
        env=examples.environment(), capture_output=True, text=True, check=False,
    )
    assert done.returncode == 2
    assert "error: --latency is for the line port" in done.stderr and "Traceback" not in done.stderr
