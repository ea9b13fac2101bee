"""A run whose simulation dies is begun again, and what could not be simulated is told in a line."""

import pytest

from metronome.hdl.presets import TINY
from metronome.sim.build.simulator import BuildError
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.run.runner import RunResult, SimulationError
from metronome.sim.studies.sweep import execute as module
from metronome.sim.studies.sweep.execute import TRIES, execute
from metronome.sim.studies.sweep.record import Run
from metronome.sim.studies.sweep.rows import FAILED

RUN = Run(kernel="vecadd", config=TINY, issue="lrr", dtype="int32", size=4)
DIED = SimulationError("the simulation process died with status -9:\nINFO gpi\n")


@pytest.fixture
def simulated(monkeypatch):
    """Answer with ``answers`` in turn, in place of the simulation; they are used up."""
    answers = []

    def simulate(config, request):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(module, "simulate", simulate)
    return answers


def test_a_simulation_that_dies_is_begun_again(simulated):
    simulated[:] = [DIED] * (TRIES - 1) + [RunResult(status="deadlock", exit_code=0, total_cycles=9,
                                                     memory=SparseMemory())]
    row = execute(RUN, "key")
    assert simulated == []
    assert (row["status"], row["reason"]) == ("deadlock", "deadlock: after 9 cycles no active warp can ever continue")


def test_one_that_always_dies_could_not_be_simulated(simulated):
    simulated[:] = [DIED] * (TRIES + 1)
    row = execute(RUN, "key")
    assert len(simulated) == 1
    assert (row["status"], row["passed"]) == (FAILED, False)
    assert row["reason"] == "the simulation process died with status -9"


@pytest.mark.parametrize(("error", "reason"), [
    (BuildError("no compiler\nlog"), "no compiler"), (MemoryError(), "MemoryError"),
    (OSError(28, "No space left"), "OSError: [Errno 28] No space left"),
])
def test_what_goes_wrong_is_a_line_of_its_row(simulated, error, reason):
    simulated[:] = [error]
    row = execute(RUN, "key")
    assert (row["status"], row["reason"]) == (FAILED, reason)
