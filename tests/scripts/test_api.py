"""The functions of the package `metronome`: the same results as the commands, and errors of one line."""

import dataclasses
import inspect
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import metronome
from metronome.hdl.presets import PIPELINES
from metronome.scripts.cli import main
from metronome.sim.build.sources import ROOT
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.run.gpu.types import GpuRunResult
from metronome.sim.run.types import no_counts
from tests.support.builds import TINY, on

VECADD = {"machine": "TINY", "size": 8, "seed": 3}
WORDS = ["vecadd", "--preset", "TINY", "--size", "8", "--seed", "3"]
#: The fields that differ between two runs of one program.
TIMES = re.compile(".*seconds?|cycles_per_second|.*_per_second|python_share|origin")


def said(capsys, *words):
    """The JSON of a command, without times."""
    assert main([*words, "--json", "-"]) == 0
    return without_times(json.loads(capsys.readouterr().out))


def without_times(document):
    return {name: value for name, value in json.loads(json.dumps(document)).items() if not TIMES.fullmatch(name)}


def test_a_prediction_is_that_of_the_command(capsys):
    result = metronome.predict("vecadd", **VECADD, latency=7)
    assert without_times(result.as_json()) == said(capsys, "predict", *WORDS, "--latency", "7")
    assert result.passed and result.status == "ended" and result.complaints == result.warnings == ()
    assert (result.cycles, result.total_cycles) == (result.counters["cycles"], result.counters["total_cycles"])
    assert max(result.finishes) < result.total_cycles and len(result.issued) > result.counters["committed"]


def test_a_bound_is_that_of_the_command(capsys):
    words = ["--range", "a=0..9", "--observe", "2", "--no-rtl"]
    result = metronome.wcet("vecadd", **VECADD, ranges={"a": (0, 9)}, observe=2, hardware=False)
    assert without_times(result.as_json()) == said(capsys, "wcet", *WORDS, *words)
    assert (result.exact, result.observed, result.complaint) == (True, result.cycles, None)
    assert any("range a=0..9" in each for each in result.assumptions)


@on("TINY")
@pytest.mark.slow
def test_a_run_is_that_of_the_command(capsys):
    result = metronome.run("vecadd", **VECADD, policy="gtlo", check=True)
    assert without_times(result.as_json()) == said(capsys, "run", *WORDS, "--issue", "gtlo", "--check")
    a, b, c = (np.frombuffer(result.read(name), np.int32) for name in "abc")
    assert (a + b == c).all() and len(c) == 8


@pytest.mark.more
@on("TINY")
@pytest.mark.slow
def test_a_trace_is_that_of_the_command(tmp_path):
    assert main(["trace", *WORDS, "-o", str(tmp_path / "command.csv")]) == 0
    for engine in ("rtl", "predict"):
        result = metronome.trace("vecadd", tmp_path / f"{engine}.csv", **VECADD, engine=engine)
        assert result.passed and (tmp_path / f"{engine}.csv").read_text() == (tmp_path / "command.csv").read_text()


#: The same on two SMs, of a GPU that `make test` has.
TWO = {"sms": 2, "settings": {"dispatch": "dynamic"}}


@on("DISPATCH_GPU")
def test_a_run_on_several_sms_is_that_of_the_command(capsys, tmp_path):
    result = metronome.run("vecadd", **VECADD, **TWO, check=True)
    words = [*WORDS, "--sms", "2", "--dispatch", "dynamic"]
    assert without_times(result.as_json()) == said(capsys, "run", *words, "--check")
    assert result.passed and [counters["cycles"] > 0 for counters in result.sms] == [True, True]
    assert sum(counters["committed"] for counters in result.sms) == result.counters["committed"]
    traced = metronome.trace("vecadd", tmp_path / "a.csv", **VECADD, **TWO)
    assert (traced.total_cycles, traced.sms) == (result.total_cycles, result.sms)
    assert main(["trace", *words, "-o", str(tmp_path / "b.csv")]) == 0
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


