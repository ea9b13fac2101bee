"""What the course kit grades is what the hardware counts: the same policies, in Python on the predictor, and as RTL."""

from dataclasses import replace

import pytest

from metronome.hdl.presets import TINY
from metronome.sim.machine.policies.plain import POLICIES
from metronome.sim.predict.predictor import predict
from metronome.sim.predict.verify import result_differences
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run
from metronome.sim.studies.course.handover import handover
from tests.system.rtl_programs import problems

#: The machine of both tasks, with a cache that thrashes.
CONFIG = replace(TINY, warps=4, policies=("gto_dispatch", "ccws"), dcache_bytes=512, locality_throttle=32)


@pytest.mark.long
@pytest.mark.parametrize(("policy", "program"), [
    ("gto_dispatch", "handover"), ("ccws", "handover"), ("gto_dispatch", "row_sums"), ("ccws", "row_sums"),
])
def test_the_statistics_are_those_of_the_hardware(policy, program):
    launch = handover(CONFIG, 6, 3) if program == "handover" else prepare(program, None, 16, 3, CONFIG)
    request = RunRequest(launch=launch, policy=policy, memory="dram")
    measured = run(CONFIG, replace(request, check=True))
    prediction = predict(CONFIG, request, policy=POLICIES[policy].of(CONFIG))
    assert problems(measured) == []
    assert result_differences(measured, prediction.result) == []
