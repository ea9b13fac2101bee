"""The memory port: whole lines, tagged, responses in any order (design.md section 4)."""

from __future__ import annotations

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import LINE_NUMBER_BITS, SmConfig

__all__ = ["memory_port_signature", "memory_request_layout", "memory_response_layout"]


def memory_request_layout(config: SmConfig, *, tag_bits: int | None = None) -> data.StructLayout:
    """A line request."""
    return data.StructLayout({
        "line": LINE_NUMBER_BITS,  # line number: the byte address divided by the line size
        "tag": config.mem_tag_bits if tag_bits is None else tag_bits,  # returned with the response
        "write": 1,  # 1: a write, 0: a read
        "byte_mask": config.line_bytes,  # for a write: bit i is 1 if byte i of the line is written
        "data": config.line_bytes * 8,  # for a write: byte i of the line in bits 8i to 8i + 7
    })


def memory_response_layout(config: SmConfig, *, tag_bits: int | None = None) -> data.StructLayout:
    """The answer to one request, reads and writes alike."""
    return data.StructLayout({
        "tag": config.mem_tag_bits if tag_bits is None else tag_bits,  # the tag of the request
        "error": 1,  # the access failed: there is no memory
        "data": config.line_bytes * 8,  # of a read: byte i of the line in bits 8i to 8i + 7
    })


def memory_port_signature(config: SmConfig, *, tag_bits: int | None = None) -> wiring.Signature:
    """A memory port seen from the side that asks: ``request`` out, ``response`` in.

    Both are streams. Each accepted request, read or write, is answered exactly once, with its tag; the order is free.
    A tag is not used again before its answer was accepted. ``tag_bits``: the width of a tag; that of the SM's own port
    if None.
    """
    return wiring.Signature({
        "request": Out(stream.Signature(memory_request_layout(config, tag_bits=tag_bits))),
        "response": In(stream.Signature(memory_response_layout(config, tag_bits=tag_bits))),
    })
