"""The progress of warps, from a prediction to the report (sim/studies/sweep/progress.py, report/rates.py)."""

import json

import numpy as np

from metronome.hdl.presets import TINY
from metronome.sim.machine.events import NONE
from metronome.sim.predict.model.records import ISSUED
from metronome.sim.show.drawing.charts import draw
from metronome.sim.studies.sweep.progress import STEPS, progress_of
from metronome.sim.studies.sweep.report.data import Row
from metronome.sim.studies.sweep.report.rates import rates_sections


def issues():
    """Warp 0 issues in every cycle of 120, each third one a NOP; warp 1 from cycle 60 on."""
    rows = [(cycle, 0, NONE if cycle % 3 == 0 else 4) for cycle in range(120)]
    rows += [(cycle, 1, 8) for cycle in range(60, 120)]
    return np.array(sorted(rows), ISSUED)


def test_instructions_are_counted_up_to_each_end():
    found = progress_of(TINY, 120, issues())
    assert found["cycles"] == list(range(0, 121, 2)) and len(found["cycles"]) == STEPS + 1
    for end, first, second in zip(found["cycles"], *found["warps"], strict=True):
        assert first == sum(cycle % 3 != 0 for cycle in range(end))
        assert second == max(0, end - 60)


def test_a_run_shorter_than_the_parts():
    found = progress_of(TINY, 7, issues()[:4])
    assert found["cycles"] == list(range(8)) and found["warps"][0][-1] == 2


def row(issue, progress=True):
    told = json.dumps(progress_of(TINY, 120, issues())) if progress else None
    values = {"config.progress": progress, "progress": told, "config.issue": issue, "ipc": 1.5}
    return Row(values=values, workload="psum", machine="", scheme=issue)


def test_the_section():
    (section,) = rates_sections([row("lrr"), row("ccws")])
    text, differs, table, figure = section.items
    assert "Table 18" in text and "32 lanes" in differs
    # The study's own figure beside ours; it has none of ccws.
    assert [[cell.value for cell in line] for line in table.rows] == [["lrr", 1.5, 14.6], ["ccws", 1.5, None]]
    assert len(figure.numbers.rows) == 2 * TINY.warps * (STEPS + 1)
    assert "ccws, warp 1: 60 instructions in 120 cycles" in draw(figure.chart)


def test_no_section_without_progress():
    assert rates_sections([row("lrr", progress=False)]) == []
