"""I-cache misses: one NOP each, suspension to the refill, one request a line (design.md section 3)."""

import random
from collections import Counter

import pytest

from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from tests.hdl.lib.simulate import told
from tests.hdl.sm_checks import USUAL, checked_run
from tests.hdl.sm_harness import START, Between, Latencies, Run, finish, spawn
from tests.support.builds import BARE, TINY, UNCACHED, named, on

pytestmark = on("TINY")


def _straight(words: int) -> Program:
    """``words`` instructions in all, of which the last two end the warp."""
    p = Program()
    p.add(*[asm.addi(5 + i % 20, 0, i) for i in range(words - 2)])
    finish(p)
    return p


def _to_next_line(p: Program) -> None:
    """At least one NOP, so that twice leaves a line out."""
    p.add(asm.nop())
    while p.here % 64:
        p.add(asm.nop())


def _everywhere(warps: int, words: int, stagger: int = 0) -> Program:
    """All warps run the same straight line; warp 0 reaches it ``stagger`` NOPs after it has spawned the others."""
    p = Program()
    spawn(p, warps, "line")
    p.add(*[asm.nop()] * stagger)
    p.jal(0, "line")
    _to_next_line(p)
    p.label("line")
    p.add(*[asm.addi(5, 5, 1)] * words)
    finish(p)
    return p


def _nops(run: Run, warp: int) -> int:
    return sum(pc is None for _, pc in run.selections(warp))


@pytest.mark.parametrize("latency", [1, 2, 7, 30])
@pytest.mark.parametrize("config", named("TINY", "uncached"))
def test_a_line_costs_one_nop(config, latency):
    """Four lines, four misses, d + 4 NOPs, each in front of the first instruction of its line."""
    run = checked_run(config, _straight(58), latency=latency)
    assert len(run.misses(0)) == 4
    assert [run.nops_before(START + 64 * line) for line in range(4)] == [5, 1, 1, 1]
    # The warp's end: nothing more is selected, so all NOPs are in front of an instruction.
    assert _nops(run, 0) == 8
    assert [pc for _, pc in run.issues(0)] == [START + 4 * i for i in range(58)]


def test_hit_latency():
    """Selection to poppable: t_F + 1 = 4. A warp alone, selected in every cycle, pops in t+4 what it fetched in t."""
    run = checked_run(TINY, _straight(14), latency=3)
    first = run.issued_at(START)
    selected = [cycle for cycle, _ in run.selections(0)]
    assert selected[1:18] == list(range(first - 4, first + 13))
    # The fetch of START that hit was made by the first selection after the refill.
    (refill,) = (c.number for c in run.cycles if c.refill == START)
    assert selected[1] == refill + 1 == first - 4
    assert [pc for _, pc in run.selections(0)][1:6] == [None] * 4 + [START]


@pytest.mark.parametrize("latency", [1, 5, 12])
@pytest.mark.parametrize("config", named("TINY", "uncached"))
def test_suspended_from_the_lookup_to_the_refill(config, latency):
    """Selected in t, the miss is signalled in t+1 and the warp out already; the cycle after the refill it is back."""
    run = checked_run(config, _straight(40), latency=latency)
    assert len(run.misses(0)) == 3
    for miss in run.misses(0):
        assert run.cycles[miss - 1].select == 0
        # Miss in t+1, requested in t+3, answered ``latency`` cycles later, taken up in the cycle after.
        refill = miss + 2 + latency + 1
        assert run.cycles[refill].refill is not None
        assert not any(run.cycles[c].eligible & 1 for c in range(miss, refill + 1))
        assert run.cycles[refill + 1].select == 0


@on("bare")
@pytest.mark.more
def test_other_warps_go_on_during_a_miss():
    """Warp 1 spins in a line that is there; warp 0's miss takes 60 cycles."""
    p = Program()
    spawn(p, 2, "spin")
    p.jal(0, "far")
    p.label("spin")
    p.li(5, 20)
    p.label("again")
    p.add(asm.addi(5, 5, -1))
    p.branch(asm.bne, 5, 0, "again")
    finish(p)
    p.add(*[asm.nop()] * 40)
    p.label("far")
    run = checked_run(BARE, p, latency=Latencies(60, first=3))
    miss = run.misses(0)[-1]
    between = [pc for cycle, pc in run.issues(1) if miss < cycle < miss + 60]
    assert between.count(p.address("again")) >= 5


