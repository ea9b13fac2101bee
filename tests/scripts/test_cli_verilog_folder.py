"""metronome verilog --output DIR: the folder is whole or as it was, and what the user had in it is not lost."""

import hashlib
import json
import os
import resource
import signal

import pytest

from metronome.hdl.verilog import BUSES
from metronome.scripts.commands.verilog import BUS_NAMES
from metronome.scripts.output import export_folder
from tests.support.builds import FPGA

FILES = {f"metronome_sm{end}" for end in (".v", ".f", ".md", ".json", "_tb.v", ".core")}
#: With a bus.
FOR_A_HOST = {"metronome_sm.h", "metronome_sm.c", "metronome_sm_litex.py"}
CONSTRAINTS = {"metronome_sm.lpf", "metronome_sm.sdc", "metronome_sm.xdc"}


def tree(folder):
    """Path and content of everything, hidden files too."""
    paths = sorted(path for path in folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in paths}


def test_a_folder_has_everything(metronome, backend, tmp_path):
    done = metronome("verilog", "--preset", "TINY", "-o", "out")
    size = sum(path.stat().st_size for path in (tmp_path / "out").iterdir())
    line = f"out: {len(FILES)} files, {size} bytes; metronome_sm.md describes them\n"
    assert (done.status, done.out, done.err) == (0, line, "")
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == FILES
    about = json.loads((tmp_path / "out" / "metronome_sm.json").read_text())
    assert set(about["files"]) == FILES - {"metronome_sm.json"}
    for name, digest in about["files"].items():
        assert hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest() == digest
    (config,) = backend.verilog_configs
    assert (config.warps, config.probe, config.assertions, config.oracles) == (2, False, False, False)
    for name in FILES - {"metronome_sm.json"}:
        text = (tmp_path / "out" / name).read_text()
        head = text.removeprefix("CAPI=2:\n").splitlines()[:2]
        assert "SPDX-License-Identifier: Apache-2.0" in head[0]
        assert "preset TINY: metronome verilog --preset TINY --pipeline fpga --output DIR" in head[1]
    assert (about["licence"], about["preset"]) == ("Apache-2.0", "TINY")


@pytest.mark.parametrize("bus", BUS_NAMES[1:])
def test_a_folder_with_a_bus_has_a_driver_and_constraints_if_asked(metronome, tmp_path, bus):
    assert metronome("verilog", "--preset", "TINY", "--bus", bus, "--clock", "62.5", "-o", "out").status == 0
    assert set(tree(tmp_path / "out")) == FILES | FOR_A_HOST | CONSTRAINTS
    command = json.loads((tmp_path / "out" / "metronome_sm.json").read_text())["command"]
    assert command == f"metronome verilog --preset TINY --pipeline fpga --bus {bus} --clock 62.5 --output DIR"


def test_with_the_probe_there_are_two_modules(metronome, backend, tmp_path):
    assert metronome("verilog", "--preset", "TINY", "--probe", "-o", "out").status == 0
    synthesis, simulation = backend.verilog_configs
    assert (synthesis.probe, simulation) == (False, FPGA)
    assert set(tree(tmp_path / "out")) == FILES | {"metronome_sm_sim.v", "metronome_sm_sim.f"}


def test_names_that_end_with_v_are_single_files(metronome, tmp_path):
    assert metronome("verilog", "-o", "sm.v").status == 0
    assert (tmp_path / "sm.v").read_text() == "module metronome_sm;\nendmodule\n"
    assert metronome("verilog", "-o", os.devnull).status == 0


def test_the_busses_are_those_of_the_hardware():
    assert BUS_NAMES == tuple(BUSES)


@pytest.mark.parametrize("arguments", [
    ("--preset", "BASE", "--mode", "baseline", "--issue", "gtlo"),
    ("--warps", "2", "--set", "icache_bytes=1K", "--prediction", "not_taken"),
    ("--set", "memory_map.console=0x40", "--set", "oracles=true", "--set", "policies=gto+lrr"),
    ("--probe", "--set", "assertions=false"), ("--mode", "vortex", "--issue", "lrr"), ("--bus", "axi"),
    ("--bus", "wishbone", "--clock", "33.333"), ("--pipeline", "classic"), ("--set", "latency_fma=5"),
    ("--pipeline", "classic", "--preset", "ULX3S"), ("--preset", "NANO"),
])
def test_the_command_in_the_files_writes_them_again(metronome, tmp_path, arguments):
    assert metronome("verilog", *arguments, "-o", "first").status == 0
    command = json.loads((tmp_path / "first" / "metronome_sm.json").read_text())["command"].split()
    assert command[:2] == ["metronome", "verilog"]
    assert metronome(*command[1:-1], "second").status == 0
    assert tree(tmp_path / "first") == {**tree(tmp_path / "second")}


def test_a_bus_has_no_probe(metronome, tmp_path):
    done = metronome("verilog", "--bus", "axi", "--probe", "-o", "out")
    assert (done.status, tree(tmp_path)) == (2, {})
    assert done.err.strip() == "metronome: --probe is for --bus line: a bus has no ports for a simulation to watch"


