"""Random OpenCL kernels store what the interpreter says; it, the comparison and the generator are tested themselves."""

import numpy as np
import pytest

from tests.riscv_kernels.opencl.fuzz.check import check_seed, differences
from tests.riscv_kernels.opencl.fuzz.functions import INTEGER, Limited
from tests.riscv_kernels.opencl.fuzz.kernels import RandomKernel, Slot, random_kernel
from tests.riscv_kernels.opencl.fuzz.values import Memory, Work, convert
from tests.support.tiers import more_then_long

#: From `python -m tests.riscv_kernels.opencl.fuzz`, which takes as many as it is told.
SEEDS = (*range(1, 41), 382, 710, 1058, 1429)
#: Those of kernels with a variable that a compiler could take for the work-item's own.
LOCAL_SCALARS = (2, 6, 7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", more_then_long(SEEDS, 1, 8))
def test_a_random_kernel(seed, tmp_path):
    outcome = check_seed(seed, tmp_path)
    assert (outcome.kind, outcome.text) == ("passed", ""), f"seed {seed}"


def test_a_seed_makes_one_kernel():
    first, second = random_kernel(5), random_kernel(5)
    assert first.source == second.source and first.options == second.options
    assert all(np.array_equal(a.expected, b.expected, equal_nan=True) for a, b in zip(first.slots, second.slots,
                                                                                      strict=True))


@pytest.mark.slow
def test_the_random_kernels_have_it_all():
    """Else the tests above show little."""
    kernels = [random_kernel(seed) for seed in range(1, 61)]
    assert all("barrier(CLK_LOCAL_MEM_FENCE)" in each.source and ("__local" in each.source) for each in kernels)
    assert sum(each.groups > 1 for each in kernels) > 30
    for words in (
        ("__local record",), ("powf(", "floorf(", "expf("), ("do {",), ("while (",), ("_rte(",), ("for (;;)",),
        ("float8 mine", "long4 mine", "int8 mine"), ("get_local_id(1)",), ("passed[",), ("noinline",),
    ):
        assert sum(any(word in each.source for word in words) for each in kernels) >= 2, words
    assert sum("-D" in each.options for each in kernels) > 10


def _kernel(slots):
    nothing = np.zeros(2, np.uint32)
    return RandomKernel(0, "", "", "k", (2,), 1, 1, 0, nothing, nothing.view(np.float32), slots)


def test_a_wrong_word_is_found():
    exact = Slot(np.array([1, 2], np.uint32), text="a")
    near = Slot(np.array([1.0, np.nan]), Limited(1, np.abs, 2), "b")
    words = np.array([[1, np.float32(1).view(np.uint32) + 2], [2, np.float32(np.nan).view(np.uint32)]], np.uint32)
    assert differences(_kernel([exact, near]), words) == []
    words[0, 1] += 1
    assert len(differences(_kernel([exact, near]), words)) == 1
    words[1, 0] = 3
    assert differences(_kernel([exact, near]), words)[0].startswith("a of work-item 1 is 0x3, not 0x2")


@pytest.mark.more
def test_a_lost_store_is_found(tmp_path, monkeypatch):
    """The fault that these kernels are made for, put back: ``__local`` variables that the compiler keeps to itself."""
    from metronome.sim.program.opencl import unit

    whole = unit.as_threads
    monkeypatch.setattr(unit, "as_threads", lambda text: whole(text).replace("linkonce thread", "internal thread"))
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path / "cache"))
    outcomes = [check_seed(seed, tmp_path) for seed in LOCAL_SCALARS]
    assert [each.kind for each in outcomes] == ["wrong"] * len(outcomes)


@pytest.mark.parametrize(("name", "arguments", "result"), [
    ("add_sat", ("char", 100, 100), 127), ("hadd", ("int", -3, 0), -2), ("rhadd", ("uchar", 255, 254), 255),
    ("mul_hi", ("uint", 0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFE), ("clz", ("short", -1), 0), ("clz", ("uchar", 0), 8),
    ("rotate", ("int", -0x80000000, 1), 0x100000001), ("abs_diff", ("char", -128, 127), 255),
])
def test_integer_functions(name, arguments, result):
    """Values from the text of the standard."""
    assert INTEGER[name][2](*arguments) == result


def test_conversions():
    floats = np.array([2.5, -2.5, 3.5, np.inf, np.nan, -1e30], np.float32)
    assert convert(floats, "int", "rte", True).tolist() == [2, -2, 4, 0x7FFFFFFF, 0, -0x80000000]
    assert convert(floats[:3], "int", "rtp", False).tolist() == [3, -2, 4]
    assert convert(np.array([16777217], np.int32), "int", "rte", False).tolist() == [16777217]
    assert convert(np.array([16777217], np.int32), "float", "rtp", False).tolist() == [16777218]
    assert convert(np.array([-16777217], np.int32), "float", "rtz", False).tolist() == [-16777216]


def test_a_race_is_no_kernel():
    work = Work(1, 2, np.ones(2, bool))
    work.memories["cells"] = Memory("uint", np.zeros((1, 4), np.uint32), shared=True)
    work.store("cells", np.array([0, 1]), np.uint32(5))
    with pytest.raises(AssertionError, match="races"):
        work.load("cells", np.array([1, 0]))
    work.wait()
    assert work.load("cells", np.array([1, 0])).tolist() == [5, 5]
    with pytest.raises(AssertionError, match="races"):
        work.store("cells", np.array([0, 0]), np.array([1, 2], np.uint32))
