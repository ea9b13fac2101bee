"""Both pipelines have the same front end, so its proofs hold for both."""

from dataclasses import replace

import pytest
from amaranth.back import rtlil

from metronome.hdl.config import Coordination, SmConfig
from metronome.hdl.frontend.frontend import FrontEnd
from metronome.hdl.presets import PIPELINES, TINY
from tests.support.tiers import more_but

MACHINES = {"swas": TINY} | {
    scheme.value: replace(TINY, coordination=scheme, fetch_policies=("lrr",))
    for scheme in (Coordination.BASELINE, Coordination.VORTEX)
}


def text_of(config: SmConfig) -> str:
    return rtlil.convert(FrontEnd(config, ahead=False), emit_src=False)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", more_but(MACHINES, ["swas"]))
def test_the_front_end_is_the_same_in_every_pipeline(scheme):
    config = MACHINES[scheme]
    classic = text_of(config)
    assert "module \\top" in classic
    for fields in PIPELINES.values():
        assert text_of(replace(config, **fields)) == classic
    # A field of the front end does show.
    assert text_of(replace(config, icache_mshrs=3)) != classic
