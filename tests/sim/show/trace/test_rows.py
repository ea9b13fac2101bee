"""The words and numbers of the rows of a trace."""

from metronome.hdl.layouts.counters import StallReason
from metronome.sim.show.trace.rows import DETAILS, INACTIVE, READY


def test_no_word_stands_for_two_things():
    assert len(set(DETAILS)) == len(DETAILS)


def test_states_are_named_by_their_numbers():
    assert DETAILS[READY - 1] == "ready"
    assert DETAILS[INACTIVE - 1] == "inactive"
    assert [DETAILS[reason - 1] for reason in StallReason if reason] == [
        reason.name.lower() for reason in StallReason if reason]
