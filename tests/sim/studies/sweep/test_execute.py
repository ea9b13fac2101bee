"""A run whose simulation dies is begun again, and what could not be simulated is told in a line."""

import json
from dataclasses import replace

import pytest

from metronome.hdl.gpu.config import GpuConfig
from metronome.hdl.presets import TINY
from metronome.sim.build.simulator import BuildError
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.run.gpu.types import GpuRunResult
from metronome.sim.run.runner import RunResult, SimulationError
from metronome.sim.run.types import no_counts
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


def test_a_gpu_is_simulated_as_a_whole(monkeypatch):
    gpu = GpuConfig(sm=TINY, sms=2)
    sms = [no_counts() | {"cycles": 7}, no_counts()]
    answers = [DIED, GpuRunResult(status="deadlock", exit_code=0, total_cycles=9, memory=SparseMemory(),
                                  sm_counters=sms, l2={"reads": 3, "hits": 2, "merged": 1, "writes": 0})]

    def simulate(hardware, request):
        assert hardware is gpu and request.launch.compiling.several_sms
        if isinstance(answers[0], Exception):
            raise answers.pop(0)
        return answers.pop(0)

    monkeypatch.setattr(module, "run_gpu", simulate)
    row = execute(replace(RUN, gpu=gpu, config=gpu.sm_of(0), compiling=RUN.compiling.for_gpu(gpu)), "key")
    assert answers == []
    assert (row["status"], row["config.sms"], row["l2.hits"]) == ("deadlock", 2, 2)
    assert [each["cycles"] for each in json.loads(row["sms"])] == [7, 0]


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