@on("bare")
@pytest.mark.more
@pytest.mark.parametrize("policy", ["lrr", "gtlrr", "gtlo"])
def test_misses_to_one_line_share_one_request(policy):
    """All warps run through the same four lines: each line is requested once, whoever missed in the meantime."""
    run = checked_run(BARE, _everywhere(BARE.warps, 40), latency=20, policy=policy)
    lines = [request.line for request in run.requests]
    assert len(lines) == len(set(lines))
    assert len(run.misses()) > len(lines)
    for warp in range(BARE.warps):
        assert _nops(run, warp) == 4 + len(run.misses(warp)) + (4 if warp == 0 else 0)


@on("bare")
@pytest.mark.more
def test_two_warps_in_two_lines_wait_for_their_own():
    """Warp 1's line comes long before warp 0's: it goes on at once."""
    p = Program()
    spawn(p, 2, "other")
    p.jal(0, "mine")
    _to_next_line(p)
    _to_next_line(p)
    p.label("mine")
    finish(p)
    _to_next_line(p)
    p.label("other")
    finish(p)
    mine, other = p.address("mine") // 64 * 64, p.address("other") // 64 * 64
    run = checked_run(BARE, p, latency=Latencies(4, reads={mine: 80}))
    assert {mine, other} <= {request.line for request in run.requests}
    assert run.issues(1)[-1][0] < run.issued_at(p.address("mine"), 0)
    (refill,) = (c.number for c in run.cycles if c.refill == mine)
    # The fetch made in the cycle after the refill issues four selections later.
    assert run.issued_at(p.address("mine"), 0) == refill + 1 + 4


@on("bare")
@pytest.mark.more
def test_miss_whose_refill_comes_in_its_very_cycle():
    """Swept over the latency until a second warp's miss meets the refill of its line; it is selectable in the next."""
    met = []
    for latency in range(1, 14):
        run = checked_run(BARE, _everywhere(2, 20, stagger=3), latency=latency)
        for cycle in run.cycles:
            if cycle.miss is None or cycle.refill is None:
                continue
            following = run.cycles[cycle.number + 1]
            if cycle.refill == cycle.missed_line:
                met.append(latency)
                assert not cycle.eligible >> cycle.miss & 1
                assert following.reasons[cycle.miss] == 0
                assert following.eligible >> cycle.miss & 1
        if met:
            break
    assert met, "no latency made a miss meet the refill of its own line"


@on("uncached")
@pytest.mark.parametrize("policy", ["lrr", "gtlo"])
def test_without_a_cache_each_warp_requests_each_line(policy):
    """All warps run through the same lines: as many requests for each as warps, and a miss for each request."""
    run = checked_run(UNCACHED, _everywhere(UNCACHED.warps, 40), latency=20, policy=policy)
    lines = Counter(request.line for request in run.requests)
    common = [START + 64 * n for n in range(6) if lines[START + 64 * n] > 1]
    assert len(common) >= 3 and {lines[line] for line in common} == {UNCACHED.warps}
    assert len(run.misses()) == len(run.requests)


@on("uncached")
def test_without_a_cache_only_the_last_line_is_kept():
    """Five rounds of a loop: within one line it misses once, over two lines twice a round.

    One that ends with its line misses in every round: the fetch behind the branch has taken the line's place.
    """
    for words, misses in ((4, 1), (20, 2 * 5), (16, 5)):
        p = Program()
        p.li(5, 5)
        p.jal(0, "again")
        _to_next_line(p)
        p.label("again")
        p.add(*[asm.nop()] * (words - 2), asm.addi(5, 5, -1))
        p.branch(asm.bne, 5, 0, "again")
        while p.here % 64 != 8:
            p.add(asm.nop())
        p.jal(0, "end")
        _to_next_line(p)
        p.label("end")
        run = checked_run(UNCACHED, p, latency=9)
        again = p.address("again")
        inside = [miss for miss in run.misses(0) if run.cycles[miss].missed_line in range(again, again + 4 * words, 64)]
        assert len(inside) == misses


@pytest.mark.parametrize("config", named("TINY", "SMALL", "BASE", "uncached"))
def test_random_latencies(config):
    """Every response after 1 to 25 cycles, in any order; the checks are those of every run."""
    for seed in range(3):
        rng = random.Random(seed)
        with told(f"seed {seed}"):
            run = checked_run(config, _everywhere(config.warps, 60, stagger=rng.randrange(8)),
                              latency=Between(rng, 1, 25),
                              policy=rng.choice(USUAL))
            for warp in range(config.warps):
                # Program order: 60 increments, whatever the misses.
                assert run.register(5, warp) == {0: run.writes(5, warp)[0][1][0] + 59}
                assert len(run.writes(5, warp)) == 60
