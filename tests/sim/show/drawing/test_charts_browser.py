"""Every kind of chart in a browser that has DejaVu alone: names are whole, in the drawing, and beside each other."""

import random

import pytest

from metronome.sim.show.drawing import charts
from metronome.sim.show.drawing.palette import PART_COLOURS, SERIES
from tests.sim.studies.sweep.test_report_browser import OUTSIDE, OVERLAPS
from tests.support.tiers import some_more

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

SEED = 20_261_126
#: Names as users give them: short ones, and wide letters.
NAMES = ("nn", "MMMMMMMMMMMM", "conv_columns", "gaussian", "blackscholes", "WWWW_WWWW", "row_sums", "pathfinder")
PANELS = ("psort 64, MMMMMMMM WWWWWWWW 4 warps x 4 threads", "b", "c")


def values(rng, groups, panels, series):
    return [
        {"panel": panel, "group": group, "bar": f"{group}, {group}", "series": each, "kind": each, "part": "",
         "line": each, "order": number, "value": value, "x": value, "y": value, "low": value / 2, "high": 2 * value,
         "shape": each, "mark": value, "direction": "less", "mark_said": "mark", "said": f"{group} {each}"}
        for panel in panels for group in groups for number, each in enumerate(series)
        for value in [rng.uniform(1e-3, 100)]
    ]


def drawn(rng, panels):
    """A drawing of each kind, of few names and of many, by its name."""
    parts_of = dict(list(zip(PART_COLOURS, NAMES, strict=False))[:6])
    kinds = dict(zip(("variable_rate_strict - MMMMM", "gto"), SERIES, strict=False))
    for count in (1, len(NAMES)):
        its = values(rng, NAMES[-count:], panels, kinds)
        parts = [{**value, "part": part} for value in its for part in parts_of.values()]
        colours = {"series": kinds, "title": "thread-instructions in a cycle"}
        yield f"bars {count}", charts.bars(its, **colours, legend="policy", rule=1.0, groups_are="kernels")
        yield f"panel_bars {count}", charts.panel_bars(its, title="% of cycles", colours=kinds, legend="mode")
        yield f"change_bars {count}", charts.change_bars(its, **colours, groups_are="kernels")
        yield f"point_panels {count}", charts.point_panels(
            its, series=kinds, legend="mode", shapes="shape", groups_are="kernels", values_are="% of cycles",
        )
        yield f"line_panels {count}", charts.line_panels(its, x="cycle", y="instructions", legend="warp")
        yield f"stacks {count}", charts.stacks(parts, names=parts_of, title="% of cycles")


@pytest.mark.more
@pytest.mark.parametrize("panels", some_more([PANELS, ("",)], 1), ids=["three", "one"])
def test_every_name_has_its_room(visit, tmp_path, panels):
    figures = dict(drawn(random.Random(SEED), panels))
    assert {name.split()[0] for name in figures} | {"draw", "stretch"} == set(charts.__all__), "a kind is left out"
    file = tmp_path / "page.html"
    file.write_text("".join(f'<figure id="{name}">{charts.draw(chart)}</figure>' for name, chart in figures.items()),
                    "utf-8")
    tab, _, complaints = visit(file)
    assert complaints == []
    assert tab.evaluate(OUTSIDE) == [], f"seed {SEED}"
    assert tab.evaluate(OVERLAPS) == [], f"seed {SEED}"
