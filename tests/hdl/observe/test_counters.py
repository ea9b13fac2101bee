"""The counters of the whole SM, recounted from the probe of every cycle."""

import random
from typing import Any

import pytest

from metronome.hdl.layouts.counters import StallReason
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from tests.hdl.lib.simulate import told
from tests.hdl.sm_checks import USUAL, check_front_end, is_control
from tests.hdl.sm_harness import USER, Between, Cycle, Run, finish, run_program, spawn
from tests.support.builds import TINY, named, on

pytestmark = on("TINY")
MREGION = 0x7C0
#: The order of the counters' CSRs from 0xB03 on (isa.md).
CSRS = {0xB03: "committed", 0xB04: "nops", 0xB07: "icache_misses", 0xB08: "taken_branches", 0xB09: "loads",
        0xB0A: "load_wait_cycles"}


def _region(run: Run) -> list[Cycle]:
    """The cycles in which the region is on: from the one after mregion's write in X to that of the write of 0."""
    inside, on = [], False
    for cycle in run.cycles:
        if on:
            inside.append(cycle)
        issue = cycle.issue
        if issue is not None and issue.instruction & 0x707F == 0x5073 and issue.instruction >> 20 == MREGION:
            on = bool(issue.instruction >> 15 & 1)
    return inside


def _recount(run: Run) -> dict[str, Any]:
    inside = _region(run)
    selected = [c for c in inside if c.select is not None and not c.nop]
    executed = [run.cycles[c.number + run.config.issue_latency].issue for c in selected]
    taken = 0
    for cycle, issue in zip(selected, executed, strict=True):
        resolution = run.cycles[cycle.number + run.config.resolve_latency]
        control = is_control(issue.instruction, run.config.prediction)
        if issue.instruction & 0x7F == 0x6F:
            # A jump is taken, whether decode has followed it or its resolution redirects the warp.
            taken += 1
        elif control and resolution.resolve == issue.warp and resolution.redirect:
            # The end of a warp is no branch.
            taken += resolution.active >> issue.warp & 1
    return {
        "cycles": len(inside), "committed": len(selected),
        "committed_threads": sum(issue.mask.bit_count() for issue in executed), "nops": sum(c.nop for c in inside),
        "icache_misses": sum(c.miss is not None for c in inside), "taken_branches": taken,
        "loads": sum(issue.instruction & 0x7F in (0x03, 0x07) for issue in executed),
        "load_wait_cycles": sum(reason == StallReason.LOAD for c in inside for reason in c.reasons),
        "stalls": {reason: 0 if reason is StallReason.NONE else sum(c.stall == reason for c in inside)
                   for reason in StallReason},
    }


def _check(run: Run) -> dict[str, Any]:
    """Hardware = recount, and every cycle of the region is an instruction, a NOP or a stall."""
    check_front_end(run)
    recount = _recount(run)
    hardware = {name: run.counters[name] for name in recount}
    assert hardware == recount
    assert run.counters["committed"] + run.counters["nops"] + sum(run.counters["stalls"].values()) == recount["cycles"]
    # busy is 1 from the cycle after the launch.
    assert run.counters["total_cycles"] == sum(c.busy for c in run.cycles)
    return recount


def _mixed(warps: int, rng: random.Random) -> Program:
    """All warps: loads, multiplications, divisions, branches, a split, a barrier; the region is opened by warp 0."""
    p = Program()
    p.add(asm.csrrwi(0, MREGION, 1))
    spawn(p, warps, "all")
    p.label("all")
    p.add(*asm.li(5, USER), *asm.li(6, 3), asm.tmc(6), asm.csrr(7, 0xCC0), asm.csrr(8, 0xCC1))
    for number in range(12):
        kind = rng.choice(("load", "mul", "div", "branch", "split", "add"))
        if kind == "load":
            p.add(*asm.li(5, USER + 64 * rng.randrange(4)), asm.lw(9, 0, 5), asm.add(10, 9, 9))
        elif kind == "mul":
            p.add(asm.mul(9, 7, 7), asm.addi(10, 9, 1))
        elif kind == "div":
            p.add(asm.div(9, 8, 8), asm.addi(9, 9, 1))
        elif kind == "branch":
            p.li(11, rng.randrange(2))
            p.branch(asm.bne, 11, 0, f"after{number}")
            p.add(*[asm.nop()] * rng.randrange(4))
            p.label(f"after{number}")
        elif kind == "split":
            p.add(asm.split(12, 7), asm.addi(9, 9, 1), asm.join(12))
        else:
            p.add(*[asm.addi(9, 9, 1)] * 3)
    p.add(*asm.li(13, 0), *asm.li(14, warps), asm.bar(13, 14))
    p.branch(asm.beq, 8, 0, "first")
    p.add(*asm.li(31, 0), asm.tmc(31))
    p.label("first")
    p.add(asm.csrrwi(0, MREGION, 0))
    finish(p)
    return p


