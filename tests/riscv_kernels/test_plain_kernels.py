"""Programs of the usual kinds in ordinary C, on the golden model: every preset and level, against Python."""

import numpy as np
import pytest

from metronome.hdl.presets import BASE, MID, PAPER, TINY
from tests.riscv_kernels.iss_runs import RESULTS, finished
from tests.riscv_kernels.plain.launches import FOLDER, plain_launch
from tests.riscv_kernels.plain.references import PROGRAMS, expected
from tests.support.tiers import more_but

THREADS = 48
#: Others than tests/system has on the hardware.
QUICK = ("bfs", "hash_table", "quicksort", "state_machine")


def cases():
    for config, name in ((TINY, "TINY"), (BASE, "BASE"), (MID, "MID"), (PAPER, "PAPER")):
        for level in ("-O2", "-O1", "-Os"):
            marks = [] if (config, level) == (BASE, "-O2") else [pytest.mark.long]
            yield pytest.param(config, level, id=f"{name}{level}", marks=marks)


def test_each_program_has_its_reference():
    assert sorted(PROGRAMS) == sorted(path.stem for path in FOLDER.glob("*.c"))


@pytest.mark.slow
@pytest.mark.parametrize(("config", "level"), list(cases()))
@pytest.mark.parametrize("name", more_but(PROGRAMS, QUICK))
def test_plain_program(name, config, level):
    launch = plain_launch(name, config, level, THREADS)
    run = finished(launch, config)
    got, wanted = run.words(RESULTS, 4 * THREADS).reshape(-1, 4), expected(name, THREADS)
    wrong = np.flatnonzero((got != wanted).any(axis=1))
    assert not len(wrong), f"threads {wrong.tolist()[:9]}: {got[wrong[0]].tolist()} for {wanted[wrong[0]].tolist()}"
    assert not run.iss.stack.pointer.any(), "a split was left without its join"
