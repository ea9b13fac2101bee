"""Objects that the threads of a group share, against optimisation: local memory, and ``static`` objects of C."""

import numpy as np
import pytest

from metronome.hdl.presets import BASE
from metronome.riscv_kernels.host import Buffers
from metronome.riscv_kernels.opencl import Local
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from tests.riscv_kernels.iss_runs import finished
from tests.riscv_kernels.opencl.local_shapes import FUNCTIONS, SHAPES, body, expected
from tests.riscv_kernels.opencl.runs import words_of
from tests.support.tiers import more_but

LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os", "-Oz")
#: Two warps of a group, and two groups.
GROUP, GROUPS = 7, 2
OPENCL = """
#define WAIT barrier(CLK_LOCAL_MEM_FENCE)
#define IF(c, ...) if (c) { __VA_ARGS__ }
#define LOCAL __local
#define LOCAL_POINTER __local
"""
#: With the same names, and objects of its own, which are not to take room in the other's group.
OTHER = """
__kernel void other(__global int *out)
{
    __local int x0_, large[4000];
    large[get_local_id(0)] = x0_ = 3;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = x0_ + large[0];
}
"""
KERNEL = """
__kernel void shared(__global const int *in, __global int *all, __local int *passed)
{{
    {declarations}
    const int l = get_local_id(0), n = get_local_size(0), v = in[get_global_id(0)];
    __global int *const out = all + get_group_id(0) * n * {shapes};
    {statements}
}}
"""
#: As the shapes, with an object whose address the kernel is given.
PASSED = """{
    passed[0] = 0; WAIT; if (l == n - 1) passed[0] = v; WAIT; const int first = passed[0];
    passed[1] = 5; WAIT; if (l == 0) passed[1] = first; WAIT; out[n * %d + l] = passed[1];
}"""
PLAIN = """
#include "metronome.h"
#define WAIT __syncthreads()
#define LOCAL static
#define LOCAL_POINTER
typedef unsigned char uchar;
typedef unsigned long long ulong;
"""
BY_THE_PASS = "#define IF(c, ...) if (c) { __VA_ARGS__ }\n"
BY_HAND = "#define IF(c, ...) SIMT_IF(c) { __VA_ARGS__ } SIMT_ENDIF\n"
THREADS = """
typedef struct {{ const int *in; int *out; uint32_t n; }} arguments;
static void shared(const void *block)
{{
    {declarations}
    const arguments *const args = block;
    const int l = threadIdx.x, n = blockDim.x, v = args->in[l];
    int *const out = args->out;
    {statements}
}}
int main(void)
{{
    const arguments *const args = kernel_arguments();
    const uint32_t one = 1;
    return spawn_threads(1, &one, &args->n, shared, args);
}}
"""


def differences(names, found, wanted):
    rows = zip(names, np.reshape(found, (-1, GROUP)).tolist(), np.reshape(wanted, (-1, GROUP)).tolist(), strict=True)
    return [f"{name}: {got}, not {want}" for name, got, want in rows if got != want]


def on_opencl(folder, names, flags):
    """Both groups' mistakes, one line each."""
    declarations, statements = body(names)
    statements += PASSED % len(names)
    source = folder / "shapes.cl"
    text = KERNEL.format(declarations=declarations, statements=statements, shapes=len(names) + 1)
    source.write_text(OPENCL + FUNCTIONS + OTHER + text)
    values = np.arange(10, 10 + GROUP * GROUPS, dtype=np.int32)
    found = words_of(source, BASE, [values], GROUPS * (len(names) + 1) * GROUP, Local(8), flags=flags, kernel="shared",
                     global_size=GROUP * GROUPS, local_size=GROUP).view(np.int32)
    wanted = [one for group in values.reshape(GROUPS, GROUP).tolist()
              for one in [*expected(names, group), *[group[-1]] * GROUP]]
    return differences([*names, "a pointer that is an argument"] * GROUPS, found, wanted)


def on_plain_c(folder, names, flags, simt):
    """The mistakes, one line each."""
    declarations, statements = body(names)
    source = folder / "shapes.c"
    way = BY_THE_PASS if simt else BY_HAND
    source.write_text(PLAIN + way + FUNCTIONS + THREADS.format(declarations=declarations, statements=statements))
    values = np.arange(10, 10 + GROUP, dtype=np.int32)
    buffers = Buffers(BASE)
    places = [buffers.place("in", values), buffers.place_output("out", len(names) * GROUP)]
    image = load_elf(build_elf([source], name="shapes", flags=flags, simt=simt, memory_map=BASE.memory_map))
    run = finished(Launch(
        name="shapes", image=image, memory_map=BASE.memory_map, buffers=buffers.placed,
        arguments=np.array([*places, GROUP], np.uint32).tobytes(),
    ), BASE)
    return differences(names, run.words(places[1], len(names) * GROUP).view(np.int32), expected(names, values.tolist()))


#: Barriers at -O0 are refused (docs/divergence.md).
SEEN = LEVELS[1:]


@pytest.mark.slow
@pytest.mark.parametrize("level", more_but(SEEN, ("-O2",)))
def test_local_memory_is_shared(tmp_path, level):
    assert on_opencl(tmp_path, list(SHAPES), (level,)) == []


@pytest.mark.long
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("level", SEEN)
def test_local_memory_of_one_shape(tmp_path, name, level):
    """Alone, the kernel has fewer functions, and another order of passes is of use to it."""
    assert on_opencl(tmp_path, [name], (level,)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("level", "simt"), more_but(
    [(level, simt) for simt in (True, False) for level in (SEEN if simt else LEVELS)], (("-O2", True),),
))
def test_static_objects_are_shared(tmp_path, level, simt):
    assert on_plain_c(tmp_path, list(SHAPES), (level,), simt) == []


@pytest.mark.long
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("simt", [True, False])
def test_static_objects_of_one_shape(tmp_path, name, simt):
    assert on_plain_c(tmp_path, [name], ("-O2",), simt) == []


WHOLE_PROGRAM = """
__global int whole, digits = 3;
static __global int part[2];
__kernel void shared(__global const int *in, __global int *out)
{
    const int l = get_local_id(0), n = get_local_size(0);
    whole = part[1] = 0;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (l == n - 1) {
        whole = in[l];
        part[1] = digits;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[l] = whole + part[1];
}
"""


@pytest.mark.more
def test_a_variable_of_the_whole_program(tmp_path):
    """OpenCL C 1.2 has none; 2.0 may be asked for."""
    source = tmp_path / "whole.cl"
    source.write_text(WHOLE_PROGRAM)
    values = np.arange(10, 10 + GROUP, dtype=np.int32)
    words = words_of(source, BASE, [values], GROUP, flags=("-cl-std=CL2.0",), global_size=GROUP, local_size=GROUP)
    assert words.tolist() == [values[-1] + 3] * GROUP
