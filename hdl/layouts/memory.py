"""The memory port: 64-byte lines, tagged, responses in any order (design.md section 4)."""

from __future__ import annotations

from amaranth.lib import data

from ..config import SmConfig

__all__ = ["memory_request_layout", "memory_response_layout"]


def memory_request_layout(config: SmConfig, *, tag_bits: int | None = None) -> data.StructLayout:
    """A line request: ``line`` is the address divided by the line size; ``byte_mask`` and ``data`` count for writes."""
    return data.StructLayout({
        "line": 32 - (config.line_bytes - 1).bit_length(),
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