@pytest.mark.parametrize("config", named("TINY", "SMALL", "BASE"))
def test_recount_of_mixed_programs(config):
    for seed in range(2):
        rng = random.Random(seed)
        with told(f"seed {seed}"):
            run = run_program(config, _mixed(config.warps, rng), policy=rng.choice(USUAL), latency=Between(rng, 2, 20))
            recount = _check(run)
        for name in ("nops", "icache_misses", "taken_branches"):
            assert recount[name] > 0, f"seed {seed}: {name}"


def test_outside_the_region_nothing_counts():
    p = Program()
    p.add(*[asm.addi(5, 5, 1)] * 20)
    finish(p)
    run = run_program(TINY, p)
    recount = _check(run)
    assert recount["cycles"] == 0
    assert run.counters["total_cycles"] > 20


def test_two_regions_add_up():
    p = Program()
    for _ in range(2):
        p.add(asm.csrrwi(0, MREGION, 1), *[asm.nop()] * 2, asm.csrrwi(0, MREGION, 0), *[asm.nop()] * 2)
    finish(p)
    run = run_program(TINY, p, latency=2)
    recount = _check(run)
    # mregion is written at the end of t+2: the two NOP instructions are selected outside, the closing write and the two
    # behind it inside.
    assert recount["committed"] == run.counters["committed"] == 2 * 3
    assert recount["cycles"] == 2 * 3


@pytest.mark.parametrize(("first", "expected"), [(1, 0), (0, 1)])
def test_branch_at_the_edge_of_the_region(first, expected):
    """A branch belongs to the region in which it was selected, not to that in which it executes."""
    p = Program()
    if not first:
        p.add(asm.csrrwi(0, MREGION, 1), asm.nop(), asm.nop())
    # Selected in the cycle after mregion's write, which takes effect two cycles later; so does the branch, which is
    # taken and was not predicted to be.
    p.add(asm.csrrwi(0, MREGION, first))
    at = p.here
    p.branch(asm.beq, 0, 0, "on")
    p.label("on")
    p.add(asm.nop(), asm.csrrwi(0, MREGION, 0))
    finish(p)
    run = run_program(TINY, p)
    assert run.issued_at(at) == run.issued_at(at - 4) + 1
    recount = _check(run)
    assert recount["taken_branches"] == run.counters["taken_branches"] == expected


def test_software_reads_the_same():
    """csrr of every counter after the region: what the hardware's outputs say."""
    p = _mixed(2, random.Random(7))
    body = Program()
    body.add(*p.words()[:-2])
    for number, csr in enumerate(CSRS):
        body.add(asm.csrr(15 + number, csr))
    for reason in range(1, 10):
        body.add(asm.csrr(21 + reason - 1, 0xB0B + reason - 1))
    body.add(asm.csrr(30, 0xB03 + 0x80))
    finish(body)
    run = run_program(TINY, body)
    _check(run)
    for number, name in enumerate(CSRS.values()):
        assert run.register(15 + number)[0] == run.counters[name], name
    for reason in range(1, 10):
        assert run.register(21 + reason - 1)[0] == run.counters["stalls"][reason], StallReason(reason)
    assert run.register(30)[0] == 0


