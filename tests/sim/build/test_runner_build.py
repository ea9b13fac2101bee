"""The build cache: what is a hit, what is made once, and how a build fails. Nothing is compiled here."""

import dataclasses
import functools
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from metronome.hdl.presets import BASE, TINY
from metronome.sim.build import compilers, executables, preflight, verilating
from metronome.sim.build import simulator as build_module
from metronome.sim.build import verilog as design_module
from metronome.sim.build.layout_header import layout_header
from metronome.sim.build.simulator import BuildError, build
from metronome.sim.build.sources import ROOT
from metronome.sim.build.verilog import meaning


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


def test_verilog_and_header_are_the_key(cache, compiled):
    executables = {
        build(TINY, verilog="module a;").executable,
        build(TINY, verilog="module b;").executable,
        build(BASE, verilog="module a;").executable,
        build(TINY, verilog="module a;", waves=True).executable,
    }
    assert len(executables) == len(compiled) == 4
    # The header is the same too.
    assert build(dataclasses.replace(TINY, latency_mul=5), verilog="module a;").executable in executables


def test_a_changed_source_of_the_testbench_is_a_miss(cache, compiled, tmp_path, monkeypatch):
    source = tmp_path / "top.sv"
    source.write_text("one")
    monkeypatch.setattr(executables, "TB_SOURCES", (source,))
    first = build(TINY, verilog="module a;").executable
    source.write_text("two")
    assert build(TINY, verilog="module a;").executable != first
    source.write_text("one")
    assert build(TINY, verilog="module a;").executable == first


@pytest.fixture
def tree(tmp_path, cache, monkeypatch):
    """The sources of Verilog, copied, and the list of the texts made of them, which depend on lru.py's meaning."""
    root = tmp_path / "tree"
    for name in ("hdl", "sim"):
        shutil.copytree(design_module.ROOT / name, root / name)
    elaborated = []

    def elaborate(config):
        text = f"module {hash(meaning((root / 'hdl/lib/lru.py').read_bytes()))};"
        elaborated.append(text)
        return text

    monkeypatch.setattr(design_module, "ROOT", root)
    monkeypatch.setattr(design_module, "elaborate_for_simulation", elaborate)
    return root, elaborated


def edit(path, change):
    """Change a source, and let this process be a new one that reads it."""
    path.write_text(change(path.read_text()))
    forget()


def forget():
    design_module._sources.cache_clear()
    design_module._meanings.cache_clear()


#: Of a text once: another process would do it again.
remembered = functools.cache(meaning)


@pytest.fixture(autouse=True)
def reads_sources_anew(monkeypatch):
    monkeypatch.setattr(design_module, "meaning", remembered)
    forget()
    yield
    forget()


CHANGES = {
    "nothing": ("hdl/lib/lru.py", lambda text: text, False),
    "a comment": ("hdl/lib/lru.py", lambda text: text + "# a comment\n", False),
    "a docstring": ("hdl/lib/lru.py", lambda text: '"""Another."""' + text[text.index('"""', 3) + 3 :], False),
    "a layout": ("hdl/lib/lru.py", lambda text: text.replace("\n\n", "\n\n\n"), False),
    "code": ("hdl/lib/lru.py", lambda text: text + "A = 1\n", True),
    "code elsewhere": ("hdl/sm.py", lambda text: text + "A = 1\n", True),
    "the header": ("sim/build/layout_header.py", lambda text: text + "A = 1\n", True),
    "another part of sim": ("sim/program/assembler/asm.py", lambda text: text + "A = 1\n", False),
}


