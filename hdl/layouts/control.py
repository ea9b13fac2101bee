"""Signals from the execute stage to the front end: a warp's control flow, and changes of the policies' parameters."""

from __future__ import annotations

from amaranth.lib import data

from ..config import SmConfig

__all__ = ["activation_layout", "change_layout", "resolution_layout"]


def resolution_layout(config: SmConfig) -> data.StructLayout:
    """The outcome of a branch or SIMT instruction, R cycles after its selection.

    ``redirect``: all instructions of the warp in buffer and flight become NOPs, and its fetch continues at ``target``
    (undefined for a warp that has ended).
    """
    return data.StructLayout({"valid": 1, "warp": config.warp_bits, "redirect": 1, "target": 32})


def activation_layout(config: SmConfig) -> data.StructLayout:
    """Warps that start fetching at ``pc`` in the next cycle."""
    return data.StructLayout({"warps": config.warps, "pc": 32})


def change_layout() -> data.StructLayout:
    """A change of a policy's parameter, as the word that was written to mpolicy says it.

    ``parameter`` is a :class:`hdl.isa.csrs.PolicyParameter`; any other number, such as 0, changes nothing.
    """
    return data.StructLayout({"value": 16, "slot": 8, "parameter": 8})
