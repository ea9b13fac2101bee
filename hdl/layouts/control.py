"""What the execute stage tells the front end about a warp's control flow."""

from __future__ import annotations

from amaranth.lib import data

from ..config import SmConfig

__all__ = ["activation_layout", "resolution_layout"]


def resolution_layout(config: SmConfig) -> data.StructLayout:
    """The outcome of a branch or SIMT instruction, R cycles after its selection.

    ``redirect``: everything of the warp in buffer and flight becomes NOPs and its fetch goes on at ``target`` (for a
    warp that has ended the target means nothing).
    """
    return data.StructLayout({"valid": 1, "warp": config.warp_bits, "redirect": 1, "target": 32})


def activation_layout(config: SmConfig) -> data.StructLayout:
    """Warps that start fetching at ``pc`` in the next cycle."""
    return data.StructLayout({"warps": config.warps, "pc": 32})
