"""The predictor alone: two ways to the same prediction, what it refuses, what it remembers."""

from dataclasses import replace

import numpy as np
import pytest

from metronome.hdl.config import Coordination, FaultCause
from metronome.hdl.policies import POLICIES
from metronome.hdl.presets import TINY
from metronome.sim.machine.policies.plain import AGE_BITS
from metronome.sim.machine.policies.plain import POLICIES as PYTHON
from metronome.sim.machine.policies.with_parameters import TOTAL_BITS
from metronome.sim.predict.choosing import PickError
from metronome.sim.predict.model import policies
from metronome.sim.predict.model.compiled import is_compiled
from metronome.sim.predict.predictor import Recordings, predict, refuse
from metronome.sim.predict.predictor import prepare as compile_model
from metronome.sim.predict.verify import RESULT_FIELDS, result_differences
from metronome.sim.program.assembler import asm
from metronome.sim.program.kernels import KERNELS, prepare
from metronome.sim.run.runner import RunRequest
from metronome.sim.studies.course.handover import handover
from tests.support.tiers import more_but, some_more
from tests.system.rtl_programs import RawProgram


@pytest.mark.build("model")  # tests/conftest.py
def test_the_model_is_compiled_once():
    compile_model()
    assert is_compiled()


def test_ages_and_totals_end_where_those_of_the_policies_do():
    assert (policies.OLDEST, policies.TOTAL) == ((1 << AGE_BITS) - 1, 1 << TOTAL_BITS)


def test_memory_that_differs_is_a_difference():
    """But for a run that was stopped."""
    result = predict(TINY, RunRequest(launch=prepare("vecadd", size=4, config=TINY), policy="lrr")).result
    memory = result.memory.copy()
    memory.write(TINY.memory_map.user, bytes([memory.read_word(TINY.memory_map.user) & 0xFF ^ 1]))
    changed = replace(result, memory=memory)
    (told,) = result_differences(changed, result)
    assert told.startswith(f"memory at {TINY.memory_map.user:#x}: measured ")
    assert result_differences(result, result) == []
    stopped = [replace(each, status="hang") for each in (changed, result)]
    assert result_differences(*stopped) == []


def comparable(prediction):
    return [getattr(prediction.result, name) for name in RESULT_FIELDS], prediction.issued.tolist()


def request_for(name, **more):
    return RunRequest(launch=prepare(name, None, 8, 1, TINY), policy="lrr", **more)


@pytest.mark.slow
@pytest.mark.parametrize("name", more_but(KERNELS, ("psort", "psum", "diverge", "sgemm_group", "nw")))
def test_it_does_not_matter_whether_the_golden_model_goes_along(name):
    known, stepped = predict(TINY, request_for(name)), predict(TINY, request_for(name), steps=True)
    assert (known.stepped, stepped.stepped) == (None, "requested")
    assert comparable(known) == comparable(stepped)
    assert known.result.memory.equal(stepped.result.memory)


@pytest.mark.slow
def test_a_warp_whose_end_starts_it_again_ends_first():
    request = RunRequest(launch=handover(TINY, 3, 1), policy="lrr")
    known, stepped = predict(TINY, request), predict(TINY, request, steps=True)
    assert known.result.status == "ended"
    assert comparable(known) == comparable(stepped)


@pytest.mark.slow
def test_a_recording_serves_other_policies_and_memories():
    recordings, launch = Recordings(), prepare("psum", None, 16, 1, TINY)
    for policy in TINY.policies:
        for memory in ("fixed", "dram"):
            request = RunRequest(launch=launch, policy=policy, memory=memory)
            again = predict(TINY, request, recordings=recordings)
            assert comparable(again) == comparable(predict(TINY, request))


def test_only_swas_is_predicted():
    config = replace(TINY, coordination=Coordination.BASELINE, fetch_policies=("lrr",))
    with pytest.raises(ValueError, match="only swas can be predicted, not baseline"):
        predict(config, replace(request_for("vecadd"), fetch_policy="lrr"))


def test_every_policy_of_ours_is_predicted():
    for policy in POLICIES:
        refuse(TINY, policy)
    with pytest.raises(ValueError, match="burst cannot be predicted"):
        refuse(TINY, "burst")


