"""The records and numbers that travel inside the L1."""

from __future__ import annotations

from amaranth.lib import data

from ...config import LINE_NUMBER_BITS, SmConfig

__all__ = ["entry_bits", "load_request_layout", "mshr_bits", "store_layout", "store_request_layout"]


def mshr_bits(config: SmConfig) -> int:
    """Bits of an MSHR's number, at least 1."""
    return max(1, (config.line_requests - 1).bit_length())


def entry_bits(config: SmConfig) -> int:
    """Bits of the number of a write buffer's entry, at least 1."""
    return max(1, (config.store_buffer - 1).bit_length())


def load_request_layout(config: SmConfig) -> data.StructLayout:
    """A line that loads need: ``number`` of the MSHR."""
    return data.StructLayout({"number": mshr_bits(config), "line": LINE_NUMBER_BITS})


def store_request_layout(config: SmConfig) -> data.StructLayout:
    """A line with stores: ``number`` of the write buffer's entry, the bytes of ``data`` that ``byte_mask`` chooses."""
    return data.StructLayout({
        "number": entry_bits(config),
        "line": LINE_NUMBER_BITS,
        "byte_mask": config.line_bytes,
        "data": 8 * config.line_bytes,
    })


def store_layout(config: SmConfig) -> data.StructLayout:
    """The store blamed for a fault of a line in the write buffer. ``address``: its lowest lane's, in the program."""
    return data.StructLayout({"warp": config.warp_bits, "pc": 32, "address": 32})
