"""Colours can be told apart, on light and on dark pages."""

import itertools

import pytest

from metronome.sim.show.drawing.palette import PALETTE, SERIES
from metronome.sim.show.trace.legend import LEGEND

#: Distances in CIELAB (1976); 2.3 can just be seen. Colours with textures need less.
LEAST, LEAST_PLAIN = 13, 18


def lab(colour):
    """A colour in CIELAB, for the white D65."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
                        for part in (red, green, blue))
    white = (
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505, 0.2126 * red + 0.7152 * green + 0.0722 * blue,
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089,
    )
    x, y, z = (part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116 for part in white)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one, other):
    return sum((a - b) ** 2 for a, b in zip(lab(one), lab(other), strict=True)) ** 0.5


def test_distances():
    assert distance("#ffffff", "#000000") == pytest.approx(100, abs=0.1)
    assert distance("#ff0000", "#00ff00") == pytest.approx(170.6, abs=0.5)
    assert distance("#5fb0e5", "#56b4e9") < 3, "two units once had these"


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("group", LEGEND)
def test_the_states_of_a_row_differ(theme, group):
    signs = LEGEND[group].values()
    assert len({(sign.colour, sign.texture) for sign in signs}) == len(signs)
    for one, other in itertools.combinations(signs, 2):
        if one.colour == other.colour == "up":
            continue  # faults, which their textures tell apart
        least = LEAST_PLAIN if one.texture == other.texture else LEAST
        assert distance(PALETTE[one.colour][theme], PALETTE[other.colour][theme]) >= least, (one, other)


def test_series_differ():
    for one, other in itertools.combinations(SERIES, 2):
        assert distance(one, other) >= LEAST_PLAIN
