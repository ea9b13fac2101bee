"""The sources and commands of docs/opencl.md, in order, in an empty folder, as a reader types them."""

import re
import shlex
from pathlib import Path

import pytest

from metronome.scripts.cli import main
from tests.docs.pages import ROOT
from tests.support.builds import on

PAGE = (ROOT / "docs" / "opencl.md").read_text("utf-8")
SOURCES = re.findall(r"This is `([\w.]+)`:\n\n```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for language, block in BLOCKS if not language
            for line in block.strip().split("\n") if line.startswith("metronome ")]


def test_there_is_something_to_run():
    assert [name for name, _ in SOURCES] == ["smooth.cl", "host.py"]
    assert len(COMMANDS) == 3


@on("TINY")
@pytest.mark.slow
def test_the_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, text in SOURCES:
        Path(name).write_text(text)
    for line in COMMANDS:
        assert main(shlex.split(line)[1:]) == 0, f"{line}\n{capsys.readouterr().err}"
    assert len(Path("out.bin").read_bytes()) == 100 * 4
    assert Path("twice.elf").read_bytes()[:4] == b"\x7fELF"
