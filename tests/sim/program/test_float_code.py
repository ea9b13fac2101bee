"""Programs with float instructions, refused by name for a machine without FPU."""

from dataclasses import replace

import pytest

from metronome.hdl.presets import TINY
from metronome.sim.machine.golden.decode import decode
from metronome.sim.program.assembler import asm
from metronome.sim.program.elf import ElfImage, ImageError, Segment
from metronome.sim.program.float_code import float_instruction, needs_fpu
from metronome.sim.program.kernels import KernelError, prepare, prepare_source

CONFIG = replace(TINY, fpu=False)


def image(tmp_path, *words, functions):
    data = b"".join(word.to_bytes(4, "little") for word in words)
    return ElfImage(path=tmp_path / "a.elf", entry=0x8000_0000, segments=(Segment(0x8000_0000, data, len(data)),),
                    functions=functions)


def test_only_code_of_functions_is_searched(tmp_path):
    data, fadd = 0x0000_0053, asm.fadd_s(1, 2, 3)
    words = (asm.addi(1, 0, 1), data, asm.addi(1, 0, 1), fadd)
    first, second = (0x8000_0000, 0x8000_0004, "f"), (0x8000_0008, 0x8000_0010, "g")
    assert needs_fpu(image(tmp_path, *words, functions=(first,))) is None
    assert needs_fpu(image(tmp_path, *words, functions=(first, second))) == "fadd.s at 0x8000000c in g"
    assert needs_fpu(image(tmp_path, *words, functions=())) is None


@pytest.mark.parametrize(("word", "name"), [
    (asm.flw(1, 0, 2), "flw"), (asm.csrr(1, 3), "csrrs"), (asm.csrr(1, 0xB00), None), (asm.addi(1, 2, 3), None),
    (asm.fmv_x_w(1, 2), "fmv.x.w"), (0, None),
])
def test_what_needs_an_fpu(word, name):
    assert float_instruction(word) == name


def test_the_golden_model_decodes_both_machines_side_by_side():
    word = asm.fadd_s(1, 2, 3)
    assert (decode(word).name, decode(word, fpu=False).name, decode(word).name) == ("fadd.s", "illegal", "fadd.s")
    assert decode(asm.addi(1, 0, 1), fpu=False).name == "addi"


@pytest.mark.slow
def test_a_kernel_is_refused_by_its_first_float_instruction():
    with pytest.raises(KernelError) as info:
        prepare("saxpy", "float32", config=CONFIG)
    text = str(info.value)
    assert text.startswith("saxpy: this machine has no FPU (fpu=false), and the program has f")
    assert " at 0x8000" in text and "kernel.c:" in text and "\n" not in text
    prepare("saxpy", "int32", config=CONFIG)
    prepare("saxpy", "float32", config=TINY)


@pytest.mark.slow
def test_a_source_is_refused_too(tmp_path):
    source = tmp_path / "half.c"
    source.write_text("volatile float x = 1; int main(void) { x = x * 0.5f; return 0; }\n")
    with pytest.raises(ImageError, match=r"half\.c: this machine has no FPU .*half\.c:1\)"):
        prepare_source(source, config=CONFIG)
