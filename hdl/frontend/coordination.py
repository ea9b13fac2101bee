"""What a coordination scheme decides in a cycle: which warp fetches and which one issues."""

from __future__ import annotations

from amaranth.hdl import Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.probe import ORACLES
from ..observe.oracles import OracleSets
from .scheduler import Scheduler

__all__ = [
    "connect_fetch", "connect_issue", "connect_oracles", "connect_scheduler", "coordination_signature", "oracles_of",
]


def coordination_signature(config: SmConfig) -> wiring.Signature:
    """The ports of a scheme, seen from the scheme. All masks have one bit a warp.

    In: ``active``; ``waiting`` at a barrier or in wspawn; ``activated`` in this cycle; ``lanes``: active lanes;
    ``fetched``: instructions in buffer and flight, NOPs left out; ``suspended`` (a miss is outstanding); ``lookup``
    (one-hot or 0): a fetch of the warp is looked up in this cycle; ``lookup_missed``, late in the cycle: it misses;
    ``missed``: the two together; ``unresolved`` control flow issued; ``nop``, ``ready`` (of the head, which
    means nothing for an ``empty`` buffer); ``room``: buffer + in flight < d; ``decoded`` (one-hot) with
    ``decoded_control``: a fetch of the warp reaches decode, ``turned``: and redirects those behind it;
    ``redirected``, ``resolved``: its control flow resolves in this cycle; ``halt``: a fault has stopped the SM.

    Out: ``fetch`` and ``issue``, each one-hot or 0, with valid bit and number; ``fetch_if_hit`` and
    ``fetch_if_missed``: ``fetch`` for either value of ``lookup_missed``, known sooner; ``eligible`` and
    ``fetch_eligible``: the sets that they were chosen from; ``oracle_select``, with ``config.oracles``: what the
    oracles pick.
    """
    warps = config.warps
    members: dict[str, In | Out] = {
        name: In(warps) for name in (
            "active", "waiting", "activated", "suspended", "lookup", "missed", "unresolved", "nop", "ready", "empty",
            "room", "decoded", "turned", "redirected", "resolved",
        )
    }
    members |= {
        "lookup_missed": In(1),
        "decoded_control": In(1),
        "halt": In(1),
        "lanes": In(data.ArrayLayout(range(config.threads + 1), warps)),
        "fetched": In(data.ArrayLayout(range(config.buffer_depth + 1), warps)),
        "eligible": Out(warps),
        "fetch_eligible": Out(warps),
        "fetch_if_hit": Out(warps),
        "fetch_if_missed": Out(warps),
    }
    for stage in ("fetch", "issue"):
        members |= {stage: Out(warps), f"{stage}_valid": Out(1), f"{stage}_warp": Out(config.warp_bits)}
    if len(config.policies) > 1:
        members["policy"] = In(range(len(config.policies)))
    if len(config.fetch_policies) > 1:
        members["fetch_policy"] = In(range(len(config.fetch_policies)))
    if config.oracles:
        members["oracle_select"] = Out(data.ArrayLayout(warps, ORACLES))
    return wiring.Signature(members)


def connect_fetch(m: Module, scheme: wiring.Component, scheduler: Scheduler) -> None:
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


def connect_issue(m: Module, scheme: wiring.Component, scheduler: Scheduler) -> None:
    """Let ``scheduler`` choose what issues."""
    m.d.comb += [
        scheme.issue.eq(scheduler.select),
        scheme.issue_valid.eq(scheduler.select_valid),
        scheme.issue_warp.eq(scheduler.select_warp),
    ]


def oracles_of(config: SmConfig) -> int:
    """How many oracles stand beside the issue scheduler."""
    return ORACLES if config.oracles else 0


def connect_scheduler(m: Module, scheme: wiring.Component, scheduler: Scheduler, *, strap: str = "policy") -> None:
    """Show ``scheduler`` what a policy may look at besides the eligible set (hdl.policies.PolicyInputs).

    ``strap``: the port of the scheme that chooses its policy; the scheme has it where there are several.
    """
    for name in ("active", "waiting", "activated", "lanes", "fetched"):
        m.d.comb += getattr(scheduler, name).eq(getattr(scheme, name))
    if strap in scheme.signature.members:
        m.d.comb += scheduler.policy.eq(getattr(scheme, strap))


def connect_oracles(
    m: Module, config: SmConfig, scheme: wiring.Component, scheduler: Scheduler, *, may_issue: Value, head_ready: Value,
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