@pytest.mark.more  # the model of several SMs takes a minute to compile
def test_a_prediction_of_several_sms_is_that_of_the_command(capsys, tmp_path):
    result = metronome.predict("vecadd", machine=TINY, size=8, seed=3, sms=4, memory="dram")
    words = [*WORDS, "--sms", "4", "--memory", "dram"]
    found = said(capsys, "predict", *words, "--issues", str(tmp_path / "issues.csv"))
    expected = without_times(result.as_json())
    assert {name for name in found if found[name] != expected[name]} <= {"config"} and found.keys() == expected.keys()
    lines = [",".join("" if name == "pc" and value < 0 else str(value) for name, value in
                      zip(result.issued.dtype.names, each, strict=True)) for each in result.issued.tolist()]
    assert (tmp_path / "issues.csv").read_text().replace('"', "").split() == ["cycle,sm,warp,pc", *lines]
    assert len(result.finishes) == 4 * TINY.warps and max(filter(None, result.finishes)) < result.total_cycles
    assert result.finishes[TINY.warps] == max(
        cycle for cycle, sm, warp, pc in result.issued.tolist() if (sm, warp) == (1, 0) and pc >= 0)
    traced = metronome.trace("vecadd", tmp_path / "a.csv", **VECADD, sms=4, memory="dram", engine="predict")
    assert (traced.passed, traced.sms, traced.total_cycles) == (True, result.sms, result.total_cycles)


@pytest.mark.more  # the model of several SMs takes a minute to compile
def test_a_bound_of_several_sms_is_that_of_the_command(capsys):
    result = metronome.wcet("vecadd", **VECADD, sms=4, settings={"interconnect": "tdm"})
    assert without_times(result.as_json()) == said(capsys, "wcet", *WORDS, "--sms", "4", "--interconnect", "tdm")
    assert result.cycles > metronome.wcet("vecadd", **VECADD).cycles
    (note,) = metronome.wcet("vecadd", **VECADD, sms=4, compose=True).warnings
    assert note == "the published formulas of --compose are for one SM: with several, it prints the bounds only"


def test_slots_that_do_not_separate_are_a_warning(monkeypatch, capfd):
    monkeypatch.setattr("metronome.scripts.process.backend.Backend.run_gpu", lambda *arguments: GpuRunResult(
        status="deadlock", exit_code=0, total_cycles=9, memory=SparseMemory(), sm_counters=[no_counts()] * 2,
        counters=no_counts()))
    result = metronome.run("vecadd", **VECADD, sms=2, settings={"interconnect": "tdm"}, memory="dram")
    (note,) = result.warnings
    assert note == "--memory dram does not separate the SMs: with tdm, use --memory fixed or tdm (docs/gpu.md)"
    assert (result.status, result.sms) == ("deadlock", (no_counts(),) * 2) and capfd.readouterr() == ("", "")


def test_one_sm_has_no_list_of_sms():
    assert metronome.predict("vecadd", **VECADD, sms=1).sms == ()


def test_a_configuration_is_described_by_the_nearest_preset():
    config = dataclasses.replace(TINY, latency_mul=6)
    asked = metronome.predict("vecadd", machine=config, size=8).as_json()["config"]
    assert (asked["preset"], asked["set"], asked["latency_mul"]) == ("TINY", {"latency_mul": "6"}, 6)
    same = metronome.predict("vecadd", machine="TINY", size=8, settings={"latency_mul": 6}).as_json()["config"]
    assert asked == same


def test_the_pipeline_is_an_argument():
    chip = dataclasses.replace(TINY, **PIPELINES["fpga"])
    by_name = metronome.predict("vecadd", machine="TINY", size=8, pipeline="fpga")
    classic = metronome.predict("vecadd", machine="TINY", size=8)
    assert by_name.total_cycles == metronome.predict("vecadd", machine=chip, size=8).total_cycles > classic.total_cycles


def test_a_machine_may_come_from_a_file(tmp_path):
    (tmp_path / "small.toml").write_text("warps = 2\nlatency_mul = 6\n")
    result = metronome.predict("vecadd", machine=str(tmp_path / "small.toml"), size=8)
    assert (result.outcome.config.warps, result.outcome.config.latency_mul) == (2, 6)


def test_a_policy_may_come_from_a_file(tmp_path, monkeypatch, own_policies):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "--policy", "mine"]) == 0
    result = metronome.predict("vecadd", **VECADD, policy=Path("mine.py"))
    assert result.outcome.request.policy.startswith("Mine_")


def test_a_path_is_a_folder_even_if_a_kernel_has_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(metronome.UsageError, match=r"\./vecadd"):
        metronome.predict(Path("vecadd"), **VECADD)


