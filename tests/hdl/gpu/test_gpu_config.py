"""GpuConfig: what it refuses, and what follows from it."""

from dataclasses import replace

import pytest

from metronome.hdl.config import Channels, MemoryMap
from metronome.hdl.gpu.config import Dispatch, GpuConfig, Interconnect, L2Kind
from metronome.hdl.presets import BASE, NANO, TINY
from metronome.sim.machine.gpu_settings import gpu_of, gpu_value
from metronome.sim.machine.settings import ConfigError


@pytest.mark.parametrize(("fields", "text"), [
    ({"sms": 1}, "sms must be 2, 4, 8 or 16, not 1"), ({"sms": 3}, "sms must be"), ({"sms": 32}, "sms must be"),
    ({"sms": 2, "interconnect": "ring"}, "interconnect must be round_robin, fixed_priority, tdm, not 'ring'"),
    ({"sms": 2, "slot_cycles": 0}, "slot_cycles must be between 1 and 64, not 0"),
    ({"sms": 2, "slot_cycles": 65}, "slot_cycles must be"),
    ({"sms": 2, "sm": replace(TINY, cores=2)}, "cores must be 1 in a GPU"),
    ({"sms": 2, "sm": replace(TINY, channels=Channels.FREE)}, "channels must be none in a GPU, not 'free'"),
    ({"sms": 2, "l2": "large"}, "l2 must be none, shared, divided, not 'large'"),
    ({"sms": 2, "l2_bytes": 3000}, "l2_bytes must be a power of two from 512 to 4194304, not 3000"),
    ({"sms": 2, "l2_bytes": 256}, "l2_bytes must be"), ({"sms": 2, "l2_bytes": 1 << 23}, "l2_bytes must be"),
    ({"sms": 2, "l2_ways": 3}, "l2_ways must be 1, 2, 4, 8 or 16, not 3"),
    ({"sms": 2, "l2_bytes": 512}, r"l2_ways must be such that l2_bytes \(512\) are two sets or more, not 8"),
    ({"sms": 2, "l2_requests": 1}, "l2_requests must be between 2 and 64, not 1"),
    ({"sms": 2, "sm": NANO, "l2": L2Kind.SHARED, "l2_requests": 33}, "l2_requests must be between 2 and 32, not 33"),
    ({"sms": 16, "l2": L2Kind.DIVIDED}, r"l2_ways must be a multiple of sms \(16\) with l2=divided, not 8"),
    ({"sms": 4, "l2": L2Kind.DIVIDED, "l2_requests": 30}, r"l2_requests must be a multiple of sms \(4\)"),
    ({"sms": 4, "l2": L2Kind.DIVIDED, "l2_requests": 4}, "two or more for each, not 4"),
    ({"sms": 2, "dispatch": "fair"}, "dispatch must be none, static, dynamic, not 'fair'"),
    ({"sms": 2, "dispatch": Dispatch.STATIC, "sm": replace(TINY, memory_map=MemoryMap(user=0x80))},
     "memory_map.user must be 0x100 or more with dispatch=static, whose line is below it, not '0x80'"),
    # The stacks of one SM have room, those of 16 do not.
    ({"sms": 16, "sm": replace(BASE, memory_map=MemoryMap(stack_bytes_per_hart=1 << 24))}, "stack"),
])
def test_refusals(fields, text):
    with pytest.raises(ValueError, match=text):
        GpuConfig(**{"sm": TINY, **fields})


def test_what_follows():
    gpu = GpuConfig(sm=TINY, sms=8)
    assert [gpu.sm_of(number).core_id for number in range(8)] == list(range(8))
    assert {gpu.sm_of(number).cores for number in range(8)} == {8}
    assert gpu.mem_tag_bits == TINY.mem_tag_bits + 3


def test_parts_of_the_l2():
    shared = GpuConfig(sm=TINY, sms=4, l2=L2Kind.SHARED, l2_ways=8, l2_requests=40, l2_bytes=8192)
    divided = replace(shared, l2=L2Kind.DIVIDED)
    assert (shared.l2_parts, shared.l2_sets, shared.part_ways, shared.part_requests) == (1, 16, 8, 40)
    assert (divided.l2_parts, divided.l2_sets, divided.part_ways, divided.part_requests) == (4, 16, 2, 10)
    assert GpuConfig(sm=TINY, sms=4).l2_parts == 0


def test_by_name():
    assert gpu_of(TINY, {}) is None and gpu_of(TINY, {"sms": 1}) is None
    made = gpu_of(TINY, {"sms": 4, "interconnect": "tdm", "slot_cycles": 5})
    assert made == GpuConfig(sm=TINY, sms=4, interconnect=Interconnect.TDM, slot_cycles=5)
    assert gpu_value("sms", "0x10", as_text=True) == gpu_value("sms", 16, as_text=False) == 16
    assert gpu_value("interconnect", "TDM", as_text=True) == "tdm"


def test_the_l2_by_name():
    made = gpu_of(TINY, {"sms": 2, "l2": "divided", "l2_bytes": 4096, "l2_ways": 4, "l2_requests": 8})
    assert made == GpuConfig(sm=TINY, sms=2, l2=L2Kind.DIVIDED, l2_bytes=4096, l2_ways=4, l2_requests=8)
    assert gpu_of(TINY, {"sms": 2, "l2": "none", "l2_bytes": 4096}, in_file={"l2_bytes"}).l2_parts == 0
    assert gpu_value("l2", "Shared", as_text=True) == "shared"


def test_dispatch_by_name():
    made = gpu_of(TINY, {"sms": 2, "dispatch": "dynamic"})
    assert made == GpuConfig(sm=TINY, sms=2, dispatch=Dispatch.DYNAMIC) and made.dispatch_address == 0xFFC0
    assert gpu_value("dispatch", "Static", as_text=True) == "static"


def test_a_file_may_have_fields_without_effect():
    for values in ({"sms": 1, "interconnect": "tdm", "slot_cycles": 2}, {"sms": 2, "slot_cycles": 2}):
        assert (gpu_of(TINY, values, in_file={*values}) is None) == (values["sms"] == 1)
        with pytest.raises(ConfigError, match="no effect"):
            gpu_of(TINY, values, in_file={"sms"})


@pytest.mark.parametrize(("values", "text"), [
    ({"sms": 5}, "sms must be 1, 2, 4, 8 or 16, not 5"), ({"interconnect": "tdm"}, "no effect without sms=2 or more"),
    ({"sms": 1, "slot_cycles": 2}, "no effect without sms=2"),
    ({"sms": 2, "slot_cycles": 2}, "no effect without interconnect=tdm"),
    ({"l2": "shared"}, "l2: it has no effect without sms=2"),
    ({"dispatch": "static"}, "dispatch: it has no effect without sms=2"),
    ({"sms": 2, "l2_ways": 2}, "l2_ways: it has no effect without l2=shared or l2=divided"),
    ({"sms": 2, "l2": "shared", "l2_ways": 3}, "l2_ways must be 1, 2, 4, 8 or 16, not 3"),
])
def test_refused_by_name(values, text):
    with pytest.raises(ConfigError, match=text):
        gpu_of(TINY, values)


@pytest.mark.parametrize(("name", "value", "as_text"), [
    ("sms", "two", True), ("sms", "2", False), ("sms", True, False), ("slot_cycles", 1.5, False),
    ("interconnect", 3, False), ("l2", "large", True), ("l2_bytes", "64K", True),
])
def test_refused_values(name, value, as_text):
    with pytest.raises(ConfigError, match=name):
        gpu_value(name, value, as_text=as_text)
