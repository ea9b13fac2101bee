"""Functions and lines of every instruction, against those that LLVM's own reader of debug information finds."""

import shutil
import subprocess

import pytest

from metronome.hdl.presets import BASE
from metronome.sim.program.kernel_folders import KERNELS
from metronome.sim.program.kernels import prepare
from metronome.sim.program.source_lines import Frame, own_frame
from tests.support.tiers import long_but


def theirs(path, pcs):
    """Of each pc: function and line of each frame, the outermost first."""
    asked = [*map(hex, pcs)]
    text = subprocess.run(
        ["llvm-symbolizer", "--inlines", "--functions=linkage", "--output-style=LLVM", "-e", str(path), *asked],
        capture_output=True, text=True, check=True,
    ).stdout
    for answer in text.strip("\n").split("\n\n"):
        lines = answer.split("\n")
        yield [short(name, place.rpartition(":")[0]) for name, place in zip(lines[::2], lines[1::2], strict=True)][::-1]


def short(name, place):
    """Without types, without our library's prefix (C names), and without folders, of which LLVM makes absolute ones."""
    return name.partition("(")[0].removeprefix("__metronome_"), place.rpartition("/")[2]


@pytest.mark.skipif(shutil.which("llvm-symbolizer") is None, reason="there is no llvm-symbolizer: apt-get install llvm")
@pytest.mark.parametrize("kernel", long_but(KERNELS, ["psum", "blackscholes"]))
def test_llvm_finds_the_same(kernel):
    image = prepare(kernel, None, None, 1, BASE).image
    pcs = [pc for first, end, _ in image.functions for pc in range(first, end, 4)]
    answers = list(theirs(image.path, pcs))
    assert len(answers) == len(pcs) > 300
    assert [[short(*frame) for frame in image.frames_at(pc)] for pc in pcs] == answers
    assert max(map(len, answers)) > 1  # something was inlined
    for pc in pcs:
        own = own_frame(image.frames_at(pc))
        line = image.source_line(pc)
        assert own.line == line or (line is None and own.line.endswith(":0"))


def test_without_debug_information_there_is_the_function():
    image = prepare("vecadd", None, None, 1, BASE).image
    first, _, name = image.functions[0]
    stripped = type(image)(path=image.path, entry=image.entry, segments=image.segments, functions=image.functions)
    assert stripped.frames_at(first) == (Frame(name, f"{first:#010x}"),)
    assert stripped.frames_at(0) == ()
    assert own_frame(()) is None
