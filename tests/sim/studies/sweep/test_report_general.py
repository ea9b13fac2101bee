"""What every page must be, results of somebody's own, and the comparison of two results."""

import re

import pytest

from metronome.sim.show.drawing.charts import draw, panel_bars
from metronome.sim.studies.sweep.report import general
from metronome.sim.studies.sweep.report.compare import join
from metronome.sim.studies.sweep.report.data import ReportError, load, named
from metronome.sim.studies.sweep.report.page import compare, render, report
from metronome.sim.studies.sweep.results import Results, ResultsError
from tests.sim.studies.sweep.invented_results import OWN, invent
from tests.sim.studies.sweep.page_reader import Page, figure_problems, number
from tests.support.tiers import more_but

pytestmark = pytest.mark.slow

PAGES = ("crouzet", "magalhaes", "own")
#: Two runs, and few figures.
SMALL = 'preset = "TINY"\nkernel = "psort"\nsize = 8\nmode = "swas"\nissue = ["lrr", "gto"]\n'


@pytest.mark.more
@pytest.mark.parametrize("name", PAGES)
def test_a_page_needs_nothing_else(request, name):
    page, text, _ = request.getfixturevalue(name)
    assert page.open == []
    assert all(target.startswith(("data:", "#")) for _, target in page.loaded)
    assert not {"script", "iframe", "object", "img", "base", "form"} & set(page.tags)
    assert "url(" not in text and "@import" not in text
    others = re.sub(r'xmlns(:xlink)?="http://www\.w3\.org/[^"]*"', "", text)
    assert not re.search(r"https?://", others)


@pytest.mark.parametrize("name", PAGES)
def test_each_figure_and_table_can_be_read_alone(request, name):
    page, text, _ = request.getfixturevalue(name)
    assert page.figures and page.tables
    for item in page.items.values():
        assert re.match(r"(Figure|Table) \d+\. .{8,}", item.title), item.name
        assert len(item.caption) > 40 and "Source:" in item.caption, item.name
        assert f"{item.name}.csv" in item.links and len(item.csv()) > 0, item.name
        assert text.count(f'id="{item.name}"') == 1
    for figure in page.figures.values():
        assert figure.marks and "<svg" in text
        # Every colour follows the page's scheme.
        assert not [mark.fill for mark in figure.marks if not mark.fill.startswith("var(--")], figure.name
    targets = [target for tag, target in page.loaded if tag == "a" and target.startswith("#")]
    assert targets and all(f'id="{target[1:]}"' in text for target in targets)


def test_csv_of_tables_has_what_is_shown(crouzet):
    page, _, _ = crouzet
    for table in page.tables.values():
        lines = table.lines()
        assert len(lines) == len(table.rows)
        for shown, plain in zip(table.rows, lines, strict=True):
            for (cell, classes), value in zip(shown, plain, strict=True):
                if isinstance(number(cell), float):
                    assert number(cell) == pytest.approx(float(value), abs=0.051)
                else:
                    assert value.replace(".", "") or "unknown" in classes


def name_of(row):
    return (f"{row['kernel']} {row['config.size']}, {row['config.issue']}, TINY, latency={row['config.latency']}")


def test_other_results_are_drawn(own):
    page, text, rows = own
    good = [row for row in rows if row["passed"]]
    assert "crouzet" not in page.items and "They differ in: kernel, issue, latency, size." in text

    def panel(key):
        return key.partition(",")[0]
    for column in ("cycles", "ipc"):
        expected = {name_of(row): row[column] for row in good}
        assert figure_problems(page.figures[f"general-{column}"], expected, per_panel=panel) == []
    table = page.tables["all-runs"]
    shown = {(line[0][0], line[1][0], line[2][0]): [number(cell) for cell, _ in line[3:]] for line in table.rows}
    assert shown == {
        tuple(name_of(row).split(", ", 2)): [
            row["cycles"], pytest.approx(row["ipc"], abs=0.0005), 0, 0,
            pytest.approx(100 * row["nops"] / row["cycles"], abs=0.005),
        ] for row in good
    }


def test_failed_and_missing_runs_are_named_first(own):
    page, text, _ = own
    assert "15 of 16 runs have ended; 13 passed, 2 failed." in text
    assert "1 missing" in page.text
    assert f"psort int32 16, TINY, swas gto btfn, fixed, latency=40 ({7:024x})" in page.text
    reasons = [line[-1][0] for line in page.tables["runs-failed"].rows]
    assert reasons == ["invented fault 3 <at> main & co", "invented fault 4 <at> main & co"]
    assert text.index('id="runs-failed"') < text.index('id="general-cycles"')
    assert page.text.count("invented <b>& own</b>") == 2, "the title is text, not markup"


