"""The export of a GPU of several SMs: ports, files, and the testbench, which takes the cycles of our own run."""

import dataclasses
import functools
import json
import re

import pytest

from metronome.hdl.bus.register_table import register_table
from metronome.hdl.config import FaultCause
from metronome.hdl.gpu.config import GpuConfig, Interconnect
from metronome.hdl.verilog import BUSES, FlatVerilog, flat_top
from metronome.scripts.cli import main
from metronome.sim.build.export.files import export_files, run_command
from metronome.sim.build.verilog import elaborate_flat
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.image import image_text
from metronome.sim.program.kernels import prepare, prepare_source
from metronome.sim.run.gpu.runner import run_gpu
from metronome.sim.run.runner import RunRequest
from tests.sim.build.export.test_companions import needs, values_in
from tests.support.builds import GPU, TINY, on
from tests.support.programs import written
from tests.tb.examples.example_runs import call, needs_icarus, without_oracles

CHIP = dataclasses.replace(GPU, sm=TINY.for_chip())
FAULTS = """
    #include "metronome.h"
    static void each(const void *unused) { (void)unused; if (simt_core_id() >= 2) *(volatile int *)4; }
    int main(void) { uint32_t threads = 16; return spawn_threads(1, &threads, 0, each, 0); }
"""


@functools.cache
def files(bus, config=CHIP, simulation=None):
    """An export without the Verilog itself, which takes seconds."""
    def ports(machine, bus):
        return FlatVerilog("module metronome_gpu;\nendmodule\n", flat_top(machine, bus).ports)

    return export_files(config, simulation, preset="TINY", bus=bus, verilog=ports)


def ports_of(bus, config):
    return {port.name: (port.width, port.is_input) for port in flat_top(config, bus).ports}


@pytest.mark.parametrize("bus", [bus for bus in BUSES if bus != "line"])
def test_on_a_bus_it_has_the_ports_of_one_sm(bus):
    assert ports_of(bus, CHIP) == ports_of(bus, CHIP.sm)


@pytest.mark.parametrize("bus", BUSES)
def test_a_program_that_does_not_end_may_be_for_another_number_of_sms(bus):
    for sms in (4, 16):
        text = files(bus, dataclasses.replace(CHIP, sms=sms))["metronome_gpu_tb.v"].decode()
        (reason,) = re.findall(r'fail\("(the program has not ended[^"]*)"\)', text)
        # The task has room for 64 characters.
        assert reason.endswith(f"+max_cycles: is it for {sms} SMs?") and len(reason) <= 64
    assert 'fail("the program has not ended after +max_cycles");' in files(bus, CHIP.sm)["metronome_sm_tb.v"].decode()


def test_the_line_port_is_that_of_one_sm_with_longer_tags():
    own, one = ports_of("line", CHIP), ports_of("line", CHIP.sm)
    assert {name for name in one if own[name] != one[name]} == {"mem_req_tag", "mem_resp_tag"}
    assert own["mem_req_tag"] == (one["mem_req_tag"][0] + 2, False)
    more = {name for name in own if name not in one}
    of_each = {f"sm_{number}_{name}" for number in range(4) for name in one
               if name in ("busy", "fault_valid") or name.startswith("fault_")}
    assert more == of_each | {"fault_sm", "counter_sm"}


@pytest.mark.parametrize("bus", BUSES)
def test_the_page_has_every_port_file_and_field(bus):
    found = files(bus, CHIP, GPU if bus == "line" else None)
    what = json.loads(found["metronome_gpu.json"])
    assert [row["name"] for row in what["ports"] if not row["about"]] == []
    assert [what["config"][name]["value"] for name in ("sms", "interconnect", "slot_cycles", "cores")] == [
        4, "round_robin", 1, 1]
    assert set(what["files"]) | {"metronome_gpu.json"} == set(found)
    assert all(name.startswith("metronome_gpu") for name in found)
    page = found["metronome_gpu.md"].decode()
    listed = [line.partition(":")[0] for line in page.splitlines() if line.startswith("- `")]
    assert {name for line in listed for name in re.findall(r"`(\S+)`", line)} == set(found) - {"metronome_gpu.md"}
    # No file speaks of the module or the files of one SM.
    assert [name for name, text in found.items() if b"metronome_sm" in text] == []
    assert [name for name, text in found.items() if re.search(rb"@\w+@", text)] == []
    if bus == "line":
        (row,) = (row for row in what["ports"] if row["name"] == "sm_3_counter_cycles")
        assert row["simulation_only"] and row["about"] == "cycles of the region"


def test_the_commands_name_the_gpu():
    gpu = GpuConfig(sm=TINY.for_chip(), sms=2, interconnect=Interconnect.TDM, slot_cycles=3)
    words = "--sms 2 --interconnect tdm --slot-cycles 3"
    assert run_command("TINY", gpu) == f"metronome run PROGRAM --preset TINY {words} --issue lrr --latency 20"
    command = json.loads(files("axi", gpu)["metronome_gpu.json"])["command"]
    assert command == f"metronome verilog --preset TINY --pipeline classic {words} --bus axi --output DIR"