def test_a_program_without_a_host_has_its_files_and_its_warnings(tmp_path, capfd):
    (tmp_path / "sum.c").write_text("""
        #include "metronome.h"
        int main(void) { int unused_one; return *(volatile int *)0x20000 + *(const volatile int *)kernel_arguments(); }
    """)
    (tmp_path / "three").write_bytes(bytes([3, 0, 0, 0]))
    (tmp_path / "four").write_bytes(bytes([4, 0, 0, 0]))
    result = metronome.predict(
        tmp_path / "sum.c", machine="TINY", cflags="-Wunused-variable", argument=tmp_path / "three",
        load={0x20000: tmp_path / "four"}, region="main",
    )
    assert any("unused_one" in line for line in result.warnings)
    assert not result.passed and result.complaints == ("exit code 7 (the word at 0x88)",)
    assert 0 < result.cycles < result.total_cycles and result.outcome.launch.region == "main"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("function", "arguments", "error"), [
    ("predict", {"machine": "TYNY"}, "--preset: unknown name 'TYNY' (did you mean TINY?)"),
    ("run", {"policy": "lrx"}, "--issue: unknown name 'lrx' (did you mean lrr?)"),
    ("run", {"policy": "./none.py:Mine"}, "none.py"),
    ("run", {"latency": 0}, "--latency must be at least 1, not 0"),
    ("run", {"settings": {"warp": 4}}, "unknown field 'warp' (did you mean warps?)"),
    ("run", {"settings": {"memory_map.user": 1.5}}, "memory_map.user must be a whole number, not '1.5'"),
    ("run", {"settings": {"memory_map.user": None}}, "memory_map.user must be a whole number, not 'None'"),
    ("run", {"machine": TINY, "settings": {"warps": 4}}, "dataclasses.replace"),
    ("run", {"machine": TINY, "pipeline": "fpga"}, "pipeline is for a preset or a file"),
    ("run", {"pipeline": "fgpa"}, "--pipeline: unknown name 'fgpa' (did you mean fpga?)"),
    ("predict", {"mode": "vortex"}, "only swas can be predicted"),
    ("trace", {"output": "page.txt"}, "output: the name of the file must end in one of .html"),
    ("trace", {"output": "a.vcd", "engine": "predict"}, "a waveform is that of the hardware"),
    ("trace", {"output": "a.csv", "engine": "fast"}, "engine must be rtl or predict, not 'fast'"),
    ("trace", {"output": "a.csv", "first": 1, "last": 2}, "--from and --to are for a figure or a waveform"),
    ("trace", {"output": "a.svg", "engine": "predict"}, "at most 200 cycles of one SM: add first=CYCLE and last=CYCLE"),
    ("trace", {"output": "a.pdf", "first": 9, "last": 3}, "a.pdf: --from must be a cycle"),
    ("trace", {"output": "a.svg", "first": 1.5, "last": 3}, "first must be an integer or None, not 1.5"),
    ("run", {"sms": 3}, "sms must be 1, 2, 4, 8 or 16, not 3"),
    ("run", {"sms": 1, "settings": {"l2": "shared"}}, "l2: it has no effect without sms=2 or more"),
    ("run", {"settings": {"sms": 2, "l2": "big"}}, "unknown name 'big': use none, shared, divided"),
    ("trace", {"output": "a.svg", "sms": 2, "first": 1, "last": 9}, "output a.svg: a trace of 2 SMs is one of .html"),
    ("trace", {"output": "a.vcd", "sms": 2}, "output a.vcd: a trace of 2 SMs is one of .html"),
    ("wcet", {"sms": 2, "settings": {"dispatch": "static"}}, "vecadd: no bound with dispatch=static: which warps get "),
    ("wcet", {"observe": -1}, "--observe must be at least 0, not -1"),
    ("wcet", {"ranges": {"z": (0, 1)}}, "--range z=0..1"),
    ("wcet", {"ranges": {"a": (0.5, 1)}}, "--range a=0.5..1: a has int32 elements: write integers, not 0.5..1"),
])
def test_bad_input_is_one_line(tmp_path, monkeypatch, function, arguments, error):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=re.escape(error)) as caught:
        getattr(metronome, function)("vecadd", **arguments)
    assert isinstance(caught.value, metronome.UsageError) and "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