def test_an_error_of_swas_is_shown(tmp_path):
    two = """
preset = "TINY"
kernel = "kmeans"
type = "float32"
issue = "lrr"
[[block]]
mode = "baseline"
fetch = "fixed"
[[block]]
mode = "swas"
"""
    results = invent(tmp_path / "results", two, 3, changed=lambda row: row | {"errors": 1})
    page = Page(render(report(results)))
    assert list(page.figures) == ["crouzet-breakdown"], "there is no pair of the paper's policies"
    table = page.tables["crouzet-no-errors"]
    assert table.rows[0][-1] == ("no", ["text", "bad"]) and "0 of 1" in table.caption


def test_a_page_of_failures_only(tmp_path):
    results = invent(tmp_path / "results", SMALL, 1, failed=(0, 1))
    page = Page(render(report(results)))
    assert list(page.items) == ["runs-failed"]


@pytest.fixture
def pair(tmp_path):
    """Results before and after, on a machine that differs in one field and has one run less."""
    first = invent(tmp_path / "before", SMALL + "latency = [10, 20]\n", 1)
    second = invent(tmp_path / "after", SMALL + "latency = [10, 20]\nicache_bytes = 1024\n", 2, missing=(3,))
    return first, second


def test_two_results_are_compared_run_by_run(pair):
    one, two = ([row for row in results.table().to_pylist()] for results in pair)
    page = Page(render(compare(*pair)))
    settings = {line[0][0]: (line[1][0], line[2][0]) for line in page.tables["compare-settings"].rows}
    assert settings == {"icache_bytes": (str(one[0]["config.icache_bytes"]), "1024")}
    assert "Runs in both: 3. In A only: 1. In B only: 0." in page.text
    expected, cells = {}, []
    for before in one:
        key = ("config.issue", "config.latency")
        after = next((row for row in two if all(row[name] == before[name] for name in key)), None)
        if after is not None:
            name = f"psort, {before['config.issue']}, TINY, latency={before['config.latency']}"
            expected[name] = after["cycles"] / before["cycles"]
            cells.append([before["cycles"], after["cycles"], pytest.approx(expected[name], abs=5e-5)])
    assert figure_problems(page.figures["compare-ratio"], expected) == []
    assert [[number(cell) for cell, _ in line[3:6]] for line in page.tables["compare-runs"].rows] == cells


def test_a_result_compared_with_itself_is_the_same(pair):
    page = Page(render(compare(pair[0], pair[0])))
    assert "With the same number of cycles: 4." in page.text and "No setting differs" in page.text
    assert {mark.value for mark in page.figures["compare-ratio"].marks} == {1.0}


def test_results_that_cannot_be_compared(tmp_path, pair):
    other = invent(tmp_path / "other", SMALL.replace("psort", "saxpy"), 1)
    with pytest.raises(ReportError, match="have no run in common"):
        compare(pair[0], other)
    one = invent(tmp_path / "one", SMALL + "latency = 99\n", 1)
    with pytest.raises(ReportError, match=r"several runs such as .* differ only in latency"):
        compare(one, pair[0])
    bad = invent(tmp_path / "bad", SMALL, 1, failed=(0, 1))
    with pytest.raises(ReportError, match="no run there has passed"):
        compare(pair[0], bad)


def test_what_runs_of_both_do_not_have_does_not_keep_them_apart(tmp_path):
    """A latency is of fixed memory only: it must neither hide the difference nor part the runs on dram."""
    text = SMALL + '[[block]]\nmemory = "dram"\n[[block]]\nmemory = "fixed"\nlatency = {}\n'
    page = Page(render(compare(*(invent(tmp_path / str(latency), text.format(latency), 1) for latency in (10, 40)))))
    assert "Runs in both: 4. In A only: 0. In B only: 0." in page.text
    settings = {line[0][0]: (line[1][0], line[2][0]) for line in page.tables["compare-settings"].rows}
    assert settings == {"latency": ("none, 10", "none, 40")}


def test_the_page_says_what_was_run(own):
    page, _, rows = own
    settings = {line[0][0]: line[1][0] for line in page.tables["settings"].rows}
    assert (settings["size"], settings["latency"], settings["issue"]) == ("8, 16", "10, 40", "lrr, gto")
    assert settings["icache_bytes"] == str(rows[0]["config.icache_bytes"]) and "fetch" not in settings
    assert "kernel psort, saxpy; type int32; size 8, 16; seed 1; preset TINY; warps 2; threads 2; mode" in page.text


def test_long_names_are_not_cut(tmp_path):
    text = SMALL + 'memory = "dram"\ntiming = ["DDR4_2400R", "DDR4_3200AA"]\nbank_hash = ["xor", "none"]\n'
    text = render(report(invent(tmp_path / "results", text, 1)))
    assert ">gto, TINY, timing=DDR4_3200AA, bank_hash=none</text>" in text


def test_what_is_no_result(tmp_path):
    with pytest.raises(ResultsError, match=r"cannot read sweep\.json"):
        report(Results(tmp_path / "nothing"))
    results = invent(tmp_path / "empty", SMALL, 1, missing=(0, 1))
    with pytest.raises(ReportError, match="no run has ended yet"):
        report(results)


