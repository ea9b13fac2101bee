"""Signatures of the connections within the L1, one per sender and seen from it.

Each has outputs only, and any number of parts may receive it. A receiver's port has the name of the sender.
"""

from __future__ import annotations

from amaranth.lib import wiring
from amaranth.lib.wiring import Member, Out

from ...config import LINE_NUMBER_BITS, SmConfig
from ..seam import access_layout
from .records import entry_bits, mshr_bits

__all__ = ["fill_signature", "lookup_signature", "mshrs_signature", "write_buffer_signature"]


def lookup_signature(config: SmConfig) -> wiring.Signature:
    """The access that is looked up, and how it proceeds in this cycle (:class:`LookupStage`)."""
    members: dict[str, Member] = {
        "held_valid": Out(1),  # a register: there is an access that is looked up
        "held": Out(access_layout(config)),  # a register: that access
        "uncached": Out(1),  # it lies below ``memory_map.user``
        "use": Out(1),  # the cache counts the hit as a use
        "read": Out(1),  # a load reads the cache
        "forward": Out(1),  # a load reads the write buffer
        "answers": Out(1),  # the load that reads one of them goes to the response stage
        "add": Out(1),  # a load becomes a part that waits for a line
        "allocate": Out(1),  # with ``add``: the line is requested, in a new MSHR
        "write": Out(1),  # the store goes into the write buffer, and into the cache if it hits
    }
    if config.ordered:
        members["place"] = Out(1)  # with ``allocate``: the line gets its place in the cache now
    return wiring.Signature(members)


def fill_signature(config: SmConfig) -> wiring.Signature:
    """Memory's answers: the one that comes, and the line in the register (:class:`FillStage`)."""
    return wiring.Signature({
        "accepts": Out(1),  # a line of a load is accepted in this cycle
        "asked": Out(mshr_bits(config)),  # the MSHR of the line that memory offers
        "here": Out(1),  # a register: a line is there, until its MSHR is done
        "line": Out(LINE_NUMBER_BITS),  # the number of the line in the register
        "filled": Out(mshr_bits(config)),  # its MSHR
        "release": Out(1),  # the MSHR ``filled`` is done: it is free from the next cycle on
        "take": Out(1),  # a part leaves the table: one that waits for ``asked``, or for ``filled``
        "take_filled": Out(1),  # with ``take``: one that waits for ``filled``
        "install": Out(1),  # the line goes into the cache, if there is one: a lookup in the next cycle hits
        "install_data": Out(8 * config.line_bytes),  # with ``install``: with the write buffer's bytes laid over it
        "completed": Out(1),  # memory has completed an entry of the write buffer: it is free from the next cycle on
        "completed_number": Out(entry_bits(config)),  # with ``completed``: the entry's number
    })


def mshrs_signature(config: SmConfig) -> wiring.Signature:
    """The state of the MSHRs for the line in the lookup, and for the one that memory answers (:class:`Mshrs`)."""
    return wiring.Signature({
        #: Combinational, one bit an MSHR: those that hold the line; if it is uncached, all with an uncached line.
        "same": Out(config.line_requests),
        "same_number": Out(mshr_bits(config)),  # the number of one of them; 0 if there is none
        "requested": Out(1),  # there is one
        "full": Out(1),  # registered state only: all are taken
        "number": Out(mshr_bits(config)),  # the lowest free one
        "joined": Out(mshr_bits(config)),  # the one that a part waits for: ``number`` if it is allocated, or the same
        "asked_line": Out(LINE_NUMBER_BITS),  # combinational: the line of the MSHR that memory answers
    })


def write_buffer_signature(config: SmConfig) -> wiring.Signature:
    """The contents of the write buffer for the line in the lookup, and for the one that memory sent."""
    return wiring.Signature({
        "holds": Out(1),  # combinational: an entry has the line
        "covers": Out(1),  # combinational: the youngest such entry has all bytes that the access touches
        "ready": Out(1),  # combinational: there is room for a store of the line
        "joins": Out(1),  # combinational: such a store would join an entry
        #: In the cycle after a line was accepted: the bytes of it that an entry has, 0 if there is none.
        "peek_mask": Out(config.line_bytes),
        "peek_data": Out(8 * config.line_bytes),  # in that cycle: those bytes
    })