def test_an_export_of_before_is_replaced_whole(metronome, tmp_path):
    assert metronome("verilog", "--preset", "TINY", "--probe", "-o", "out").status == 0
    done = metronome("verilog", "--preset", "MID", "-o", "out", "--json", "-")
    assert set(tree(tmp_path)) == {"out", *(f"out/{name}" for name in FILES)}
    value = json.loads(done.out)
    assert (value["preset"], value["bus"], set(value["files"])) == ("MID", "line", FILES)
    assert json.loads((tmp_path / "out" / "metronome_sm.json").read_text())["config"]["warps"]["value"] == 8


def test_an_empty_folder_is_taken(metronome, tmp_path):
    (tmp_path / "out").mkdir()
    assert metronome("verilog", "-o", "out").status == 0
    assert set(tree(tmp_path / "out")) == FILES


def _foreign(folder):
    (folder / "mine.v").write_text("mine")


def _edited(folder):
    (folder / "metronome_sm.v").write_text("mine")


def _no_index(folder):
    (folder / "metronome_sm.json").unlink()


def _other_index(folder):
    (folder / "metronome_sm.json").write_text("[1]")


def _subfolder(folder):
    (folder / "sim").mkdir()


@pytest.mark.parametrize(("change", "word"), [
    (_foreign, "mine.v"), (_edited, "metronome_sm.v"), (_no_index, "not an export"), (_other_index, "not an export"),
    (_subfolder, "sim"),
])
def test_what_the_user_has_is_refused_before_the_work(metronome, backend, tmp_path, change, word):
    assert metronome("verilog", "-o", "out").status == 0
    change(tmp_path / "out")
    before = tree(tmp_path)
    line = metronome("verilog", "-o", "out").refusal
    assert line.startswith("metronome: --output: cannot write the folder 'out': ") and word in line
    assert (tree(tmp_path), len(backend.verilog_configs)) == (before, 1)


@pytest.mark.parametrize(("arguments", "words"), [
    (("-o", "missing/out"), "No such file"), (("-o", "file"), "ends with .v"), (("-o", "."), "current folder"),
    (("-o", ".."), "current folder"), (("-o", "file/out"), "Not a directory"),
    (("-o", "out", "--bus", "axi9"), "--bus"), (("-o", "sm.v", "--bus", "line"), "--bus is for a folder"),
    (("--bus", "line"), "--bus is for a folder"), (("--clock", "50"), "--clock is for a folder"),
    (("-o", "out", "--clock", "0"), "--clock must be a number above 0"),
    (("-o", "out", "--clock", "nan"), "--clock must"), (("-o", "x" * 300), "cannot write"),
    (("-o", ""), "cannot write"),
    (("-o", "out", "--warps", "0"), "warps"), (("-o", "out", "--json", "./out"), "already the file of --output"),
    (("-o", "there", "--json", "there/a.json"), "--json"),
])
def test_bad_use_is_one_line_and_writes_nothing(metronome, backend, tmp_path, arguments, words):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "there").mkdir()
    before = tree(tmp_path)
    assert words in metronome("verilog", *arguments).refusal
    assert (tree(tmp_path), backend.verilog_configs) == (before, [])


def test_a_full_disk_leaves_the_export_of_before(metronome, tmp_path):
    assert metronome("verilog", "--preset", "TINY", "-o", "out").status == 0
    before = tree(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        done = metronome("verilog", "--preset", "MID", "-o", "out")
        new = metronome("verilog", "--preset", "MID", "-o", "new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    for call in (done, new):
        assert call.refusal.endswith(": File too large")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("failing", [1, 2])
def test_a_failed_exchange_leaves_the_export_of_before(metronome, tmp_path, monkeypatch, failing):
    assert metronome("verilog", "--preset", "TINY", "-o", "out").status == 0
    before = tree(tmp_path)
    calls = []
    rename = os.rename

    def fail(*places):
        calls.append(places)
        if len(calls) == failing:
            raise OSError(28, "No space left on device")
        rename(*places)

    monkeypatch.setattr(export_folder.os, "rename", fail)
    assert metronome("verilog", "--preset", "MID", "-o", "out").refusal
    assert tree(tmp_path) == before


def test_an_elaboration_that_fails_leaves_nothing(metronome, backend, tmp_path, monkeypatch):
    def fail(config, bus):
        raise RuntimeError("broken")

    monkeypatch.setattr(backend, "flat_verilog", fail)
    assert metronome("verilog", "-o", "out").status == 70
    assert tree(tmp_path) == {}


def test_what_comes_during_the_work_is_kept(metronome, backend, tmp_path, monkeypatch):
    made = backend.flat_verilog

    def meanwhile(config, bus):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine").write_text("mine")
        return made(config, bus)

    monkeypatch.setattr(backend, "flat_verilog", meanwhile)
    assert metronome("verilog", "-o", "out").refusal
    assert tree(tmp_path) == {"out": None, "out/mine": b"mine"}


def test_a_link_to_a_folder_stays_a_link(metronome, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert metronome("verilog", "-o", "link").status == 0
    assert (tmp_path / "link").is_symlink()
    assert {path.name for path in (tmp_path / "real").iterdir()} == FILES


@pytest.mark.parametrize("name", ["x.sv", "S.V", "x.vhdl"])
def test_a_folder_with_the_suffix_of_a_file_is_refused(metronome, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    result = metronome("verilog", "--preset", "TINY", "--output", name)
    assert result.status == 2 and "end the name of a single file in .v" in result.err
    assert not list(tmp_path.iterdir())
