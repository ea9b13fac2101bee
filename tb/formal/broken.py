"""Deliberately broken designs: a proof that accepts one of them proves nothing.

Each is one replacement in the source of one method, applied during elaboration; nothing in hdl knows of it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from .broken_l2 import BROKEN_L2
from .broken_links import BROKEN_LINKS
from .broken_partitions import BROKEN_PARTITIONS
from .broken_predictors import BROKEN_PREDICTORS
from .broken_sms import BROKEN_SMS
from .defect import Defect
from .flow import Problem, bounded_check, problem
from .patched import patched
from .witness import Counterexample

__all__ = ["BROKEN", "others", "refute"]

#: Every broken design has to be caught within this many cycles from reset.
CYCLES = 16


_SWAS = "metronome.hdl.frontend.swas:SwasCoordination.elaborate"
_FRONT = "metronome.hdl.frontend.frontend:FrontEnd"
_FETCH = "metronome.hdl.frontend.fetch:FetchPipeline"
_RING = "metronome.hdl.frontend.buffers:InstructionBuffers._ring"
_WARPS = "metronome.hdl.frontend.warps:WarpTable.elaborate"
_MISSES = "metronome.hdl.frontend.misses:MissUnit"
_LRR = "metronome.hdl.policies.lrr:LooseRoundRobin.pick"
_CHANGES = (("policy_csr", True),)

BROKEN = (
    Defect("the fetch waits while NOPs are popped", "P1", _SWAS,
           "connect_fetch(m, self, scheduler)",
           "connect_fetch(m, self, scheduler); m.d.comb += self.fetch.select.eq(scheduler.select & ~self.nop)"),
    Defect("a lookup that missed is followed by the pc of the warp selected had it hit", "P1", f"{_FETCH}._looked_up",
           'Mux(missed, pcs["missed"], pcs["hit"])', 'pcs["hit"]', policy="gtlrr"),
    Defect("a NOP is popped without a fetch", "P1", f"{_FRONT}.elaborate",
           "connect(m, scheme.fetch, fetch.request, warps.fetch)",
           "connect(m, scheme.fetch, fetch.request, warps.fetch)\n"
           "    m.d.comb += fetch.request.valid.eq(scheme.fetch.valid & ~self.selection.nop)"),
    Defect("buffers one entry short", "P2", _RING,
           'name=f"filled_{w}", init=every', 'name=f"filled_{w}", init=every >> 1'),
    Defect("the NOP of a miss is left out", "P2", f"{_FRONT}.elaborate",
           "connect(m, fetch.done, buffers.fill)", "connect(m, fetch.done, buffers.fill)\n"
           "    m.d.comb += buffers.fill.valid.eq(fetch.done.valid & ~fetch.done.squashed)"),
    Defect("baseline fetches into a full buffer", "P2", f"{_FRONT}._coordinate",
           "count < config.buffer_depth", "count <= config.buffer_depth", scheme="baseline"),
    Defect("eligibility looks at how full the buffer is", "P3", _SWAS,
           "may_run & (self.nop | self.ready)", "may_run & (self.nop | self.ready) & self.room"),
    Defect("a miss takes its warp out one cycle late", "P3", "metronome.hdl.frontend.scheduler:Scheduler.elaborate",
           "self.select.eq(Mux(self.drop, picks[1], picks[0]))", "self.select.eq(picks[0])"),
    Defect("the round robin starts at the last warp", "P3", _LRR,
           "return pick_after(state.last, inputs.eligible)", "return pick_after(state.last >> 1, inputs.eligible)"),
    Defect("a new size of groups leaves the round robin where it was", "P3",
           "metronome.hdl.policies.two_level:TwoLevelRoundRobin.update",
           "self._first(size).items()", '[("size", self._first(size)["size"])]', policy="two_level",
           parameters=_CHANGES),
    Defect("a slot gets the warp of its own number", "P3",
           "metronome.hdl.policies.variable_rate:VariableRateStrict._change",
           "state.owners[slot].eq(change.value)", "state.owners[slot].eq(slot)", policy="variable_rate",
           parameters=_CHANGES),
    Defect("a warp is held back if the scores reach the cutoff", "P3",
           "metronome.hdl.policies.ccws:CacheConscious._held_back",
           "~(Const(0, 1) + self.warps * base).as_signed()", "-(Const(0, 1) + self.warps * base).as_signed()",
           policy="ccws"),
    Defect("a hit moves the pc on by two instructions", "P4", _WARPS,
           "pc.eq(advanced)", "pc.eq(advanced + 1)"),
    Defect("a redirect leaves one wrong-path fetch", "P4", f"{_FETCH}._stages",
           "stage.squashed | squashed | missed", "stage.squashed | (squashed if number == 0 else 0) | missed"),
    Defect("a fetch that missed becomes no NOP", "P5", f"{_FETCH}._stages",
           "stage.squashed | squashed | missed", "stage.squashed | squashed"),
    Defect("a jump in decode leaves the fetch of its own cycle", "P4", f"{_FETCH}._stages",
           "request & ~squash", "request & ~self.squash", "btfn"),
    Defect("a redirect leaves one slot as it was", "P5", _RING,
           "Mux(self.flush[w], every,", "Mux(self.flush[w], nop | every >> 1,"),
    Defect("a miss makes a NOP of another warp's fetch", "P5", f"{_FETCH}._stages",
           "request & ~squash", "Mux(self.lookup.misses.any(), 0, request & ~squash)"),
    Defect("the lowest warp goes first", "P6", _LRR,
           "return pick_after(state.last, inputs.eligible)", "return inputs.eligible & (~inputs.eligible + 1)"),
    Defect("the round robin forgets the warp that it selected", "P6",
           "metronome.hdl.policies.base:LastWarpPolicy.update",
           "state.last.eq(selected)", "state.last.eq(state.last)"),
    Defect("a warp wakes when any line arrives", "P7", f"{_MISSES}._suspend",
           "self.woken[i] & (self.pending_line[i] == self.refill.line)", "self.woken[i]"),
    Defect("a line that arrives in the cycle of the miss is overlooked", "P7", f"{_MISSES}._suspend",
           "missing = Mux(self.release[i], 0, Mux(self.lookup[i], ~comes,",
           "missing = Mux(self.release[i], 0, Mux(self.lookup[i], 1,"),
    Defect("a redirect does not end a suspension", "P7", f"{_MISSES}._suspend",
           "self.suspended[i] & ~(self.release[i] | wakes)", "self.suspended[i] & ~wakes"),
    Defect("without an I-cache another warp's answer wakes", "P7", f"{_MISSES}._answer",
           "if self._shares else answered)", "if True else answered)", icache=False),
    *BROKEN_PREDICTORS, *BROKEN_LINKS, *BROKEN_PARTITIONS, *BROKEN_SMS, *BROKEN_L2,
)


def applied(broken: Defect) -> AbstractContextManager[None]:
    """Replace the method while the context is open (:func:`patched`)."""
    return patched(broken.name, broken.method, broken.old, broken.new)


def broken_problem(broken: Defect) -> Problem:
    """Return the property on the broken design, without the invariants: the claim that it names, or all."""
    with applied(broken):
        return problem(broken.case(), lemmas=False, asserts=lambda text: broken.claim in ("", text))


def others(broken: Defect) -> Problem:
    """Return the property on the broken design without the claim that it names."""
    with applied(broken):
        return problem(broken.case(), lemmas=False, asserts=lambda text: text != broken.claim)


def refute(broken: Defect, cycles: int = CYCLES) -> Counterexample | None:
    """Return the shortest run from reset that violates the property; None if there is none within ``cycles``."""
    return bounded_check(broken_problem(broken), cycles)
