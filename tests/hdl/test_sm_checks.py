"""The checks of every run (sm_checks) themselves: each finds a run in which one event is another, or is missing."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from tests.hdl.sm_checks import check_front_end, checked_run
from tests.hdl.sm_harness import LINE, Cycle, Issued, Run, spawn
from tests.support.builds import TINY, on

pytestmark = on("TINY")


@pytest.fixture(scope="module")
def run() -> Run:
    """Both warps: two lines, a branch that is taken, a load and its use."""
    p = Program()
    spawn(p, 2, "all")
    p.label("all")
    p.add(*asm.li(5, 0x10000), asm.lw(6, 0, 5), asm.addi(6, 6, 1), *[asm.nop()] * 12)
    p.branch(asm.beq, 0, 0, "on")
    p.add(*[asm.nop()] * 2)
    p.label("on")
    p.add(*[asm.nop()] * 12)
    run = checked_run(TINY, p, latency=9)
    return run


def _issues_else(cycle: Cycle) -> Cycle:
    return replace(cycle, issue=replace(cycle.issue, pc=cycle.issue.pc + 4))


#: Which cycles, and what is different in one of them.
SPOILED: dict[str, tuple[Callable[[Cycle], bool], Callable[[Cycle], Cycle]]] = {
    "another warp is selected": (lambda c: c.select == 0, lambda c: replace(c, select=1)),
    "nobody is selected": (lambda c: c.select is not None, lambda c: replace(c, select=None)),
    "somebody else is eligible": (lambda c: c.select == 0, lambda c: replace(c, eligible=0b10)),
    "an inactive warp is eligible": (lambda c: c.active == 1, lambda c: replace(c, eligible=c.eligible | 0b10)),
    "a NOP is an instruction": (lambda c: c.nop, lambda c: replace(c, nop=False)),
    "another pc issues": (lambda c: c.issue is not None, _issues_else),
    "an instruction that nobody selected": (
        lambda c: c.issue is None, lambda c: replace(c, issue=Issued(0, 0x8000_0000, asm.nop(), 1)),
    ),
    "a miss is lost": (lambda c: c.miss is not None, lambda c: replace(c, miss=None)),
    "another line misses": (lambda c: c.miss is not None, lambda c: replace(c, missed_line=c.missed_line + LINE)),
    "a redirect is lost": (lambda c: c.redirect and c.active == 3, lambda c: replace(c, redirect=False)),
    "a resolution is lost": (lambda c: c.resolve is not None, lambda c: replace(c, resolve=None)),
    "busy falls": (lambda c: c.busy, lambda c: replace(c, busy=False)),
    "a result behind the end": (lambda c: c.number > 0 and not c.busy, lambda c: replace(c, write=(0, 5, {0: 1}))),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_run_is_found(run, name):
    where, change = SPOILED[name]
    found = [cycle for cycle in run.cycles if where(cycle)]
    middle = found[len(found) // 2]
    cycles = [change(c) if c is middle else c for c in run.cycles]
    with pytest.raises(AssertionError):
        check_front_end(replace(run, cycles=cycles))


def test_a_warp_that_wakes_before_its_line_comes_is_found(run):
    """Memory has not answered, and it goes on."""
    cycles = [replace(c, answer=None) for c in run.cycles]
    with pytest.raises(AssertionError, match=r"warp [01] is eligible in \d+, missed in \d+"):
        check_front_end(replace(run, cycles=cycles))
