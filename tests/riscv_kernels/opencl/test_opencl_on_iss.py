"""OpenCL kernels in the style of the usual suites, each checked with numpy after a run on the golden model."""

from pathlib import Path

import pytest

from metronome.hdl.presets import BASE, MID, TINY
from metronome.sim.machine.golden import EndStatus
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.kernels import KernelError, prepare
from metronome.sim.program.opencl.local import place_locals
from metronome.sim.run.runner import RunRequest, run_many
from tests.riscv_kernels.iss_runs import run_launch
from tests.support.builds import on
from tests.support.tiers import more_but, more_then_long, some_more

FOLDER = Path(__file__).parent / "kernels"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/kernel.cl"))
#: Local memory and barriers, divergent loops, every type.
QUICK = ("bitonic",)
#: Sources with several kernels, and the ones that are not host.py's usual one.
OTHERS = {"gaussian": "multipliers", "room": "alone"}


def failures(name, config, size=None, seed=1, function=None):
    """What is wrong after a run, each line with all it takes to run it again."""
    launch = prepare(str(FOLDER / name), size=size, seed=seed, config=config, compiling=Compiling(function=function))
    run = run_launch(launch, config)
    found = launch.check(run.memory)
    if run.end.status is not EndStatus.ENDED:
        found.append(f"{run.end} at {run.end.fault and launch.image.source_line(run.end.fault.pc)}")
    if run.exit_code:
        found.append(f"exit code {run.exit_code}")
    return [f"{name} size {size} seed {seed} {config.warps}x{config.threads}: {line}" for line in found]


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


@pytest.mark.slow
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
PRINTING_HOST = """
import numpy as np
from metronome.riscv_kernels.host import Buffers
from metronome.riscv_kernels.opencl import OpenCl
ABOUT, TYPES, DEFAULT_SIZE, MAX_SIZE = "prints", ("int32",), 6, 6
def make(dtype, size, seed, config):
    buffers = Buffers(config)
    x = buffers.place("x", np.arange(10, 10 + size).astype(np.int32))
    return OpenCl(arguments=(x,), global_size=size, buffers=buffers.placed, check=lambda read: [])
"""


@on("TINY")
@pytest.mark.more
def test_a_kernel_prints(tmp_path):
    (tmp_path / "print.cl").write_text(PRINTING)
    (tmp_path / "host.py").write_text(PRINTING_HOST)
    launch = prepare(str(tmp_path / "print.cl"), config=TINY)
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
    (tmp_path / "print.cl").write_text(VECTORS)
    (tmp_path / "host.py").write_text(PRINTING_HOST)
    launch = prepare(str(tmp_path / "print.cl"), size=1, config=TINY, warn=lambda text: pytest.fail(text))
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
    (tmp_path / "print.cl").write_text(LEADER)
    (tmp_path / "host.py").write_text(PRINTING_HOST)
    prepare(str(tmp_path / "print.cl"), size=1, config=TINY, warn=lambda text: pytest.fail(text))


def test_without_the_pass_there_is_no_kernel(tmp_path):
    (tmp_path / "print.cl").write_text(PRINTING)
    (tmp_path / "host.py").write_text(PRINTING_HOST)
    with pytest.raises(KernelError, match=r"print\.cl: --no-simt is for C"):
        prepare(str(tmp_path / "print.cl"), config=TINY, compiling=Compiling(simt=False))


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
