"""Where a board's memory is."""

import pytest

from metronome.hdl.board.regions import Region, Regions, pieces, regions_of
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


@pytest.mark.parametrize(("first", "size", "found"), [
    (0x10000, 0x10000, [(0x10000, 0x10000)]), (0x10000, 0x20000, [(0x10000, 0x10000), (0x20000, 0x10000)]),
    (0x10000, 0x30000, [(0x10000, 0x10000), (0x20000, 0x20000)]), (0, 192, [(0, 128), (128, 64)]),
])
def test_any_size_is_made_of_regions(first, size, found):
    parts = pieces("x", first, size)
    assert [(part.first, part.size) for part in parts] == found
    whole = Regions(tuple(parts))
    assert whole.has(first, size) and whole.has(first + size - 65, 65)
    assert not whole.has(first, size + 1) and whole.size == size


@pytest.mark.parametrize("size", [0, 63, 100, -64])
def test_a_size_that_is_no_lines_is_refused(size):
    with pytest.raises(ValueError, match="x must have a multiple of 64 bytes"):
        pieces("x", 0, size)
