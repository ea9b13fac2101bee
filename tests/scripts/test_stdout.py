"""Standard output that cannot be written: one line or silence, and never a traceback, at exit neither."""

import subprocess
import sys

import pytest

from metronome.sim.build.sources import ROOT

#: What is printed by rich, by print and by typer.
COMMANDS = [("kernels",), ("kernels", "--json", "-"), ("--help",)]


def and_much(mark):
    """Also a command that writes more than a pipe holds, which takes seconds."""
    return pytest.mark.parametrize(
        "arguments", [*COMMANDS, pytest.param(("verilog", "--preset", "TINY"), marks=mark)], ids=" ".join,
    )


def metronome(arguments, redirection):
    """The command line as a process of its own, under a shell that redirects."""
    command = f'"$0" -m metronome.scripts.cli "$@" {redirection}'
    return subprocess.run(
        ["bash", "-c", command, sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False,
    )


@and_much(pytest.mark.long)
def test_a_full_disk_is_one_line_and_status_2(arguments):
    done = metronome(arguments, ">/dev/full")
    assert done.returncode == 2
    assert done.stderr == "metronome: cannot write to standard output: No space left on device\n"


@and_much(pytest.mark.slow)
@pytest.mark.slow
def test_a_closed_standard_output_is_one_line_and_status_2(arguments):
    done = metronome(arguments, ">&-")
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert line.startswith("metronome: standard output is closed")


@and_much(pytest.mark.long)
@pytest.mark.slow
def test_a_reader_that_has_gone_is_silence_and_status_141(arguments):
    done = metronome(arguments, "| :; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stderr) == (141, "")
