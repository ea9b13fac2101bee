"""The runtime shares its name space with the program: names of a program's own change nothing that the runtime does."""

import io

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from metronome.hdl.presets import TINY
from metronome.sim.build.sources import ROOT
from metronome.sim.program.compiler import elf_cache as toolchain
from metronome.sim.program.compiler.clang import PASS_REGISTERS
from metronome.sim.program.kernels import build_kernel
from tests.riscv_kernels.iss_runs import RESULTS, run_program
from tests.riscv_kernels.opencl.runs import words_of
from tests.support.tiers import some_long

#: Functions of C for float: a compiler may call each of them by itself.
FLOAT = """acosf acoshf asinf asinhf atan2f atanf atanhf cbrtf ceilf copysignf cosf coshf erfcf erff exp10f exp2f expf
expm1f fabsf fdimf floorf fmaf fmaxf fminf fmodf frexpf hypotf ilogbf ldexpf lgammaf log10f log1pf log2f logbf logf
modff nearbyintf powf remainderf rintf roundf sincosf sinf sinhf sqrtf tanf tanhf tgammaf truncf""".split()


def objects():
    """The members of the library's archive."""
    archive = toolchain._library(PASS_REGISTERS).read_bytes()
    place = 8
    while place < len(archive):
        size = int(archive[place + 48:place + 58])
        content = archive[place + 60:place + 60 + size]
        if content[:4] == b"\x7fELF":
            yield content
        place += 60 + size + size % 2


def programs():
    """The runtime and the launcher of OpenCL kernels, linked."""
    saxpy = ROOT / "tests" / "riscv_kernels" / "opencl" / "kernels" / "saxpy"
    return [build_kernel(name).read_bytes() for name in ("psort", str(saxpy))]


def symbols(content):
    """(name, binding) of what a file gives to others."""
    table = ELFFile(io.BytesIO(content)).get_section_by_name(".symtab")
    return [(one.name, one["st_info"]["bind"]) for one in table.iter_symbols()
            if one["st_info"]["bind"] != "STB_LOCAL" and one["st_shndx"] != "SHN_UNDEF"]


def uses(content):
    """The names that the code of an object refers to and that another file may define."""
    file = ELFFile(io.BytesIO(content))
    table = file.get_section_by_name(".symtab")
    places = [table.get_symbol(one["r_info_sym"]) for section in file.iter_sections("SHT_RELA")
              if not section.name.startswith(".rela.debug") for one in section.iter_relocations()]
    return {one.name for one in places if one["st_info"]["bind"] != "STB_LOCAL"}


def runtime_names():
    """Names of the runtime that a program may have, too."""
    found = {name for content in [*objects(), *programs()] for name, _ in symbols(content)}
    return sorted(name for name in {*found, *FLOAT} - {"main"} if not name.startswith("_"))


@pytest.mark.slow
def test_what_a_program_may_define_is_weak():
    for content in [*objects(), *programs()]:
        for name, binding in symbols(content):
            assert name.startswith("_") or name == "main" or binding == "STB_WEAK", name


def test_the_library_calls_reserved_names_alone():
    for content in objects():
        assert not [name for name in uses(content) if not name.startswith("_")]


#: Most of these call a function of the library, by the compiler's idea of it or by ours.
BUILT_INS = (
    "pow(x, y)", "exp(x)", "floor(y)", "sqrt(x)", "tanh(y)", "fmod(y, x)", "erf(x)", "rint(y)", "cbrt(x)", "sin(y)",
    "hypot(x, y)", "fma(x, y, x)", "fmin(x, y)", "ldexp(x, 3)", "round(y)", "log10(x)", "sinh(x)", "atan2(y, x)",
)
SOURCE = """typedef struct {{ int words[40]; }} record;
{definitions}
__kernel void k(__global const float *in, __global float *out)
{{
    const float x = in[0], y = in[1];
    record a, b;
    for (int i = 0; i < 40; i++)
        a.words[i] = i + (int)x;
    b = a;
    out[0] = b.words[(int)x];
{stores}
}}
"""
#: A definition in the source, how it is used for x = 2 and y = 5.25, and the value.
KINDS = {
    "function": ("float {} (float a, float b) {{ return a + b; }}", "{}(x, y)", 7.25),
    "static function": ("static int {}(int a) {{ return 7 * a; }}", "{}(3)", 21),
    "variable": ("__constant float {} = 3;", "{}", 3),
    "array": ("__constant int {}[2] = {{4, 7}};", "{}[(int)x / 2]", 7),
}


def opencl_results(folder, definitions, calls):
    folder.mkdir()
    source = folder / "own.cl"
    stores = "\n".join(f"    out[{number}] = {call};" for number, call in enumerate(calls, 1))
    source.write_text(SOURCE.format(definitions="\n".join(definitions), stores=stores))
    given = np.array([2.0, 5.25], np.float32)
    return words_of(source, TINY, [given], 1 + len(calls), global_size=1).view(np.float32).tolist()


@pytest.mark.more
@pytest.mark.parametrize("kind", some_long(KINDS, 1))
def test_names_in_opencl(tmp_path, kind):
    """A source with a definition of its own by every name has the same results from the built-in functions."""
    names = [name for name in runtime_names() if name != "printf"]  # that is a built-in function
    assert {"powf", "memcpy", "exit", "puts"} <= {*names} and len(names) > 60
    definition, call, value = KINDS[kind]
    plain = opencl_results(tmp_path / "plain", [], BUILT_INS)
    calls = [*BUILT_INS, *map(call.format, names)]
    got = opencl_results(tmp_path / "own", [definition.format(name) for name in names], calls)
    assert got == [*plain, *[value] * len(names)]


@pytest.mark.slow
def test_names_in_c(tmp_path):
    """A C program that defines all names but two: those two work as ever, and so do its own."""
    names = [name for name in runtime_names() if name not in ("powf", "snprintf")]
    source = tmp_path / "own.c"
    source.write_text("\n".join([
        "float powf(float, float);", "int snprintf(char *, unsigned, const char *, ...);",
        *(f"int {name}(int a) {{ return a + {number}; }}" for number, name in enumerate(names)),
        "int main(void)", "{", "    int **arguments;", '    __asm__("csrr %0, 0x340" : "=r"(arguments));',
        "    int *results = *arguments;", '    snprintf((char *)results, 16, "%.3f %d", powf(2.0f, 5.0f), 12);',
        *(f"    results[{number + 4}] = {name}({number});" for number, name in enumerate(names)),
        "    return 3;", "}", "",
    ]))
    done = run_program(source, TINY)
    assert done.exit_code == 3
    assert done.memory.read(RESULTS, 10) == b"32.000 12\0"
    assert done.words(RESULTS + 16, len(names)).tolist() == [2 * number for number in range(len(names))]
