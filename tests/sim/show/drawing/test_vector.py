"""Vector drawings: textures stay inside their rectangle and fill it, and text is text."""

import random
from xml.etree import ElementTree

import pytest

from metronome.sim.show.drawing.vector import TEXTURES, Drawing, _strokes

SEED = 20_261_126


@pytest.mark.parametrize("texture", TEXTURES)
def test_strokes_are_in_the_rectangle(texture):
    rng = random.Random(SEED)
    for _ in range(300):
        left, top, width, height = (rng.uniform(*each) for each in ((0, 500), (0, 200), (4.1, 60), (4.1, 13)))
        strokes = list(_strokes(texture, left, top, left + width, top + height))
        assert bool(strokes) == (texture != "plain")
        slack = 1e-9
        for x, y, right, bottom in strokes:
            assert left - slack <= x <= right <= left + width + slack, (texture, SEED)
            assert top - slack <= min(y, bottom) and max(y, bottom) <= top + height + slack, (texture, SEED)


def test_text_is_text():
    drawing = Drawing(100, 50, title="<a>", about="b & c")
    drawing.text((1, 2), "<d> & e", size=8)
    root = ElementTree.fromstring(drawing.svg())
    assert root.get("width") == "100pt" and root.get("viewBox") == "0 0 100 50"
    assert [each.text for each in root if each.tag.endswith(("title", "desc", "text"))] == ["<a>", "b & c", "<d> & e"]
