"""Signatures of the connections between units of the SM. Both ends of a connection use the same one."""

from __future__ import annotations

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ..config import Coordination, SmConfig, Turns
from ..isa.ops import OP_BITS, Unit
from ..isa.sharing import partitions_of_a_port, reserves
from .control import activation_layout, change_layout, resolution_layout
from .decoded import BufferEntry, IssueInfo
from .prediction import outcome_layout, prediction_layout

__all__ = ["ahead_signature", "csr_signature", "flow_signature", "selection_signature", "sharing_signature",
           "simt_signature"]


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


def sharing_signature(config: SmConfig) -> wiring.Signature:
    """The ports of one issue stage to the shared resources of an SM. Masks have one bit for each Unit."""
    units = len(Unit)
    members: dict[str, Member] = {
        "turn": In(units),  # in t, from registers: the partition has the turn of these units, or they are its own
    }
    if config.turns is Turns.OLDER:
        members["asks"] = Out(units)  # in t: a head waits for one of these units, and for nothing but unit and slot
        members["ready"] = Out(units)  # in t: a head of one of these units could be selected, but for its slot
    if reserves(config):
        members["free"] = In(units)  # in t: these units can take an instruction that is selected now
        #: The unit of the instruction that is selected in t; in t, with an operand register in t+1.
        members["begins"] = Out(units)
    if partitions_of_a_port(config) > 1:
        #: In t, from registers: the partition has the turn of its writeback port. With fixed turns that of the cycle W
        #: of an instruction of these units that is selected now, with computed turns that of t.
        members["slot_turn"] = In(units)
        #: A loaded value may be written in the next cycle: with fixed turns the port is this partition's, with computed
        #: turns no other partition on it writes a result.
        members["load_slot"] = In(1)
        members["due"] = Out(1)  # in W: the result of this partition is written
    if partitions_of_a_port(config) > 1 and reserves(config):
        members["slots"] = In(units)  # in t: the cycle W of an instruction selected now is free in other partitions
        members["slot_free"] = Out(units)  # in t: that cycle is free in this partition
        members["load_free"] = Out(1)  # this partition writes no result in the next cycle
    return wiring.Signature(members)


def simt_signature(config: SmConfig) -> wiring.Signature:
    """A SIMT instruction in stage X, and the state that it changes, seen from the control unit."""
    return wiring.Signature({
        "valid": Out(1),  # there is one; the rest of the request is undefined without it
        "op": Out(OP_BITS),  # a SimtOp
        "warp": Out(config.warp_bits),  # its warp
        "mask": Out(config.threads),  # the warp's thread mask
        "pc": Out(32),  # its address
        "predicate": Out(config.threads),  # bit i: bit 0 of rs1 of lane i (split, pred)
        "negate": Out(1),  # the predicate is inverted (split, pred)
        "leader_rs1": Out(32),  # rs1 of the highest active lane
        "leader_rs2": Out(32),  # rs2 of the highest active lane
        # The answer, combinational (:class:`hdl.execute.simt.control.SimtControl`).
        "result": In(32),  # the value for split's rd
        "redirect": In(1),  # the warp continues at `target`, or has ended
        "target": In(32),  # the next pc
        "waits": In(1),  # the instruction does not resolve yet
        "ended": In(1),  # the warp has ended
        "fault": In(1),  # the instruction may not be executed
        "cause": In(5),  # a FaultCause; with `fault`
        # The state, of all warps.
        "masks": In(data.ArrayLayout(config.threads, config.warps)),  # thread masks
        "active": In(config.warps),  # warps that run
        "waiting": In(config.warps),  # warps at a barrier or in wspawn
        "release": In(config.warps),  # warps whose bar or wspawn is over in this cycle
        "activation": In(activation_layout(config)),  # warps that start in this cycle, and where
    })


def csr_signature(config: SmConfig) -> wiring.Signature:
    """A CSR access in stage X, and what all instructions there need of the CSRs, seen from the control unit."""
    members: dict[str, Member] = {
        "valid": Out(1),  # a CSR is accessed
        "op": Out(OP_BITS),  # a CsrOp
        "use_imm": Out(1),  # the operand is the rs1 field of ``immediate``, not ``rs1``
        "immediate": Out(32),  # the decoder's: the number in 11..0, the rs1 field in 16..12
        "rs1": Out(32),  # rs1 of lane 0
        "warp": Out(config.warp_bits),  # the warp in stage X, also without an access
        "mask": Out(config.threads),  # its thread mask
        "retired": Out(range(config.threads + 1)),  # thread-instructions that are added to minstret in this cycle
        "cancelled": Out(1),  # with ``retired``: they are not, because they fault
        "value": In(32),  # the value read
        "add_lane": In(1),  # each lane adds its number to ``value``
        "unknown": In(1),  # the number does not exist, or it is read-only and the instruction writes it
        "frm": In(3),  # the rounding mode of ``warp``
        "region": In(1),  # the measured region is open
    }
    if config.policy_csr:
        members["change"] = In(change_layout())  # a parameter of the policies that has changed
    return wiring.Signature(members)
