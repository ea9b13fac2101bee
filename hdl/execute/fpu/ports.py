"""What the floating-point units have in common: their ports."""

from __future__ import annotations

from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ..lanes import unit_ports

__all__ = ["fpu_ports"]


def fpu_ports(config: SmConfig) -> dict[str, In | Out]:
    """The ports of :func:`hdl.execute.lanes.unit_ports`, the rounding mode, and the flags.

    ``rm`` (:class:`hdl.execute.fpu.formats.Rounding`) is part of the operation; it is never the dynamic mode. ``flags``
    (:class:`hdl.execute.fpu.formats.Flags`) of the lanes of ``mask`` are valid when ``result`` is; those of all other
    lanes, and of cycles in which no operation completes, are 0, so that they can be ORed.
    """
    return {
        **unit_ports(config),
        "rm": In(3),
        "flags": Out(data.ArrayLayout(5, config.threads)),
    }
