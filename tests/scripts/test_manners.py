"""What every subcommand has in common: help with examples that work, the version, names in any case and near ones."""

import functools
import re
import shlex

import pytest
import typer

from metronome.hdl.presets import PRESETS, TINY
from metronome.scripts.cli import COMMANDS, app
from metronome.scripts.help_pages import EXAMPLES
from metronome.sim.machine.policies.plain import POLICIES
from tests.scripts.lines import only_line

#: Subcommands whose options name a policy.
#: Made once, not for each example; not that of scripts.cli, whose subcommands would keep this one's help.
parser = functools.cache(typer.main.get_command)
WITH_POLICIES = ("run", "sweep", "config", "verilog", "synth", "board", "prove")
WITH_PRESETS = ("run", "sweep", "config", "verilog", "synth", "bench")


@pytest.fixture
def helped(metronome, monkeypatch):
    """The text of a help page, its lines joined."""
    def helped(*words):
        monkeypatch.setenv("COLUMNS", "80")
        done = metronome(*words, "-h")
        assert (done.status, done.err) == (0, "")
        return done.out

    return helped


def joined(text):
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


def test_h_is_help(metronome, helped):
    assert helped() == metronome("--help").out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_page_has_examples_and_exit_statuses(metronome, helped, name):
    text = helped(name)
    assert text == metronome(name, "--help").out
    examples = text[text.index(" Examples") : text.index(" Exit status")]
    assert [line.split("  ")[1].strip() for line in examples.splitlines()[1:] if line.strip()] == [
        command for command, _ in EXAMPLES[name]
    ], "one line an example, in 80 columns"
    assert "2 wrong usage, 70 a defect in metronome" in text[text.index(" Exit status") :]
    if name in ("run", "predict", "trace", "sweep", "bench", "board"):
        assert "1 check or exit code failed, 3 fault, 4 cycle limit or deadlock" in joined(text)
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize("command", [command for examples in EXAMPLES.values() for command, _ in examples])
def test_the_examples_can_be_given(command):
    program, name, *words = shlex.split(command)
    assert program == "metronome"
    parser(app).commands[name].make_context(name, words)


@pytest.mark.parametrize("name", WITH_POLICIES)
def test_the_policies_are_in_the_help(helped, name):
    assert ", ".join(POLICIES) in joined(helped(name))


@pytest.mark.parametrize("name", WITH_PRESETS)
def test_one_default_preset(helped, name):
    text = joined(helped(name))
    assert "--set FIELD=V" in text and "--config FILE" in text
    assert "[default: BASE]" in text or "default: BASE." in text
    assert all(preset in text for preset in PRESETS)


def test_the_version(metronome):
    done = metronome("--version")
    assert done.status == 0 and re.fullmatch(
        r"metronome \d+\.\d+\.\d+ \((commit [0-9a-f]{40}(, modified)?|commit unknown: not a git checkout)\)\n", done.out
    )


@pytest.mark.parametrize(("words", "line"), [
    (("rnu", "psort"), "No such command 'rnu'. Did you mean 'run'? (see metronome --help)"),
    (("run", "psort", "--isue", "lrr"), "No such option: --isue (Possible options: --issue, --s"),
    (("run", "psort", "--issue", "gtrr"), "--issue: unknown name 'gtrr' (did you mean gtlrr?): use fixed, lrr, "),
    (("run", "psort", "--mode", "vrotex"), "--mode: unknown name 'vrotex' (did you mean vortex?): use swas, "),
    (("run", "psort", "--memory", "darm"), "--memory: unknown name 'darm' (did you mean dram?): use fixed, "),
    (("run", "psort", "--preset", "PAPR"), "--preset: unknown name 'PAPR' (did you mean PAPER?): use TINY, "),
    (("synth", "--unit", "frontent"), "--unit: unknown name 'frontent' (did you mean frontend?): use "),
    (("prove", "--policy", "gtlor"), "--policy: unknown name 'gtlor' (did you mean gtlo?): use "),
    (("bench", "--kernel", "psrot"), "--kernel: unknown name 'psrot' (did you mean psort?): use "),
])
def test_near_names(metronome, words, line):
    assert only_line(metronome(*words).err).startswith(f"metronome: {line}")


def test_a_near_kernel(capsys):
    from metronome.scripts.cli import main

    assert main(["run", "psrot"]) == 2
    assert "unknown kernel 'psrot' (did you mean psort?): use " in only_line(capsys.readouterr().err)


def test_names_in_any_case(metronome, backend):
    metronome("run", "psort", "--preset", "tiny", "--mode", "SWAS", "--issue", "GtLo", "--memory", "DRAM",
                     "--timing", "ddr4_2400r", "--prediction", TINY.prediction.upper(), "--type", "INT32", status=0)
    ((config, request),) = backend.runs
    assert (config, request.policy, request.memory) == (TINY, "gtlo", "dram")
    assert request.memory_options.timing == "DDR4_2400R"
    assert metronome("sweep", "psort", "--mode", "BASELINE,SWAS", "--issue", "LRR", "--fetch", "Lrr").status == 0
    assert [(config.coordination, request.fetch_policy) for config, request in backend.runs[1:]] == [
        ("baseline", "lrr"), ("swas", None),
    ]


def test_synth_and_prove_know_issue_and_mode_too(metronome):
    assert "--scheme: unknown name 'nothing'" in only_line(metronome("prove", "--mode", "nothing").err)
    assert "--policy: unknown name 'nothing'" in only_line(metronome("prove", "--issue", "nothing").err)


@pytest.mark.parametrize("words", [("run", "psort", "--per-warp"), ("sweep", "psort"), ("kernels",), ("config",),
                                   ("bench", "--repeat", "1"), ("cache",)])
def test_one_style_of_tables(metronome, monkeypatch, tmp_path, words):
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    out = metronome(*words).out
    assert not set("│┃┌└╭╰┏┗━") & set(out)
    assert all(len(line) <= 80 for line in out.splitlines())
    if words[0] != "run":
        assert any(set(line.strip()) == {"─"} for line in out.splitlines()), "the line below the headings"
