"""Activation, termination, barriers and the policies, by counting cycles (design.md section 3)."""

import pytest

from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from tests.hdl.sm_checks import checked_run
from tests.hdl.sm_harness import START, Latencies, Run, finish, spawn
from tests.support.builds import SMALL, TINY, on

pytestmark = on("TINY")


def test_launch():
    """``start`` in cycle 0: active and selected in 1, the first fetch misses in 2; d NOPs and the miss's one."""
    p = Program()
    p.add(asm.addi(5, 0, 1))
    run = checked_run(TINY, p, latency=6)
    assert run.cycles[0].activate == 1
    assert [run.cycles[i].active for i in (0, 1)] == [0, 1]
    assert run.misses(0) == [2]
    assert [request.cycle for request in run.requests] == [4]
    # Answer in 4 + 6, refill in the next cycle. Three NOPs of the activation, the miss's NOP, then the instruction.
    assert run.selections(0)[:6] == [(1, None), (12, None), (13, None), (14, None), (15, None), (16, START)]
    assert run.nops_before(START) == 4 + 1


def _spawned(warps: int) -> tuple[Run, Program, int]:
    """Every warp but 0 runs one instruction of a line that is in the cache; warp 0 ends at once."""
    p = Program()
    spawn(p, warps, "worker")
    at = p.here - 4
    finish(p)
    p.label("worker")
    p.add(asm.addi(5, 0, 7))
    return checked_run(SMALL, p), p, at


@on("SMALL")
@pytest.mark.parametrize("warps", [2, 4])
def test_spawned_warps_start_with_four_nops(warps):
    run, p, at = _spawned(warps)
    t = run.issued_at(at)
    # wspawn is decided in the cycle after its X: active and selectable in the next one.
    decided = t + SMALL.issue_latency + 1
    assert run.cycles[decided].activate == (1 << warps) - 2
    assert run.cycles[decided + 1].active == (1 << warps) - 1
    assert run.cycles[decided + 1].select == 1
    for warp in range(1, warps):
        selections = run.selections(warp)
        assert [pc for _, pc in selections[:5]] == [None] * 4 + [p.address("worker")]
        assert run.misses(warp) == []
        assert run.register(5, warp) == {0: 7}
    assert all(warp not in (c.select for c in run.cycles) for warp in range(warps, 4))


def test_first_issue_of_a_warp_alone():
    """Warp 0 has ended: the spawned warp has the machine for itself; its first instruction is its fifth selection."""
    p = Program()
    spawn(p, 2, "worker")
    at = p.here - 4
    p.add(asm.tmc(0))
    p.label("worker")
    p.li(5, 7)
    run = checked_run(TINY, p, policy="gtlo")
    t = run.issued_at(at)
    # gtlo: warp 1 is the only one in t+4; from t+5 on it keeps the machine while it is eligible.
    assert [cycle for cycle, _ in run.selections(1)[:5]] == list(range(t + 4, t + 9))
    assert run.issued_at(p.address("worker"), 1) == t + 8


def test_termination_leaves_nothing():
    """tmc 0 in t: out from t+1 on, inactive from t+3 on, and what was fetched behind it never issues."""
    p = Program()
    p.add(asm.tmc(0), *[asm.addi(5, 0, 1)] * 8)
    run = checked_run(TINY, p)
    t = run.issued_at(START)
    assert [run.cycles[t + i].active for i in range(4)] == [1, 1, 1, 0]
    assert max(cycle for cycle, _ in run.selections(0)) == t
    assert run.writes(5) == []
    assert run.cycles[-1].number - t <= run.config.resolve_latency + 6
    assert len(run.requests) == 1


def test_termination_with_a_miss_outstanding():
    """The fetch behind the warp's end misses; the miss is forgotten, and its answer wakes nobody."""
    p = Program()
    p.add(*[asm.nop()] * 12)
    run = checked_run(TINY, p, latency=Latencies(40, first=3))
    assert [request.line for request in run.requests] in ([START], [START, START + 64])
    assert max(cycle for cycle, _ in run.selections(0)) == run.issued_at(p.here - 4)


def test_reactivation_by_a_second_wspawn():
    """Warp 1 runs, ends, and runs again elsewhere: d NOPs again, nothing of its first life."""
    p = Program()
    spawn(p, 2, "first")
    p.la(30, "second")
    at = p.here
    p.add(asm.wspawn(29, 30))
    finish(p)
    p.label("first")
    p.li(5, 1)
    finish(p)
    p.add(*[asm.addi(6, 0, 1)] * 6)
    p.label("second")
    p.li(5, 2)
    run = checked_run(TINY, p, latency=2)
    assert [value for _, value in run.writes(5, 1)] == [{0: 1}, {0: 2}]
    assert run.writes(6, 1) == []
    ended = run.issued_at(p.address("first") + 8, 1)
    again = run.issued_at(p.address("second"), 1)
    started = next(c.number for c in run.cycles if c.activate == 2 and c.number > ended)
    # The second wspawn waits until warp 1 is inactive (X of its tmc is ended+2); it is not selected meanwhile.
    assert started == ended + 3
    assert not any(run.cycles[c].eligible & 1 for c in range(run.issued_at(at) + 1, started + 1))
    selections = [s for s in run.selections(1) if started < s[0] <= again]
    misses = [m for m in run.misses(1) if m > started]
    assert len(selections) == 4 + len(misses) + 1


@on("SMALL")
@pytest.mark.parametrize("policy", ["lrr", "gtlrr", "gtlo"])
def test_barrier_release(policy):
    """Nobody goes on before the last arrival at t; the last in t+R+1, the others as soon as the policy lets them."""
    p = Program()
    spawn(p, 4, "all")
    p.label("all")
    p.add(*asm.li(5, 0), *asm.li(6, 4))
    # Warp w arrives late by some w.
    p.add(asm.csrr(7, 0xCC1), asm.div(8, 7, 6), asm.addi(7, 7, 1))
    p.label("delay")
    p.add(asm.addi(7, 7, -1))
    p.branch(asm.bne, 7, 0, "delay")
    at = p.here
    p.add(asm.bar(5, 6), asm.addi(9, 0, 1))
    run = checked_run(SMALL, p, policy=policy, latency=3)
    arrivals = {warp: run.issued_at(at, warp) for warp in range(4)}
    t = max(arrivals.values())
    after = t + run.config.resolve_latency + 1
    for warp, arrival in arrivals.items():
        # With an operand register, the last warp to arrive continues a cycle before the others.
        until = t + 4 if arrival == t else after
        assert not any(run.cycles[c].eligible >> warp & 1 for c in range(arrival + 1, until))
    # The others are released in the cycle of the resolution: they compete from t+R+1 on.
    others = sum(1 << warp for warp, arrival in arrivals.items() if arrival != t)
    assert run.cycles[after].eligible & others == others
    if policy == "lrr":
        # The last one to arrive may have its turn before them, and a line to wait for after it.
        turns = [cycle.select for cycle in run.cycles[after - 1:after + 4]]
        assert sorted({turn for turn in turns if turn is not None}) == [0, 1, 2, 3]
