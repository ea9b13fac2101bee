"""OpenCL kernels in the style of the usual suites, each checked with numpy after a run on the golden model."""

from pathlib import Path

import pytest

from metronome.hdl.presets import BASE, MID, TINY
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.kernels import KernelError, prepare
from metronome.sim.program.opencl.local import place_locals
from metronome.sim.run.runner import RunRequest, run_many
from tests.riscv_kernels import iss_runs
from tests.riscv_kernels.opencl.runs import MADE
from tests.support.builds import on
from tests.support.tiers import more_but, more_then_long, some_more

FOLDER = Path(__file__).parent / "kernels"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/kernel.cl"))
#: Local memory and barriers, divergent loops, every type.
QUICK = ("bitonic",)
#: Sources with several kernels, and the ones that are not host.py's usual one.
OTHERS = {"gaussian": "multipliers", "room": "alone"}


def failures(name, config, size=None, seed=1, function=None):
    launch = prepare(str(FOLDER / name), size=size, seed=seed, config=config, compiling=Compiling(function=function))
    return iss_runs.failures(launch, config, f"{name} size {size} seed {seed}")


def test_there_are_kernels():
    assert len(NAMES) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("name", more_but(NAMES, QUICK))
def test_kernel_passes(name):
    assert failures(name, TINY) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", more_then_long(NAMES, 1, 6))
def test_kernel_passes_on_larger_machines(name):
    for config in (BASE, MID):
        assert failures(name, config, seed=2) == []


@pytest.mark.more
@pytest.mark.parametrize("name", more_then_long(NAMES, 2, 8))
def test_kernel_passes_with_other_sizes(name):
    for size in (3, 13):
        assert failures(name, BASE, size, seed=3) == []


@pytest.mark.more
@pytest.mark.parametrize("name", some_more(OTHERS, 1))
def test_the_other_kernel_of_a_source(name):
    assert failures(name, BASE, function=OTHERS[name]) == []


PRINTING = """
__kernel void print(__global const int *x)
{
    const int i = get_global_id(0);
    if (i & 1)
        printf("%d: %.2f %ld %s\\n", x[i], 0.5f * i, (long)i << 33, "odd");
}
"""


def printing(folder, text, **more):
    """A kernel of its own in ``folder``, prepared."""
    (folder / "print.cl").write_text(text)
    (folder / "host.py").write_text(MADE)
    return prepare(str(folder / "print.cl"), config=TINY, **more)


@on("TINY")
@pytest.mark.more
def test_a_kernel_prints(tmp_path):
    launch = printing(tmp_path, PRINTING)
    (result,) = run_many(TINY, [RunRequest(launch=launch, policy="lrr", check=True)])
    lines = [f"{10 + i}: {0.5 * i:.2f} {i << 33} odd" for i in (1, 3, 5)]
    assert sorted(result.console.splitlines()) == lines


VECTORS = """
__kernel void print(__global const int *x)
{
    const int i = x[0];
    printf("%v4d|%v2hlu|%v3hd|%v16hhd|%d\\n", (int4)(i, -1, 2, 3), (uint2)(i, 7u), (short3)(-3, 4, 5), (char16)(i), 5);
    printf("%v4hlf|%5.1v8hlf|%v2lx|%s\\n", (float4)(i, -1.5f, 2, 3), (float8)(1.25f), (ulong2)(1UL << 40, 3), "end");
    printf("%v4hhx|%v2hd|%04v8d|%v2ld\\n", (uchar4)(255, 1, 2, 3), (short2)(-1, 6), (int8)(i), (long2)(-1L << 33, 5));
}
"""
LINES = [
    "10,-1,2,3|10,7|-3,4,5|" + ",".join(["10"] * 16) + "|5",
    "10.000000,-1.500000,2.000000,3.000000|" + ",".join(["  1.2"] * 8) + "|10000000000,3|end",
    "ff,1,2,3|-1,6|" + ",".join(["0010"] * 8) + "|-8589934592,5",
]


@on("TINY")
@pytest.mark.more
def test_a_kernel_prints_vectors(tmp_path):
    launch = printing(tmp_path, VECTORS, size=1, warn=lambda text: pytest.fail(text))
    (result,) = run_many(TINY, [RunRequest(launch=launch, policy="lrr", check=True)])
    assert result.console.splitlines() == LINES


LEADER = """__kernel void k(__global int *out)
{
    __local int best;
    if (get_local_id(0) == 0)
        best = 7;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = best;
}
"""


@pytest.mark.more
def test_what_another_work_item_sets_is_no_warning(tmp_path):
    printing(tmp_path, LEADER, size=1, warn=lambda text: pytest.fail(text))


def test_without_the_pass_there_is_no_kernel(tmp_path):
    with pytest.raises(KernelError, match=r"print\.cl: --no-simt is for C"):
        printing(tmp_path, PRINTING, compiling=Compiling(simt=False))


def test_one_array_for_each_local_variable():
    """Offsets follow the alignment, and what is no variable of that kind stays."""
    text = "\n".join([
        "\tlui\ta0, %tprel_hi(k.a+4)", "\tadd\ta0, a0, tp, %tprel_add(k.a+4)", "\tlw\ta1, %tprel_lo(k.a+4)(a0)",
        '\t.section\t.tbss,"awT",@nobits', "k.a:", "\t.zero\t6", "\t.size\tk.a, 6", "\t.p2align\t5, 0x0", "k.b:",
        "\t.zero\t4", "\t.size\tk.b, 4", "\t.data", "other:", "\t.word\t1",
    ])
    lines = place_locals(text, pointers=False).split("\n")
    assert lines[:3] == ["\tlui\ta0, %hi(k.a+4)", "\tadd\ta0, a0, tp", "\tlw\ta1, %lo(k.a+4)(a0)"]
    assert [line for line in lines if ".set" in line] == ["\t.set\tk.a, 0", "\t.set\tk.b, 32"]
    assert "other:" in lines and "\t.word\t36, 32, 1" in lines
