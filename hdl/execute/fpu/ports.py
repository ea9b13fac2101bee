"""The common ports of the floating-point units."""

from __future__ import annotations

from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from ...config import SmConfig
from ..lanes import unit_ports

__all__ = ["fpu_ports"]


def fpu_ports(config: SmConfig) -> dict[str, Member]:
    """The ports of :func:`hdl.execute.lanes.unit_ports`, the rounding mode, and the flags."""
    return {
        **unit_ports(config),
        "rm": In(3),  # a Rounding, with `valid`; never the dynamic mode, which is resolved before
        #: A Flags for each lane, with ``result``; 0 in all other lanes and cycles, so that they can be ORed.
        "flags": Out(data.ArrayLayout(5, config.threads)),
    }
