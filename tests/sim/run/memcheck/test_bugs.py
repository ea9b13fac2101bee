"""Each planted bug of bugs.c is found, with its line and as what it is; what is right is not reported."""

import functools
import re
import struct
from pathlib import Path

import pytest

from metronome.riscv_kernels.host import UNWRITTEN
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from metronome.sim.run.memcheck.finding import KINDS
from tests.sim.run.memcheck.stepping import step
from tests.support.builds import TINY
from tests.support.tiers import slow_then_more, some_slow

SOURCE = Path(__file__).with_name("bugs.c")
EACH = 15
#: The order of the table in bugs.c.
ORDER = ("outside", "unwritten", "stack", "race")
BUGS = [(kind, number) for kind in ORDER for number in range(1, EACH + 1)]
RIGHT = 3
WORDS = 16


@functools.cache
def image():
    # Some move the stack pointer by a variable: the pass refuses that.
    return load_elf(build_elf([SOURCE], name="bugs", flags=("-Wno-uninitialized",), simt=False), TINY.memory_map)


def launch_of(number):
    places = (0x1_1000, 0x1_2000)
    contents = (b"\x07" * 4 * WORDS, UNWRITTEN.to_bytes(4, "little") * WORDS)
    return Launch(
        name="bugs", image=image(), memory_map=TINY.memory_map,
        arguments=struct.pack("<4I", number, TINY.harts, *places),
        buffers=dict(zip(("in", "out"), zip(places, contents, strict=True), strict=True)),
    )


def line_of(kind, number):
    lines = SOURCE.read_text().splitlines()
    (line,) = [at for at, text in enumerate(lines, 1) if re.search(rf"/\* {kind}-{number} \*/", text)]
    return line


def lines(finding):
    sides = [finding.side] if finding.other is None else [finding.side, finding.other]
    return {int(image().source_line(side.pc).rsplit(":", 1)[1]) for side in sides}


def test_the_kinds():
    assert set(ORDER) == set(KINDS)


@pytest.mark.parametrize("number", slow_then_more(range(1, EACH + 1), 3, 8))
@pytest.mark.parametrize("kind", ORDER)
def test_a_planted_bug_is_found_at_its_line(kind, number):
    findings, _ = step(launch_of(BUGS.index((kind, number))), TINY, seed=number)
    told = "\n".join(finding.describe(lambda pc: (None, image().source_line(pc))) for finding in findings)
    assert findings, "nothing found"
    assert {finding.kind for finding in findings} == {kind}, told
    assert line_of(kind, number) in lines(findings[0]), told


@pytest.mark.parametrize("number", range(RIGHT))
@pytest.mark.parametrize("seed", some_slow(range(5), 1))
def test_what_is_right_is_not_reported(number, seed):
    findings, _ = step(launch_of(len(BUGS) + number), TINY, seed)
    assert not findings, findings
