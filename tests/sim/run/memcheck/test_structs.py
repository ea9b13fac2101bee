"""Structures of which not all is set may be copied; that they decide something is found, in its line."""

import functools
import re
import struct

import pytest

from metronome.riscv_kernels.host import UNWRITTEN
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from tests.sim.run.memcheck.stepping import step
from tests.sim.run.memcheck.structs import program
from tests.support.builds import TINY
from tests.support.programs import built
from tests.support.tiers import some_more

OUT, WORDS = 0x1_1000, 16


@functools.cache
def cases(folder, seed, count, flags):
    text, words, bad = program(seed, count)
    flags = (*flags, "-Wno-uninitialized", "-Wno-unused-function")
    return text, words, bad, load_elf(built(folder, text, f"structs_{seed}", flags), TINY.memory_map)


def launch_of(image, number):
    arguments = struct.pack("<3I", number, TINY.harts, OUT)
    buffers = {"out": (OUT, UNWRITTEN.to_bytes(4, "little") * WORDS)}
    return Launch(name="structs", image=image, memory_map=TINY.memory_map, arguments=arguments, buffers=buffers)


def check(folder, seed, count, flags):
    """Every case of a program."""
    text, words, bad, image = cases(folder, seed, count, flags)
    for number in range(count):
        findings, _ = step(launch_of(image, number), TINY, seed=number)
        told = "\n".join(finding.describe(lambda pc: (None, image.source_line(pc))) for finding in findings)
        about = f"seed {seed}, case {number} with {flags}: {words[number]}\n{told}"
        if not bad[number]:
            assert not findings, about
            continue
        (line,) = [at for at, row in enumerate(text.splitlines(), 1) if f"/* decides-{number} */" in row]
        assert {finding.kind for finding in findings} == {"unwritten"}, about
        places = [int(re.search(r":(\d+)$", image.source_line(finding.side.pc) or ":0")[1]) for finding in findings]
        assert set(places) == {line}, about


@pytest.mark.more
@pytest.mark.parametrize("flags", some_more([(), ("-O1",)], 1), ids=["default", "O1"])
def test_copies_are_not_reported_and_decisions_are(tmp_path_factory, flags):
    check(tmp_path_factory.getbasetemp(), 1 + len(flags), 16, flags)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 35))
@pytest.mark.parametrize("flags", [("-O1",), ("-O2",), ("-O3",), ("-Os",)])
def test_copies_of_many_structures(tmp_path_factory, seed, flags):
    check(tmp_path_factory.getbasetemp(), seed, 24, flags)


PADDED = """#include "metronome.h"
typedef struct { char kind; int value; short weight; } item;
int main(void)
{
    item one, *volatile hidden = &one;
    hidden->kind = 1;
    SET hidden->value = 2;
    hidden->weight = 3;
    *(item *)((const uint32_t *)kernel_arguments())[2] = *hidden;
    return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("complete", [True, False])
def test_padding_in_what_the_host_reads(tmp_path, complete):
    """The host cannot have read it by its own type; a member that is not set is all of a word."""
    text = PADDED.replace("SET", "" if complete else "if (!hidden)")
    image = load_elf(built(tmp_path, text, "padded"), TINY.memory_map)
    findings, _ = step(launch_of(image, 0), TINY)
    assert [image.source_line(each.side.pc).rpartition(":")[2] for each in findings] == [] if complete else ["9"]
