"""Functions, variables and kernels may have any name: of a register, of an instruction, in another script."""

import re

import pytest

from metronome.sim.program.compiler.clang import ToolchainError
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.opencl import OpenClUnit
from tests.support.tiers import more_but, some_more

REGISTERS = [
    "zero", "ra", "sp", "gp", "tp", "fp", "pc", *(f"x{n}" for n in range(32)), *(f"f{n}" for n in range(32)),
    *(f"{kind}{n}" for kind, count in (("t", 7), ("s", 12), ("a", 8), ("ft", 12), ("fs", 12), ("fa", 8))
      for n in range(count)),
]
OTHERS = (
    "add li la mv j ret call tail nop csrr lw beq fence word text data bss globl set section macro endm option align "
    "byte hi lo pcrel_hi rne rtz dyn cycle mscratch mhartid größe π Ωmega naïve x$y $z L0 Ltmp0 func_end0 BB0_1 APP "
    "bar split"
).split()
NAMES = [*REGISTERS, *OTHERS]
#: Each function reads through a pointer and calls the next one; each has its address in a table, and a variable.
PROGRAM = """
#include "metronome.h"
{declared}
int (*const table[])(int, int) = {{ {table} }};
int *const places[] = {{ {places} }};
{defined}
static void work(const void *argument) {{ *(int *)argument = {first}(1, (int)blockIdx.x) + *places[blockIdx.x]; }}
int main(void)
{{
    uint32_t count = 4;
    int result;
    spawn_threads(1, &count, 0, work, &result);
    return table[result](1, 2);
}}
"""
FUNCTION = """{kind} int {name}(int n, int lane)
{{
    if (lane > n) {{ {variable} += n; return {following}(n + lane, lane / 2); }}
    return {variable};
}}"""


def text_of(source):
    """The machine code of a program, and its symbols."""
    image = load_elf(build_elf([source], name="names", flags=["-g0"]))
    return [bytes(segment.data) for segment in image.segments], image


def program(names, variables, kind):
    declared = [*(f"{kind} int {name}(int, int);" for name in names), *(f"extern int {other};" for other in variables)]
    defined = [f"int {other} = {k};" for k, other in enumerate(variables)]
    defined += [
        FUNCTION.format(kind=kind, name=name, variable=other, following=names[(k + 1) % len(names)])
        for k, (name, other) in enumerate(zip(names, variables, strict=True))
    ]
    return PROGRAM.format(declared="\n".join(declared), defined="\n".join(defined), table=", ".join(names),
                          first=names[0], places=", ".join(f"&{each}" for each in variables))


@pytest.mark.more
@pytest.mark.parametrize(("kind", "swapped"), more_but([("", False), ("static", True)], [("static", True)]))
def test_a_program_has_the_code_that_it_has_with_plain_names(tmp_path, kind, swapped):
    """Half of the names are functions, half are variables."""
    half = len(NAMES) // 2
    parts = NAMES[:half], NAMES[half : 2 * half]
    names, variables = parts[::-1] if swapped else parts
    source = tmp_path / "names.c"
    source.write_text(program([f"function_{k}" for k in range(half)], [f"variable_{k}" for k in range(half)], kind))
    plain, _ = text_of(source)
    source.write_text(program(names, variables, kind))
    odd, image = text_of(source)
    assert odd == plain
    seen = set(image.symbols) | {"$z"}  # the assembler's own, in its eyes
    assert set(variables) <= seen and (kind or set(names) <= seen)


KERNEL = """
__constant int {table}[3] = {{5, 6, 7}};
int {helper}(int {argument}) {{ if ({argument} > 2) return {table}[{argument} & 1]; return 1; }}
__kernel void {kernel}(__global int *{out})
{{
    __local int {scratch}[4];
    {scratch}[get_local_id(0)] = {out}[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    {out}[get_global_id(0)] = {helper}({scratch}[get_local_id(0) ^ 1]);
}}
"""


def built(tmp_path, names):
    source = tmp_path / "names.cl"
    source.write_text(KERNEL.format(**names))
    elf = build_elf([source], name="names", parts=OpenClUnit.parts(names["kernel"]), flags=["-g0"])
    return re.sub(" *# added", " # added", elf.with_suffix(".s").read_text())


@pytest.mark.more
@pytest.mark.parametrize("first", some_more([3, 5, 0, 1, 2, 4], 1))
def test_an_opencl_kernel_too(tmp_path, first):
    odd = ["größe", "a0", "sp", "tp", "x$y", "ret"]
    roles = ["table", "helper", "argument", "kernel", "out", "scratch"]
    plain = built(tmp_path, {role: f"the_{role}" for role in roles})
    names = {role: odd[(first + k) % 6] for k, role in enumerate(roles)}
    assert "the_kernel:" in plain and "the_table" in plain
    assert built(tmp_path, names) == re.sub(f"the_({'|'.join(roles)})", lambda found: names[found[1]], plain)


def test_a_refusal_names_the_function(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("größe", "a0"):
        (tmp_path / "names.c").write_text(
            '#include "metronome.h"\nstatic void work(const void *p) {\n    (void)p;\n'
            f'    if (threadIdx.x & 1)\n        __syncthreads();\n}}\nvoid {name}(const void *p) {{\n'
            "    if (threadIdx.x)\n        __syncthreads();\n    work(p);\n}\n"
            f"int main(void) {{ uint32_t n = 1; return spawn_threads(1, &n, &n, {name}, 0); }}\n"
        )
        with pytest.raises(ToolchainError) as error:
            build_elf([tmp_path / "names.c"], name="names")
        assert re.match(rf"names\.c:\d+: in {name}: a barrier", str(error.value))