#: For each argument, values of wrong types.
WRONG = {
    "machine": [None, 3, {}, b"TINY"], "policy": [5, ["lrr"], b"lrr"], "size": ["8", 1.5, True],
    "seed": ["1", None, True, 1.0], "max_cycles": [None, "x", 1.5], "latency": ["20", 1.9, True],
    "mode": [3], "memory": [None, 3], "dtype": [int], "settings": [[1], "", {3: 4}], "cflags": [["-O2"]],
    "sms": ["2", 2.0, True], "simt": ["no", 0],
    "load": ["x", {"x": "file"}, {0x20000: 3}], "region": [3], "argument": [b"x"],
}
OF_BOUND = {
    "ranges": ["a", {"a": 3}, {"a": (1, 2, 3)}, {"a": "01"}, {"a": (0, float("nan"))}], "observe": ["2", 1.5, None],
    "hardware": ["x"], "compose": ["x", 1], "memory_bound": ["x", 1.5], "flow_facts": [3],
}
OF_RUN = {"check": ["yes", None], "memcheck": [3]}


@pytest.mark.parametrize(("function", "name", "value"), [
    (function, name, value)
    for function, wrong in (("predict", WRONG), ("wcet", OF_BOUND), ("run", OF_RUN))
    for name, values in wrong.items() for value in values
])
def test_a_value_of_a_wrong_type_is_refused(function, name, value):
    with pytest.raises(metronome.UsageError, match=rf"\b{name}\b.* must be .*, not ") as caught:
        getattr(metronome, function)("vecadd", **{name: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("program", [5, None, b"vecadd", ["vecadd"]])
def test_a_program_and_an_output_are_names(program):
    with pytest.raises(metronome.UsageError, match="program must be text or a path, not "):
        metronome.predict(program)
    with pytest.raises(metronome.UsageError, match="output must be text or a path, not "):
        metronome.trace("vecadd", program)


def test_numbers_of_numpy_and_paths_are_accepted(tmp_path):
    (tmp_path / "small.toml").write_text("warps = 2\n")
    numbers = {"size": np.int64(8), "seed": np.uint8(3), "latency": np.int32(7), "simt": np.bool_(False)}
    result = metronome.predict("vecadd", machine=tmp_path / "small.toml", **numbers)
    assert result.outcome.config.warps == 2 and type(result.outcome.request.latency) is int
    assert result.names()[:3] == ["a", "b", "c"]
    with pytest.raises(KeyError, match="no buffer or symbol 'zz': use a, b, c, or see names"):
        result.read("zz")


def test_a_figure_has_a_window(tmp_path):
    metronome.trace("vecadd", tmp_path / "f.svg", **VECADD, engine="predict", first=10, last=np.int64(60))
    assert "cycles 10 to 60" in (tmp_path / "f.svg").read_text()


@pytest.mark.parametrize(("function", "wrong", "right"), [
    ("run", "latancy", "latency"), ("predict", "polcy", "policy"), ("trace", "engin", "engine"),
    ("wcet", "observed", "observe"),
])
def test_an_argument_that_there_is_not_is_refused(function, wrong, right):
    message = rf"{function}: unexpected keyword argument '{wrong}' \(did you mean {right}\?\)"
    with pytest.raises(TypeError, match=message):
        getattr(metronome, function)("vecadd", **{wrong: 3})


def test_every_name_is_there_and_says_what_it_is():
    for name in metronome.__all__:
        assert inspect.getdoc(getattr(metronome, name)), name
    assert set(metronome.__all__) <= set(dir(metronome))
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        metronome.runn  # noqa: B018


def test_the_package_is_the_command():
    done = subprocess.run([sys.executable, "-m", "metronome", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("metronome ")


def test_the_types_are_part_of_the_package():
    package = ROOT / ".ci" / "names" / "metronome"
    if not package.exists():
        pytest.skip("the sources are not a checkout")
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    assert (package / "py.typed").is_file() and "py.typed" in data["*"]


@pytest.mark.more
def test_a_type_checker_sees_the_types(tmp_path):
    (tmp_path / "user.py").write_text(
        'import metronome\nreveal_type(metronome.run("psort", latency=3).cycles)\n'
        'reveal_type(metronome.wcet("psort").exact)\nmetronome.predict("psort", latancy=3)\n')
    done = subprocess.run([sys.executable, "-m", "mypy", "user.py"], cwd=tmp_path, capture_output=True, text=True)
    assert re.findall(r'Revealed type is "(.*)"', done.stdout) == ["int | None", "bool"]
    assert done.stdout.count(": error:") == 1 and 'Unexpected keyword argument "latancy"' in done.stdout
