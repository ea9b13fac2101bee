"""Bugs that move a cycle and change no value: `--verify` finds each, and names the unit in which it is.

Lock step cannot see them, since every instruction still does what it should.
"""

import random
from dataclasses import dataclass, replace

import pytest

from metronome.hdl.verilog import generate
from metronome.sim.predict.predictor import predict
from metronome.sim.predict.verify import Verifier
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run
from metronome.tb.formal.patched import occurrences, patched
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.support.builds import TINY
from tests.system.memory_programs import MemoryProgram
from tests.system.rtl_programs import RawProgram

#: So little of everything that each rule of time is met within a few programs.
SMALL = replace(
    TINY, icache_bytes=512, icache_ways=2, icache_mshrs=2, dcache_bytes=512, dcache_ways=2, dcache_mshrs=2,
    store_buffer=4, load_parts=4,
)
SEED, PROGRAMS = 20261125, 24
MEMORIES = [("fixed", 1), ("fixed", 20), ("random", 40)]


@dataclass(frozen=True)
class Bug:
    """``old`` becomes ``new`` in ``method`` ("module:Class.method"); ``units``: to which it may be laid."""

    name: str
    method: str
    old: str
    new: str
    units: tuple[str, ...]


_HDL = "metronome.hdl"
_LSU, _WRITEBACK, _SCOREBOARD = "the load/store unit", "the writeback", "the scoreboard"
_ICACHE, _CONTROL, _PORT, _POLICY = "the I-cache", "the control unit", "the memory port", "the policy"
BUGS = (
    Bug("a division takes a cycle more", f"{_HDL}.issue.writeback:WritebackSchedule.elaborate",
        "unit_latencies(config)", "unit_latencies(config) | {Unit.DIV: config.latency_div + 1}",
        (_WRITEBACK, _SCOREBOARD)),
    Bug("the divider is busy for a cycle more", f"{_HDL}.issue.reservations:operations_left",
        "left.eq(latency - 1 - since)", "left.eq(latency - since)", (_SCOREBOARD,)),
    Bug("a branch that was predicted right is repaired", f"{_HDL}.execute.control:ControlUnit._branch",
        "(taken ^ decoded.predicted)", "(taken | decoded.predicted)", (_CONTROL,)),
    Bug("a barrier is released late", f"{_HDL}.execute.control:ControlUnit._resolve",
        "[self.flow.release.eq(simt.release),",
        "[(late := Signal.like(simt.release)).eq(simt.release), self.flow.release.eq(late),",
        (_CONTROL,)),
    Bug("caches forget which line was used", f"{_HDL}.lib.tags:CacheTags._replacement",
        "used.eq(Mux(self.use, self.hit_ways, 0))", "used.eq(0)", (_ICACHE, _LSU)),
    Bug("a load leaves a writeback slot free before a result", f"{_HDL}.issue.writeback:WritebackSchedule.elaborate",
        "self.out.load_free.eq(~reserved[1])", "self.out.load_free.eq(~reserved[1] & ~reserved[2])",
        (_LSU, _WRITEBACK)),
    Bug("a writeback slot counts twice", f"{_HDL}.issue.writeback:WritebackSchedule.elaborate",
        "~known[to_execute + latency] for", "~known[to_execute + latency -1:][:2].any() for",
        (_SCOREBOARD,)),
    Bug("a miss asks for an MSHR late", f"{_HDL}.frontend.misses:MissUnit._choose",
        "missed.eq(self.lookup_missed & self.lookup.any())", "missed.eq(0)", (_PORT, _ICACHE)),
    Bug("a load joins no request while all MSHRs are taken", f"{_HDL}.memory.l1.lookup:LookupStage.elaborate",
        "shares.eq(may_join & mshrs.requested)", "shares.eq(may_join & mshrs.requested & ~mshrs.full)", (_LSU,)),
    Bug("the write buffer answers no load", f"{_HDL}.memory.l1.lookup:LookupStage.elaborate",
        "load & ~self.hit & ~out.uncached & buffer.holds", "0 & load & ~out.uncached & buffer.holds", (_LSU,)),
    Bug("every access waits while a line goes into the cache", f"{_HDL}.memory.l1.lookup:LookupStage._same_set",
        "return fill.install & (self._set == set_of(fill.line, bits))", "return fill.install",
        (_LSU,)),
    Bug("the LSU goes before the I-cache", f"{_HDL}.memory.arbiter:share_port",
        "use_second.eq(held | ~first.request.valid)", "use_second.eq(held | second.request.valid)", (_PORT,)),
    Bug("stores go before loads", f"{_HDL}.memory.l1.requests:LineRequests.elaborate",
        "store.valid & ~(load.valid & stored)", "store.valid", (_LSU, _PORT, _WRITEBACK)),
    Bug("the queue of the LSU is shorter", f"{_HDL}.memory.lanes.entrance:Entrance.elaborate",
        "self.ready.eq(used < self.depth)", "self.ready.eq(used < self.depth - 4)", (_SCOREBOARD,)),
    Bug("round robin begins with the last warp", f"{_HDL}.policies.base:pick_after",
        "(from_lowest(last) << 1)[: len(eligible)]", "from_lowest(last)", (_POLICY,)),
    Bug("a hit is taken for older than a line from memory", f"{_HDL}.memory.lanes.response:ResponseStage._oldest",
        "(wants[0] & ~fill_after_hit)", "(wants[0] & ~wants[0])",
        (_LSU, _WRITEBACK)),
)


def requests():
    for name in ("psort", "psum"):
        yield RunRequest(launch=prepare(name, None, 8, 1, SMALL), policy="lrr", trace=True)
    for number in range(PROGRAMS):
        rng = random.Random(f"{SEED}/{number}")
        kind = (MemoryProgram, RandomProgram)[number % 2]
        memory, latency = rng.choice(MEMORIES)
        yield RunRequest(
            launch=RawProgram(kind(rng, SMALL, blocks=rng.randrange(3, 9)).program.assemble()), policy="lrr",
            memory=memory, latency=latency, seed=number, trace=True, max_cycles=100_000,
        )


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_table_fits_the_design(bug):
    assert occurrences(bug.method, bug.old) == 1
    with patched(bug.name, bug.method, bug.old, bug.new):
        pass


@pytest.mark.long
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_it_is_found_and_laid_to_its_unit(bug):
    with patched(bug.name, bug.method, bug.old, bug.new):
        verilog = generate(SMALL)
    for request in requests():
        result = run(SMALL, request, verilog=verilog)
        verifier = Verifier(SMALL, result.events)
        predict(SMALL, replace(request, trace=False), watcher=verifier)
        if verifier.parting is not None:
            print(bug.name, "->", verifier.parting)
            assert verifier.parting.unit in bug.units
            return
    pytest.fail(f"seed {SEED}: not found in {PROGRAMS} random programs")
