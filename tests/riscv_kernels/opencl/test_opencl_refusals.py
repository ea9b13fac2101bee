"""What cannot run is refused in one line, with its place: exit status 2, no traceback."""

from pathlib import Path

import pytest

from metronome.scripts.cli import main
from tests.riscv_kernels.opencl.runs import HOST
from tests.support.tiers import more_but, some_more

KERNEL = "__kernel void k(__global int *x, float f) { x[get_global_id(0)] = (int)f; }\n"
USUAL = "arguments=(x, 1.5), global_size=8, "

#: Name -> source, and what the line says.
SOURCES = {
    "atomic": ("__kernel void k(__global int *x) {\n atomic_inc(x);\n}", "kernel.cl:2: not supported: atomic_inc: "),
    "old atomic": ("__kernel void k(__local int *x) {\n atom_add(x, 2);\n}", "kernel.cl:2: not supported: atom_add: "),
    "image": ("\n__kernel void k(read_only image2d_t x) { }", "kernel.cl:2: not supported: image2d_t: "),
    "sampler": ("\n__kernel void k(sampler_t x) { }", "kernel.cl:2: not supported: sampler_t: "),
    "double": ("\n__kernel void k(__global double *x) { }", "kernel.cl:2: not supported: double: "),
    "vector of double": ("\n__kernel void k(__global double4 *x) { }", "kernel.cl:2: not supported: double4: "),
    "copy": (
        "__kernel void k(__local int *x, __global int *y) {\nasync_work_group_copy(x, y, 4, 0);\n}",
        "kernel.cl:2: not supported: async_work_group_copy: ",
    ),
    "half": ("\n__kernel void k(half x) { }", "kernel.cl:2: "),
    "mistake": ("\n\n__kernel void k(__global int *x) { x[0] = what; }", "kernel.cl:3: use of undeclared identifier"),
    "no kernel": ("int f(int x) { return x; }", "kernel.cl: it has no kernel"),
    "several": ("__kernel void one() { }\n__kernel void two() { }", "kernel.cl has the kernels one, two: choose one"),
    "barrier": (
        "__kernel void k(__global int *x) {\n if (x[get_global_id(0)])\n  barrier(CLK_LOCAL_MEM_FENCE);\n x[0] = 1;\n}",
        "kernel.cl:3: in k: a barrier where lanes of a warp may have diverged",
    ),
}

#: Name -> what host.py gives, and what the line says.
HOSTS = {
    "few arguments": ("arguments=(x,), global_size=8, ", "kernel 'k': it takes 2 arguments (x, f), not 1"),
    "unknown name": (
        "arguments={'x': x, 'g': 1}, global_size=8, ", "argument 'f' is missing, and it has no parameter 'g'",
    ),
    "no buffer": ("arguments=(5, 1.5), global_size=8, ", "argument 0 'x' is a __global pointer"),
    "buffer of numbers": ("arguments=(np.zeros(4), 1.5), global_size=8, ", "argument 0 'x' is a __global pointer"),
    "no number": ("arguments=(x, 'a'), global_size=8, ", "argument 1 'f' is of type float: 'a' does not fit"),
    "not divided": (USUAL + "local_size=3, ", "global_size 8 must be a multiple of local_size 3 in every dimension"),
    "large group": (USUAL + "local_size=8, ", "a work-group of 8 work-items is more than the machine has threads: 4"),
    "dimensions": (USUAL + "local_size=(2, 2), ", "local_size has 2 dimensions, and global_size has 1"),
    "four dimensions": (
        "arguments=(x, 1.5), global_size=(2, 2, 2, 2), ", "global_size must be one to three whole numbers",
    ),
    "no size": ("arguments=(x, 1.5), global_size=0, ", "global_size must be one to three whole numbers"),
    "local size 0": (USUAL + "local_size=0, ", "local_size must be one to three whole numbers"),
    "text as size": ("arguments=(x, 1.5), global_size='8', ", "global_size must be one to three whole numbers"),
    "arguments": ("arguments=7, global_size=8, ", "arguments of the OpenCl must be a tuple"),
    "options": (USUAL + "options=['-DA=1'], ", "options of the OpenCl must be a text"),
    "open quotation": (USUAL + "options='-DA=\"', ", "No closing quotation"),
    "other kernel": (USUAL + "kernel='l', ", "kernel.cl has no kernel 'l'"),
    "no field": (USUAL + "groups=3, ", "unexpected keyword argument 'groups'"),
}