def _stalls(body: list[int], latency: int = 5) -> tuple[Run, dict[str, Any]]:
    """The instructions alone in the region and in a line that is there; x5 = 0x10000, x6 = 7."""
    p = Program()
    p.add(*asm.li(5, USER), *asm.li(6, 7), asm.csrrwi(0, MREGION, 1), asm.nop(), asm.nop(), *body)
    p.add(asm.csrrwi(0, MREGION, 0), asm.nop(), asm.nop())
    finish(p)
    assert p.here - p.base <= 64
    run = run_program(TINY, p, latency=latency)
    return run, _check(run)


def test_constructed_reasons():
    """Which reason, and how many cycles. The next line's miss, two instructions before the end, is left out."""
    cases = [
        # A dependent addition: latency + overhead - 1 cycles with nothing to do.
        ([asm.mul(7, 6, 6), asm.addi(8, 7, 1)], StallReason.DATA, 5),
        ([asm.div(7, 6, 6), asm.addi(8, 7, 1)], StallReason.DATA, 35),
        # The second division starts 34 cycles after the first.
        ([asm.div(7, 6, 6), asm.div(8, 6, 6)], StallReason.UNIT, 33),
        ([asm.mul(7, 6, 6), asm.nop(), asm.nop(), asm.addi(8, 6, 1)], StallReason.WRITEBACK, 1),
        ([asm.mul(7, 6, 6), asm.csrr(8, 1)], StallReason.DRAIN, 5),
        # R cycles of a branch that is not taken.
        ([asm.bne(6, 6, 8)], StallReason.CONTROL, 3),
        ([asm.nop()], StallReason.NONE, 0),
    ]
    for body, reason, expected in cases:
        _, recount = _stalls([*body, asm.nop(), asm.nop()])
        stalls = {r: n for r, n in recount["stalls"].items() if n and r is not StallReason.ICACHE}
        assert stalls == ({reason: expected} if expected else {}), body


def test_load_waits():
    """A consumer waits from the cycle after the load's selection to its write; every such cycle is a LOAD stall."""
    run, recount = _stalls([asm.lw(7, 0, 5), asm.addi(8, 7, 1)], latency=9)
    loads = [cycle for cycle, _ in run.issues(0) if run.cycles[cycle + 2].issue.instruction & 0x7F == 0x03]
    waits = [written - cycle - 1 for cycle, (written, _) in zip(loads, run.writes(7), strict=True)]
    assert len(waits) == 1
    assert recount["loads"] == 1
    assert recount["stalls"][StallReason.LOAD] == recount["load_wait_cycles"] == sum(waits) > 9


def test_icache_and_idle_and_barrier():
    """Warp 1 waits at a barrier for warp 0, whose line takes 30 cycles: the miss is the reason, then nobody is left."""
    p = Program()
    p.add(asm.csrrwi(0, MREGION, 1))
    spawn(p, 2, "wait")
    # No jump, which decode would follow before warp 1 has started.
    p.branch(asm.beq, 0, 0, "far")
    p.label("wait")
    p.add(*asm.li(13, 0), *asm.li(14, 2), asm.bar(13, 14))
    finish(p)
    p.add(*[asm.nop()] * 40)
    p.label("far")
    p.jal(0, "wait")
    run = run_program(TINY, p, latency=30)
    recount = _check(run)
    far = [c for c in _region(run) if c.reasons == (StallReason.ICACHE, StallReason.BARRIER)]
    assert len(far) > 20
    assert all(c.stall == StallReason.ICACHE for c in far)
    # The region is never closed: what drains after the last warp's end is idle.
    assert recount["stalls"][StallReason.IDLE] > 0
    assert all(c.active == 0 for c in _region(run) if c.stall == StallReason.IDLE)


def test_barrier_that_nobody_completes():
    """The hang is visible: every cycle is a BARRIER stall."""
    p = Program()
    p.add(asm.csrrwi(0, MREGION, 1), *asm.li(13, 0), *asm.li(14, 2))
    at = p.here
    p.add(asm.bar(13, 14))
    finish(p)
    run = run_program(TINY, p, max_cycles=100, may_hang=True)
    assert not run.ended
    t = run.issued_at(at)
    # In X in t+2, so it waits at the barrier from t+3 on.
    assert {c.stall for c in run.cycles[t + 3:]} == {StallReason.BARRIER}
    assert {c.stall for c in run.cycles[t + 1:t + 3]} == {StallReason.CONTROL}
    assert run.cycles[-1].busy
