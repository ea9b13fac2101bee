"""tb/examples/verilator: exported Verilog in a harness of its own agrees with our simulation cycle for cycle."""

import re
import subprocess

import pytest

from metronome.sim.run.runner import RunRequest, run
from tests.support.builds import TINY, on
from tests.tb.examples import example_runs as examples

pytestmark = [on("TINY"), pytest.mark.long]  # `make test` has the same export with cocotb and Icarus


def values_in(text):
    values = {name: int(value) for name, value in (line.split() for line in text.splitlines())}
    counters = {name.removeprefix("counter_"): values[name] for name in values if name.startswith("counter_")}
    return values, counters


def issues_in(file):
    """Cycle, warp, pc, instruction and mask of each issue that --trace has written."""
    rows = [line.split() for line in file.read_text().splitlines()]
    return [(int(row[0]), int(row[1]), *(int(word, 16) for word in row[2:])) for row in rows]


def issues_of(result):
    issue = result.events[result.events["issue"]["valid"] == 1]
    columns = [issue["cycle"], *(issue["issue"][name] for name in ("warp", "pc", "instruction", "mask"))]
    return [tuple(map(int, row)) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("kernel", examples.KERNELS)
def test_with_the_probe_every_issue_agrees(kernel, tmp_path):
    launch, image = examples.launched(kernel, None, tmp_path)
    own = examples.own_run(launch, 8, trace=True)
    sim = examples.harness("metronome_sm_sim")
    out = examples.call(sim, image, "--latency", 8, "--dump", "memory", "--trace", "trace", cwd=tmp_path)
    values, counters = values_in(out)
    assert (values["exit_code"], values["total_cycles"], counters) == (0, own.total_cycles, examples.counters_of(own))
    issues = issues_in(tmp_path / "trace")
    assert len(issues) >= own.counters["committed"] > 0
    assert issues == issues_of(own)
    examples.check_dump(launch, tmp_path / "memory")


@pytest.mark.parametrize("kernel", examples.KERNELS)
@pytest.mark.parametrize("latency", [1, 33])
def test_what_is_synthesized_takes_the_same_cycles(kernel, latency, tmp_path):
    launch, image = examples.launched(kernel, None, tmp_path)
    own = examples.own_run(launch, latency)
    out = examples.call(examples.harness("metronome_sm"), image, "--latency", latency, "--dump", "memory", cwd=tmp_path)
    values, counters = values_in(out)
    assert (values["total_cycles"], counters) == (own.total_cycles, examples.without_oracles(examples.counters_of(own)))
    examples.check_dump(launch, tmp_path / "memory")


def test_a_strap_selects_the_policy(tmp_path):
    launch, image = examples.launched("psum", None, tmp_path)
    own = run(TINY, RunRequest(launch=launch, policy="gtlo", latency=8))
    out = examples.call(examples.harness("metronome_sm_sim"), image, "--latency", 8, "--policy", 2, cwd=tmp_path)
    values, counters = values_in(out)
    assert (values["total_cycles"], counters) == (own.total_cycles, examples.counters_of(own))
    assert own.total_cycles != examples.own_run(launch, 8).total_cycles, "the two policies cannot be told apart"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "usage: IMAGE"),
        (("missing.hex",), "cannot read missing.hex"),
        (("{image}", "--latency", "x"), "'x' is no number"),
        (("{image}", "--latency", "0"), "--latency must be at least 1"),
        (("{image}", "--other", "1"), "there is no option --other"),
        (("{makefile}",), "is not an image of metronome build --image"),
    ],
)
def test_bad_use_is_one_line(words, line, tmp_path):
    _, image = examples.launched("vecadd", 2, tmp_path)
    places = {"image": image, "makefile": examples.EXAMPLES / "verilator" / "Makefile"}
    done = subprocess.run(
        [examples.harness("metronome_sm_sim"), *(word.format(**places) for word in words)], cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(rf"error: .*{re.escape(line)}.*\n", done.stderr)


def test_the_cycle_limit_is_told(tmp_path):
    _, image = examples.launched("vecadd", 2, tmp_path)
    done = subprocess.run(
        [examples.harness("metronome_sm_sim"), image, "--max-cycles", "50"], cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )
    assert (done.returncode, done.stderr) == (4, "not ended after 50 cycles\n")
