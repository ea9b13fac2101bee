"""The AXI bridge is proved, for runs of any length, and no bridge with a bug is."""

import pytest

from metronome.tb.formal import flow
from metronome.tb.formal.bus import bus_problem
from metronome.tb.formal.flow import prove_problem
from metronome.tb.formal.patched import patched
from tests.hdl.bus.test_axi_bugs import BUGS
from tests.support.tiers import some_long, some_more

#: Beats a line: 2, 4 and 1; then more places than one kind has, and eight.
SIZES = [{}, {"data_bits": 8}, {"data_bits": 32}, {"reads": 4, "tag_bits": 3}, {"reads": 4, "writes": 4, "tag_bits": 3}]


@pytest.mark.slow
@pytest.mark.parametrize("sizes", some_long(SIZES, 1), ids=str)
def test_the_bridge_is_proved(sizes):
    assert prove_problem(bus_problem(**sizes)) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", some_more(some_long(BUGS, 1), 0))
def test_a_bug_is_in_the_way(name, monkeypatch):
    monkeypatch.setattr(flow, "SEARCH_SECONDS", 1)
    method, old, new, *_ = BUGS[name]
    with patched(name, method, old, new):
        target = bus_problem()
    found = prove_problem(target)
    assert found is not None
    assert found.violated
