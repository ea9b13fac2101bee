"""The figure of a window: its cells are what was predicted, and it can be read without colours."""

import dataclasses
import io
import itertools
from xml.etree import ElementTree

import numpy as np
import pytest

from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.presets import TINY
from metronome.sim.predict.predictor import predict
from metronome.sim.program.kernels import prepare
from metronome.sim.run.types import RunRequest
from metronome.sim.show.drawing.vector import TEXTURES
from metronome.sim.show.trace.about import About
from metronome.sim.show.trace.cycles import Cause, CycleStream
from metronome.sim.show.trace.figure import LETTERS, PdfFigure, SvgFigure, figure_colour
from metronome.sim.show.trace.formats import Window, WindowError
from metronome.sim.show.trace.legend import LEGEND
from metronome.sim.show.trace.rows import INACTIVE, READY, states_of
from metronome.sim.show.trace.tracks import WARP_WORDS
from tests.sim.show.trace.pages import Kept

SVG = "{http://www.w3.org/2000/svg}"
SIGNS = next(iter(LEGEND.values()))


def drawn(windows, kind=SvgFigure, config=TINY):
    """The figure of each window of one predicted run, and what the run did."""
    request = RunRequest(launch=prepare("psum", None, 8, 1, config), policy="gtlo")
    about = About(name="psum <&> gtlo", facts=[], image=request.launch.image)
    files, kept = [io.BytesIO() for _ in windows], Kept()
    sinks = [kind(config, file, about, window) for file, window in zip(files, windows, strict=True)]
    stream = CycleStream(config, [kept, *sinks])
    predict(config, request, watcher=stream)
    stream.finish()
    return [file.getvalue() for file in files], kept


def words_of(kept):
    """(warp, cycle) -> its state, read from the events and not from the tracks of the page."""
    words = {}
    for part in itertools.chain.from_iterable(kept.parts):
        states = states_of(part.events, part.warps)
        for at, place in np.ndindex(states.shape):
            word, warp = {READY: "ready", INACTIVE: None}.get(states[at, place], ""), part.warps[place]
            if word == "":
                word = StallReason(states[at, place]).name.lower()
            if part.events["selected"][at] == warp:
                nop = part.events["nop"][at]
                word = f"nop_{Cause(part.cause[at]).name.lower()}" if nop else "issued"
            words[warp, int(part.events["cycle"][at])] = word
    return words


def cells_of(svg, window, least=20):
    """(warp, cycle) -> the colour and texture of the cell's middle, by the axis of the figure itself."""
    root = ElementTree.fromstring(svg)
    texts = [(float(each.get("x")), each.text) for each in root.iter(f"{SVG}text")]
    (x, one), (right, other) = [(x, int(text)) for x, text in texts if text.isdigit() and int(text) >= least][:2]
    step = (right - x) / (other - one)
    rows = {int(each.text): float(each.get("y")) - 3 for each in root.iter(f"{SVG}text")
            if each.get("text-anchor") == "end"}
    items = list(root)
    boxes = [[float(each.get(name)) for name in ("x", "y", "width", "height")] + [each.get("fill"), after.get("class")]
             for each, after in itertools.pairwise(items) if each.get("stroke") and each.tag == f"{SVG}rect"]

    def fill(warp, cycle):
        at, y = x + (cycle - one) * step, rows[warp]
        found = [(colour, texture or "plain") for left, top, width, height, colour, texture in boxes
                 if left < at < left + width and top < y < top + height]
        return found[0] if found else None

    return {(warp, cycle): fill(warp, cycle) for warp in rows for cycle in range(window.first, window.last + 1)}


def fill_of(word):
    return figure_colour(word), SIGNS[word].texture


# A cell of the widest window is so narrow that it may have no line of its texture.
@pytest.mark.parametrize(("schedulers", "last"), [(1, 299), (2, 160)])
def test_cells_are_what_was_predicted(schedulers, last):
    config = dataclasses.replace(TINY, schedulers=schedulers)
    windows = [Window(20, 80), Window(100, last)]
    svgs, kept = drawn(windows, config=config)
    words = words_of(kept)
    for svg, window in zip(svgs, windows, strict=True):
        shown = cells_of(svg, window)
        wanted = {place: words[place] and fill_of(words[place]) for place in shown}
        assert {place: (shown[place], wanted[place]) for place in shown if shown[place] != wanted[place]} == {}
        assert len(set(shown.values())) > 4
        texts = [each.text for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]
        legend = {SIGNS[word].label for word in {words[place] for place in shown} - {None}}
        assert {"Warp", "Cycle", *legend} <= set(texts)
        assert {sign.label for sign in SIGNS.values()} & set(texts) == legend


def test_a_warp_that_is_never_active_has_no_row():
    """The second warp is started by the program of the first."""
    (svg,), kept = drawn([Window(0, 15)])
    words = words_of(kept)
    active = {warp for warp in range(TINY.warps) if any(words[warp, cycle] for cycle in range(16))}
    assert active == {0} == {warp for warp, _ in cells_of(svg, Window(0, 0), least=5)}


def test_the_same_bytes_each_time():
    windows = [Window(20, 50), Window(20, 50)]
    (one, other), _ = drawn(windows)
    assert one == other and b"psum &lt;&amp;&gt; gtlo: cycles 20 to 50" in one
    (one, other), _ = drawn(windows, PdfFigure)
    assert one == other and one.startswith(b"%PDF-") and b"/MediaBox [0 0 504 " in one


def brightness(colour):
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return 0.3 * red + 0.59 * green + 0.11 * blue


def test_a_figure_can_be_read_without_colours():
    assert set(LETTERS) | {"issued", "ready"} == set(WARP_WORDS)
    assert len(set(LETTERS.values())) == len(LETTERS)
    assert all(sign.texture in TEXTURES for sign in SIGNS.values())
    grey = {word: brightness(figure_colour(word)) for word in WARP_WORDS}
    assert grey.pop("issued") < 0.42, "an issue is dark"
    assert min(grey.values()) > 0.6, "letters are black"
    for one, other in itertools.combinations(grey, 2):
        same = SIGNS[one].texture == SIGNS[other].texture
        assert not same or LETTERS.get(one) != LETTERS.get(other)


def test_a_window_after_the_end_is_refused():
    cycles = sum(len(cycles) for cycles, in drawn([])[1].parts)
    drawn([Window(cycles - 5, cycles - 1)])
    for window in (Window(cycles - 5, cycles), Window(cycles + 5, cycles + 9)):
        with pytest.raises(WindowError, match=rf"^--to {window.last}: the run has only the cycles 0 to {cycles - 1}$"):
            drawn([window])
