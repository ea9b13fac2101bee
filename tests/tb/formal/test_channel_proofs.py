"""The channels are proved, and none with a bug is."""

import pytest

from metronome.tb.formal import flow
from metronome.tb.formal.channels import channel_problem
from metronome.tb.formal.flow import bounded_check, prove_problem
from metronome.tb.formal.patched import patched
from tests.support.tiers import some_long

#: Warps, depth.
SIZES = [(2, 2), (3, 2)]
_CHANNELS = "metronome.hdl.memory.channels:Channels"
#: Name: method, old text, new text.
BUGS = {
    "an access is taken whatever it conflicts with": (
        f"{_CHANNELS}.elaborate", "(room & warp).any() & ~(conflicts & ~warp).any()", "(room & warp).any()"),
    "what comes overtakes what is there": (
        f"{_CHANNELS}.elaborate", "stored = (there & ~current) | (more & current)", "stored = more & current"),
    "the oldest is given twice": (
        f"{_CHANNELS}._give", "Mux(current[number], channel.second, channel.head)", "channel.head"),
    "a full channel takes one more": (
        "metronome.hdl.memory.channel:Channel.elaborate", "self.room.eq(~valid.all() | self.pop)", "self.room.eq(1)"),
    "two reads of a word conflict, and two writes do not": (
        "metronome.hdl.memory.channel:conflict", "common & (one.write | other.write)",
        "common & ~(one.write & other.write)"),
}


@pytest.mark.slow
@pytest.mark.parametrize("size", some_long(SIZES, 0), ids=str)
def test_the_channels_are_proved(size):
    warps, depth = size
    assert prove_problem(channel_problem(warps=warps, depth=depth)) is None


@pytest.mark.slow
def test_one_place_a_channel_is_proved():
    assert prove_problem(channel_problem(warps=2, depth=1)) is None


@pytest.mark.more
@pytest.mark.parametrize("name", some_long(BUGS, 1))
def test_a_bug_is_found_from_reset(name):
    """A run from reset that violates one of the claims themselves."""
    with patched(name, *BUGS[name]):
        target = channel_problem(lemmas=False)
    found = bounded_check(target, 7)
    assert found is not None and found.violated


@pytest.mark.more
def test_that_any_number_may_pass_is_in_the_way(monkeypatch):
    """No run from reset that a search would come to has as many, but the step of the induction fails."""
    monkeypatch.setattr(flow, "SEARCH_SECONDS", 1)
    with patched("any number", f"{_CHANNELS}._may_pass", "Mux(passes == PASSES, senior, (1 << warps) - 1)",
                 "senior | ~senior"):
        target = channel_problem(depth=1)
    found = prove_problem(target)
    assert found is not None
    assert any("pass" in text for text in found.violated)
