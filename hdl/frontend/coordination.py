"""What a coordination scheme decides in a cycle: which warp fetches and which one issues."""

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

__all__ = [
    "connect_fetch", "connect_issue", "connect_oracles", "connect_scheduler", "coordination_signature", "oracles_of",
]


def coordination_signature(config: SmConfig) -> wiring.Signature:
    """The ports of a scheme, seen from the scheme; all are of one cycle, combinational but for the schemes' state.

    Masks and arrays have one element a warp. In a cycle at most one warp fetches and at most one issues.
    """
    warps = config.warps
    members: dict[str, Member] = {
        "flow": In(flow_signature(config)),  # from the control unit
        "lanes": In(data.ArrayLayout(range(config.threads + 1), warps)),  # active lanes
        "halt": In(1),  # a fault has stopped the SM: nobody is selected
        "unresolved": In(warps),  # control flow is issued and not resolved
        "resolved": In(warps),  # control flow resolves, or is released, in this cycle
        "redirected": In(warps),  # it goes on elsewhere: what is in buffer and flight is not executed
        "suspended": In(warps),  # an I-cache miss is outstanding
        "lookup": In(warps),  # whose fetch is looked up (one-hot or 0)
        "lookup_missed": In(1),  # late in the cycle: it misses
        "missed": In(warps),  # the two together
        "decoded": In(warps),  # whose fetch reaches decode (one-hot or 0)
        "decoded_control": In(1),  # the instruction in decode is control flow
        "turned": In(warps),  # whose jump is followed at decode (one-hot or 0): its fetches behind it are squashed
        "nop": In(warps),  # the head of the buffer is a NOP
        "ready": In(warps),  # the head may issue; means nothing for a NOP or an empty buffer
        "empty": In(warps),  # the buffer is empty
        "room": In(warps),  # buffer + in flight < d
        "fetched": In(data.ArrayLayout(range(config.buffer_depth + 1), warps)),  # buffer + in flight, NOPs left out
        "eligible": Out(warps),  # the set that ``issue`` is chosen from
        "issue": Out(warps),  # who issues (one-hot or 0)
        "issue_valid": Out(1),  # somebody does
        "issue_warp": Out(config.warp_bits),  # who, as a number
        "issue_if_hit": Out(warps),  # ``issue``, if the lookup hits: known sooner
        "issue_if_missed": Out(warps),  # ``issue``, if the lookup misses
        "fetch_eligible": Out(warps),  # the set that ``fetch`` is chosen from
        "fetch": Out(warps),  # who fetches (one-hot or 0)
        "fetch_valid": Out(1),  # somebody does
        "fetch_warp": Out(config.warp_bits),  # who, as a number
        "fetch_if_hit": Out(warps),  # ``fetch``, if the lookup hits: known sooner
        "fetch_if_missed": Out(warps),  # ``fetch``, if the lookup misses
    }
    if config.watches_locality:
        members["lost"] = In(warps)  # whose load has missed a line that others have driven out, one cycle ago
    if len(config.policies) > 1:
        members["policy"] = In(range(len(config.policies)))  # the issue policy in force
    if len(config.fetch_policies) > 1:
        members["fetch_policy"] = In(range(len(config.fetch_policies)))  # the fetch policy in force
    if config.oracles:
        members["oracle_select"] = Out(data.ArrayLayout(warps, ORACLES))  # what the oracles pick, each one-hot or 0
    return wiring.Signature(members)


def connect_fetch(m: Module, scheme: Component, scheduler: Scheduler) -> None:
    """Let ``scheduler`` choose the fetch: a warp whose fetch misses in the very cycle is not selected."""
    m.d.comb += [
        scheduler.doubtful.eq(scheme.lookup),
        scheduler.drop.eq(scheme.lookup_missed),
        scheme.fetch_eligible.eq(scheduler.eligible & ~scheme.missed),
        scheme.fetch.eq(scheduler.select),
        scheme.fetch_valid.eq(scheduler.select_valid),
        scheme.fetch_warp.eq(scheduler.select_warp),
        scheme.fetch_if_hit.eq(scheduler.select_kept),
        scheme.fetch_if_missed.eq(scheduler.select_dropped),
    ]


def connect_issue(m: Module, scheme: Component, scheduler: Scheduler) -> None:
    """Let ``scheduler`` choose what issues, which depends on the lookup only if ``scheduler`` has a doubt."""
    doubts = "drop" in scheduler.signature.members
    m.d.comb += [
        scheme.issue_if_hit.eq(scheduler.select_kept if doubts else scheduler.select),
        scheme.issue_if_missed.eq(scheduler.select_dropped if doubts else scheduler.select),
        scheme.issue.eq(scheduler.select),
        scheme.issue_valid.eq(scheduler.select_valid),
        scheme.issue_warp.eq(scheduler.select_warp),
    ]


def oracles_of(config: SmConfig) -> int:
    """How many oracles stand beside the issue scheduler."""
    return ORACLES if config.oracles else 0


def connect_scheduler(m: Module, scheme: Component, scheduler: Scheduler, *, strap: str = "policy") -> None:
    """Show ``scheduler`` what a policy may look at besides the eligible set (hdl.policies.PolicyInputs).

    ``strap``: the port of the scheme that chooses its policy; the scheme has it where there are several.
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
    """Put the oracles, where the build has them, beside the issue scheduler: its policy and state, their own sets.

    ``may_issue``: the warps that it would take if their buffers held a ready instruction; ``head_ready``: whose heads
    are ready, of those that are not empty.
    """
    if not config.oracles:
        return
    m.submodules.oracle_sets = sets = OracleSets(config)
    m.d.comb += [sets.may_issue.eq(may_issue), sets.head_ready.eq(head_ready)]
    m.d.comb += sets.redirected.eq(scheme.redirected | scheme.turned)
    for name in ("empty", "suspended", "missed", "halt"):
        m.d.comb += getattr(sets, name).eq(getattr(scheme, name))
    m.d.comb += [scheduler.oracle_eligible.eq(sets.eligible), scheme.oracle_select.eq(scheduler.oracle_select)]