@pytest.fixture
def refusal(tmp_path, monkeypatch, capsys):
    """The line that ``metronome run .`` ends with, for a source and what its host.py returns."""
    monkeypatch.chdir(tmp_path)

    def line(source, made=USUAL, *arguments):
        Path("kernel.cl").write_text(source)
        Path("host.py").write_text(HOST.replace("{made}", made))
        assert main(["run", *(arguments or (".",)), "--preset", "TINY"]) == 2
        out, err = capsys.readouterr()
        assert out == "" and "Traceback" not in err
        return err.splitlines()[0]

    return line


@pytest.mark.slow
@pytest.mark.parametrize("name", more_but(SOURCES, {"double", "several"}))
def test_a_source_that_cannot_run(refusal, name):
    source, expected = SOURCES[name]
    assert refusal(source).startswith(f"metronome: {expected}")


@pytest.mark.slow
@pytest.mark.parametrize("name", some_more(HOSTS, 1))
def test_a_host_side_that_does_not_fit(refusal, name):
    made, expected = HOSTS[name]
    assert expected in refusal(KERNEL, made)


#: Parameters of a kernel, the argument for them, and what the line says.
VALUES = (
    ("__local int *y", "3", "argument 1 'y' is a __local pointer: give Local(bytes), not 3"),
    ("__local int *y", "Local(20000)", "a work-group needs 20032 bytes of local memory, and the machine has 16384"),
    ("uchar y", "256", "argument 1 'y' is of type uchar: 256 does not fit"),
    ("int y", "1.5", "argument 1 'y' is of type int: 1.5 does not fit"),
    ("float4 y", "(1, 2, 3)", "argument 1 'y' is of type float4: give 4 numbers, not (1, 2, 3)"),
    ("float4 y", "(1, 2, 3, 'a')", "argument 1 'y' is of type float: 'a' does not fit"),
    ("s_t y", "b'abc'", "argument 1 'y' is of type s_t: give its 8 bytes (struct.pack), not b'abc'"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("parameter", "value", "expected"), more_but(VALUES, []))
def test_a_value_that_does_not_fit(refusal, parameter, value, expected):
    source = f"typedef struct {{ int a, b; }} s_t;\n__kernel void k(__global int *x, {parameter}) {{ x[0] = 1; }}\n"
    assert expected in refusal(source, f"arguments=(x, {value}), global_size=8, ")


@pytest.mark.more
def test_too_much_local_memory_of_the_kernel(refusal):
    source = KERNEL.replace("{", "{ __local int t[5000]; t[get_local_id(0)] = x[0]; barrier(1); x[1] = t[0];")
    assert "a work-group needs 20000 bytes of local memory, and the machine has 16384" in refusal(source)


@pytest.mark.more
def test_a_required_size(refusal):
    source = KERNEL.replace("void", "__attribute__((reqd_work_group_size(4, 1, 1))) void")
    assert "local_size is 2, but reqd_work_group_size is 4" in refusal(source, USUAL + "local_size=2, ")


@pytest.mark.slow
def test_what_is_named(refusal, tmp_path):
    assert "--kernel is for OpenCL C" in refusal(KERNEL, USUAL, "psort", "--kernel", "k")
    assert "kernel.cl has no kernel 'kk'" in refusal(KERNEL, USUAL, "kernel.cl", "--kernel", "kk")
    Path("other").mkdir()
    Path("other/my.cl").write_text(KERNEL)
    assert "it needs a host.py in its folder" in refusal(KERNEL, USUAL, "other/my.cl")
    assert "cannot read 'none.cl'" in refusal(KERNEL, USUAL, "none.cl")
    Path("kernel.c").write_text("int main(void) { return 0; }")
    assert "the folder has kernel.c and kernel.cl" in refusal(KERNEL)
    Path("kernel.c").unlink()
    assert "make() of an OpenCL kernel must return an OpenCl" in refusal(
        KERNEL, "**{}) if 0 else Problem(arguments=b'', "
    )
