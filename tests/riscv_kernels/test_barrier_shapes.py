"""Barriers in loops that all lanes leave together are built and right; where lanes part, they are refused."""

import numpy as np
import pytest

from tests.riscv_kernels.barrier_shapes import LEVELS, check_c, check_opencl, host_results, refusal, shapes
from tests.support.tiers import some_long, some_more

PARTING = shapes("parting")


#: The host's compiler needs a second for each few of them.
NAMES = list(shapes())
QUICK = NAMES[:6]


def host(names, folder):
    """What the host makes of these shapes."""
    return dict(zip(names, host_results(names, folder), strict=True))


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    return host(QUICK, tmp_path_factory.mktemp("some"))


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return host(NAMES, tmp_path_factory.mktemp("all"))


@pytest.mark.more
def test_some_leave_the_loop_together(tmp_path, some):
    assert check_c(list(some), "O2", tmp_path, np.stack(list(some.values()))) == []
    assert check_opencl(QUICK[0], "O2", tmp_path, some[QUICK[0]][None]) == []


@pytest.mark.more
@pytest.mark.parametrize("level", some_long(LEVELS, 1))
def test_all_leave_the_loop_together(tmp_path, expected, level):
    assert check_c(list(expected), level, tmp_path, np.stack(list(expected.values()))) == []


@pytest.mark.more
@pytest.mark.parametrize("name", some_long(NAMES, 4))
def test_all_leave_the_loop_together_in_opencl(tmp_path, expected, name):
    assert check_opencl(name, "O2", tmp_path, expected[name][None]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", some_more(PARTING, 1))
def test_lanes_part(tmp_path, name):
    assert "where lanes of a warp may have diverged" in refusal(name, "O2", tmp_path, "parting", opencl=False)
