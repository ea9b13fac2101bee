"""Policies from a file on the hardware: as predicted, and as their classes in Python (measure_policy_files)."""

import pytest

from metronome.tb.policies import disagreement
from tests.support.builds import on
from tests.system.measure_policy_files import FILE, NAMES, compared, machine


@pytest.mark.parametrize("name", NAMES)
def test_both_classes_agree(name, own_policies):
    for warps in (2, 4):
        assert disagreement(f"{FILE}:{name}", warps=warps, cycles=300) is None


@on("policies from a file")
@pytest.mark.more
@pytest.mark.parametrize("number", range(len(NAMES)))
def test_random_programs_are_predicted(number, own_policies):
    config = machine()
    assert list(compared(config, config.policies[number], range(4), seed=1)) == []
