"""``--pipeline``: the default of each command, and what wins over it."""

import dataclasses
import json
from pathlib import Path

import pytest

from metronome.hdl.presets import BASE, PIPELINES, PRESETS
from metronome.sim.fpga.synth import committed
from metronome.sim.machine.settings import values_of
from tests.sim.fpga.synth.test_synth_committed import ROW

CHIP = PIPELINES["fpga"]


def with_fpga(config):
    return dataclasses.replace(config, **CHIP)


@pytest.mark.parametrize(("words", "usual"), [
    (("verilog", "--output", "sm.v", "--probe"), "fpga"), (("run", "psort"), "classic"),
    (("sweep", "psort", "--mode", "swas"), "classic"), (("bench", "--repeat", "1"), "classic"),
])
def test_each_command_has_its_default(metronome, backend, words, usual):
    for more, name in (((), usual), (("--pipeline", "classic"), "classic"), (("--pipeline", "FPGA"), "fpga")):
        backend.runs.clear(), backend.verilog_configs.clear()
        assert metronome(*words, *more).status == 0
        made = {config for config, _ in backend.runs} | set(backend.verilog_configs)
        assert made == {dataclasses.replace(BASE, **PIPELINES[name])}, (words, more)


def test_synth_measures_what_verilog_exports(metronome, backend, synthesized):
    for more, expected in (((), with_fpga(BASE)), (("--pipeline", "classic"), BASE)):
        assert metronome("synth", "--unit", "sm", *more).status == 0
        assert metronome("verilog", "--issue", "gtlrr", *more).status == 0
        assert synthesized[-1] == backend.verilog_configs[-1] == expected.for_chip(policies=("gtlrr",))


def test_the_board_has_the_pipeline_for_chips(metronome, monkeypatch):
    asked = []
    monkeypatch.setattr("metronome.sim.fpga.board.bitstream.bitstream",
                        lambda design, options, progress: asked.append(design.config) or 1 / 0)
    for more, expected in (((), with_fpga(PRESETS["ULX3S"])), (("--pipeline", "classic"), PRESETS["ULX3S"])):
        metronome("board", "--output", "out", *more)
        assert asked[-1] == expected.for_chip()


@pytest.mark.parametrize(("command", "usual"), [
    ("synth", "fpga"), ("verilog", "fpga"), ("board", "fpga"), ("run", "classic"), ("predict", "classic"),
    ("sweep", "classic"), ("wcet", "classic"), ("config", "classic"), ("trace", "classic"), ("bench", "classic"),
])
def test_the_help_states_the_default(metronome, command, usual):
    text = " ".join(metronome(command, "--help", status=0).out.replace("│", " ").split())
    assert f"{usual} (default" in text[text.index("--pipeline"):][:80]


def test_set_wins_over_the_pipeline(metronome, backend):
    assert metronome("verilog", "--probe", "--set", "latency_fma=5").status == 0
    assert metronome("verilog", "--probe", "--pipeline", "fpga", "--set", "issue_latency=2").status == 0
    assert backend.verilog_configs == [
        dataclasses.replace(with_fpga(BASE), latency_fma=5), dataclasses.replace(with_fpga(BASE), issue_latency=2),
    ]


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("preset", ["BASE", "ULX3S", "NANO"])
def test_a_file_of_metronome_config_is_the_machine(metronome, backend, name, preset):
    """A command's default does not change the machine of a complete file."""
    assert metronome("config", "--preset", preset, "--pipeline", name, "-o", "my.toml").status == 0
    assert metronome("verilog", "--probe", "--config", "my.toml").status == 0
    assert metronome("run", "psort", "--config", "my.toml").status == 0
    ((ran, _),) = backend.runs
    assert [ran] == backend.verilog_configs == [dataclasses.replace(PRESETS[preset], **PIPELINES[name])]


def test_a_file_of_some_fields_has_no_pipeline_unless_asked(metronome, backend):
    Path("my.toml").write_text("icache_bytes = 1024\nlatency_fma = 8\n")
    own = dataclasses.replace(BASE, icache_bytes=1024, latency_fma=8)
    for more, expected in (((), own), (("--pipeline", "fpga"), with_fpga(own)), (("--pipeline", "classic"), own)):
        assert metronome("verilog", "--probe", "--config", "my.toml", *more).status == 0
        assert backend.verilog_configs[-1] == expected


def test_a_pipeline_that_the_file_contradicts_is_refused(metronome, backend):
    Path("my.toml").write_text("issue_latency = 2\n")
    line = metronome("verilog", "--config", "my.toml", "--pipeline", "fpga").refusal
    assert line == ("metronome: --pipeline fpga sets issue_latency=3, and --config my.toml issue_latency=2: leave out "
                    "--pipeline, or the field in the file")
    assert backend.verilog_configs == []


@pytest.mark.parametrize("text", ["fgpa", ""])
def test_an_unknown_pipeline_is_one_line(metronome, text):
    assert "--pipeline: " in metronome("run", "psort", "--pipeline", text).refusal


def test_titles_name_the_pipeline_and_what_else_differs(metronome):
    for more, title in (
        (("--pipeline", "fpga"), "TINY, fpga"), (("--pipeline", "fpga", "--set", "latency_fma=5"),
                                                 "TINY, fpga, latency_fma=5"), ((), "TINY"),
    ):
        record = json.loads(metronome("run", "psort", "--preset", "TINY", *more, "--json", "-").out)["origin"]
        assert [each["name"] for each in record["machines"]] == [title]


def test_the_committed_figures_name_their_pipeline(metronome, synthesized, monkeypatch):
    """They are compared with a unit of that machine only, and the line says which it is."""
    rows, _ = committed.read_figures()
    assert {row.pipeline for row in rows} == {"classic"}
    monkeypatch.setattr(committed, "read_figures", lambda path: ([ROW], []))
    words = ("synth", "--unit", "alu", "--preset", "TINY", "--issue", "lrr", "--compare")
    assert metronome(*words).refusal.endswith("has no figures of alu in this machine: it has those of --pipeline "
                                              "classic")
    assert "docs/fpga.md lists them" in metronome(*words, "--warps", "8").refusal
    metronome(*words, "--pipeline", "classic")
    assert synthesized == [ROW.config]
    chip = dataclasses.replace(ROW, pipeline="fpga")
    assert values_of(chip.config).items() >= CHIP.items()


def test_the_price_has_one_pipeline(metronome):
    assert "--pipeline is for one unit, not for --price" in metronome("synth", "--price", "--pipeline", "fpga").refusal