@pytest.mark.slow
@pytest.mark.parametrize("name", some_more(POLICIES, 5))
def test_a_policy_in_python_chooses_as_that_of_the_model(name):
    config = replace(TINY, policies=(name,), dcache_bytes=512)
    request = RunRequest(launch=prepare("row_sums", None, 4, 1, config), policy=name, memory="dram")
    ours = predict(config, request)
    assert comparable(predict(config, request, policy=PYTHON[name].of(config))) == comparable(ours)


@pytest.mark.slow
@pytest.mark.parametrize("name", more_but(POLICIES, ("two_level", "icount", "ccws")))
@pytest.mark.parametrize("schedulers", [2, pytest.param(4, marks=pytest.mark.more)])
def test_a_policy_in_python_chooses_in_each_partition(name, schedulers):
    config = replace(TINY, policies=(name,), dcache_bytes=512, warps=8, schedulers=schedulers)
    request = RunRequest(launch=prepare("row_sums", None, 16, 1, config), policy=name, memory="dram")
    ours = predict(config, request)
    assert len(set(ours.issued["warp"].tolist())) == 8
    assert comparable(predict(config, request, policy=PYTHON[name].of(config.partition))) == comparable(ours)


@pytest.mark.parametrize("schedulers", [1, 2])
def test_the_choices_of_a_policy_in_python_are_kept_if_it_says_so(schedulers):
    config = replace(TINY, warps=2 * schedulers, schedulers=schedulers)
    request = RunRequest(launch=handover(config, 60, 1), policy="lrr")
    policy = PYTHON["lrr"].of(config.partition)
    every = predict(config, request, policy=policy)
    policy.keeps = True
    kept = predict(config, request, policy=policy)
    assert comparable(kept) == comparable(every)
    assert every.asked > every.result.total_cycles > kept.asked + 2000


@pytest.mark.slow
def test_a_policy_in_python_begins_again_where_the_order_matters():
    request = RunRequest(launch=RawProgram(race(TINY).assemble()), policy="lrr")
    ours, chosen = predict(TINY, request), predict(TINY, request, policy=PYTHON["lrr"].of(TINY))
    assert chosen.stepped == "the value of a load depends on the order of issue"
    assert comparable(chosen) == comparable(ours)


@pytest.mark.slow
@pytest.mark.parametrize("pick", [-1, 1, 2, True, 0.0, "0"])
def test_a_pick_of_nobody_who_is_eligible_is_refused(pick):
    class Wrong(PYTHON["lrr"]):
        def pick(self, state, inputs):
            return pick if inputs.eligible == 1 else super().pick(state, inputs)

    with pytest.raises(PickError, match=rf"in cycle 1 pick returned {pick!r}, .* \(eligible: 0\)"):
        predict(TINY, request_for("vecadd"), policy=Wrong.of(TINY))


@pytest.mark.slow
def test_a_branch_whose_lanes_disagree_is_refused_where_the_hardware_goes_on():
    program = asm.Program()
    program.li(5, -1)
    program.add(asm.tmc(5), asm.csrr(6, 0xCC0))
    program.branch(asm.beq, 6, 0, "end")
    program.add(asm.nop())
    program.label("end")
    program.add(asm.tmc(0))
    request = RunRequest(launch=RawProgram(program.assemble()), policy="lrr")
    assert predict(TINY, request).result.fault.cause is FaultCause.DIVERGENT_BRANCH
    with pytest.raises(ValueError, match="lanes of warp 0 disagree on the branch at pc 0x8000000c"):
        predict(replace(TINY, check_divergent_branch=False), request)


def race(config):
    """Each warp writes a word of its own and reads the other's at once; what it has read decides how long it runs."""
    program = asm.Program()
    program.li(5, config.warps)
    program.la(6, "worker")
    program.add(asm.wspawn(5, 6))
    program.label("worker")
    program.add(asm.csrr(7, 0xCC1), asm.slli(8, 7, 2), asm.xori(9, 8, 4))
    program.li(10, config.memory_map.user)
    program.add(asm.add(8, 8, 10), asm.add(9, 9, 10), asm.addi(11, 7, 3), asm.sw(11, 0, 8), asm.lw(12, 0, 9))
    program.label("loop")
    program.add(asm.addi(12, 12, -1))
    program.branch(asm.bge, 12, 0, "loop")
    program.add(asm.tmc(0))
    return program


