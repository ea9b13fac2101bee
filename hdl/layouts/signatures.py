"""Signatures of the connections between units of the SM. Both ends of a connection use the same one."""

from __future__ import annotations

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ..config import Coordination, SmConfig
from .control import activation_layout, change_layout, resolution_layout
from .decoded import BufferEntry, IssueInfo
from .prediction import outcome_layout, prediction_layout

__all__ = ["ahead_signature", "flow_signature", "selection_signature"]


def selection_signature(config: SmConfig) -> wiring.Signature:
    """Selecting an instruction in cycle t, seen from the front end. Masks and arrays have one element per warp."""
    learning: dict[str, Member] = {}
    if config.learns:
        learning["prediction"] = Out(prediction_layout())  # in t+1: of ``entry``
    return wiring.Signature({
        **learning,
        "heads": Out(data.ArrayLayout(IssueInfo, config.warps)),  # in t: the head of each buffer
        #: In t, from the issue stage: the heads that may be selected; undefined for a NOP or an empty buffer.
        "ready": In(config.warps),
        "select": Out(config.warps),  # in t: the warp selected, one-hot or 0; within ``ready`` but for NOPs
        "warp": Out(config.warp_bits),  # in t: the same as a number
        "nop": Out(1),  # in t: the selected head is a NOP, and goes no further
        "info": Out(IssueInfo),  # in t: the selected head, unless it is a NOP
        "entry": Out(BufferEntry),  # in t+1: the instruction popped in t, unless that was a NOP
    })


def ahead_signature(config: SmConfig) -> wiring.Signature:
    """Early signals of the front end in cycle t: both possible picks, and the next entry of each buffer.

    Masks and arrays have one element per warp.
    """
    members: dict[str, Member] = {
        #: In t, late: this cycle's lookup misses. It decides which of the next two is `select` of the selection.
        "missed": Out(1),
        "if_hit": Out(config.warps),  # the warp that is selected if it hits (one-hot or 0); available earlier
        "if_missed": Out(config.warps),  # the same if it misses
        "nops": Out(config.warps),  # the heads that are NOPs
        "following": Out(data.ArrayLayout(IssueInfo, config.warps)),  # the head of t+1, if this one is popped in t
        "arrives": Out(config.warps),  # instead, `arrival` is the head of t+1, if this one is popped in t
        #: The instruction that reaches a buffer in t. Register numbers in it have bits 0 to 4 of the word, also where
        #: the instruction does not use them.
        "arrival": Out(IssueInfo),
    }
    if config.coordination is not Coordination.SWAS:
        members["arrives_head"] = Out(config.warps)  # `arrival` reaches an empty buffer, and is its head in t+1
    return wiring.Signature(members)


def flow_signature(config: SmConfig) -> wiring.Signature:
    """Running warps and the outcome of their control flow, seen from the control unit. Masks have one bit per warp."""
    members: dict[str, Member] = {
        "masks": Out(data.ArrayLayout(config.threads, config.warps)),  # registers: each warp's thread mask
        "active": Out(config.warps),  # registered: warps that run
        "waiting": Out(config.warps),  # from registers: active warps that wait at a barrier or in wspawn
        #: A register, R cycles after its selection: the outcome of control flow; selections see it from the next cycle
        #: on. With an operand register, only an outcome with a redirect.
        "resolution": Out(resolution_layout(config)),
        #: Warps whose bar or wspawn was over in the last cycle. With an operand register also, combinationally, the
        #: warp whose control flow is over in X without a redirect.
        "release": Out(config.warps),
        "activation": Out(activation_layout(config)),  # combinational: warps that start; active from the next cycle on
        "invalidate": Out(1),  # a fence.i is in stage X: the I-cache is emptied
    }
    if config.learns:
        members["outcome"] = Out(outcome_layout(config))  # registers, in the cycle after X: of a branch or jump
    if config.policy_csr:
        #: Registers: a parameter of the policies that has changed, or 0; selections see it from the next cycle on.
        members["change"] = Out(change_layout())
    return wiring.Signature(members)