@pytest.mark.parametrize(("axis", "names"), [
    ('cflags = ["", "-O2"]', ["psort", "psort cflags=-O2"]),
    *more_but([
        ("no_simt = [true, false]", ["psort no_simt", "psort"]),
        ("max_cycles = [1000, 2000]", ["psort max_cycles=1000", "psort max_cycles=2000"]),
        ("seed = [0, 1]", ["psort seed=0", "psort seed=1"]),
    ], []),
])
def test_workloads_that_differ_in_an_option_are_told_apart(tmp_path, axis, names):
    text = SMALL.replace('["lrr", "gto"]', '"lrr"') + axis + "\n"
    page = Page(render(report(invent(tmp_path / "results", text, 1))))
    assert [line[0][0] for line in page.tables["all-runs"].rows] == names


@pytest.mark.more
def test_each_machine_has_a_section_of_its_own(tmp_path):
    text = """
kernel = ["kmeans", "saxpy"]
type = "float32"
issue = "lrr"
[[block]]
preset = ["TINY", "BASE"]
mode = "baseline"
fetch = "lrr"
[[block]]
preset = ["TINY", "BASE"]
mode = "swas"
"""
    page = Page(render(report(invent(tmp_path / "results", text, 1))))
    assert {"crouzet-figure-4", "crouzet-2-figure-4", "general-cycles"} <= page.figures.keys()
    assert page.text.count("Differences from Crouzet 2024, and their causes") == 2, "in the contents and as a title"
    assert {mark.key.split(",")[0] for mark in page.figures["general-cycles"].marks} == {"saxpy"}
    assert "On TINY: instruction cache" in page.text and "On BASE our" in page.text


def test_runs_without_a_region_are_named(tmp_path):
    results = invent(tmp_path / "results", SMALL, 1, changed=lambda row: row | (
        {"cycles": None, "ipc": None} if row["config.issue"] == "gto" else {}
    ))
    page = Page(render(report(results)))
    assert "1 without a measured region, so without cycles: psort, gto." in page.text
    assert len(page.tables["all-runs"].rows) == 1


def test_more_runs_than_can_be_drawn_are_a_table(tmp_path, monkeypatch):
    monkeypatch.setattr("metronome.sim.studies.sweep.report.general.MOST_BARS", 1)
    monkeypatch.setattr("metronome.sim.studies.sweep.report.breakdown._MOST_BARS", 1)
    page = Page(render(report(invent(tmp_path / "results", SMALL, 1))))
    assert not page.figures and len(page.tables["all-runs"].rows) == 2 and "are not drawn" in page.text


def test_the_invented_experiment_is_what_it_says(own):
    """The text above, with its 16 runs, is one that a user may write."""
    assert OWN.count("[") == 4 and len(own[2]) == 15


def test_the_largest_chart_can_be_drawn():
    """The order of many names is a deep expression in Vega."""
    values = [{"panel": "psort", "bar": str(place), "kind": "swas", "value": place, "said": f"psort, {place}: {place}"}
              for place in range(general.MOST_BARS)]
    drawing = draw(panel_bars(values, title="cycles", colours={"swas": "#0072b2"}, legend="mode"))
    assert drawing.count('aria-roledescription="bar"') == general.MOST_BARS


def test_several_sms_are_no_paper_s_machine(tmp_path):
    """Rows of both modes of a benchmark of Crouzet 2024: those of one SM are its section, those of two are not."""
    text = SMALL.replace("psort", "psort_group").replace('["lrr", "gto"]', '"lrr"').replace('mode = "swas"\n', "")
    text += '[[block]]\nmode = "swas"\n[[block]]\nmode = "baseline"\nfetch = "lrr"\n'

    def of_two(row):
        return row | {"config.sms": 2, "config.interconnect": "tdm", "config.slot_cycles": 3}

    pages = [report(invent(tmp_path / name, text, 7, changed=changed))
             for name, changed in (("one", None), ("two", of_two))]
    names = [{section.name for section in page.sections} for page in pages]
    assert "crouzet" in names[0] and "general" not in names[0]
    assert "crouzet" not in names[1] and "general" in names[1]
    one, two = (load(Results(tmp_path / name)).passed for name in ("one", "two"))
    assert [row.slots for row in two] == [2 * row.slots for row in one]
    # Equal in all rows of one folder, it is no part of a machine's name, but of one that tells them apart.
    assert {row.machine for row in two} == {"TINY"}
    assert [row.machine for row in named([one[0].values, two[0].values])] == ["TINY, sms=1", "TINY, sms=2"]
    joined = join(load(Results(tmp_path / "one")), load(Results(tmp_path / "two")))
    assert joined.differing["config.sms"] == ([1], [2]) and len(joined.pairs) == 2
