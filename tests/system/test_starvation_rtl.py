"""Which policies starve a warp (docs/policies.md, "Starvation"), and that the report of a hang names it."""

import itertools

import pytest

from metronome.hdl.config import Coordination, Prediction
from metronome.hdl.layouts.probe import STARVATION_CYCLES
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run_many
from tests.hdl.sm_harness import USER, finish, spawn
from tests.support.builds import CROWD, SMALL, on
from tests.system.rtl_programs import RawProgram, problems
from tests.system.scheme_builds import build_of, group_of

#: Enough warps that the fetch scheduler always finds one that it prefers.
CROWDED = ("BASE", Coordination.BASELINE, Prediction.BTFN)
#: So many that seven spinning ones always find one among them that is eligible.
WARPS = 8
#: Policies that prefer some warps for ever; under the others a warp waits for a bounded time here.
STARVING = {"fixed", "lo", "gtlo", "gto_dispatch", "pta"}
MAX_CYCLES = 30_000


def spinning(warps):
    """All warps but the last spin until the last one has written a word, after a hundred instructions of its own."""
    p = Program()
    spawn(p, warps, "all")
    p.label("all")
    p.add(*asm.li(5, USER), *asm.li(9, warps - 1), asm.csrr(8, 0xCC1))
    p.branch(asm.beq, 8, 9, "writer")
    p.label("spin")
    p.add(asm.lw(7, 0, 5), *[asm.addi(10 + i % 8, 10 + i % 8, 1) for i in range(60)])
    p.branch(asm.beq, 7, 0, "spin")
    finish(p)
    p.label("writer")
    p.add(*[asm.addi(6, 6, 1)] * 100, asm.addi(6, 0, 1), asm.sw(6, 0, 5))
    finish(p)
    return RawProgram(p.assemble())


@on("crowd")
def test_spinning_warps_starve_another():
    requests = [RunRequest(launch=spinning(WARPS), policy=policy, max_cycles=MAX_CYCLES) for policy in CROWD.policies]
    for request, result in zip(requests, run_many(CROWD, requests), strict=True):
        assert result.status == ("hang" if request.policy in STARVING else "ended"), request.policy
        if result.status == "hang":
            first, last = result.hang[0], result.hang[WARPS - 1]
            assert last.active and first.active
            assert last.starved == {"issue": request.policy}, f"{request.policy}: {last}"
            assert first.starved == {}, f"{request.policy}: {first}"
            assert str(last).endswith(
                f"starved: {request.policy} has passed it over at issue for {STARVATION_CYCLES} cycles or more"
            )


@on("SMALL")
def test_barriers_end_under_every_policy():
    """psum synchronises its warps by barriers: nobody who waits at one is in anybody's way."""
    requests = [
        RunRequest(launch=prepare("psum", "int32", 21, 1, SMALL), policy=policy, memory=memory, check=True,
                   max_cycles=400_000)
        for policy, memory in zip(SMALL.policies, itertools.cycle(("fixed", "random")))
    ]
    for request, result in zip(requests, run_many(SMALL, requests), strict=True):
        what = f"{request.policy}, {request.memory}"
        assert not problems(result), f"{what}: {problems(result)}"
        assert not request.launch.check(result.memory), what


@on(group_of(*CROWDED))
@pytest.mark.long
def test_a_fetch_policy_starves_a_warp():
    """A warp whose buffer is empty, because the fetch scheduler always prefers others, is named with that policy."""
    config, _ = build_of(*CROWDED)
    (result,) = run_many(config, [
        RunRequest(launch=spinning(config.warps), policy="lrr", fetch_policy="gtlo", max_cycles=MAX_CYCLES),
    ])
    assert result.status == "hang"
    last = result.hang[-1]
    assert last.starved == {"fetch": "gtlo"}, str(last)
    assert last.reason.name == "BUFFER"