@pytest.mark.slow
def test_a_race_is_stepped():
    request = RunRequest(launch=RawProgram(race(TINY).assemble()), policy="lrr")
    assert predict(TINY, request).stepped == "the value of a load depends on the order of issue"


@pytest.mark.slow
def test_a_program_that_spins_is_not_recorded_to_the_limit():
    """Ten million turns of a jump to itself would be half a minute."""
    program = asm.Program()
    program.add(asm.jal(0, 0))
    prediction = predict(TINY, RunRequest(launch=RawProgram(program.assemble()), policy="lrr"))
    assert (prediction.result.status, prediction.stepped) == ("deadlock", "every remaining warp jumps to itself")
    assert prediction.result.total_cycles < 10_000


@pytest.mark.parametrize("number", [0x340, 0xCC3], ids=["mscratch", "active warps"])
def test_a_csr_that_another_warp_changes_is_read_when_it_is(number):
    """Warp 0 waits for memory, while warp 1 executes more instructions until it writes or ends."""
    program = asm.Program()
    program.li(7, 2)
    program.la(28, "other")
    program.add(asm.wspawn(7, 28))
    program.la(30, "end")
    for at in range(12):
        program.add(asm.lw(29, 64 * at, 30), asm.add(29, 29, 29))
    program.add(asm.csrr(31, number), asm.andi(31, 31, 0xFE))
    program.branch(asm.beq, 31, 0, "end")
    program.label("turns")
    program.add(asm.addi(31, 31, -1))
    program.branch(asm.bne, 31, 0, "turns")
    program.label("end")
    program.add(asm.tmc(0))
    program.label("other")
    program.add(*[asm.nop()] * 60)
    program.li(7, 0xFE)
    program.add(asm.csrw(0x340, 7), asm.tmc(0))
    request = RunRequest(launch=RawProgram(program.assemble() + bytes(1024)), policy="lrr")
    prediction = predict(TINY, request)
    assert prediction.stepped == "the program reads a CSR that another warp may change"
    assert prediction.result.total_cycles == predict(TINY, request, steps=True).result.total_cycles


@pytest.mark.parametrize("last", ["waits", "does not wait"])
def test_a_csr_that_another_warp_changed_before_it_ended(last):
    """Warp 0 reads the CSR, starts warp 1, which writes it, and reads it again: behind a wspawn it reads one value."""
    program = asm.Program()
    program.li(7, 2)
    program.la(28, "other")
    program.add(asm.csrr(30, 0x340), asm.wspawn(7, 28))
    program.li(7, 1)
    if last == "waits":
        program.add(asm.wspawn(7, 28))
    program.add(asm.csrr(31, 0x340))
    program.branch(asm.beq, 30, 31, "end")
    program.add(*[asm.nop()] * 9)
    program.label("end")
    program.add(asm.tmc(0))
    program.label("other")
    program.li(7, 0xFE)
    program.add(*[asm.nop()] * 20, asm.csrw(0x340, 7), asm.tmc(0))
    request = RunRequest(launch=RawProgram(program.assemble() + bytes(64)), policy="lrr")
    prediction = predict(TINY, request)
    expected = None if last == "waits" else "the program reads a CSR that another warp may change"
    assert prediction.stepped == expected
    assert prediction.result.total_cycles == predict(TINY, request, steps=True).result.total_cycles


def test_a_program_that_reads_a_counter_is_stepped():
    program = asm.Program()
    program.add(asm.csrr(5, 0xB00), asm.csrr(6, 0xB02), asm.tmc(0))
    prediction = predict(TINY, RunRequest(launch=RawProgram(program.assemble()), policy="lrr"))
    assert (prediction.stepped, prediction.result.status) == ("the program reads a counter", "ended")


@pytest.mark.slow
def test_issues_are_in_order_and_nobody_issues_twice_in_a_cycle():
    issued = predict(TINY, request_for("vecadd")).issued
    assert (np.diff(issued["cycle"]) > 0).all()
