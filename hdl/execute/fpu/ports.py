"""What the floating-point units have in common: their ports."""

from __future__ import annotations

from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ..lanes import lane_words, unit_ports
from .formats import Flags, Rounding

__all__ = ["float_ports"]


def float_ports(config: SmConfig, *, third: bool = False) -> dict[str, In | Out]:
    """The ports of a floating-point unit: those of :func:`hdl.execute.lanes.unit_ports`, and more.

    ``rm`` (the rounding mode, never the dynamic one) and, where ``third``, the operand ``c`` belong to the operation
    like ``a``. ``flags`` are those that each lane's operation raises, in the cycle of its ``result``; in any other
    cycle, and of a lane outside the mask, they are 0.
    """
    ports = {**unit_ports(config), "rm": In(Rounding), "flags": Out(data.ArrayLayout(Flags, config.threads))}
    return {**ports, "c": In(lane_words(config))} if third else ports
