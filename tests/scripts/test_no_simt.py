"""`--no-simt` and `build --show-simt`, on the real compiler and machine."""

import json

import numpy as np
import pytest
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from tests.support.builds import on

PROGRAM = """\
#include "metronome.h"

static volatile uint32_t seen[4];

static void thread(const void *nothing)
{
    (void)nothing;
    if (blockIdx.x & 1)
        seen[blockIdx.x] = 1;
}

int main(void)
{
    const uint32_t n = 4;
    return spawn_threads(1, &n, 0, thread, 0);
}
"""


def splits(elf):
    """How many instructions of it are a split."""
    with elf.open("rb") as file:
        code = [each.data() for each in ELFFile(file).iter_sections() if each["sh_flags"] & SH_FLAGS.SHF_EXECINSTR]
    assert code
    words = np.frombuffer(b"".join(code), np.uint32)
    return int(((words & 0xFE00_707F) == 0x200B).sum())


@pytest.fixture
def call(call, tmp_path):
    """The command line in a folder with odd.c."""
    (tmp_path / "odd.c").write_text(PROGRAM)
    return call


@on("TINY")
@pytest.mark.slow
def test_a_branch_is_right_with_the_pass_and_a_fault_without(call):
    machine = ("--preset", "TINY", "--max-cycles", "5000")
    assert call("run", "odd.c", *machine, "--check")[0] == 0
    status, _, errors = call("run", "odd.c", *machine, "--no-simt")
    assert status == 3 and "divergent branch" in errors and "odd.c:8" in errors
    assert len(errors.strip().splitlines()) == 1


def test_what_was_added_is_shown(call):
    status, shown, _ = call("build", "odd.c", "--show-simt")
    assert status == 0
    lines = shown.splitlines()
    thread = lines[lines.index("thread:") : lines.index("main:")] if lines.index("thread:") < lines.index("main:") \
        else lines[lines.index("thread:") :]
    assert sum("# added: split" in line for line in thread) == 1
    assert sum("# added: join" in line for line in thread) == 1
    assert "    # odd.c:8" in thread
    assert not any("# added" in line for line in lines if line not in thread)


def test_without_the_pass_nothing_is_added(call, tmp_path):
    for name, options in (("with", ()), ("without", ("--no-simt",))):
        assert call("build", "odd.c", "-o", f"{name}.elf", *options)[0] == 0
    assert splits(tmp_path / "with.elf") > 0 == splits(tmp_path / "without.elf")


@pytest.mark.parametrize(("words", "problem"), [
    (("build", "odd.c", "--show-simt", "--no-simt"), ("--show-simt and --no-simt cannot be used together: leave one "
                                                     "out")),
    (("build", "odd.c", "--show-simt", "--json", "-"), ("--show-simt and --json - cannot be used together: leave one "
                                                       "out")),
    (("run", "odd.elf", "--no-simt"), "--no-simt is for a program that is compiled: a kernel or a .c file"),
])
def test_options_that_do_not_fit(call, words, problem):
    assert call("build", "odd.c")[0] == 0
    status, output, errors = call(*words)
    assert (status, output, errors.strip()) == (2, "", f"metronome: {problem}")


def test_assembly_alone_has_nothing_to_show(call, tmp_path):
    (tmp_path / "end.S").write_text(".globl main\nmain:\n    li a0, 0\n    ret\n")
    status, shown, _ = call("build", "end.S", "--show-simt", "--json", "end.json")
    assert status == 0 and "nothing is added to assembly" in shown
    assert json.loads((tmp_path / "end.json").read_text())["bytes"] > 0
