"""Do both classes of mine.py select the same warps? `python -m pytest test_mine.py`, or `python test_mine.py`."""

import sys
from pathlib import Path

from metronome.sim.machine.policies.files import PolicyFileError
from metronome.tb.policies import disagreement

POLICY = str(Path(__file__).with_name("mine.py"))


def test_both_classes_select_the_same_warps() -> None:
    for warps in (2, 4):
        for seed in range(2):
            found = disagreement(POLICY, warps=warps, seed=seed)
            assert found is None, f"{warps} warps, seed {seed}, {found}"


if __name__ == "__main__":
    try:
        test_both_classes_select_the_same_warps()
    except (AssertionError, PolicyFileError) as error:
        sys.exit(str(error))
    print("both classes select the same warps")
