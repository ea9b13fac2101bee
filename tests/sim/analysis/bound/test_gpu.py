"""Bounds of programs on several SMs."""

import dataclasses
import random

import pytest

from metronome.hdl.gpu.config import Dispatch, GpuConfig, Interconnect, L2Kind
from metronome.hdl.isa.csrs import Csr
from metronome.hdl.presets import TINY
from metronome.sim.analysis.bound.assumptions import UserStatements
from metronome.sim.analysis.bound.gpu import longest_time_of_gpu
from metronome.sim.analysis.bound.search import Search
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.predict.gpu.predictor import predict_gpu
from metronome.sim.program.assembler import asm
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.kernels import prepare
from metronome.sim.run.types import RunRequest
from tests.sim.analysis.assembled import DATA, ONES, ZEROS, Assembled, Inputs, asked, launch_of, one
from tests.sim.analysis.bound import hunt_sms
from tests.sim.analysis.programs import machine
from tests.sim.registers import T0, T1, T2, T3, T4
from tests.support.tiers import more_but
from tests.system import separation_programs

#: The model of several SMs takes a minute to compile.
pytestmark = pytest.mark.more

MEET, EXIT = 1 << 31, asm.tmc(0)


def gpu_of(policy="lrr", sms=2, **changes):
    return GpuConfig(sm=one(policy, **changes), sms=sms, interconnect=Interconnect.TDM)


def meet(program, count, number=0):
    program.li(T3, MEET | number)
    program.li(T4, count)
    program.add(asm.bar(T3, T4))


def by_sm(program, label):
    """SM 0 continues here, and the others at ``label``."""
    program.add(asm.csrr(T3, Csr.CORE_ID))
    program.branch(asm.bne, T3, 0, label)


def bound_and_runs(gpu, program, inputs=(ZEROS, ONES), memory="fixed"):
    launch = launch_of(gpu.sm, program, inputs[0])
    bound = longest_time_of_gpu(gpu, asked(gpu.sm, launch, memory), launch, compose=True)
    runs = []
    for each in inputs:
        result = predict_gpu(gpu, asked(gpu.sm, Inputs(launch).filled({"inputs": each}), memory)).result
        assert result.status == "ended"
        runs.append(result.total_cycles)
    assert all(max(runs) <= each.cycles for each in bound.composed)
    return bound, runs


def refused(gpu, program, reason, **request):
    launch = launch_of(gpu.sm, program)
    with pytest.raises(RefusedError, match=reason):
        longest_time_of_gpu(gpu, asked(gpu.sm, launch, **request), launch, compose=True)


@pytest.mark.parametrize("name", more_but(["psort", "psort_group", "kmeans", "vecadd"], ["psort_group", "vecadd"]))
@pytest.mark.parametrize("policy", more_but(["lrr", "gtlo", "srr", "prr"], ["lrr"]))
def test_kernels(name, policy):
    for sms, interconnect, slot, memories in (
        (2, Interconnect.TDM, 1, ("fixed", "tdm")), (4, Interconnect.TDM, 3, ("fixed", "tdm")),
        (4, Interconnect.ROUND_ROBIN, 1, ("fixed",)),
    ):
        gpu = GpuConfig(sm=machine(TINY, policy), sms=sms, interconnect=interconnect, slot_cycles=slot)
        launch = prepare(name, config=gpu.sm_of(0), compiling=Compiling(several_sms=True))
        for memory in memories:
            request = RunRequest(launch=launch, policy=policy, memory=memory, max_cycles=2_000_000)
            bound = longest_time_of_gpu(gpu, request, launch, compose=True)
            observed = Search(gpu, request, launch, 5).run(4)
            assert observed.ended
            assert bound.exact == (name == "vecadd")
            assert not bound.exact or bound.cycles == observed.cycles
            assert all(observed.cycles <= each.cycles for each in bound.composed)
            # The SMs meet, so none has a bound of its own.
            assert not bound.sms


def test_what_another_sm_has_stored_is_known_after_they_meet():
    def program(*, meets):
        p = Assembled()
        by_sm(p, "other")
        p.li(T2, 300)
        p.li(T0, DATA)
        p.add(asm.sw(T2, 0, T0))
        if meets:
            meet(p, 2)
        p.add(EXIT)
        p.label("other")
        if meets:
            meet(p, 2)
        p.li(T0, DATA)
        p.add(asm.lw(T1, 0, T0), asm.addi(T1, T1, 1))
        p.loop(T1, asm.nop())
        p.add(EXIT)
        return p
    bound, runs = bound_and_runs(gpu_of(), program(meets=True))
    assert min(runs) > 900 and bound.cycles < 2 * max(runs)
    # Without a meeting it is a race: the loop has no bound.
    refused(gpu_of(), program(meets=False), "the end of this loop depends on the inputs")


def test_an_sm_of_its_own_has_its_own_bound():
    def program(turns):
        p = Assembled()
        by_sm(p, "other")
        p.turns(50, asm.nop())
        p.add(EXIT, *[asm.nop()] * 64)
        p.label("other")
        p.li(T0, DATA)
        p.turns(turns, asm.sw(T0, 0, T0))
        p.add(EXIT)
        return p
    (short, _), (long, runs) = (bound_and_runs(gpu_of(), program(turns)) for turns in (5, 500))
    assert short.sms[0] == long.sms[0] < long.sms[1] == long.cycles
    assert max(runs) > long.sms[0]


