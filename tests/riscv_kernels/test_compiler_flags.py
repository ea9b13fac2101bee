"""Flags of the user's: obeyed for C and OpenCL alike, or refused in one line."""

from pathlib import Path

import pytest

from metronome.scripts.cli import main
from metronome.sim.program.compiler.elf_cache import ToolchainError, build_elf
from metronome.sim.program.compiler.options import split_flags
from metronome.sim.program.opencl import OpenClUnit
from tests.riscv_kernels.opencl.runs import MADE
from tests.support.tiers import more_then_long, some_more

KERNEL = """
__attribute__((noinline)) float helper(__global const float *in, int n, int flag)
{
    float s = 0.0f;
    for (int j = 0; j < n; j++)
        if (flag)
            s += in[j] * 5.0f;
        else
            s = (s - in[j] * (float)j) / 3.0f;
    return s;
}
__kernel void flagged(__global const float *in, __global float *out, int n, int flag)
{
    out[get_global_id(0)] = helper(in, n, flag);
}
"""
PROGRAM = """
volatile float in[9], out; volatile int n, flag;
int main(void)
{
    float s = 0.0f;
    for (int j = 0; j < n; j++)
        if (flag)
            s += in[j] * 5.0f;
        else
            s = (s - in[j] * (float)j) / 3.0f;
    out = s;
    return 0;
}
"""
#: Each makes other code of the kernel than -O2 does.
OTHER_CODE = ("-O0", "-O3", "-O3 -funroll-loops", "-Os", "-Oz", "-ffast-math", "-ffp-contract=off",
              "-mtune=sifive-7-series", "-cl-opt-disable", "-cl-fast-relaxed-math")
#: A flag that makes no program, or a wrong one, and a word of the reason.
REFUSED = {
    "-E": "something other", "-S": "something other", "-c": "something other", "-M": "something other",
    "-fsyntax-only": "something other", "-emit-llvm": "something other", "-flto": "something other",
    "-o x": "something other", "-ox": "something other", "-x c": "something other", "--version": "something other",
    "-save-temps": "something other", "-gsplit-dwarf": "something other", "--coverage": "runtime",
    "-fsanitize=undefined": "runtime", "-fstack-protector-all": "runtime", "-finstrument-functions": "runtime",
    "-fprofile-generate": "runtime", "-pg": "runtime", "-march=rv32im": "other registers",
    "-march=rv32im_zfinx": "other registers", "-mabi=ilp32": "other registers", "--target=x86_64": "other registers",
    "-fno-omit-frame-pointer": "--no-simt", "-include": "value is missing", "-O1 -D": "value is missing",
}
#: What clang refuses itself.
NO_FLAGS = {"-fno-such": "-fno-such", "-include none.h": "none.h", "-D2=3": "macro name",
            "-Wunused -Werror -Wfoo": "-Wfoo"}


def code(folder, suffix, flags):
    """The assembly of the user's source."""
    source = folder / f"flagged{suffix}"
    source.write_text(KERNEL if suffix == ".cl" else PROGRAM)
    parts = None if suffix == ".c" else OpenClUnit.parts(None)
    elf = build_elf([source], name="flagged", flags=split_flags(flags), parts=parts)
    return [line for line in elf.with_suffix(".s").read_text().splitlines() if not line.startswith("    #")]


@pytest.mark.more
@pytest.mark.parametrize("flag", more_then_long(OTHER_CODE, 1, 4))
def test_opencl_obeys_a_flag(tmp_path, flag):
    assert code(tmp_path, ".cl", flag) != code(tmp_path, ".cl", "-O1" if flag == "-O3" else "-O2")


@pytest.mark.slow
def test_c_obeys_flags(tmp_path):
    usual = code(tmp_path, ".c", "-O2")
    assert [flag for flag in ("-O0", "-Os", "-ffast-math") if code(tmp_path, ".c", flag) == usual] == []


@pytest.mark.parametrize("suffix", [".c", ".cl"])
def test_a_flag_that_cannot_be(tmp_path, suffix):
    for flags, reason in REFUSED.items():
        with pytest.raises(ToolchainError) as error:
            code(tmp_path, suffix, flags)
        first, *others = str(error.value).splitlines()
        assert others == [] and reason in first and any(f" {flag}: " in first for flag in flags.split())


def test_flags_that_look_like_those(tmp_path):
    """They are values, or only begin so."""
    code(tmp_path, ".c", "-D E=-E -mllvm -align-all-nofallthru-blocks=2 -fsanitize=undefined -fsanitize-trap=all -w")
    code(tmp_path, ".c", "-march=rv32imf_zicsr_zicond -mabi=ilp32f -Wno-unused")


@pytest.mark.slow
@pytest.mark.parametrize("name", some_more(["flagged.c", "kernel.cl"], 1))
def test_what_the_compiler_refuses(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    Path("kernel.cl").write_text("__kernel void k(__global int *x) { x[0] = 1; }\n")
    Path("host.py").write_text(MADE)
    Path("flagged.c").write_text("int main(void) { return 0; }\n")
    for flags, part in {**NO_FLAGS, "-E": "-E: it makes the compiler write something other than a program"}.items():
        assert main(["run", name, "--preset", "TINY", "--cflags", flags]) == 2
        out, err = capsys.readouterr()
        assert out == "" and part in err.splitlines()[0] and "Traceback" not in err
    include = Path("below")
    include.mkdir()
    (include / "here.h").write_text("#define HERE 3\n")
    assert main(["build", name, "-o", "x.elf", "--cflags", "-I below -include here.h -UHERE -DHERE=4 -w"]) == 0