@pytest.mark.parametrize(("name", "change", "elaborates"), CHANGES.values(), ids=CHANGES)
def test_only_code_that_makes_verilog_is_elaborated_again(tree, compiled, name, change, elaborates):
    root, elaborated = tree
    first = build(TINY)
    edit(root / name, change)
    second = build(TINY)
    assert len(elaborated) == 1 + elaborates
    # Only another Verilog is built again.
    assert len(compiled) == len(set(elaborated)) == 1 + (name == "hdl/lib/lru.py" and elaborates)
    assert (second.executable == first.executable) == (len(compiled) == 1)
    assert (second.elaborate_seconds > 0) == elaborates
    forget()
    build(TINY)
    assert len(elaborated) == 1 + elaborates


def test_the_configuration_is_elaborated_once_each(tree, compiled):
    _, elaborated = tree
    for config in (TINY, dataclasses.replace(TINY, latency_mul=5), TINY, BASE):
        build(config)
    assert len(elaborated) == 3
    assert len(compiled) == 2, "the same Verilog and header, twice"


@pytest.mark.parametrize("damage", ["", "x" * 64])
def test_a_damaged_note_of_the_verilog_is_made_again(tree, cache, compiled, damage):
    build(TINY)
    for path in cache.glob("design-*"):
        path.write_text(damage)
    build(TINY)
    assert len(tree[1]) == 2
    assert len(compiled) == 1


@pytest.mark.long
def test_every_process_elaborates_to_the_same_verilog():
    """Else the Verilog could be no key: the order of sets of strings is another in each process."""
    code = "from metronome.hdl import presets, verilog; print(verilog.generate(presets.TINY))"
    texts = {
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True,
                       text=True, check=True).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_a_string_that_is_no_docstring_has_a_meaning():
    assert meaning(b"def f():\n    'a'\n    return 1") == meaning(b"def f():\n\n    'b'  # c\n    return 1")
    assert meaning(b"def f():\n    return 'a'") != meaning(b"def f():\n    return 'b'")


def test_elaborates_only_when_needed(cache, compiled, monkeypatch):
    monkeypatch.setattr(design_module, "elaborate_for_simulation", lambda config: f"module of {config.warps} warps;")
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
    with pytest.raises(BuildError) as caught:
        build(TINY, verilog="module a;")
    assert str(caught.value).startswith(f"{missing} is missing (it ")
    assert f"install the Debian package {package}," in str(caught.value)


def test_what_is_missing_is_said_before_the_design_is_elaborated(cache, monkeypatch):
    monkeypatch.setenv("PATH", str(cache))
    monkeypatch.setattr(build_module.Design, "verilog", property(lambda self: pytest.fail("it was elaborated")))
    with pytest.raises(BuildError, match=r"^make is missing [^\n]*; perl is missing [^\n]*; g\+\+ is missing [^\n]*$"):
        build(TINY)


def test_a_python_without_a_shared_library_is_found_out_before_the_build(cache, monkeypatch):
    monkeypatch.setattr(preflight, "libpython", lambda: None)
    with pytest.raises(BuildError, match=r"^the shared library of Python \(libpython[^\n]*$"):
        build(TINY, verilog="module a;")


@pytest.mark.slow
def test_the_makefile_calls_only_programs_that_the_readme_names(cache, tmp_path, monkeypatch):
    """Verilator's makefile has `python` and `c++`, which a machine with Python and g++ need not have."""
    wrong = tmp_path / "bin"
    wrong.mkdir()
    for name in ("python", "python3", "c++", "cc", "gcc"):
        (wrong / name).write_text(f"#!/bin/sh\necho {name} was called >&2\nexit 1\n")
        (wrong / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrong}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "small.v").write_text("module tiny(input a, output b); assign b = a; endmodule\n")
    script, env = verilating.verilator()
    verilating.call([str(script), "--cc", "--prefix", "Vtop", "-Mdir", "obj", "small.v"], tmp_path, env)
    verilating._make(tmp_path, "Vtop", compilers.GCC.settings(), "Vtop__ALL.o")
    assert (tmp_path / "obj" / "Vtop__ALL.o").stat().st_size > 0


