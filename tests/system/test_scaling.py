"""The committed data of docs/gpu.md, "Speed", is what the predictor computes now."""

import json

import pytest

from tests.system.measure_scaling import DATA, MEMORIES, SIZES, SMS, WEAK, counts

COMMITTED = json.loads(DATA.read_text("utf-8"))
#: Those of `make test-more`: fast ones. The model of several SMs takes a minute to compile.
FAST = ("row_sums", "vecadd")


def committed(name, kernel, memory, sms):
    return tuple(COMMITTED[name][kernel][memory][SMS.index(sms)])


def test_the_data_is_of_all_kernels():
    for name, sizes in (("strong", SIZES), ("weak", WEAK)):
        assert {kernel: row["size"] for kernel, row in COMMITTED[name].items()} == sizes
        assert all(len(row[memory]) == len(SMS) for row in COMMITTED[name].values() for memory in MEMORIES)


@pytest.mark.more
@pytest.mark.parametrize("sms", SMS)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("kernel", [
    pytest.param(kernel, marks=() if kernel in FAST else pytest.mark.long) for kernel in SIZES])
def test_the_same_work(kernel, memory, sms):
    assert counts(kernel, SIZES[kernel], sms, memory) == committed("strong", kernel, memory, sms)


@pytest.mark.long
@pytest.mark.parametrize("sms", SMS)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("kernel", WEAK)
def test_work_in_proportion(kernel, memory, sms):
    assert counts(kernel, WEAK[kernel] * sms, sms, memory) == committed("weak", kernel, memory, sms)
