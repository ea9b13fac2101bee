"""Barriers in loops that all lanes leave together are built and right; where lanes part, they are refused."""

import numpy as np
import pytest

from tests.riscv_kernels.barrier_shapes import LEVELS, check_c, check_opencl, host_results, refusal, shapes
from tests.support.tiers import some_more

PARTING = shapes("parting")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What the host makes of each shape."""
    names = list(shapes())
    return dict(zip(names, host_results(names, tmp_path_factory.mktemp("host")), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("level", some_more(LEVELS, 1))
def test_all_leave_the_loop_together(tmp_path, expected, level):
    assert check_c(list(expected), level, tmp_path, np.stack(list(expected.values()))) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", some_more(shapes(), 1))
def test_all_leave_the_loop_together_in_opencl(tmp_path, expected, name):
    assert check_opencl(name, "O2", tmp_path, expected[name][None]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", some_more(PARTING, 1))
def test_lanes_part(tmp_path, name):
    assert "where lanes of a warp may have parted" in refusal(name, "O2", tmp_path, "parting", opencl=False)
