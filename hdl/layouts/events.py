"""The units' events of each cycle for observers: one record, or a few, per unit.

A unit fills its record and never reads it; an observer reads the record and never steers. A new event takes a field
here, a statement in its unit, and its reader: everything between passes records on unchanged.
"""

from __future__ import annotations

from amaranth.hdl import Shape
from amaranth.lib import data

from ..config import LINE_NUMBER_BITS, SmConfig
from ..isa.ops import Unit
from .control import activation_layout, change_layout, resolution_layout
from .counters import REASON_BITS
from .execute import writeback_layout

__all__ = ["ORACLES", "control_event_layout", "front_event_layout", "issue_event_layout", "write_event_layout"]

#: osched1 and osched2 (docs/policies.md, "The oracles").
ORACLES = 2


def front_event_layout(config: SmConfig) -> data.StructLayout:
    """One cycle of the front end. A mask has one bit per warp."""
    mask, warp = config.warps, config.warp_bits
    return data.StructLayout({
        # The selection of this cycle: the warps to choose from, and the one chosen (one-hot or 0).
        "eligible": mask, "select": mask, "select_valid": 1, "select_warp": warp,
        # The head of the selected warp: whether it is a NOP, else its unit and whether it stores.
        "select_nop": 1, "select_unit": Shape.cast(Unit).width, "select_store": 1,
        # The picks of osched1 and osched2, each one-hot or 0; 0 without config.oracles.
        "oracles": data.ArrayLayout(mask, ORACLES),
        # Warps with control flow issued and not resolved; with nothing to issue because of a miss; with an empty buffer
        # (0 in swas, where a buffer is empty only for a miss); with a NOP at the head.
        "unresolved": mask, "fetch_waits": mask, "buffer_empty": mask, "head_nop": mask,
        # The fetch made in this cycle: the warps to choose from, and the one chosen (one-hot or 0).
        "fetch_eligible": mask, "fetch": mask, "fetch_valid": 1, "fetch_warp": warp,
        # The lookup of miss_warp's fetch misses; miss: and it is not squashed in this very cycle.
        "missed": 1, "miss": 1, "miss_warp": warp, "miss_line": LINE_NUMBER_BITS,
        # A line is written into the cache; the warps of woken that wait for it continue.
        "refill": 1, "woken": mask, "refill_line": LINE_NUMBER_BITS,
        # The warp (one-hot or 0) whose fetch a jump in decode redirects.
        "turn": mask,
        # Memory accepts a request of the I-cache; the I-cache accepts an answer.
        "request": 1, "request_tag": config.icache_tag_bits, "answer": 1, "answer_tag": config.icache_tag_bits,
        # May never be 1: the buffer of the selected warp is empty; swas: its buffer + in flight is not d, else: a full
        # buffer is filled.
        "empty_pop": 1, "miscounted": 1,
        # With ccws: the warps that have lost locality according to the L1.
        **({"lost": mask} if config.watches_locality else {}),
    })


def issue_event_layout(config: SmConfig) -> data.StructLayout:
    """One cycle of the issue stage, its register write apart."""
    return data.StructLayout({
        # The instruction in stage X, ``issue_latency`` cycles after its selection, in issue order; valid is clear for a
        # NOP.
        "valid": 1, "warp": config.warp_bits, "pc": 32, "instruction": 32, "mask": config.threads,
        # The state of each warp's head in the scoreboard, even for a NOP or no head: ready, or the StallReason.
        "head_ready": config.warps, "head_reason": data.ArrayLayout(REASON_BITS, config.warps),
        # May never be 1: two results in one writeback slot.
        "clash": 1,
    })


def write_event_layout(config: SmConfig) -> data.StructLayout:
    """The register write of a cycle."""
    return data.StructLayout({"valid": 1, "value": writeback_layout(config)})


def control_event_layout(config: SmConfig) -> data.StructLayout:
    """One cycle of the control unit. A mask has one bit per warp."""
    return data.StructLayout({
        # Warps that run; those of them that wait at a barrier or in wspawn; those whose wait is over.
        "active": config.warps, "waiting": config.warps, "release": config.warps,
        # The region counters count.
        "region": 1,
        "resolution": resolution_layout(config), "activation": activation_layout(config),
        # The warp of stage X does not continue at pc + 4, or fetches again.
        "taken": 1,
        # The kind of branch or jump in stage X (:class:`hdl.layouts.prediction.JumpKind`), and whether it redirects.
        "jump": 2, "wrong": 1,
        # Thread-instructions that the instruction in stage X completes.
        "retired": range(config.threads + 1),
        # With policy_csr: the change for the policies from a write to mpolicy in the cycle before.
        **({"change": change_layout().size} if config.policy_csr else {}),
    })
