"""The collector is off in the context, and afterwards as it was."""

import gc

import pytest

from metronome.hdl.lib.collector import collector_paused


@pytest.fixture
def collector():
    was_enabled = gc.isenabled()
    yield
    (gc.enable if was_enabled else gc.disable)()


@pytest.mark.parametrize("enabled", [True, False])
def test_it_is_as_before_afterwards(collector, enabled):
    (gc.enable if enabled else gc.disable)()
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled() == enabled


def test_an_error_in_the_context_changes_nothing(collector):
    gc.enable()
    with pytest.raises(RuntimeError), collector_paused():
        raise RuntimeError
    assert gc.isenabled()
