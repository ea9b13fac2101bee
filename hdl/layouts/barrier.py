"""The port through which an SM takes part in barriers between SMs."""

from __future__ import annotations

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig

__all__ = ["arrival_signature"]


def arrival_signature(config: SmConfig) -> wiring.Signature:
    """An SM's arrival at a barrier between SMs, seen from the SM (isa.md, "Barriers between SMs")."""
    return wiring.Signature({
        #: All active warps wait at a barrier between SMs. Stays high up to the cycle of ``release``.
        "arrived": Out(1),
        #: With ``arrived``: which barrier, of the last warp that arrived.
        "id": Out(range(max(2, config.barriers))),
        #: With ``arrived``: the number of SMs that are to arrive, of the last warp that arrived.
        "count": Out(32),
        #: One cycle, only while ``arrived``: the barrier is complete, and the warps continue.
        "release": In(1),
    })
