"""The page of ``metronome characterize``: its figures hold what the JSON says, and can be seen."""

import pytest

from metronome.sim.experiments.report.curves import curve_page
from metronome.sim.experiments.report.page import render

COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 16)
RUNS = {"mad_add dependent 2": [[7, 9], [7, 9]], "load_miss dependent 2": [[30, 41], [28, 44]],
        "store_line independent 8": [[17, 18], [19, 18]]}
FORMS = (("alu", False), ("alu", True), ("mad_add", True), ("local_load", True), ("local_store", False),
         ("load_miss", True), ("store", False))


def curve(place, name, dependent, warps):
    cycles = [[(place + 2) * count + warp for warp in range(warps)] for count in COUNTS]
    return {"class": name, "dependent": dependent, "warps": warps, "instructions": COUNTS, "cycles": cycles}


def document(runs):
    strides = [{"name": f"{kind}, stride {words}", "measured": words + 1}
               for kind in ("local load", "local store") for words in range(3)]
    return {"passed": True, "latencies": strides, "cpi": [], "repeated": {name: {"cycles": its}
            for name, its in runs.items()},
            "curves": [curve(place, *form, warps) for place, form in enumerate(FORMS) for warps in (1, 2)]}


def figures(runs=RUNS):
    return {each.name: each for each in curve_page(document(runs), "TINY").figures()}


@pytest.mark.parametrize(("name", "first", "second"), [
    ("figure-16", 0, 1), ("figure-21", 3, 4), ("figure-23", 5, 6),
])
def test_the_rows_of_instructions(name, first, second):
    taken = [(row[1], row[2]) for row in figures()[name].numbers.rows]
    assert taken == [(count, (place + 2) * count) for place in (first, second) for count in COUNTS]


def test_the_warps():
    found = figures()
    assert [tuple(row) for row in found["figure-17"].numbers.rows] == [
        ("1 warp", "0", 8), ("2 warps", "0", 8), ("2 warps", "1", 9),
    ]
    assert [row[2] for row in found["figure-19"].numbers.rows] == [0, 12.5]
    assert [row[2] for row in found["figure-22"].numbers.rows] == [1, 2, 3, 1, 2, 3]


def test_the_repeated_runs():
    found = figures()
    assert [tuple(row) for row in found["figure-20"].numbers.rows] == [("0", 7, 7, 7), ("1", 9, 9, 9)]
    assert [tuple(row) for row in found["figure-24"].numbers.rows] == [("0", 28, 30, 30), ("1", 41, 41, 44)]
    assert [tuple(row) for row in found["figure-25"].numbers.rows] == [("0", 17, 17, 19), ("1", 18, 18, 18)]
    assert not {"figure-20", "figure-24", "figure-25"} & set(figures({}))


@pytest.mark.slow
def test_the_page_in_light_dark_and_print(visit, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(render(curve_page(document(RUNS), "TINY")), "utf-8")
    tab, requests, complaints = visit(file)
    colours = set()
    for media in ({"media": "screen", "color_scheme": "light"}, {"media": "screen", "color_scheme": "dark"},
                  {"media": "print", "color_scheme": "dark"}):
        tab.emulate_media(**media)
        widths = tab.evaluate("[...document.querySelectorAll('figure svg')].map(e => e.getBoundingClientRect().width)")
        assert len(widths) == 9 and min(widths) > 200
        colours.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2
    assert [url for url in requests if not url.startswith("data:")] == [file.as_uri()]
    assert complaints == []
