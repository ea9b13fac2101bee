"""Programs that change the parameters of the policies: the compiled model beside the policies in Python.

The hardware is beside it in tests/system/test_policy_changes_rtl.py.
"""

from dataclasses import replace

import pytest

from metronome.hdl.isa.csrs import Csr, PolicyParameter
from metronome.sim.machine.policies.plain import POLICIES
from metronome.sim.predict.predictor import Recordings, predict
from metronome.sim.program.assembler import asm
from metronome.sim.run.runner import RunRequest
from tests.sim.predict.test_predictor import comparable
from tests.support.tiers import more_then_long
from tests.system.policy_programs import CHANGING, POLICIES_THAT_CHANGE, requests, word
from tests.system.rtl_programs import RawProgram

SEED = 20261125


@pytest.mark.slow
@pytest.mark.parametrize("number", more_then_long(range(40), 4, 8))
def test_random_programs(number):
    """As the golden model tells them beforehand, and as it goes along; by the model's policy, and by that in Python."""
    request = requests(CHANGING, SEED, [number])[0]
    ours = predict(CHANGING, replace(request, check=False, trace=False))
    for how in ({"steps": True}, {"policy": POLICIES[request.policy].of(CHANGING)}):
        other = predict(CHANGING, replace(request, check=False, trace=False), **how)
        assert comparable(other) == comparable(ours), f"seed {SEED}, program {number}, {request.policy}, {how}"


def looping(words):
    """All warps execute one loop after the other; before each of them warp 0 writes the next of ``words``."""
    p = asm.Program(CHANGING.memory_map.start)
    p.li(5, CHANGING.warps)
    for number, each in enumerate(words):
        p.la(6, f"work {number}")
        p.li(8, each)
        p.add(asm.csrw(Csr.MPOLICY, 8), asm.wspawn(5, 6))
        p.label(f"work {number}")
        p.li(7, 12)
        p.label(f"loop {number}")
        p.add(asm.addi(7, 7, -1), asm.mul(9, 7, 7), asm.add(9, 9, 9))
        p.branch(asm.bne, 7, 0, f"loop {number}")
        p.add(asm.csrr(10, 0xCC1), asm.sltiu(10, 10, 1), asm.tmc(10), asm.addi(11, 0, 1))
        p.la(12, f"done {number}")
        p.add(asm.wspawn(11, 12))
        p.label(f"done {number}")
    p.add(asm.tmc(0))
    return RawProgram(p.assemble())


def unknown(words):
    """Of parameters that there are not: instructions as long as those of ``words``."""
    return [each ^ 1 << 30 for each in words]


def cycles(policy, words, config=CHANGING, recordings=None):
    result = predict(config, RunRequest(launch=looping(words), policy=policy), recordings=recordings).result
    assert result.status == "ended"
    return result.total_cycles


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "words"), [
    ("two_level", [word(PolicyParameter.GROUP_WARPS, size) for size in (1, 4, 2)]),
    ("variable_rate", [word(PolicyParameter.SLOT, 3, 0), word(PolicyParameter.SLOT, 3, 2)]),
    ("variable_rate", [word(PolicyParameter.FRAME, 3), word(PolicyParameter.FRAME, 5)]),
    ("variable_rate_strict", [word(PolicyParameter.SLOT, 3, 2), word(PolicyParameter.SLOT, 3, 0)]),
])
def test_it_makes_a_difference(policy, words):
    """The same program: without the field, and with a word that means nothing, it takes other cycles."""
    recordings = Recordings()
    changed, nothing = cycles(policy, words, recordings=recordings), cycles(policy, unknown(words))
    assert changed != nothing
    assert cycles(policy, words, replace(CHANGING, policy_csr=False), recordings) == nothing


@pytest.mark.slow
def test_another_policys_parameter_changes_nothing():
    for policy in POLICIES_THAT_CHANGE:
        words = [word(parameter, 1) for parameter in PolicyParameter if not (
            (policy == "two_level" and parameter == PolicyParameter.GROUP_WARPS)
            or (policy == "ccws" and "LOCALITY" in parameter.name)
            or ("rate" in policy and parameter in (PolicyParameter.SLOT, PolicyParameter.FRAME))
        )]
        assert cycles(policy, words) == cycles(policy, unknown(words)), policy
