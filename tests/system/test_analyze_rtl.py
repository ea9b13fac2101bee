"""The analyzer against the hardware: each warp's line accesses are looked up as they are listed."""

import pytest

from metronome.hdl.isa.ops import Unit
from metronome.sim.analysis.code.decoding import decode
from metronome.sim.program import kernels as kernel
from metronome.sim.run.runner import run
from metronome.sim.run.types import RunRequest
from tests.sim.analysis.access_order.programs import Lookups, differences, listing_of
from tests.sim.analysis.access_order.test_analyzer import KERNELS
from tests.support.builds import BASE, TINY, on
from tests.support.tiers import some_more


def measured(config, launch, policy):
    result = run(config, RunRequest(launch=launch, policy=policy, trace=True))
    assert result.status == "ended"
    seen = Lookups(config.warps)
    issued = result.events["issue"]
    issued = issued[issued["valid"] == 1]
    for warp, pc, word in zip(*(issued[name].tolist() for name in ("warp", "pc", "instruction")), strict=True):
        code = decode(word)
        if code is not None and code.unit is Unit.LSU:
            seen.pcs[warp].append(pc)
    looked = result.events["lookup"]
    for each in looked[looked["access"] == 1]:
        seen.look_up(*(int(each[name]) for name in ("warp", "first", "store", "line", "uncached")))
    return seen


@pytest.mark.slow
@on("TINY")
@pytest.mark.parametrize("name", some_more(KERNELS, 1))
def test_tiny(name):
    launch = kernel.prepare(name, None, None, 1, TINY)
    assert differences(TINY, listing_of(TINY, launch), measured(TINY, launch, "gtlo")) == []


@pytest.mark.long
@on("BASE")
@pytest.mark.parametrize("name", KERNELS)
def test_base(name):
    launch = kernel.prepare(name, None, None, 1, BASE)
    assert differences(BASE, listing_of(BASE, launch), measured(BASE, launch, "lrr")) == []
