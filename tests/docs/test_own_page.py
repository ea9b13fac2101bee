"""The commands of docs/own.md, in order, in an empty folder, as a reader types them."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from metronome.scripts.cli import main
from tests.docs.pages import ROOT
from tests.support.builds import on

PAGE = (ROOT / "docs" / "own.md").read_text("utf-8")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
KERNELS, REST = PAGE.split("\n## A warp policy\n")
POLICIES, MACHINES = REST.split("\n## A machine\n")


def commands(text):
    return [line for language, block in FENCE.findall(text) if not language for line in block.strip().split("\n")]


def give(lines, capsys):
    """Run them; what they print, by command."""
    printed = {}
    for line in lines:
        program, *words = shlex.split(line)
        if program == "python3":
            subprocess.run([sys.executable, *words], check=True, capture_output=True)
            continue
        assert program == "metronome"
        assert main(words) == 0, f"{line}\n{capsys.readouterr().err}"
        printed[line] = capsys.readouterr().out
    return printed


def write_sources():
    """Every C block, under the name that is in the sentence before it."""
    for match in re.finditer(r"This is `(\w+\.c)`:\n\n```c\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        Path(match[1]).write_text(match[2])


def test_there_is_something_to_run():
    assert len(commands(KERNELS)) >= 8 and len(commands(POLICIES)) == 6 and len(commands(MACHINES)) >= 5
    assert PAGE.count("```c\n") == PAGE.count("This is `") == 1


@pytest.mark.more
@on("TINY")
@pytest.mark.slow
def test_the_commands_about_kernels(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_sources()
    printed = give(commands(KERNELS), capsys)
    assert np.frombuffer(Path("squares.bin").read_bytes(), np.uint32).tolist() == [n * n for n in range(16)]
    assert json.loads(Path("result.json").read_text())["passed"]
    assert len(Path("out.bin").read_bytes()) == 64 * 4
    assert "./mine" in printed["metronome kernels"]


@pytest.mark.more  # `make test` has the tutorial, docs/tutorials/policy.md
def test_a_policy_is_written_tested_and_predicted(tmp_path, monkeypatch, capsys, own_policies):
    monkeypatch.chdir(tmp_path)
    printed = give(commands(POLICIES)[:3], capsys)
    said = printed["metronome predict psort --preset TINY --issue ./burst.py"]
    assert re.search(r"^policy +Burst_[0-9a-f]{8}, ", said, re.MULTILINE)


@on("TINY with a policy from a file")
@pytest.mark.more
def test_the_commands_about_policies(tmp_path, monkeypatch, capsys, own_policies):
    monkeypatch.chdir(tmp_path)
    printed = give(commands(POLICIES), capsys)
    assert "Burst_" in printed["metronome sweep psort --preset TINY --issue lrr,./burst.py"]
    assert "Burst_" in Path("burst.html").read_text()


@pytest.mark.long
def test_the_commands_about_machines(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    printed = give(["metronome new mine", *commands(MACHINES)], capsys)
    sweep = printed[commands(MACHINES)[-1]]
    assert [line.split()[0] for line in sweep.splitlines() if re.match(r"\d+ +\d+ ", line)] == ["0", "1024"]
