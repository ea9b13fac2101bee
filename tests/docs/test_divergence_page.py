"""The program and the commands of docs/divergence.md: they print what the page says that they print."""

import re
import shlex
from pathlib import Path

import pytest

from metronome.scripts.cli import main
from tests.docs.pages import ROOT
from tests.support.builds import on

PAGE = (ROOT / "docs" / "divergence.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
(PROGRAM,) = [block for language, block in BLOCKS if language == "c"]
(SHOWN,) = [block for _, block in BLOCKS if "# added" in block]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("steps.c").write_text(PROGRAM)

    def call(line):
        assert line in PAGE, line
        status = main(shlex.split(line)[1:])
        streams = capsys.readouterr()
        assert status == 0, streams.err
        return streams

    return call


@on("TINY")
@pytest.mark.slow
def test_what_the_program_prints(run):
    (result,) = re.findall(r"prints `([\d ]+)`", PAGE)
    assert run("metronome run steps.c --preset TINY --check").err.startswith(f"{result} \n")


def test_the_code_that_is_shown(run):
    assert f"\n{SHOWN}" in run("metronome build steps.c --show-simt").out


@pytest.mark.parametrize("by_hand", ["diverge", "psum"])
def test_the_kernels_written_by_hand(by_hand):
    folder = ROOT / "tests" / "riscv_kernels" / "by_hand" / by_hand
    assert "SIMT_IF" in (folder / "kernel.c").read_text()
    assert "SIMT_IF" not in (ROOT / "riscv_kernels" / by_hand / "kernel.c").read_text()
