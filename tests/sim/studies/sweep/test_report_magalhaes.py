"""The page of the experiments of Magalhães 2025: changes, their colours, counts of gains, latencies."""

import pytest

from metronome.sim.studies.sweep.report.papers import change_class, change_in_paper, papers
from tests.sim.studies.sweep.page_reader import figure_problems, number

pytestmark = pytest.mark.slow

MACHINES = {"MID": "8W8T", "PAPER": "32W32T"}


def changes(rows, value):
    """(machine, workload, policy) -> change of a value against round robin, in %."""
    def key(row, policy):
        return row["config.preset"], row["kernel"], row["config.size"], policy
    values = {key(row, row["config.fetch"]): value(row) for row in rows}
    return {
        (MACHINES[preset], f"{kernel} {size}", policy): 100 * (each / values[preset, kernel, size, "lrr"] - 1)
        for (preset, kernel, size, policy), each in values.items() if policy != "lrr"
    }


def of_cycles(rows):
    return changes(rows, lambda row: row["cycles"])


@pytest.mark.parametrize(("change", "interval"), [
    (1e9, 0), (15.001, 0), (15.0, 1), (7.501, 1), (7.5, 2), (2.501, 2), (2.5, 3), (1e-9, 3), (0.0, 4), (-0.0, 4),
    (-1e-9, 5), (-2.499, 5), (-2.5, 6), (-7.499, 6), (-7.5, 7), (-14.999, 7), (-15.0, 8), (-100.0, 8),
])
def test_the_limits_of_the_intervals(change, interval):
    assert change_class(change) == interval


def test_table_2_has_our_changes_in_their_colours(magalhaes):
    page, _, rows = magalhaes
    expected = of_cycles(rows)
    table = page.tables["magalhaes-table-2"]
    groups = [(policy, machine) for policy in ("gto", "pta") for machine in ("8W8T", "32W32T")]
    assert table.head[1:5] == [f"{policy.upper()} {machine}" for policy, machine in groups]
    seen = set()
    for line, plain in zip(table.rows, table.lines(), strict=True):
        workload = f"{line[0][0]} {line[1][0]}"
        for place, (policy, machine) in enumerate(groups):
            shown, classes = line[2 + 2 * place]
            change = expected.pop((machine, workload, policy))
            assert number(shown) == pytest.approx(change, abs=0.051)
            assert float(plain[2 + 2 * place]) == pytest.approx(change, rel=1e-9)
            assert classes == [f"change-{change_class(change)}"]
            seen |= set(classes)
    assert not expected and "change-4" in seen and len(seen) > 2


def test_the_paper_stands_beside_what_corresponds_to_it(magalhaes):
    page, _, _ = magalhaes
    lines = {f"{line[0][0]} {line[1][0]}": line for line in page.tables["magalhaes-table-2"].rows}
    # Magalhães 2025, Table 2: psort 64: GTO -3,9 8W8T, -1,9 32W32T; PTA -2,0 and -0,2. conv3 128 is a side of 32.
    assert [number(lines["psort 64"][place][0]) for place in (3, 5, 7, 9)] == [-3.9, -1.9, -2.0, -0.2]
    assert [number(lines["conv3 32"][place][0]) for place in (3, 5, 7, 9)] == [-0.6, -2.5, -0.4, -0.1]
    assert lines["psort 64"][3][1] == ["change-6"]
    assert [lines["psort 96"][place][1] for place in (3, 5, 7, 9)] == [["unknown"]] * 4
    assert change_in_paper("sgemm", "gto", (32, 32), 64) == -21.0
    assert change_in_paper("sgemm", "lrr", (8, 8), 64) is None


def test_gains_are_counted(magalhaes):
    page, _, rows = magalhaes
    counts = {}
    for (machine, _, policy), change in of_cycles(rows).items():
        counts[f"ours, {machine}, {policy}"] = counts.get(f"ours, {machine}, {policy}", 0) + (change < 0)
    # Section 6.1: 56.2 %, 71.9 % and 93.7 % of 32 for GTO.
    paper = dict(zip([
        f"Magalhães 2025, counted in its Table 2, {machine}, {policy}"
        for policy in ("gto", "pta") for machine in ("8W8T", "16W16T", "32W32T")
    ], (18, 23, 30, 12, 24, 20), strict=True))
    assert figure_problems(page.figures["magalhaes-figure-2"], counts | paper) == []
    lines = {(line[0][0], line[1][0]): [number(cell) for cell, _ in line[2:]]
             for line in page.tables["magalhaes-wins"].rows}
    assert lines["GTO", "all"][3:5] == [71, 96] and lines["PTA", "all"][3:5] == [56, 96]
    assert lines["GTO", "8W8T"][0] == counts["ours, 8W8T, gto"]
    assert lines["PTA", "all"][:2] == [sum(count for key, count in counts.items() if "pta" in key), 10]
    change = of_cycles(rows)
    better = sum(each < change[machine, what, "gto"] for (machine, what, policy), each in change.items()
                 if policy == "pta")
    assert better != 10 - better, "this would not tell fewer from more"
    assert lines["PTA better than GTO", "all"] == [better, 10, pytest.approx(10 * better, abs=0.01), 18, 96, 18.75]


def test_figure_3_has_cycles_and_latencies(magalhaes):
    page, _, rows = magalhaes
    figure = page.figures["magalhaes-figure-3"]
    cycles = {", ".join(key): change for key, change in of_cycles(rows).items()}
    assert figure_problems(figure, cycles) == []
    latency = changes(rows, lambda row: row["load_latency.mean"] * row["load_latency.count"])
    latency = {", ".join(key): change for key, change in latency.items()}
    assert figure_problems(figure, latency, role="point") == []
    fills = {mark.key: mark.fill for mark in figure.marks if mark.role == "point"}
    assert fills == {key: f"var(--{'grey' if not change else 'down' if change < 0 else 'up'})"
                     for key, change in latency.items()}
    assert "var(--grey)" in fills.values()


def test_the_paper_is_copied_right():
    table = papers()["magalhaes"]
    rows = [row for rows in table["changes"].values() for row in rows]
    assert len(rows) == 32 and {len(row) for row in rows} == {6} and list(table["sizes"]) == list(table["changes"])
    # The text counts the table too: section 6.1.
    won = [sum(row[place] < 0 for row in rows) for place in range(6)]
    assert won[:3] == table["text"]["gto_wins_by_machine"] and sum(won[:3]) == table["text"]["gto_wins"]
    assert sum(won[3:]) == table["text"]["pta_wins"]
    better = sum(row[3 + place] < row[place] for row in rows for place in range(3))
    assert better == table["text"]["pta_better_than_gto"]
