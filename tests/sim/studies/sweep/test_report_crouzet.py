"""The page of the experiments of Crouzet 2024: each number is that of the Parquet."""

import tomllib

import pytest

from metronome.sim.build.sources import ROOT
from tests.sim.studies.sweep.page_reader import figure_problems, number

#: One process makes the page, which all tests here read.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("crouzet")]

NAMES = {"blackscholes": "blackscholes", "hotspot": "hotspot", "hotspot3d": "hotspot3D", "kmeans": "kmeans",
         "psort_group": "psort", "sgemm_group": "sgemm"}
#: Copied from the paper by hand, apart from the file that the report reads.
TABLE_1 = {"blackscholes": 192_052, "hotspot": 17_554, "hotspot3D": 39_971, "kmeans": 164_077, "psort": 492_237,
           "sgemm": 1_728}
TABLE_2 = {"blackscholes": (1.02, 16_657), "hotspot": (0.92, 3_147), "hotspot3D": (1.00, 1_662),
           "kmeans": (1.01, 23_643), "psort": (0.66, 165_011), "sgemm": (1.08, 403)}


def found(rows, mode, kernel, prediction, issue, fetch=None):
    return next(row for row in rows if (
        row["config.mode"], NAMES[row["kernel"]], row["config.prediction"], row["config.issue"], row["config.fetch"]
    ) == (mode, kernel, prediction, issue, fetch))


def of_baseline(rows, value):
    return {
        f"{NAMES[row['kernel']]}, {row['config.prediction']}, {row['config.fetch']}-{row['config.issue']}": value(row)
        for row in rows if row["config.mode"] == "baseline"
    }


def test_figure_4_has_the_ipc_of_each_pair(crouzet):
    page, _, rows = crouzet
    expected = of_baseline(rows, lambda row: row["committed_threads"] / row["cycles"])
    assert len(expected) == 6 * 9 * 2
    assert figure_problems(page.figures["crouzet-figure-4"], expected) == []


def test_figure_5_has_the_error_rate(crouzet):
    page, _, rows = crouzet
    expected = of_baseline(rows, lambda row: 100 * row["errors"] / row["cycles"])
    assert figure_problems(page.figures["crouzet-figure-5"], expected) == []


@pytest.mark.parametrize(("figure", "issue"), [(6, "gtlrr"), (7, "gtlo"), (8, "lrr")])
def test_figures_6_to_8_have_the_ratios(crouzet, figure, issue):
    page, _, rows = crouzet
    expected = {}
    for kernel in NAMES.values():
        for prediction in ("not_taken", "btfn"):
            for fetch in ("gtlrr", "gtlo", "lrr"):
                swas = found(rows, "swas", kernel, prediction, issue)["ipc"]
                base = found(rows, "baseline", kernel, prediction, issue, fetch)["ipc"]
                expected[f"{kernel}, {prediction}, {issue} against {fetch}-{issue}"] = swas / base
    drawn = page.figures[f"crouzet-figure-{figure}"]
    assert figure_problems(drawn, expected) == []
    listed = {f"{line['benchmark']}, {line['prediction']}, {issue} against "
              f"{line['fetch policy of the baseline']}-{issue}": float(line["ratio"]) for line in drawn.csv()}
    assert listed == expected


def test_a_wrong_number_is_found(crouzet):
    page, _, rows = crouzet
    expected = of_baseline(rows, lambda row: row["ipc"])
    key = "psort, btfn, gtlo-lrr"
    wrong = figure_problems(page.figures["crouzet-figure-4"], expected | {key: expected[key] * 1.001})
    assert any(key in problem and "the results" in problem for problem in wrong)
    figure = page.figures["crouzet-figure-4"]
    mark = next(mark for mark in figure.marks if mark.key == key)
    path, mark.path = mark.path, "M0,0h10v1h-10Z"
    try:
        assert any("long" in problem and key in problem for problem in figure_problems(figure, expected))
    finally:
        mark.path = path
    assert figure_problems(figure, {}) and figure_problems(figure, expected | {"none": 1.0})


