"""Colours, textures and display names of the items in a picture. Reports have the same colours (sim.show.drawing)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["LEGEND", "Sign"]


class Sign(NamedTuple):
    """How an item is shown: a colour of :data:`..drawing.palette.PALETTE`, a texture of viewer/drawing.js, a name."""

    colour: str
    texture: str
    label: str


#: By the states of the tracks, group by group.
LEGEND: Mapping[str, Mapping[str, Sign]] = {
    "State of a warp, and of the SM": {
        "issued": Sign("blue-2", "plain", "instruction issued"),
        "nop_start": Sign("green-1", "rising", "NOP: in the buffer at the start"),
        "nop_miss": Sign("orange-1", "rising", "NOP: I-cache miss"),
        "nop_redirect": Sign("yellow", "rising", "NOP: control flow went elsewhere"),
        "load": Sign("orange-2", "level", "waits for a load"),
        "data": Sign("orange-3", "upright", "waits for a result"),
        "unit": Sign("purple", "grid", "waits for a unit"),
        "writeback": Sign("rose", "falling", "waits for a writeback slot"),
        "drain": Sign("brown", "level", "waits for older instructions"),
        "icache": Sign("green-2", "dots", "waits for the I-cache"),
        "control": Sign("cyan", "falling", "waits for a branch"),
        "barrier": Sign("violet", "checks", "waits at a barrier"),
        "buffer": Sign("black", "plain", "instruction buffer empty"),
        "idle": Sign("pale", "dots", "no warp is active"),
        "policy": Sign("olive", "upright", "the policy selects nobody"),
        "ready": Sign("line", "plain", "ready, not its turn"),
    },
    "Units, when an instruction enters them": {
        "alu": Sign("blue-2", "plain", "ALU"), "branch": Sign("cyan", "plain", "branch"),
        "mul": Sign("green-3", "plain", "multiplier"), "div": Sign("green-1", "plain", "divider"),
        "lsu": Sign("orange-2", "plain", "load/store"), "csr": Sign("grey", "plain", "CSR"),
        "simt": Sign("violet", "plain", "SIMT"), "system": Sign("brown", "plain", "system"),
        "fma": Sign("purple", "plain", "float: add, multiply"), "fcvt": Sign("rose", "plain", "float: convert"),
        "fdiv": Sign("olive", "plain", "float: divide"), "fmisc": Sign("yellow", "plain", "float: other"),
    },
    "Instruction fetch": {
        "fetch": Sign("pale", "plain", "fetch"), "refill": Sign("green-3", "plain", "line comes into the I-cache"),
        "miss": Sign("up", "plain", "I-cache miss"),
    },
    "Load/store unit: accesses to lines": {
        "load_hit": Sign("green-3", "plain", "load: hit"),
        "load_merge": Sign("green-2", "rising", "load: joins a miss"),
        "load_forward": Sign("green-1", "dots", "load: from the write buffer"),
        "load_uncached": Sign("brown", "falling", "load: uncached"),
        "load_miss": Sign("orange-2", "plain", "load: miss"),
        "store_hit": Sign("blue-3", "plain", "store: hit"),
        "store_merge": Sign("blue-2", "rising", "store: joins an entry"),
        "store_forward": Sign("cyan", "dots", "store: forward"),
        "store_uncached": Sign("grey", "dots", "store: uncached"),
        "store_miss": Sign("blue-1", "plain", "store: miss"),
        "wait_mshr": Sign("purple", "level", "waits for an MSHR"),
        "wait_parts": Sign("rose", "level", "waits for a place for a part"),
        "wait_order": Sign("violet", "level", "waits for a store"),
        "wait_buffer": Sign("black", "level", "waits for the write buffer"),
        "wait_fill": Sign("olive", "level", "waits for a fill"),
        "wait_writeback": Sign("yellow", "level", "waits for the writeback"),
    },
    "Memory port": {
        "code_read": Sign("green-2", "plain", "reads code"), "data_read": Sign("orange-2", "plain", "reads data"),
        "data_write": Sign("blue-2", "plain", "writes data"),
        "code_read_error": Sign("up", "rising", "no memory: code"),
        "data_read_error": Sign("up", "falling", "no memory: read"),
        "data_write_error": Sign("up", "dots", "no memory: write"),
    },
}