def test_failing_step_shows_the_end_of_its_log(cache):
    with pytest.raises(BuildError, match=r"(?s)verilator failed with status .*metronome_sm\.v:1"):
        build(TINY, verilog="module metronome_sm; this is not Verilog")
    assert list(cache.iterdir()) == [], "a failed build must leave nothing behind"


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
    used = (ROOT / "tb" / "top.sv").read_text()
    header = layout_header(TINY)
    names = ("REQ_LINE_LSB", "RESP_DATA_BITS", "PROBE_CONTROL_REGION_LSB", "STATUS_HANG_PC_BITS", "STATUS_ENDED_LSB")
    for name in names:
        assert name in used
        assert f"localparam int {name} = " in header


def test_a_machine_that_shows_one_counter_at_a_time_is_not_simulated():
    with pytest.raises(BuildError, match="all_counters=false, which is for a chip"):
        build(TINY.for_chip())


def test_header_leaves_out_what_the_sm_has_not():
    config = TINY.for_chip(policies=("lrr",), all_counters=True)
    assert "`define" not in layout_header(config)
    assert layout_header(TINY).count("`define") == 3


CLASSES = """VM_PARALLEL_BUILDS = {parallel}
VM_TIMING = {timing}
VM_CLASSES_FAST += \\
  Vtop \\
  Vtop_a \\

VM_CLASSES_SLOW += \\
  Vtop_slow \\

VM_SUPPORT_FAST += \\

VM_GLOBAL_FAST += \\
  verilated \\

"""


def made(folder, monkeypatch, parallel, timing=1, slow_bytes=10):
    """What make is called for, in order: the objects of the library if they are made, and the arguments."""
    (folder / "obj").mkdir(parents=True)
    (folder / "obj" / "Vtop_classes.mk").write_text(CLASSES.format(parallel=parallel, timing=timing))
    (folder / "obj" / "Vtop.mk").write_text("VM_USER_CFLAGS = \\\n  -g \\\n\n")
    for name, size in (("Vtop", 10), ("Vtop_a", 5_100_000), ("Vtop_slow", slow_bytes)):
        (folder / "obj" / f"{name}.cpp").write_text(" " * size)
    calls = []

    def called(command, where, env):
        calls.append(command[command.index("Vtop.mk") + 1:])
        for name in calls[-1]:
            if name.endswith(".o"):
                (where / "obj" / name).touch()

    monkeypatch.setattr(verilating, "call", called)
    verilating.make(folder, "Vtop")
    return calls


def test_the_library_is_compiled_once_for_the_same_compiler_flags(cache, tmp_path, monkeypatch):
    library = ["verilated.o"]
    assert made(tmp_path / "1", monkeypatch, parallel=1)[0] == library
    assert library not in made(tmp_path / "2", monkeypatch, parallel=0)
    assert (tmp_path / "2" / "obj" / "verilated.o").exists()
    assert made(tmp_path / "3", monkeypatch, parallel=1, timing=0)[0] == library


@pytest.mark.parametrize(("slow_bytes", "fast", "slow"), [
    (10, [["Vtop_a"], ["Vtop", "Vtop_slow"]], []), (300_000, [["Vtop_a"], ["Vtop"]], [["Vtop_slow"]]),
])
def test_a_design_is_compiled_in_units_that_have_every_file_once(cache, tmp_path, monkeypatch, slow_bytes, fast, slow):
    arguments = dict(word.split("=") for word in made(tmp_path / "1", monkeypatch, 1, slow_bytes=slow_bytes)[-1])
    for speed, expected in (("FAST", fast), ("SLOW", slow)):
        assert arguments[f"VM_SUPPORT_{speed}"] == ""
        names = arguments[f"VM_CLASSES_{speed}"].split()
        units = [(tmp_path / "1" / "obj" / f"{name}.cpp").read_text() for name in names]
        assert [re.findall(r'#include "(\w+).cpp"', unit) for unit in units] == expected
