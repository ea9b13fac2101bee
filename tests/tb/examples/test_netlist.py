"""The netlist of the exported SM, mapped to the cells of an ECP5, agrees with our simulation cycle for cycle.

The export is that of ``metronome verilog --preset TINY``: the pipeline for chips.
"""

import functools

import pytest

from metronome.sim.build.cache import entry
from metronome.sim.build.export.files import export_files
from metronome.sim.build.verilating import digest, versions
from metronome.sim.build.verilog import elaborate_flat
from metronome.sim.fpga.synth import netlist
from metronome.sim.fpga.synth import versions as synthesis_versions
from metronome.sim.program.image import image_text
from metronome.sim.program.kernels import prepare
from tests.support.builds import FPGA, on
from tests.tb.examples import example_runs as examples
from tests.tb.examples.test_verilator_example import values_in

#: Yosys takes 2.5 minutes, Verilator and g++ some more: once, for all of them.
pytestmark = [on("fpga"), pytest.mark.long]

#: Kernel, type of its elements, and size: between them every unit, barriers, local memory and divergence.
KERNELS = [
    ("vecadd", "int32", None), ("psum", "int32", None), ("diverge", "int32", None), ("psort", "int32", 24),
    ("transpose", "int32", None), ("sgemm", "float32", 4), ("conv3", "float32", 6), ("nn", "float32", 24),
    ("blackscholes", "float32", 4), ("pathfinder", "int32", 16),
]


@functools.cache
def exported():
    return export_files(FPGA.for_chip(), None, preset="TINY", bus="line", verilog=elaborate_flat)


@pytest.fixture(scope="module")
def simulation():
    """The C++ harness on the netlist, with the models of the cells; in the cache."""
    sources = examples.EXAMPLES / "verilator"
    content = [path.read_text() for path in sorted(sources.iterdir())]
    key = digest(exported()["metronome_sm.v"], content, netlist.cell_models(), versions(), synthesis_versions())

    def make(folder):
        (folder / "metronome_sm.v").write_bytes(exported()["metronome_sm.v"])
        assert netlist.main([str(folder / "metronome_sm.v"), "--output", str(folder / "netlist")]) == 0
        examples.call("make", "-f", sources / "Makefile", "EXPORT=netlist", "OBJ=obj", "OPT=-O0", cwd=folder)
        (folder / "obj" / "sim").rename(folder / "sim")

    return entry(f"unit-{key}", make) / "sim"


@pytest.mark.parametrize(("kernel", "dtype", "size"), KERNELS, ids=[name for name, _, _ in KERNELS])
@pytest.mark.parametrize("latency", [1, 33])
def test_the_netlist_takes_the_same_cycles(simulation, kernel, dtype, size, latency, tmp_path):
    launch = prepare(kernel, dtype, size=size, config=FPGA)
    image = tmp_path / "program.hex"
    image.write_text(image_text(launch, FPGA))
    own = examples.own_run(launch, latency, FPGA)
    out = examples.call(simulation, image, "--latency", latency, "--dump", "memory", cwd=tmp_path)
    values, counters = values_in(out)
    assert (values["exit_code"], values["total_cycles"]) == (0, own.total_cycles)
    assert counters == examples.without_oracles(examples.counters_of(own))
    examples.check_dump(launch, tmp_path / "memory")
