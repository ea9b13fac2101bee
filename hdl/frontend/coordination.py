"""The decisions of a coordination scheme in a cycle: which warp fetches and which one issues."""

from __future__ import annotations

from amaranth.hdl import Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ..config import SmConfig
from ..layouts.events import ORACLES
from ..layouts.signatures import flow_signature
from ..lib.component import Component
from .oracles import OracleSets
from .scheduler import Scheduler
from .signatures import choice_signature, lookup_signature, turn_signature

__all__ = ["connect_fetch", "connect_issue", "connect_oracles", "connect_scheduler", "coordination_signature",
           "oracles_of"]


def coordination_signature(config: SmConfig) -> wiring.Signature:
    """The ports of a scheme, seen from it; all refer to one cycle and are combinational except for the scheme's state.

    Masks and arrays have one element per warp. At most one warp fetches and at most one issues in a cycle.
    """
    warps = config.warps
    members: dict[str, Member] = {
        "flow": In(flow_signature(config)),  # from the control unit
        "lanes": In(data.ArrayLayout(range(config.threads + 1), warps)),  # active lanes
        "halt": In(1),  # a fault has stopped the SM: no warp is selected
        "unresolved": In(warps),  # control flow is issued and not resolved
        "resolved": In(warps),  # control flow resolves, or is released, in this cycle
        "redirected": In(warps),  # its control flow changes: instructions in the buffer and in flight are not executed
        "lookup": In(lookup_signature(config)),  # the fetch in the lookup, and the warps that wait for a line
        "decoded": In(warps),  # the warp whose fetch reaches decode (one-hot or 0)
        "decoded_control": In(1),  # the instruction in decode is control flow
        "turn": In(turn_signature(config)),  # the jump that is followed at decode
        "nop": In(warps),  # the head of the buffer is a NOP
        "ready": In(warps),  # the head may issue; undefined for a NOP or an empty buffer
        "empty": In(warps),  # the buffer is empty
        "room": In(warps),  # buffer + in flight < d
        "fetched": In(data.ArrayLayout(range(config.buffer_depth + 1), warps)),  # buffer + in flight, excluding NOPs
        "issue": Out(choice_signature(config)),  # the warp that issues
        "fetch": Out(choice_signature(config)),  # the warp that fetches
    }
    if config.watches_locality:
        members["lost"] = In(warps)  # warps whose load missed a line evicted by others, in the previous cycle
    if len(config.policies) > 1:
        members["policy"] = In(range(len(config.policies)))  # the issue policy in force
    if len(config.fetch_policies) > 1:
        members["fetch_policy"] = In(range(len(config.fetch_policies)))  # the fetch policy in force
    if config.oracles:
        members["oracle_select"] = Out(data.ArrayLayout(warps, ORACLES))  # the picks of the oracles, each one-hot or 0
    return wiring.Signature(members)


def connect_fetch(m: Module, scheme: Component, scheduler: Scheduler) -> None:
    """Let ``scheduler`` choose the fetch: a warp whose fetch misses in this same cycle is not selected."""
    m.d.comb += [
        scheduler.doubtful.eq(scheme.lookup.warps),
        scheduler.drop.eq(scheme.lookup.missed),
        scheme.fetch.eligible.eq(scheduler.eligible & ~scheme.lookup.misses),
        scheme.fetch.select.eq(scheduler.select),
        scheme.fetch.valid.eq(scheduler.select_valid),
        scheme.fetch.warp.eq(scheduler.select_warp),
        scheme.fetch.if_hit.eq(scheduler.select_kept),
        scheme.fetch.if_missed.eq(scheduler.select_dropped),
    ]


def connect_issue(m: Module, scheme: Component, scheduler: Scheduler) -> None:
    """Let ``scheduler`` choose the issue, which depends on the lookup only if ``scheduler`` has a doubt."""
    doubts = "drop" in scheduler.signature.members
    m.d.comb += [
        scheme.issue.if_hit.eq(scheduler.select_kept if doubts else scheduler.select),
        scheme.issue.if_missed.eq(scheduler.select_dropped if doubts else scheduler.select),
        scheme.issue.select.eq(scheduler.select),
        scheme.issue.valid.eq(scheduler.select_valid),
        scheme.issue.warp.eq(scheduler.select_warp),
    ]


def oracles_of(config: SmConfig) -> int:
    """The number of oracles beside the issue scheduler."""
    return ORACLES if config.oracles else 0


def connect_scheduler(m: Module, scheme: Component, scheduler: Scheduler, *, strap: str = "policy") -> None:
    """Connect to ``scheduler`` the inputs of a policy other than the eligible set (hdl.policies.PolicyInputs).

    ``strap``: the port of the scheme that selects its policy; it exists only if there are several.
    """
    flow = scheme.flow
    m.d.comb += [
        scheduler.active.eq(flow.active),
        scheduler.waiting.eq(flow.waiting),
        scheduler.activated.eq(flow.activation.warps),
        scheduler.lanes.eq(scheme.lanes),
        scheduler.fetched.eq(scheme.fetched),
    ]
    if "lost" in scheme.signature.members:
        m.d.comb += scheduler.lost.eq(scheme.lost)
    if "change" in flow.signature.members:
        m.d.comb += scheduler.change.eq(flow.change)
    if strap in scheme.signature.members:
        m.d.comb += scheduler.policy.eq(getattr(scheme, strap))


def connect_oracles(
    m: Module, config: SmConfig, scheme: Component, scheduler: Scheduler, *, may_issue: Value, head_ready: Value,
) -> None:
    """Add the oracles, if the build has them, beside the issue scheduler: its policy and state, their own sets.

    ``may_issue``: the warps that the scheduler would take if their buffers held a ready instruction; ``head_ready``:
    the warps whose heads are ready, among those with a buffer that is not empty.
    """
    if not config.oracles:
        return
    m.submodules.oracle_sets = sets = OracleSets(config)
    m.d.comb += [sets.may_issue.eq(may_issue), sets.head_ready.eq(head_ready)]
    m.d.comb += sets.redirected.eq(scheme.redirected | scheme.turn.warps)
    m.d.comb += [
        sets.empty.eq(scheme.empty),
        sets.suspended.eq(scheme.lookup.suspended),
        sets.missed.eq(scheme.lookup.misses),
        sets.halt.eq(scheme.halt),
    ]
    m.d.comb += [scheduler.oracle_eligible.eq(sets.eligible), scheme.oracle_select.eq(scheduler.oracle_select)]
