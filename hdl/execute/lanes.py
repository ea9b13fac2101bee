"""What the integer units have in common: their ports."""

from __future__ import annotations

from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import OP_BITS

__all__ = ["lane_words", "unit_ports"]


def lane_words(config: SmConfig) -> data.ArrayLayout:
    """One 32-bit word a lane."""
    return data.ArrayLayout(32, config.threads)


def unit_ports(config: SmConfig) -> dict[str, In | Out]:
    """The ports of a unit with a fixed latency.

    In a cycle with ``valid``, ``op`` (the unit's enum in :mod:`hdl.isa.ops`), ``mask`` (bit i: lane i is active), ``a``
    and ``b`` describe one operation. ``result`` holds its values exactly the unit's latency in cycles later, in the
    lanes of ``mask``; the other lanes keep what they had, and toggle nowhere.
    """
    return {
        "valid": In(1),
        "op": In(OP_BITS),
        "mask": In(config.threads),
        "a": In(lane_words(config)),
        "b": In(lane_words(config)),
        "result": Out(lane_words(config)),
    }
