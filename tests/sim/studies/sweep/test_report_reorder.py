"""What an order of accesses costs, in the report (report/reorder.py)."""

import pytest

from metronome.sim.show.drawing.charts import draw
from metronome.sim.studies.sweep.report.data import Row
from metronome.sim.studies.sweep.report.reorder import SCHEMES, reorder_sections


def row(kernel, scheme, cycles, size=16384, **values):
    issue, channels = SCHEMES[scheme]
    return Row(
        values={
            "kernel": kernel, "config.issue": issue, "config.channels": channels, "cycles": cycles, "config.type": None,
            "config.size": 8, "config.preset": "BASE", "config.memory": "dram", "config.dcache_bytes": size,
            "config.dcache_ways": 4, **values,
        },
        workload=kernel, machine="", scheme=scheme,
    )


def rows(kernel, cycles, size=16384):
    return [row(kernel, scheme, each, size) for scheme, each in zip(SCHEMES, cycles, strict=True)]


def test_the_section():
    asked = [*rows("a", (100, 400, 110, 100)), *rows("b", (100, 100, 220, 90)), *rows("a", (50, 50, 50, 50), 32768)]
    (section,) = reorder_sections(asked)
    about, figure, table, differs = section.items
    assert "figures 12 and 13" in about and "24.4 %" in differs
    assert "a, pure round robin: 4.000" in draw(figure.chart) and len(figure.numbers.rows) == 2 * 3
    small, large = [[cell.value for cell in line] for line in table.rows]
    assert small[0] == "dram, 16 KiB, 4 ways" and small[-1] == "b, 2.200"
    assert small[1:5] == pytest.approx([2.0, (1.1 * 2.2) ** 0.5, 0.9**0.5, 2.0 / (1.1 * 2.2) ** 0.5])
    assert large[0] == "dram, 32 KiB, 4 ways" and large[1:5] == [1, 1, 1, 1]


def test_only_programs_with_each_scheme_count():
    asked = [*rows("a", (100, 400, 110, 100)), *rows("b", (100, 100, 220, 90))[:3]]
    (section,) = reorder_sections(asked)
    assert {line[0] for line in section.items[1].numbers.rows} == {"a"}
    assert reorder_sections(asked[4:]) == [] and reorder_sections([]) == []
    other = [row("a", scheme, 5, **{"config.channels": "none"}) for scheme in SCHEMES]
    assert reorder_sections(other) == []


def listed(kernel, estimated, measured, size=16384):
    return row(kernel, "order from a list", 100, size, estimated_misses=estimated,
               **{"lines.loads.accesses": 10, "lines.loads.misses": measured})


def test_rates_of_misses_stand_beside_each_other():
    asked = [*rows("a", (100, 400, 110, 100)), listed("a", 2, 2), listed("b", 4, 5), listed("a", 1, 1, 32768)]
    (section,) = reorder_sections(asked)
    *_, figure, table = section.items
    assert figure.numbers.rows == [
        ("a", "estimated", 0.2), ("a", "measured", 0.2), ("b", "estimated", 0.4), ("b", "measured", 0.5),
    ]
    assert "b, measured: 5 of 10 loads" in draw(figure.chart)
    small, large = [[cell.value for cell in line] for line in table.rows]
    assert small == ["dram, 16 KiB, 4 ways", 2, pytest.approx(30), pytest.approx(35), 1]
    assert large == ["dram, 32 KiB, 4 ways", 1, 10, 10, 0]
