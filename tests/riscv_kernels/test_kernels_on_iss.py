"""Every kernel, checked with numpy after a run on the golden model."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from metronome.hdl.presets import BASE, MID, PAPER, PRESETS, TINY
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.kernels import KERNELS, KernelError, kernels, load_into, prepare
from tests.riscv_kernels import iss_runs
from tests.riscv_kernels.iss_runs import run_launch
from tests.support.tiers import some_more

CASES = [(info.name, dtype) for info in kernels() for dtype in info.types]
#: 1, fewer than a warp, no multiple of anything, and more than one round on the small machines.
SIZES = (1, 3, 21, 31)
#: The same for kernels whose work grows faster than the size, or is much for each element.
SMALL_SIZES = {"hotspot3d": (1, 2, 3, 5)} | dict.fromkeys(
    ("conv3", "sfilter", "hotspot", "kmeans", "conv_rows", "conv_columns", "gaussian", "nw", "srad"), (1, 3, 7, 9)
)
#: Machines whose sizes are no powers of two, or as small as they get.
ODD = [replace(BASE, warps=warps, threads=threads) for warps, threads in ((1, 1), (1, 4), (3, 4), (5, 8), (7, 1))]


def failures(name, dtype, size, seed, config):
    launch = prepare(name, dtype, size, seed, config)
    return iss_runs.failures(launch, config, f"{name} {dtype} size {size} seed {seed}")


def presets():
    """Each kernel on TINY, every other one in its first type quickly; on PAPER in `make test-more`."""
    firsts = {info.name: info.types[0] for info in kernels()}
    for preset, (name, dtype) in itertools.product(PRESETS, CASES):
        if dtype == "float32" and not PRESETS[preset].fpu:
            continue
        marks = [pytest.mark.more if preset == "PAPER" else pytest.mark.long]
        if preset == "TINY":
            marks = [pytest.mark.slow] * (dtype != firsts[name] or list(firsts).index(name) % 2)
        yield pytest.param(name, dtype, preset, marks=marks)


@pytest.mark.parametrize(("name", "dtype", "preset"), list(presets()))
def test_kernel_passes(name, dtype, preset):
    config = PRESETS[preset]
    for seed, size in enumerate(SMALL_SIZES.get(name, SIZES), 1):
        assert failures(name, dtype, size, seed, config) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype"), CASES)
@pytest.mark.parametrize("machines", some_more([ODD[2:3], ODD], 1), ids=["3x4", "all"])
def test_kernel_passes_on_odd_machines(name, dtype, machines):
    size = SMALL_SIZES[name][-1] if name in SMALL_SIZES else 17
    for config in machines:
        assert failures(name, dtype, size, 5, config) == []


@pytest.mark.more
@pytest.mark.parametrize(
    ("name", "size"), [("vecadd", 1024), ("sgemm", 32), ("psort", 1024), ("psum", 1500), ("diverge", 1024)]
)
def test_large_sizes_on_paper(name, size):
    for dtype in ("int32", "float32"):
        assert failures(name, dtype, size, 1, PAPER) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_the_check_sees_one_wrong_bit(name):
    launch = prepare(name, size=9, config=TINY)
    memory = run_launch(launch, TINY).memory
    assert launch.check(memory) == []
    # The last buffer that the check covers is an output; psum's totals are not checked.
    output = {"saxpy": "y", "psum": "target"}.get(name, list(launch.buffers)[-1])
    address, data = launch.buffers[output]
    last = address + len(data) - 4
    value = memory.read(last, 4)
    # A check within a tolerance sees a bit of the exponent.
    wrong = int.from_bytes(value, "little") ^ (1 << 24 if name == "blackscholes" else 1)
    memory.write(last, wrong.to_bytes(4, "little"))
    (message,) = launch.check(memory)
    assert f"at {last:#010x} is " in message and "expected" in message
    memory.write(last, value)
    memory.write(address + -(-len(data) // 64) * 64, b"\1")
    (message,) = launch.check(memory)
    assert "past its end" in message


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_that_does_nothing_fails_its_check(name):
    launch = prepare(name, size=5, config=TINY)
    memory = SparseMemory(TINY.memory_map)
    load_into(launch, memory)
    assert launch.check(memory) != []


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_seed_and_size_decide_the_inputs(name):
    first, again, other = (prepare(name, size=20, seed=seed, config=MID) for seed in (1, 1, 2))
    assert first.buffers == again.buffers and first.arguments == again.arguments
    assert first.buffers != other.buffers


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_sizes_out_of_range_are_refused(name):
    (most,) = (info.max_size for info in kernels() if info.name == name)
    for size in (0, -1, most + 1):
        with pytest.raises(KernelError, match=rf"^size of {name} must be between 1 and {most}, not {size}$"):
            prepare(name, size=size)


def test_psum_without_enough_local_memory_is_refused():
    config = replace(BASE, warps=32, threads=32, local_bytes=4096)
    with pytest.raises(KernelError, match=r"^psum needs 8192 bytes of local memory on this machine, it has 4096$"):
        prepare("psum", config=config)


def test_the_inputs_of_psort_have_repeats():
    launch = prepare("psort", size=64, config=BASE)
    source = np.frombuffer(launch.buffers["source"][1], np.int32)
    assert 32 < len(np.unique(source)) < 64


def test_psort_loop_is_short_and_counts():
    """The inner loop is at most 18 instructions: warps x elements x 18 bounds the whole run."""
    size = 256
    run = run_launch(prepare("psort", size=size, config=PAPER), PAPER)
    loops = size // PAPER.threads * size
    assert run.end.executed < 18 * loops
    assert run.end.executed > 4 * loops
