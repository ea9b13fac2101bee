"""Signatures of the connections within the L1, one per sender and seen from it.

Each has outputs only, and any number of parts may receive it. A receiver's port has the name of the sender.
"""

from __future__ import annotations

from amaranth.lib import wiring
from amaranth.lib.wiring import Member, Out

from ...config import LINE_NUMBER_BITS, SmConfig
from ..seam import access_layout, set_bits
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
    if config.lookup_latency > 1:
        members |= {
            "comes": Out(1),  # what is in the lookup in the next cycle, if anything, comes now: the access below
            "next_line": Out(LINE_NUMBER_BITS),  # the line of the access that comes
            "next_set": Out(set_bits(config)),  # its set, if there is a cache
            "next_uncached": Out(1),  # it lies below ``memory_map.user``
            "follows": Out(1),  # it is the line in the lookup, or both are uncached
        }
    if config.ordered:
        members["place"] = Out(1)  # with ``allocate``: the line gets its place in the cache in this cycle
    return wiring.Signature(members)


def fill_signature(config: SmConfig) -> wiring.Signature:
    """Memory's answers: the one that arrives, and the line in the register (:class:`FillStage`)."""
    early: dict[str, Member] = {}
    if config.lookup_latency > 1:
        early = {
            "installs": Out(1),  # combinational: ``install`` in the next cycle
            "quiet": Out(1),  # not ``install``, from a register of its own
            "set": Out(max(1, config.dcache_set_bits)),  # registered: the set of ``line``, if there is a cache
            "comes": Out(1),  # a register: ``set`` is ``next_set`` from the next cycle on
            "next_set": Out(set_bits(config)),  # the set of the line that memory offers
        }
    return wiring.Signature({
        **early,
        "accepts": Out(1),  # a line of a load is accepted in this cycle
        "asked": Out(mshr_bits(config)),  # the MSHR of the line that memory offers
        "here": Out(1),  # registered: a line is present, until its MSHR has finished
        "line": Out(LINE_NUMBER_BITS),  # the number of the line in the register
        "filled": Out(mshr_bits(config)),  # the MSHR of that line
        "release": Out(1),  # the MSHR ``filled`` has finished, and is free from the next cycle on
        "take": Out(1),  # a part that waits for ``asked`` or for ``filled`` leaves the table
        "take_filled": Out(1),  # with ``take``: a part that waits for ``filled``
        "install": Out(1),  # the line enters the cache, if any: a lookup in the next cycle hits
        "install_data": Out(8 * config.line_bytes),  # with ``install``: the line, with the write buffer's bytes merged
        "completed": Out(1),  # memory has completed a write buffer entry, which is free from the next cycle on
        "completed_number": Out(entry_bits(config)),  # with ``completed``: the entry's number
    })


def mshrs_signature(config: SmConfig) -> wiring.Signature:
    """The state of the MSHRs for the line in the lookup, and for the one that memory answers (:class:`Mshrs`)."""
    early: dict[str, Member] = {}
    if config.lookup_latency > 1:
        early = {
            "asked_set": Out(set_bits(config)),  # the set of ``asked_line``, if there is a cache
            "asked_uncached": Out(1),  # ``asked_line`` lies below ``memory_map.user``
        }
    return wiring.Signature({
        **early,
        #: Combinational: the MSHRs that hold the line; if it is uncached, all MSHRs with an uncached line.
        "same": Out(config.line_requests),
        "same_number": Out(mshr_bits(config)),  # the number of one of these; 0 if there is none
        "requested": Out(1),  # an MSHR holds the line
        "full": Out(1),  # registered state only: all MSHRs are in use
        "number": Out(mshr_bits(config)),  # the lowest free MSHR
        "joined": Out(mshr_bits(config)),  # the MSHR that a part waits for: ``number`` if allocated, or the same
        "asked_line": Out(LINE_NUMBER_BITS),  # combinational: the line of the MSHR that memory answers
    })


def write_buffer_signature(config: SmConfig) -> wiring.Signature:
    """The contents of the write buffer for the line in the lookup, and for the one that memory sent."""
    return wiring.Signature({
        "holds": Out(1),  # combinational: an entry has the line
        "covers": Out(1),  # combinational: the youngest such entry has all bytes that the access touches
        "ready": Out(1),  # combinational: there is space for a store to the line
        "joins": Out(1),  # combinational: such a store would join an entry
        #: A load may read the bytes in this cycle; always so with a ``lookup_latency`` of 1.
        "readable": Out(1),
        #: In the cycle after a line was accepted: the bytes of the line that an entry has; 0 if there is none.
        "peek_mask": Out(config.line_bytes),
        "peek_data": Out(8 * config.line_bytes),  # in the same cycle: the values of these bytes
    })