@needs("cc")
@pytest.mark.parametrize("bus", ["axi", "wishbone"])
def test_the_driver_compiles_without_a_warning_and_has_every_register(bus, tmp_path):
    for name in ("metronome_gpu.h", "metronome_gpu.c"):
        (tmp_path / name).write_bytes(files(bus)[name])
    strict = ("-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic")
    call("cc", "-std=c99", *strict, "-ffreestanding", "-c", "metronome_gpu.c", cwd=tmp_path)
    rows = [f"R({its.name.upper()}, {its.offset})" for its in register_table(CHIP) if its.offset < 0x100]
    (tmp_path / "checks.c").write_text(
        '#include "metronome_gpu.h"\n#define R(name, value) _Static_assert(METRONOME_##name == value, #name);\n'
        + "\n".join(rows) + "\nuint32_t sm_of(uintptr_t base) { struct metronome_fault fault;\n"
        "  metronome_choose_sm(base, 1); metronome_get_fault(base, &fault); return fault.sm; }\n"
    )
    call("cc", "-std=c11", *strict, "-fsyntax-only", "checks.c", cwd=tmp_path)


def on_icarus(folder, image, *more):
    """What the testbench prints; a GPU that ends with a fault ends the simulation with another status than 0."""
    call("iverilog", "-g2005", "-Wall", "-o", "sim", "-s", "metronome_gpu_tb", "metronome_gpu_tb.v", "metronome_gpu.v",
         cwd=folder)
    return call("sh", "-c", f"vvp -n sim +image={image} {' '.join(more)} || true", cwd=folder)


def exported(folder, bus):
    for name, content in export_files(CHIP, None, preset="TINY", bus=bus, verilog=elaborate_flat).items():
        (folder / name).write_bytes(content)
    return folder


def image_of(launch, folder):
    image = folder / "program.hex"
    image.write_text(image_text(launch, GPU.sm_of(0)))
    return image


@needs_icarus
@on("GPU")
@pytest.mark.more
@pytest.mark.parametrize("bus", ["line", *(pytest.param(bus, marks=pytest.mark.long) for bus in ("axi", "wishbone"))])
def test_the_testbench_on_icarus(bus, tmp_path):
    """On the line port the cycles and the counters of each SM are those of our own run; a fault names its SM."""
    export = exported(tmp_path, bus)
    compiling = Compiling(several_sms=True)
    launch = prepare("vecadd", size=32, config=GPU.sm_of(0), compiling=compiling)
    own = run_gpu(GPU, RunRequest(launch=launch, policy="lrr", latency=7))
    assert launch.check(own.memory) == []
    values, _ = values_in(on_icarus(export, image_of(launch, tmp_path), "+latency=7"))
    assert values["exit_code"] == 0
    for number, counters in enumerate(own.sm_counters):
        flat = {name: value for name, value in counters.items() if not isinstance(value, dict)}
        flat |= {f"stalls_{name}": value for name, value in counters["stalls"].items() if name != "none"}
        expected = without_oracles(flat) if bus == "line" else {"loads": flat["loads"]}
        assert {name: values[f"sm_{number}_{name}"] for name in expected} == expected
    if bus == "line":
        assert values["run_cycles"] == own.total_cycles
    launch = prepare_source(written(tmp_path, FAULTS), config=GPU.sm_of(0), compiling=compiling)
    own = run_gpu(GPU, RunRequest(launch=launch, policy="lrr", latency=7))
    assert (own.status, own.fault.cause) == ("fault", FaultCause.LOAD_ACCESS)
    output = on_icarus(export, image_of(launch, tmp_path), "+latency=7")
    assert "error: a fault has stopped the GPU" in output
    place = f"pc={own.fault.pc:08x} address=00000004"
    (sm,) = re.findall(rf"^fault sm=(\d+) cause=5 warp=\d+ {place}$", output, re.MULTILINE)
    assert int(sm) in (2, 3) and (bus != "line" or int(sm) == own.fault_sm)


@needs_icarus
@pytest.mark.long
@pytest.mark.parametrize(("pipeline", "dispatch"), [("classic", "none"), ("fpga", "none"), ("fpga", "dynamic")])
def test_the_printed_run_takes_the_cycles_of_the_export(pipeline, dispatch, tmp_path, capfd):
    """As tests/sim/build/export/test_companions.py, of two SMs with slots for memory."""
    machine = ["--preset", "TINY", "--sms", "2", "--interconnect", "tdm", "--slot-cycles", "3",
               "--dispatch", dispatch]
    export, image = tmp_path / "export", tmp_path / "program.hex"
    assert main(["verilog", *machine, "--pipeline", pipeline, "--output", str(export)]) == 0
    assert main(["build", "vecadd", *machine, "--size", "16", "--image", str(image)]) == 0
    (printed,) = re.findall(r"`(metronome run .*?)`", (export / "metronome_gpu.md").read_text())
    values, _ = values_in(on_icarus(export, image, "+latency=20"))
    capfd.readouterr()
    words = ["vecadd" if word == "PROGRAM" else word for word in printed.split()[1:]]
    assert main([*words, "--size", "16", "--json", "-"]) == 0
    assert values["run_cycles"] == json.loads(capfd.readouterr().out)["total_cycles"]
