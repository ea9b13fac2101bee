"""The page of ``metronome characterize``: its figures hold what the JSON says, and can be seen."""

import functools
import json

import pytest

from metronome.sim.studies.sweep.report.curves import curve_page
from metronome.sim.studies.sweep.report.page import render
from tests.sim.studies.sweep.test_report_browser import OUTSIDE, OVERLAPS

COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 16)
RUNS = {"mad_add dependent 2": [[7, 9], [7, 9]], "load_miss dependent 2": [[30, 41], [28, 44]],
        "store_line independent 8": [[17, 18], [19, 18]]}
FORMS = (("alu", False), ("alu", True), ("mad_add", True), ("local_load", True), ("local_store", False),
         ("load_miss", True), ("store", False))
CLASSES = (("alu", "add", 1, 3), ("load_miss", "lw", 2.875, 28), ("csr", "csrrw", 1, None))


def curve(place, name, dependent, warps):
    cycles = [[(place + 2) * count + warp for warp in range(warps)] for count in COUNTS]
    return {"class": name, "dependent": dependent, "warps": warps, "instructions": COUNTS, "cycles": cycles}


def document(runs):
    strides = [number(f"{kind}, stride {words}", words + 1)
               for kind in ("local load", "local store") for words in range(3)]
    latencies = [number("latency_mul", 4, 4), number("latency_fma", 5, 4), *strides]
    cpi = [{"class": name, "about": about, "warps": warps, "independent": free * warps, "dependent": bound}
           for name, about, free, bound in CLASSES for warps in (1, 2, 4)]
    table_7 = [{"type": "LDS", "about": "load", "class": "local_load", "instructions": "lw", "dependent": True,
                "measured": 5.5, "fermi": "26"}]
    return {"passed": True, "latencies": latencies, "cpi": cpi, "table_7": table_7, "repeated": {name: {"cycles": its}
            for name, its in runs.items()},
            "curves": [curve(place, *form, warps) for place, form in enumerate(FORMS) for warps in (1, 2)]}


def number(name, measured, config=None):
    differs = config not in (None, measured)
    return {"name": name, "measured": measured, "config": config, "unit": "cycles", "differs": differs}


def tables():
    return {each.name: each for each in curve_page(document({}), "TINY").tables()}


@functools.cache
def figures(*, repeated=True):
    return {each.name: each for each in curve_page(document(RUNS if repeated else {}), "TINY").figures()}


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


def test_what_was_found():
    rows = [[cell.shown for cell in row] for row in tables()["latencies"].rows]
    assert rows[:3] == [["latency_mul", "4", "4", "cycles", "yes"], ["latency_fma", "5", "4", "cycles", "no"],
                        ["local load, stride 0", "1", "\u2013", "cycles", "\u2013"]]
    assert len(rows) == 8


def test_the_cycles_per_instruction():
    table = tables()["cpi"]
    assert table.groups == [("", 2), ("1 warp", 2), ("4 warps", 2)]
    assert [[cell.shown for cell in row] for row in table.rows] == [
        ["alu", "add", "1", "3", "4", "3"],
        ["load_miss", "lw", "2.875", "28", "11.5", "28"],
        ["csr", "csrrw", "1", "\u2013", "4", "\u2013"],
    ]


def test_table_7():
    assert [[cell.shown for cell in row] for row in tables()["table-7"].rows] == [["LDS", "load", "lw", "5.5", "26"]]


def test_the_axes_say_what_they_are():
    for figure in figures().values():
        text = json.dumps(figure.chart)
        assert '"title": "cycles"' in text or '"title": "% longer"' in text, figure.name
        below = "instructions" if figure.name in ("figure-16", "figure-21", "figure-23") else "warp"
        below = {"figure-19": "warps that run", "figure-22": "stride in words"}.get(figure.name, below)
        assert f'"title": "{below}"' in text, figure.name


def test_the_repeated_runs():
    found = figures()
    assert [tuple(row) for row in found["figure-20"].numbers.rows] == [("0", 7, 7, 7), ("1", 9, 9, 9)]
    assert [tuple(row) for row in found["figure-24"].numbers.rows] == [("0", 28, 30, 30), ("1", 41, 41, 44)]
    assert [tuple(row) for row in found["figure-25"].numbers.rows] == [("0", 17, 17, 19), ("1", 18, 18, 18)]
    assert not {"figure-20", "figure-24", "figure-25"} & set(figures(repeated=False))


@pytest.mark.more
@pytest.mark.xdist_group("browser")
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
        assert tab.evaluate(OVERLAPS) == tab.evaluate(OUTSIDE) == []
        colours.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2
    assert [url for url in requests if not url.startswith("data:")] == [file.as_uri()]
    assert complaints == []
