"""The build cache: what is a hit, what is made once, and how a build fails. Nothing is compiled here."""

import dataclasses
import multiprocessing
import shutil
import time

import pytest

from hdl.presets import BASE, TINY
from sim import build as build_module
from sim.build import BuildError, build, cache_folder, layout_header


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def compiled(monkeypatch):
    """Replaces verilating and compiling; the list of the texts that were compiled."""
    texts = []
    monkeypatch.setattr(build_module, "_compile", lambda *arguments: texts.append(fake_compile(*arguments)))
    return texts


def fake_compile(config, verilog, folder, waves, progress):
    progress("verilate")
    (folder / "obj").mkdir()
    (folder / "metronome_top").write_text(verilog)
    return verilog


def test_default_folder(monkeypatch):
    monkeypatch.delenv("METRONOME_CACHE", raising=False)
    assert cache_folder().parts[-2:] == ("build", "cache")


def test_second_build_is_a_hit(cache, compiled):
    steps = []
    first = build(TINY, verilog="module a;", progress=steps.append)
    second = build(TINY, verilog="module a;", progress=steps.append)
    assert compiled == ["module a;"]
    assert first.executable == second.executable
    assert first.executable.read_text() == "module a;"
    assert first.build_seconds > 0 == second.build_seconds
    assert steps == ["verilate"]
    assert not [path for path in cache.iterdir() if path.name.startswith("tmp-")]


def test_sources_and_configuration_are_the_key(cache, compiled):
    executables = {
        build(TINY, verilog="module a;").executable,
        build(TINY, verilog="module b;").executable,
        build(BASE, verilog="module a;").executable,
        build(dataclasses.replace(TINY, latency_mul=5), verilog="module a;").executable,
        build(TINY, verilog="module a;", waves=True).executable,
    }
    assert len(executables) == len(compiled) == 5


def test_a_changed_hardware_source_is_a_miss(tmp_path, monkeypatch):
    """The real tree, copied: a comment at the end of one file of hdl changes the key, nothing else does."""
    for folder in ("hdl", "tb", "sim"):
        shutil.copytree(build_module._ROOT / folder, tmp_path / folder)
    monkeypatch.setattr(build_module, "_ROOT", tmp_path)
    monkeypatch.setattr(build_module, "_TB_SOURCES", (tmp_path / "tb" / "top.sv", tmp_path / "tb" / "mailbox.cpp"))
    monkeypatch.setattr(build_module, "__file__", str(tmp_path / "sim" / "build.py"))
    keys = [build_module._key(TINY, None, False)]
    for name in ("README.md", "hdl/lib/lru.py", "tb/top.sv", "tb/mailbox.cpp"):
        with (tmp_path / name).open("a") as file:
            file.write("\n")
        keys.append(build_module._key(TINY, None, False))
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4


def test_elaborates_only_when_needed(cache, compiled, monkeypatch):
    monkeypatch.setattr(build_module, "_elaborate", lambda config: f"module of {config.warps} warps;")
    steps = []
    assert build(TINY, progress=steps.append).executable.read_text() == "module of 2 warps;"
    build(TINY, progress=steps.append)
    assert steps == ["elaborate", "verilate"]


def _slow_build(count_file):
    def slow(*arguments):
        with open(count_file, "a") as file:
            file.write("x")
        time.sleep(0.3)
        fake_compile(*arguments)

    build_module._compile = slow
    build(TINY, verilog="module a;")


def test_two_processes_build_once(cache):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_slow_build, args=(cache / "count",)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert (cache / "count").read_text() == "x"


@pytest.mark.parametrize("missing, package", [("make", "make"), ("g++", "g++"), ("perl", "perl")])
def test_missing_tool(cache, tmp_path, monkeypatch, missing, package):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in {"make", "g++", "perl"} - {missing}:
        (tools / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(BuildError, match=f"^{missing.replace('+', '.')} is missing: install the Debian package "
                                         f"{package.replace('+', '.')}$"):
        build(TINY, verilog="module a;")


def test_failing_step_shows_the_end_of_its_log(cache):
    with pytest.raises(BuildError, match=r"(?s)verilator failed with status .*metronome_sm\.v:1"):
        build(TINY, verilog="module metronome_sm; this is not Verilog")
    left = [path.name for path in cache.iterdir() if path.suffix != ".lock"]
    assert left == [], "a failed build must leave nothing behind"


def test_failed_build_is_not_a_hit(cache, compiled, monkeypatch):
    def fail(*arguments):
        raise BuildError("no")

    with monkeypatch.context() as context:
        context.setattr(build_module, "_compile", fail)
        with pytest.raises(BuildError, match="no"):
            build(TINY, verilog="module a;")
    build(TINY, verilog="module a;")
    assert compiled == ["module a;"]


def test_header_names_what_the_top_uses():
    used = (build_module._ROOT / "tb" / "top.sv").read_text()
    header = layout_header(TINY)
    for name in ("REQ_LINE_LSB", "RESP_DATA_BITS", "PROBE_FRONT_ACTIVE_LSB", "STATUS_HANG_PC_BITS", "STATUS_ENDED_LSB"):
        assert name in used
        assert f"localparam int {name} = " in header


def test_header_leaves_out_what_the_sm_has_not():
    config = dataclasses.replace(TINY, policies=("lrr",), probe=False, assertions=False, oracles=False)
    assert "`define" not in layout_header(config)
    assert layout_header(TINY).count("`define") == 3
