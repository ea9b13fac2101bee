"""fence and fence.i on the whole SM (isa.md, "Memory map and launch")."""

import pytest

from metronome.hdl.layouts.counters import StallReason
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from tests.hdl.sm_checks import checked_run
from tests.hdl.sm_harness import USER, Latencies, finish, run_program, spawn
from tests.support.builds import TINY, UNCACHED, on

pytestmark = on("TINY")
#: A line a warp in place of the I-cache: the loop of the patched instruction lies in one line.
NO_CACHE = pytest.param(UNCACHED, id="no_cache", marks=on("uncached"))


@pytest.mark.parametrize("latency", [1, 30])
def test_fence_waits_for_the_warps_own_stores(latency):
    """Not selected before memory has completed the store, and not much later; DRAIN is the reason meanwhile."""
    p = Program()
    p.add(*asm.li(5, USER), *asm.li(6, 7))
    store = p.here
    p.add(asm.sw(6, 0, 5), asm.nop(), asm.fence(), asm.addi(8, 0, 1))
    run = checked_run(TINY, p, latency=Latencies(3, stores=latency))
    (write,) = (request for request in run.requests if request.write)
    completed = write.cycle + latency
    fence = run.issued_at(store + 8)
    assert completed < fence <= completed + 4
    reasons = {run.cycles[c].stall for c in range(run.issued_at(store + 4) + 1, fence)}
    assert reasons == {StallReason.DRAIN}


def test_fence_does_not_wait_for_another_warps_store():
    p = Program()
    p.li(5, USER)
    spawn(p, 2, "other")
    p.add(asm.sw(5, 0, 5))
    finish(p)
    p.label("other")
    p.add(*[asm.nop()] * 4)
    fence = p.here
    p.add(asm.fence(), asm.addi(8, 0, 1))
    run = checked_run(TINY, p, latency=Latencies(3, stores=90))
    (write,) = (request for request in run.requests if request.write)
    assert write.cycle < run.issued_at(fence, 1) < write.cycle + 90


def _patched(fence: int) -> Program:
    """Overwrites the instruction at "here", which has been fetched and is in the cache, and comes to it again."""
    p = Program()
    p.la(5, "here")
    p.la(6, "word")
    p.add(asm.lw(6, 0, 6), *asm.li(28, 2))
    p.label("here")
    p.add(asm.addi(7, 0, 1), asm.sw(6, 0, 5), fence, asm.addi(28, 28, -1))
    p.branch(asm.bne, 28, 0, "here")
    finish(p)
    p.label("word")
    p.add(asm.addi(7, 0, 2))
    return p


@pytest.mark.parametrize("latency", [1, 20])
@pytest.mark.parametrize("config", [pytest.param(TINY, id="TINY"), NO_CACHE])
def test_fence_i_makes_a_store_visible_to_fetch(config, latency):
    run = checked_run(config, _patched(asm.fence_i()), latency=latency)
    assert [value for _, value in run.writes(7)] == [{0: 1}, {0: 2}]


@pytest.mark.parametrize("config", [pytest.param(TINY, id="TINY"), NO_CACHE])
def test_without_fence_i_the_old_instruction_stays(config):
    """So the test above shows fence.i and not an accident."""
    run = run_program(config, _patched(asm.fence()), latency=1)
    assert [value for _, value in run.writes(7)] == [{0: 1}, {0: 1}]


@pytest.mark.parametrize("delay", [0, 6, 12])
def test_fence_i_while_a_fetch_of_the_line_is_under_way(delay):
    """Warp 1 has asked for the line before the store; warp 0 comes there after its fence.i and must not take that one.

    Its own miss shares the request, is woken by the old answer, which is not kept, and asks again.
    """
    p = Program()
    p.la(5, "here")
    p.la(6, "word")
    p.add(asm.lw(6, 0, 6))
    spawn(p, 2, "here")
    p.add(*[asm.nop()] * (10 + delay))
    store = p.here
    p.add(asm.sw(6, 0, 5), asm.fence_i())
    p.jal(0, "here")
    p.label("word")
    p.add(asm.addi(7, 0, 2))
    while p.here % 64 or p.here - store < 64:
        p.add(asm.nop())
    p.label("here")
    p.add(asm.addi(7, 0, 1))
    finish(p)
    here = p.address("here")
    run = checked_run(TINY, p, latency=Latencies(3, reads={here: 150}))
    first, second = (r.cycle for r in run.requests if r.line == here and not r.write)
    (write,) = (r.cycle for r in run.requests if r.write)
    assert first < write < first + 150 < second
    assert run.issued_at(store + 4) < first + 150
    assert run.register(7, 0) == {0: 2}
