"""The memory port: whole lines, tagged, responses in any order (design.md section 4)."""

from __future__ import annotations

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import LINE_NUMBER_BITS, SmConfig

__all__ = ["memory_port_signature", "memory_request_layout", "memory_response_layout"]


def memory_request_layout(config: SmConfig, *, tag_bits: int | None = None) -> data.StructLayout:
    """A line request: ``line`` is the address divided by the line size; ``byte_mask`` and ``data`` count for writes."""
    return data.StructLayout({
        "line": LINE_NUMBER_BITS,
        "tag": config.mem_tag_bits if tag_bits is None else tag_bits,
        "write": 1,
        "byte_mask": config.line_bytes,
        "data": config.line_bytes * 8,
    })


def memory_response_layout(config: SmConfig, *, tag_bits: int | None = None) -> data.StructLayout:
    """The answer to one request, reads and writes alike; ``error`` says that the access failed."""
    return data.StructLayout({
        "tag": config.mem_tag_bits if tag_bits is None else tag_bits,
        "error": 1,
        "data": config.line_bytes * 8,
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
