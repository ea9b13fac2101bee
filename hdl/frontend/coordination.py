"""What a coordination scheme decides in a cycle: which warp fetches and which one issues."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from .scheduler import Scheduler

__all__ = ["connect_scheduler", "coordination_signature"]


def coordination_signature(config: SmConfig) -> wiring.Signature:
    """The ports of a scheme, seen from the scheme. All masks have one bit a warp.

    In: ``active``; ``waiting`` at a barrier or in wspawn; ``activated`` in this cycle; ``lanes``: active lanes;
    ``fetched``: instructions in buffer and flight; ``suspended`` (a miss is outstanding) and ``missed`` (a lookup
    misses in this very cycle); ``unresolved`` control flow issued; ``nop``, ``ready`` (of the head, which means
    nothing for an ``empty`` buffer); ``room``: buffer + in flight < d; ``decoded`` (one-hot) with
    ``decoded_control``: a fetch of the warp reaches decode; ``redirected``, ``resolved``: its control flow resolves
    in this cycle; ``halt``: a fault has stopped the SM.

    Out: ``fetch`` and ``issue``, each one-hot or 0, with valid bit and number; ``eligible``: the set that issue chose
    from.
    """
    warps = config.warps
    members: dict[str, In | Out] = {
        name: In(warps) for name in (
            "active", "waiting", "activated", "suspended", "missed", "unresolved", "nop", "ready", "empty", "room",
            "decoded", "redirected", "resolved",
        )
    }
    members |= {
        "decoded_control": In(1),
        "halt": In(1),
        "lanes": In(data.ArrayLayout(range(config.threads + 1), warps)),
        "fetched": In(data.ArrayLayout(range(config.buffer_depth + 1), warps)),
        "eligible": Out(warps),
    }
    for stage in ("fetch", "issue"):
        members |= {stage: Out(warps), f"{stage}_valid": Out(1), f"{stage}_warp": Out(config.warp_bits)}
    if len(config.policies) > 1:
        members["policy"] = In(range(len(config.policies)))
    if len(config.fetch_policies) > 1:
        members["fetch_policy"] = In(range(len(config.fetch_policies)))
    return wiring.Signature(members)


def connect_scheduler(m: Module, scheme: wiring.Component, scheduler: Scheduler) -> None:
    """Show ``scheduler`` what a policy may look at besides the eligible set (hdl.policies.PolicyInputs)."""
    for name in ("active", "waiting", "activated", "lanes", "fetched"):
        m.d.comb += getattr(scheduler, name).eq(getattr(scheme, name))
