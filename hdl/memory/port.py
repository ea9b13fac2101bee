"""The memory port as a signature, and the tag widths of its two users."""

from __future__ import annotations

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.memory import memory_request_layout, memory_response_layout

__all__ = ["icache_tag_bits", "lsu_tag_bits", "memory_port_signature"]


def icache_tag_bits(config: SmConfig) -> int:
    """Bits of the I-cache's own tag (its MSHR number), at least 1."""
    return max(1, (config.fetch_requests - 1).bit_length())


def lsu_tag_bits(config: SmConfig) -> int:
    """Bits of the LSU's own tag: the kind (0 load, 1 store) above the number of the miss or of the buffer's entry."""
    return config.lsu_tag_bits


def memory_port_signature(config: SmConfig, *, tag_bits: int | None = None) -> wiring.Signature:
    """A memory port seen from the side that asks: ``request`` out, ``response`` in.

    Both are streams. Each accepted request, read or write, is answered exactly once, with its tag; the order is free.
    A tag is not used again before its answer was accepted.
    """
    return wiring.Signature({
        "request": Out(stream.Signature(memory_request_layout(config, tag_bits=tag_bits))),
        "response": In(stream.Signature(memory_response_layout(config, tag_bits=tag_bits))),
    })