@pytest.mark.parametrize("kind", ["stores", "all"])
def test_round_robin_bounds_the_wait_for_others(kind):
    """SM 0 loads a line behind the other, each when the one before has come, beside three SMs that store and miss."""
    def program(neighbours):
        p = Assembled()
        by_sm(p, "others")
        p.li(T0, DATA)
        p.turns(40, asm.lw(T2, 0, T0), asm.add(T0, T0, T2), asm.addi(T0, T0, 64))
        p.add(EXIT, *[asm.nop()] * 64)
        p.label("others")
        if neighbours:
            separation_programs.storm(p, "others", kind, 80, random.Random(1))
        p.add(EXIT)
        return p
    gpu = dataclasses.replace(gpu_of(sms=4), interconnect=Interconnect.ROUND_ROBIN)
    bounds, ends = [], []
    for neighbours in (False, True):
        launch = launch_of(gpu.sm, program(neighbours))
        bounds.append(longest_time_of_gpu(gpu, asked(gpu.sm, launch), launch).sms[0])
        ends.append(int(predict_gpu(gpu, asked(gpu.sm, launch)).issued[0]["cycle"][-1]))
    assert bounds[0] == bounds[1]
    assert ends[0] < ends[1] <= bounds[1]
    # The wait is that for slots of one cycle.
    slots = dataclasses.replace(gpu, interconnect=Interconnect.TDM)
    assert longest_time_of_gpu(slots, asked(gpu.sm, launch), launch).sms[0] == bounds[1]


def fence_of_several(p):
    p.warps(2, "work")
    p.label("work")
    p.add(asm.fence(), EXIT)


def meeting_of_several(p):
    p.warps(2, "work")
    p.label("work")
    meet(p, 2)
    p.add(EXIT)


def meeting_of_one(p):
    by_sm(p, "other")
    meet(p, 2)
    p.label("other")
    p.add(EXIT)


def meeting_of_some(p):
    meet(p, 3)
    p.add(EXIT)


def two_meetings(p):
    by_sm(p, "other")
    meet(p, 2)
    p.add(EXIT)
    p.label("other")
    meet(p, 2, 1)
    p.add(EXIT)


def fence_of_some_inputs(p):
    p.read_input()
    p.unless(asm.beq, T1, 0, asm.fence())
    p.add(EXIT)


@pytest.mark.parametrize(("write", "reason"), [
    (fence_of_several, "a fence, which empties its data cache, while other warps of its SM run"),
    (meeting_of_several, "a barrier between SMs while other warps of its SM run"),
    (meeting_of_one, "some SMs have ended, and others wait"), (two_meetings, "SMs wait at different barriers"),
    (meeting_of_some, "waits for 3 of 2"), (fence_of_some_inputs, "whether it executes a fence depends on the inputs"),
])
def test_what_has_no_bound(write, reason):
    program = Assembled()
    write(program)
    refused(gpu_of(warps=4), program, reason)


@pytest.mark.parametrize(("gpu", "memory", "reason"), [
    (dataclasses.replace(gpu_of(), interconnect=Interconnect.FIXED_PRIORITY), "fixed", "interconnect=fixed_priority"),
    (dataclasses.replace(gpu_of(), interconnect=Interconnect.ROUND_ROBIN), "tdm", "share its queue"),
    (dataclasses.replace(gpu_of(), l2=L2Kind.SHARED, l2_requests=8), "fixed", "l2=shared"),
    (dataclasses.replace(gpu_of(), dispatch=Dispatch.STATIC), "fixed", "no bound with dispatch=static"),
    (gpu_of(), "dram", "does not separate them"), (gpu_of(schedulers=2), "fixed", "several schedulers each"),
])
def test_machines_without_a_bound(gpu, memory, reason):
    refused(gpu, Assembled(), reason, memory=memory)


def test_a_stated_latency_is_refused():
    gpu, launch = gpu_of(), launch_of(TINY, Assembled())
    with pytest.raises(RefusedError, match="--memory-bound"):
        longest_time_of_gpu(
            gpu, asked(gpu.sm, launch, "dram"), launch, UserStatements(memory_latency=100), compose=True)


@pytest.mark.parametrize("seed", more_but(range(900, 908), [902]))
def test_beside_neighbours_that_hurt(seed):
    what, runs, ratio = hunt_sms.check(hunt_sms.GpuCase(seed))
    assert what.startswith("refused") or (runs and (what == "exact" or ratio >= 1))


def test_a_run_above_its_bound_is_seen(monkeypatch):
    true = hunt_sms.longest_time_of_gpu

    def too_low(*arguments):
        bound = true(*arguments)
        return dataclasses.replace(bound, cycles=bound.cycles // 4, sms=[each // 4 for each in bound.sms])

    monkeypatch.setattr(hunt_sms, "longest_time_of_gpu", too_low)
    with pytest.raises(LookupError, match="bound"):
        hunt_sms.check(hunt_sms.GpuCase(902))
