"""The netlist of the exported SM, mapped to the cells of an ECP5, agrees with our simulation cycle for cycle."""

import pytest

from metronome.sim.build.cache import entry
from metronome.sim.build.verilating import digest, versions
from metronome.sim.fpga.synth import netlist
from metronome.sim.fpga.synth import versions as synthesis_versions
from tests.support.builds import on
from tests.tb.examples import example_runs as examples
from tests.tb.examples.test_verilator_example import values_in

#: Yosys takes 2.5 minutes, Verilator and g++ some more: once, for all of them.
pytestmark = [on("TINY"), pytest.mark.long]


@pytest.fixture(scope="module")
def simulation():
    """The C++ harness on the netlist, with the models of the cells; in the cache."""
    sources = examples.EXAMPLES / "verilator"
    content = [path.read_text() for path in sorted(sources.iterdir())]
    verilog = examples.files_of_export()["metronome_sm.v"]
    key = digest(verilog, content, netlist.cell_models(), versions(), synthesis_versions())

    def make(folder):
        source = examples.write_export(folder / "export") / "metronome_sm.v"
        assert netlist.main([str(source), "--output", str(folder / "netlist")]) == 0
        examples.call("make", "-f", sources / "Makefile", "EXPORT=netlist", "OBJ=obj", "OPT=-O0", cwd=folder)
        (folder / "obj" / "sim").rename(folder / "sim")

    return entry(f"unit-{key}", make) / "sim"


@pytest.mark.parametrize("kernel", examples.KERNELS)
@pytest.mark.parametrize("latency", [1, 33])
def test_the_netlist_takes_the_same_cycles(simulation, kernel, latency, tmp_path):
    launch, image = examples.launched(kernel, None, tmp_path)
    own = examples.own_run(launch, latency)
    out = examples.call(simulation, image, "--latency", latency, "--dump", "memory", cwd=tmp_path)
    values, counters = values_in(out)
    assert (values["exit_code"], values["total_cycles"]) == (0, own.total_cycles)
    assert counters == examples.without_oracles(examples.counters_of(own))
    examples.check_dump(launch, tmp_path / "memory")
