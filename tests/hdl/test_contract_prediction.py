"""btfn: what a jump followed at decode costs, and what the repair of a wrong prediction does (design.md section 3)."""

from dataclasses import replace

import pytest

from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from tests.hdl.sm_checks import checked_run
from tests.hdl.sm_harness import Run, finish, spawn
from tests.support.builds import TINY, on

pytestmark = on("TINY")


def _loop(times: int) -> tuple[Program, int, int]:
    """x5 counts down from ``times``; the pcs of the loop and of its branch. Nothing in the body waits for a result."""
    p = Program()
    p.li(5, times)
    p.label("loop")
    top = p.here
    p.add(asm.addi(5, 5, -1), *[asm.addi(rd, 0, 1) for rd in range(10, 15)])
    branch = p.here
    p.branch(asm.bne, 5, 0, "loop")
    p.add(asm.addi(9, 9, 1))
    finish(p)
    return p, top, branch


def _nops_after(run: Run, pc: int, warp: int = 0) -> list[int]:
    """NOPs between each issue of ``pc`` and the warp's next instruction."""
    counts: list[int] = []
    after = False
    for _, at in run.selections(warp):
        if at is None:
            counts[-1:] = [counts[-1] + 1] if after else counts[-1:]
        else:
            after = at == pc
            if after:
                counts.append(0)
    return counts


def test_loop_of_one_warp():
    """Alone a warp is fetched in t+1..t+3 as well, before t+3 knows better: three NOPs; the way out costs d."""
    p, top, branch = _loop(4)
    run = checked_run(TINY, p)
    assert _nops_after(run, branch) == [3, 3, 3, 4]
    redirects = [c.number for c in run.cycles if c.resolve == 0 and c.redirect]
    last = [cycle for cycle, pc in run.issues(0) if pc == branch][-1]
    assert redirects[0] == last + run.config.resolve_latency, "only the last branch was predicted wrongly"
    assert [pc for _, pc in run.issues(0)].count(top) == 4
    assert run.counters["taken_branches"] == 0, "the region never began"


@pytest.mark.long  # a build of its own
@on("TINY, four warps")
def test_loops_in_turn_cost_nothing():
    """Four warps in turn: nobody is fetched between a branch and its decode."""
    config = replace(TINY, warps=4)
    p = Program()
    spawn(p, config.warps, "all")
    p.label("all")
    p.li(5, 6)
    p.label("loop")
    p.add(*[asm.addi(8, 8, 1)] * 4)
    branch = p.here
    p.branch(asm.bne, 10, 10, "loop")
    p.add(asm.addi(5, 5, -1))
    back = p.here
    p.branch(asm.bne, 5, 0, "loop")
    run = checked_run(config, p, policy="lrr")
    for warp in range(config.warps):
        taken = _nops_after(run, back, warp)
        # Before the first round the warps do not run in step: misses, the end of wspawn.
        assert taken[2:-1] == [0] * len(taken[2:-1]) and len(taken) == 6, f"warp {warp}: {taken}"
        assert set(_nops_after(run, branch, warp)) == {4}, f"warp {warp}: the backward branch that falls through"


@pytest.mark.parametrize("forward", [True, False])
def test_jal_needs_no_resolution(forward):
    """Three NOPs where its warp is alone, and the first of them in the very next cycle."""
    p = Program()
    p.add(asm.addi(8, 0, 1))
    if forward:
        at = p.here
        p.jal(1, "target")
        p.add(asm.addi(9, 9, 1))
        p.label("target")
        target = p.here
        p.add(asm.addi(8, 8, 1))
    else:
        p.jal(0, "over")
        p.label("target")
        target = p.here
        p.add(asm.addi(8, 8, 1))
        finish(p)
        p.label("over")
        at = p.here
        p.jal(1, "target")
    run = checked_run(TINY, p)
    t = run.issued_at(at)
    nops = [(t + 1, None), (t + 2, None), (t + 3, None)]
    assert [s for s in run.selections(0) if s[0] > t][:4] == [*nops, (t + 4, target)]
    assert not [c.number for c in run.cycles if c.resolve == 0 and c.number == t + run.config.resolve_latency]
    assert run.register(1) == {0: at + 4}
    assert run.writes(9) == []


def test_a_forward_branch_is_predicted_not_taken():
    p = Program()
    at = p.here
    p.branch(asm.beq, 0, 0, "target")
    p.add(asm.addi(9, 9, 1))
    p.label("target")
    target = p.here
    p.add(asm.addi(8, 0, 1))
    run = checked_run(TINY, p)
    assert run.nops_before(target) == 4
    assert run.issued_at(target) == run.issued_at(at) + run.config.resolve_latency + 5


def test_a_jump_behind_an_unresolved_branch_is_squashed_with_it():
    """The wrong path jumps; the redirect comes in the very cycle of its decode, or before, or after."""
    for gap in range(8):
        p = Program()
        p.add(*[asm.addi(8, 8, 1)] * 2)
        p.branch(asm.beq, 0, 0, "target")
        p.add(*[asm.addi(9, 9, 1)] * gap)
        p.jal(9, "wrong")
        p.label("target")
        p.add(asm.addi(8, 8, 1))
        finish(p)
        p.label("wrong")
        p.add(*[asm.addi(9, 9, 1)] * 8)
        run = checked_run(TINY, p)
        assert run.writes(9) == [], f"gap {gap}"


@pytest.mark.parametrize("latency", [1, 6])
def test_a_jump_into_a_line_that_is_not_there(latency):
    """The fall-through line misses while the jump is decoded: that request is squashed, or one miss more at most."""
    for before in range(10, 16):
        p = Program()
        p.add(*[asm.nop()] * before)
        at = p.here
        p.jal(0, "far")
        p.add(*[asm.nop()] * 40)
        p.label("far")
        p.add(asm.addi(8, 8, 1))
        run = checked_run(TINY, p, latency=latency)
        far = p.address("far")
        # Its own miss is a NOP more than the three of the decode redirect; a fall-through miss replaces one of them.
        assert run.nops_before(far) in (2, 3, 4), f"{before}: {run.nops_before(far)}"
        assert run.issued_at(far) > run.issued_at(at)
