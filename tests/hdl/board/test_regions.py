"""Where a board's memory is."""

import pytest

from metronome.hdl.board.regions import Region, Regions, regions_of
from metronome.hdl.presets import TINY


def test_the_usual_regions_have_what_programs_need():
    regions, places = regions_of(TINY), TINY.memory_map
    for address, size in ((places.exit_code, 4), (places.console, 64), (places.user, 65536), (places.start, 32768),
                          (places.stack_top - 4 * 8192, 4 * 8192)):
        assert regions.has(address, size)
    assert not regions.has(places.user - 1, 2)
    assert not regions.has(places.stack_top, 1)


def test_each_region_begins_at_a_multiple_of_its_size():
    assert all(first % part.size == 0 for part, first in regions_of(TINY).places())


@pytest.mark.parametrize(("first", "size", "problem"), [
    (0, 96, "a power of two of at least 64 bytes, not 96"), (0, 32, "a power of two"), (0, 0, "a power of two"),
    (1024, 4096, "must begin at a multiple of its 4096 bytes, not 0x00000400"),
])
def test_what_cannot_be_built_is_refused(first, size, problem):
    with pytest.raises(ValueError, match=problem):
        Region(name="x", first=first, size=size)


def test_regions_that_overlap_are_refused():
    with pytest.raises(ValueError, match="a and b overlap at 0x00001000"):
        Regions((Region(name="a", first=0, size=8192), Region(name="b", first=4096, size=4096)))
