"""The simulations that the tests share: one costs half a minute of a core, so a test takes one of these.

A test on one of them is marked ``build`` with its name (tests/conftest.py): the tests of a build run in one process.
"""

from dataclasses import replace

import pytest

from metronome.hdl import presets
from metronome.hdl.config import Channels, Prediction
from metronome.hdl.gpu.config import Dispatch, GpuConfig, Interconnect, L2Kind
from metronome.hdl.policies import POLICIES

__all__ = ["BARE", "BASE", "CHANNELS", "CROWD", "DISPATCHING", "FPGA", "GPU", "LEAST", "MID", "ONE", "ORDERED",
           "PAPER", "SMALL", "SMALL_GPU", "STATIC_PARTS", "TINY", "UNCACHED", "named", "on"]

#: The one build of `make check`.
TINY = presets.TINY
#: Every policy, channels, the pipeline for chips, and so little of everything that each rule of time is met within a
#: few programs.
SMALL = replace(
    TINY, warps=4, policies=tuple(POLICIES), icache_bytes=256, icache_ways=2, icache_mshrs=1, dcache_bytes=256,
    dcache_ways=2, dcache_mshrs=2, load_parts=4, store_buffer=3, channels=Channels.FREE, channel_depth=2,
    locality_throttle=64, victim_tags=4, **presets.PIPELINES["fpga"],
)
#: TINY with the pipeline for chips.
FPGA = replace(TINY, **presets.PIPELINES["fpga"])
#: One lane a warp: of the front ends with two schedulers `make test` has one machine, and this is a small one.
ONE = replace(TINY, threads=1, icache_bytes=512, icache_ways=2, dcache_bytes=512, dcache_ways=2)
#: Every policy.
BASE = replace(presets.BASE, policies=tuple(POLICIES))
#: Fetch goes on behind every branch; without what can be left out of the memory system and of the checks.
BARE = replace(
    TINY, policies=BASE.policies, prediction=Prediction.NOT_TAKEN, dcache_bytes=0, interleave_stacks=False,
    check_divergent_branch=False,
)
#: A line a warp in place of the I-cache, no data cache, and every predictor of jumps and branches.
UNCACHED = replace(
    TINY, policies=BASE.policies, prediction=Prediction.PRIVATE, two_bit=4, icache_bytes=0, dcache_bytes=0,
)
#: One of everything in the memory system.
LEAST = replace(TINY, dcache_bytes=128, dcache_ways=1, dcache_mshrs=1, store_buffer=1, load_parts=2)
#: Channels that are soon full, and warps that have reason to pass each other.
CHANNELS = replace(
    TINY, warps=4, dcache_bytes=1024, dcache_mshrs=2, load_parts=4, store_buffer=4, channels=Channels.FREE,
    channel_depth=3,
)
#: The same channels, looked up in the order of a list, with every policy that they do not exclude.
ORDERED = replace(
    CHANNELS, channels=Channels.ORDERED, policies=tuple(name for name in POLICIES if name not in ("prr", "ccws")),
)
#: So many warps that memory is busy, and that one among them is always eligible.
CROWD = replace(BASE, warps=32)
#: Four SMs; and two, small in every way and with the pipeline for chips, each with its slots for memory.
GPU = GpuConfig(sm=TINY, sms=4)
SMALL_GPU = GpuConfig(
    sm=replace(SMALL, channels=Channels.NONE, policies=("lrr", "gtlrr")), sms=2, interconnect=Interconnect.TDM,
    slot_cycles=3,
)
#: The same with an L2: small, so that lines are replaced and all entries are taken.
L2_GPU = replace(GPU, l2=L2Kind.SHARED, l2_bytes=2048, l2_ways=4, l2_requests=8)
PARTS_GPU = replace(SMALL_GPU, l2=L2Kind.DIVIDED, l2_bytes=1024, l2_ways=4, l2_requests=8)
#: Those with a unit that hands out blocks: the first in `make test`.
DISPATCH_GPU = GpuConfig(sm=TINY, sms=2, dispatch=Dispatch.DYNAMIC)
DISPATCH_4 = replace(GPU, dispatch=Dispatch.DYNAMIC)
STATIC_GPU = replace(GPU, dispatch=Dispatch.STATIC)
STATIC_PARTS = replace(PARTS_GPU, dispatch=Dispatch.STATIC)
DISPATCH_L2 = replace(L2_GPU, dispatch=Dispatch.DYNAMIC)
MID = presets.MID
PAPER = presets.PAPER

_NAMED = {
    "TINY": TINY, "fpga": FPGA, "SMALL": SMALL, "BASE": BASE, "bare": BARE, "uncached": UNCACHED, "least": LEAST,
    "crowd": CROWD, "MID": MID, "PAPER": PAPER, "channels": CHANNELS, "ordered": ORDERED,
}
on = pytest.mark.build


def named(*names, marks=()):
    """A parameter a configuration of these names, with the name as its id."""
    return [pytest.param(_NAMED[name], id=name, marks=[on(name), *marks]) for name in names]


#: GPUs as parameters.
GPUS = [pytest.param(gpu, id=name, marks=on(name)) for name, gpu in (
    ("GPU", GPU), ("SMALL_GPU", SMALL_GPU), ("L2_GPU", L2_GPU), ("PARTS_GPU", PARTS_GPU))]
DISPATCHING = [pytest.param(gpu, id=name, marks=on(name)) for name, gpu in (
    ("DISPATCH_GPU", DISPATCH_GPU), ("DISPATCH_4", DISPATCH_4), ("STATIC_GPU", STATIC_GPU),
    ("STATIC_PARTS", STATIC_PARTS), ("DISPATCH_L2", DISPATCH_L2))]