def test_table_1_has_the_instructions(crouzet):
    page, _, rows = crouzet
    lines = page.tables["crouzet-table-1"].rows
    assert [line[0][0] for line in lines] == list(NAMES.values())
    for (name, kernel, theirs, ours, ratio) in [[cell for cell, _ in line] for line in lines]:
        counts = [row["committed"] for row in rows if row["kernel"] == kernel]
        assert number(theirs) == TABLE_1[name]
        assert [number(part) for part in ours.split(" to ")] == [min(counts), max(counts)]
        assert number(ratio) == pytest.approx(counts[0] / TABLE_1[name], abs=0.005)


def test_table_2_has_ratios_and_errors(crouzet):
    page, _, rows = crouzet
    for line in page.tables["crouzet-table-2"].rows:
        name, theirs, not_taken, btfn, their_errors, *errors = [cell for cell, _ in line]
        assert (number(theirs), number(their_errors)) == TABLE_2[name]
        for shown, count, prediction in zip((not_taken, btfn), errors, ("not_taken", "btfn"), strict=True):
            base = found(rows, "baseline", name, prediction, "gtlrr", "lrr")
            swas = found(rows, "swas", name, prediction, "gtlrr")
            assert number(shown) == pytest.approx(swas["ipc"] / base["ipc"], abs=0.005)
            assert number(count) == base["errors"]


def test_the_numbers_of_the_text_are_of_the_right_runs(crouzet):
    page, _, rows = crouzet
    lines = {line[0][0]: [cell for cell, _ in line[1:]] for line in page.tables["crouzet-text"].rows}
    base = [row for row in rows if row["config.mode"] == "baseline" and row["config.prediction"] == "btfn"]
    best = [row for row in base if (row["config.fetch"], row["config.issue"]) == ("lrr", "gtlrr")]
    shown = next(cells for what, cells in lines.items() if "latency" in what and "kmeans" in what)
    assert number(shown[0]) == 18
    assert number(shown[2]) == pytest.approx(
        next(row["load_latency.mean"] for row in best if row["kernel"] == "kmeans"), abs=0.05
    )
    shown = next(cells for what, cells in lines.items() if what.startswith("IPC of the baseline"))
    ipcs = [row["ipc"] for row in base]
    assert shown[0] == "1.07 to 21.62"
    assert [number(part) for part in shown[2].split(" to ")] == pytest.approx([min(ipcs), max(ipcs)], abs=0.005)
    shown = next(cells for what, cells in lines.items() if what.startswith("IPC of psort with GTLO"))
    ratio = found(rows, "swas", "psort", "not_taken", "gtlo")["ipc"] / found(
        rows, "baseline", "psort", "not_taken", "gtlo", "lrr"
    )["ipc"]
    assert number(shown[0]) == -63.0 and number(shown[1]) == pytest.approx(100 * (ratio - 1), abs=0.05)


def test_every_run_of_swas_is_checked(crouzet):
    page, _, _ = crouzet
    table = page.tables["crouzet-no-errors"]
    assert len(table.rows) == 6 * 3 * 2
    assert {line[-1][0] for line in table.rows} == {"yes"} and "36 of 36" in table.caption


def test_the_parts_are_all_cycles(crouzet):
    page, _, rows = crouzet
    parts = {name: name.removeprefix("stalls.") for name in rows[0] if name.startswith("stalls.")}
    parts |= {"committed": "committed", "nops": "NOP"}
    for prediction in ("not_taken", "btfn"):
        expected = {}
        for row in rows:
            if row["config.prediction"] != prediction:
                continue
            pair = "-".join(filter(None, (row["config.fetch"], row["config.issue"])))
            for column, part in parts.items():
                if row[column]:
                    key = f"{NAMES[row['kernel']]}, {row['config.mode']} {pair}, {part}"
                    expected[key] = 100 * row[column] / row["cycles"]
        assert figure_problems(page.figures[f"crouzet-breakdown-{prediction}"], expected) == []


def test_the_paper_is_copied_right():
    file = ROOT / "sim" / "studies" / "sweep" / "report" / "papers.toml"
    table = tomllib.loads(file.read_text("utf-8"))["crouzet"]["benchmarks"]
    assert {each["name"]: each["committed"] for each in table.values()} == TABLE_1
    assert {each["name"]: (each["ratio"], each["errors"]) for each in table.values()} == TABLE_2
