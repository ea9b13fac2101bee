"""Signatures of the connections within the front end, seen from the sender: outputs only."""

from __future__ import annotations

from amaranth.lib import wiring
from amaranth.lib.wiring import Member, Out

from ..config import LINE_NUMBER_BITS, SmConfig
from ..layouts.decoded import BufferEntry
from ..layouts.prediction import prediction_layout

__all__ = ["arrival_signature", "choice_signature", "lookup_signature", "refill_signature", "slot_bits",
           "turn_signature"]


def slot_bits(config: SmConfig) -> int:
    """Bits of the number of a slot in an instruction buffer."""
    return (config.buffer_depth - 1).bit_length()


def choice_signature(config: SmConfig) -> wiring.Signature:
    """The warp that a scheme has chosen in this cycle, to issue or to fetch."""
    return wiring.Signature({
        "eligible": Out(config.warps),  # the set that the warp is chosen from
        "select": Out(config.warps),  # the chosen warp (one-hot or 0)
        "valid": Out(1),  # a warp is chosen
        "warp": Out(config.warp_bits),  # the number of the chosen warp
        "if_hit": Out(config.warps),  # ``select``, if this cycle's lookup hits; available earlier
        "if_missed": Out(config.warps),  # ``select``, if it misses; available earlier
    })


def lookup_signature(config: SmConfig) -> wiring.Signature:
    """The fetch in the lookup, one cycle after its request; from the fetch pipeline. Masks have one bit per warp."""
    return wiring.Signature({
        "warps": Out(config.warps),  # registered: the warp of the fetch (one-hot or 0); 0 if squashed
        "pc": Out(32),  # the pc of the fetch
        "missed": Out(1),  # late in the cycle: the fetch misses; undefined if ``warps`` is 0
        "misses": Out(config.warps),  # late: ``warps`` if ``missed``, else 0
        "suspended": Out(config.warps),  # registered: warps waiting for a line, from the cycle after lookup on
    })


def turn_signature(config: SmConfig) -> wiring.Signature:
    """The jump that the decoder follows in this cycle; from the fetch pipeline."""
    return wiring.Signature({
        "warps": Out(config.warps),  # the warp of the jump (one-hot or 0); its later fetches are squashed
        "target": Out(32),  # where that warp continues
    })


def arrival_signature(config: SmConfig) -> wiring.Signature:
    """The fetch that leaves the pipeline in this cycle, for the buffers."""
    learning: dict[str, Member] = {}
    if config.learns:
        learning["prediction"] = Out(prediction_layout())  # of ``entry``
    return wiring.Signature({
        **learning,
        "valid": Out(1),  # a fetch comes out; it can be popped in the next cycle
        "squashed": Out(1),  # it missed or was squashed: a NOP in ``swas``, else dropped
        "warp": Out(config.warp_bits),  # the warp of the fetch
        "slot": Out(slot_bits(config)),  # the slot popped when the fetch was requested; used only in ``swas``
        "entry": Out(BufferEntry),  # the fetched instruction, unless ``squashed``
    })


def refill_signature(config: SmConfig) -> wiring.Signature:
    """A line of instructions that memory has sent, on its way into the store; from the miss unit."""
    members: dict[str, Member] = {
        "valid": Out(1),  # a line enters the store
        "line": Out(LINE_NUMBER_BITS),  # the number of the line, also for a stale answer
        "data": Out(config.line_bytes * 8),  # the contents of the line
        "error": Out(1),  # memory answered with an error
    }
    if not config.icache_bytes:
        members["warp"] = Out(config.warp_bits)  # the warp that the line is for
    return wiring.Signature(members)
