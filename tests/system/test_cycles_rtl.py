"""Every kernel, in lock step, takes the cycles of the table cycles.json: a change that moves one writes the table."""

import json

import pytest

from metronome.hdl.config import Coordination, Prediction
from metronome.sim.program.kernels import kernels
from tests.support.builds import TINY, on
from tests.system.measure_cycles import TABLE, Case, differences, expected


@pytest.mark.slow
@on("TINY")
def test_cycles_are_those_of_the_table():
    case = Case("TINY", Coordination.SWAS, Prediction.BTFN)
    assert case.config == TINY
    measured, table = case.measure(brief=True), expected(case)
    assert {name for key in measured for name in key.split()[6:7]} == {kernel.name for kernel in kernels()}
    assert differences(measured, {key: row for key, row in table.items() if key in measured}) == []


CASES = sorted({tuple(key.split()[:3]) for key in json.loads(TABLE.read_text())})


@pytest.mark.long
@pytest.mark.parametrize(("preset", "mode", "prediction"), CASES)
def test_cycles_of_every_front_end_and_size(preset, mode, prediction):
    case = Case(preset, Coordination(mode), Prediction(prediction))
    assert differences(case.measure(), expected(case)) == []


def test_a_difference_is_reported():
    table = {"a": [3, 2, 0], "b": [5, 4, 0]}
    assert differences(table, table) == []
    found = differences({"a": [3, 2, 1], "c": [1, 1, 0]}, table)
    assert [line.split(":")[0] for line in found] == ["a", "b", "c"]
