"""Signatures of the connections within the front end, seen from the sender: outputs only."""

from __future__ import annotations

from amaranth.lib import wiring
from amaranth.lib.wiring import Member, Out

from ..config import LINE_NUMBER_BITS, SmConfig
from ..layouts.decoded import BufferEntry

__all__ = ["arrival_signature", "choice_signature", "lookup_signature", "refill_signature", "slot_bits",
           "turn_signature"]


def slot_bits(config: SmConfig) -> int:
    """Bits of the number of a slot in an instruction buffer."""
    return (config.buffer_depth - 1).bit_length()


def choice_signature(config: SmConfig) -> wiring.Signature:
    """The warp that a scheme has chosen in this cycle, to issue or to fetch."""
    return wiring.Signature({
        "eligible": Out(config.warps),  # the set that it is chosen from
        "select": Out(config.warps),  # the chosen warp (one-hot or 0)
        "valid": Out(1),  # a warp is
        "warp": Out(config.warp_bits),  # its number
        "if_hit": Out(config.warps),  # ``select``, if this cycle's lookup hits: known sooner
        "if_missed": Out(config.warps),  # ``select``, if it misses
    })


def lookup_signature(config: SmConfig) -> wiring.Signature:
    """The fetch that is looked up in this cycle, one after its request; from the fetch pipeline. A bit a warp."""
    return wiring.Signature({
        "warps": Out(config.warps),  # a register: whose (one-hot or 0); 0 for a squashed one
        "pc": Out(32),  # its pc
        "missed": Out(1),  # late in the cycle: it misses; means nothing if ``warps`` is 0
        "misses": Out(config.warps),  # late: the two together
        "suspended": Out(config.warps),  # a register: warps that wait for a line, from the cycle after their lookup on
    })


def turn_signature(config: SmConfig) -> wiring.Signature:
    """The jump that the decoder follows in this cycle; from the fetch pipeline."""
    return wiring.Signature({
        "warps": Out(config.warps),  # whose (one-hot or 0): the fetches of its warp after it are squashed
        "target": Out(32),  # where that warp continues
    })


def arrival_signature(config: SmConfig) -> wiring.Signature:
    """The fetch that leaves the pipeline in this cycle, for the buffers."""
    return wiring.Signature({
        "valid": Out(1),  # a fetch comes out; it can be popped in the next cycle
        "squashed": Out(1),  # it missed or was squashed: a NOP in ``swas``, else dropped
        "warp": Out(config.warp_bits),  # whose
        "slot": Out(slot_bits(config)),  # the slot that was popped when it was requested; counts in ``swas`` only
        "entry": Out(BufferEntry),  # its instruction, unless ``squashed``
    })


def refill_signature(config: SmConfig) -> wiring.Signature:
    """A line of instructions that memory has sent, on its way into the store; from the miss unit."""
    members: dict[str, Member] = {
        "valid": Out(1),  # a line comes into the store
        "line": Out(LINE_NUMBER_BITS),  # its number; that of a stale answer too
        "data": Out(config.line_bytes * 8),  # its contents
        "error": Out(1),  # memory answered with an error
    }
    if not config.icache_bytes:
        members["warp"] = Out(config.warp_bits)  # whose line it is
    return wiring.Signature(members)
