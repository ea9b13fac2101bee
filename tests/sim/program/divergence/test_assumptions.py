"""What the pass takes for the same in all lanes is so, whoever calls a function and whatever is inlined into it."""

import struct
from dataclasses import replace

import pytest

from metronome.hdl.presets import BASE, TINY
from metronome.sim.machine.golden import EndStatus
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from tests.riscv_kernels.iss_runs import RESULTS, run_launch
from tests.support.tiers import some_more

COUNT = 8
ALONE = replace(TINY, warps=1, threads=1)
HEAD = """#include "metronome.h"
typedef struct {
    volatile uint32_t *out;
    uint32_t n;
} arguments;
"""
#: Branches and a loop on x.
WORK = """
    if (x & 1) {
        out[4 * x + 1] = 7;
        out[4 * x + 2] = x;
    }
    for (uint32_t i = 0; i < x; i++)
        out[4 * x] += i;
"""
THREAD = """
static void thread(const void *block)
{
    const arguments *const args = block;
    volatile uint32_t *const out = args->out;
"""
MAIN = """
int main(void)
{
    const arguments *const args = kernel_arguments();
    return spawn_threads(1, &args->n, %s, %s, args);
}
"""
BARRIER = f"""
static const uint32_t one = 1;
{THREAD}
    const uint32_t x = blockIdx.x;
    __syncthreads();
{WORK}}}
"""
ASSEMBLY = """
    .section .text.own, "ax"
    .globl own_thread
    .type own_thread, @function
own_thread:
    addi sp, sp, -16
    sw ra, 0(sp)
    mv a1, s2
    call work
    lw ra, 0(sp)
    addi sp, sp, 16
    ret
"""
PROGRAMS = {
    "a barrier in blocks of one thread": (BARRIER + MAIN % ("0", "thread"), ""),
    "a barrier in blocks that happen to have one thread": (BARRIER + MAIN % ("&one", "thread"), ""),
    "a function that assembly calls": (
        "void own_thread(const void *block);\nvoid work(const arguments *args, uint32_t x)\n{\n"
        f"    volatile uint32_t *const out = args->out;\n{WORK}}}\n" + MAIN % ("0", "own_thread"), ASSEMBLY,
    ),
    "static functions of one name in two files": (
        f"static __attribute__((noinline)) void work(volatile uint32_t *out, uint32_t x)\n{{{WORK}}}\n"
        f"{THREAD}    work(out, blockIdx.x);\n}}\n" + MAIN % ("0", "thread"),
        HEAD + "static __attribute__((noinline)) uint32_t work(uint32_t x)\n{\n    return x & 1 ? x : x / 3;\n}\n"
        "uint32_t other(uint32_t x)\n{\n    return work(x) + 1;\n}\n",
    ),
    "a function that is called by another name": (
        f"__attribute__((noinline)) void work(volatile uint32_t *out, uint32_t x)\n{{{WORK}}}\n"
        'void alias(volatile uint32_t *out, uint32_t x) __attribute__((weak, alias("work")));\n'
        f"{THREAD}    alias(out, blockIdx.x);\n}}\n" + MAIN % ("0", "thread"), "",
    ),
    "an inlined function with SIMT_ONE_BY_ONE": (
        "static volatile uint32_t total;\nstatic inline void add(uint32_t x)\n{\n"
        "    SIMT_ONE_BY_ONE {\n        total += x;\n    } SIMT_ENDONE\n}\n"
        f"{THREAD}    const uint32_t x = blockIdx.x;\n    add(x);\n{WORK}}}\n" + MAIN % ("0", "thread"), "",
    ),
}


def results(folder, c, other, config):
    (folder / "own.c").write_text(HEAD + c)
    second = folder / ("other.c" if "#include" in other else "other.S")
    second.write_text(other)
    elf = build_elf([folder / "own.c", second], name="own", flags=("-w",))
    launch = Launch(
        name="own", image=load_elf(elf, config.memory_map), memory_map=config.memory_map,
        arguments=struct.pack("<2I", RESULTS, COUNT),
    )
    run = run_launch(launch, config)
    assert run.end.fault is None, f"{launch.image.source_line(run.end.fault.pc)}: {run.end.fault}"
    assert run.end.status is EndStatus.ENDED
    return run.words(RESULTS, 4 * COUNT).reshape(-1, 4).tolist()


@pytest.mark.parametrize("name", some_more(PROGRAMS, 1))
def test_lanes_go_their_own_ways(tmp_path, name):
    c, other = PROGRAMS[name]
    expected = [[x * (x - 1) // 2, 7 * (x & 1), x * (x & 1), 0] for x in range(COUNT)]
    assert results(tmp_path, c, other, ALONE) == expected
    assert results(tmp_path, c, other, BASE) == expected


def test_a_kernel_that_main_chooses(tmp_path):
    text = HEAD
    for name, step in (("a", "i++"), ("b", "i += 2")):
        text += f"""
static void {name}(const void *block)
{{
    const arguments *const args = block;
    for (uint32_t i = 0; i < args->n; {step})
        __syncthreads();
}}
"""
    (tmp_path / "own.c").write_text(text + MAIN % ("&args->n", "args->n > 3 ? a : b"))
    assert build_elf([tmp_path / "own.c"], name="own", flags=("-w",)).exists()
