"""The common ports of the integer units."""

from __future__ import annotations

from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from ..config import SmConfig
from ..isa.ops import OP_BITS

__all__ = ["lane_words", "unit_ports"]


def lane_words(config: SmConfig) -> data.ArrayLayout:
    """One 32-bit word per lane."""
    return data.ArrayLayout(32, config.threads)


def unit_ports(config: SmConfig) -> dict[str, Member]:
    """The ports of a unit with a fixed latency.

    ``result`` holds an operation's values exactly the unit's latency in cycles after ``valid``. Lanes outside ``mask``
    keep their previous values, and none of their logic toggles.
    """
    return {
        "valid": In(1),  # an operation starts in this cycle
        "op": In(OP_BITS),  # the operation, from the unit's enum in hdl.isa.ops; read with `valid`, like all inputs
        "mask": In(config.threads),  # bit i: lane i is active
        "a": In(lane_words(config)),  # first operands
        "b": In(lane_words(config)),  # second operands
        "result": Out(lane_words(config)),  # the unit's latency in cycles after `valid`, in the lanes of `mask`
    }
