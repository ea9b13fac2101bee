"""Fields of ``--set`` without an effect: each command refuses them in one line, which names what they need."""

from pathlib import Path

import pytest

import metronome as api
from metronome.scripts.process.errors import UsageError
from metronome.sim.machine.conditions import CONDITIONS
from tests.sim.machine.test_conditions import WITHOUT
from tests.sim.machine.test_settings import ALTERED, BESIDE

COMMANDS = (
    ("run", "psort"), ("predict", "psort"), ("trace", "psort", "-o", "a.csv"), ("wcet", "psort"), ("analyze", "psort"),
    ("sweep", "psort"), ("config",), ("bench",), ("characterize",), ("verilog",), ("synth", "--unit", "sm", "--area"),
    ("board", "psort", "--port", "rtl"), ("build", "--optimise"),
)


def words(texts):
    return [word for field, text in texts.items() for word in ("--set", f"{field}={text}")]


@pytest.mark.parametrize("field", CONDITIONS)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_it_is_refused(metronome, backend, synthesized, command, field):
    refusal = metronome(*command, *words(WITHOUT.get(field, {}) | {field: ALTERED[field]})).refusal
    assert f"--set {field}={ALTERED[field]}: it has no effect without {CONDITIONS[field].needs}" in refusal
    assert not (backend.runs or backend.verilog_configs or synthesized)


@pytest.mark.parametrize(("field", "option"), [
    ("return_stack", ("--prediction", "private")), ("group_warps", ("--issue", "two_level")),
    ("rates", ("--issue", "variable_rate")), ("victim_tags", ("--issue", "ccws")),
])
def test_an_option_gives_it_one(metronome, backend, field, option):
    assert metronome("run", "psort", *words({field: ALTERED[field]}), *option).status == 0
    assert metronome("sweep", "psort", *words({field: ALTERED[field]}), *option).status == 0


def test_an_option_takes_it_away(metronome):
    private = words({"prediction": "private", "two_bit": "4"})
    assert "two_bit=4: it has no effect without" in metronome("run", "psort", *private, "--prediction", "btfn").refusal
    two_level = words({"policies": "two_level", "group_warps": "2"})
    assert "group_warps=2: it has no effect" in metronome("verilog", *two_level, "--issue", "lrr").refusal


def test_a_sweep_needs_one_run_with_an_effect(metronome, backend):
    assert metronome("sweep", "psort", *words({"dcache_bytes": "0,1K", "dcache_ways": "2"})).status == 0
    assert metronome("sweep", "psort", *words({"locality_base": "10,20"}), "--issue", "lrr,ccws").status == 0
    refusal = metronome("sweep", "psort", *words({"locality_base": "10,20"})).refusal
    assert "locality_base=10: it has no effect" in refusal


def test_a_file_describes_a_machine_for_any_front_end(metronome, backend):
    Path("my.toml").write_text("".join(f"{field} = 4\n" for field in ("return_stack", "group_warps", "victim_tags")))
    assert metronome("run", "psort", "--config", "my.toml").status == 0


@pytest.mark.parametrize("field", [
    field for field in CONDITIONS if field in BESIDE and field not in (
        "victim_tags", "channel_depth", "units", "turns", "alu_ports", "writeback_ports")
])
def test_a_proof(metronome, field):
    case = ("--property", "P3", "--policy", "lrr", "--prediction", "btfn", "--warps", "4")
    refusal = metronome("prove", *case, *words({field: ALTERED[field]})).refusal
    assert f"it has no effect without {CONDITIONS[field].needs}" in refusal


def test_the_package():
    with pytest.raises(UsageError, match="it has no effect without prediction=private"):
        api.predict("vecadd", machine="TINY", size=8, settings={"return_stack": 4})
