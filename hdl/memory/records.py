"""The records that travel inside the load/store unit."""

from __future__ import annotations

from amaranth.lib import data

from ..config import SmConfig

__all__ = [
    "LINE_BITS",
    "OFFSET_BITS",
    "access_layout",
    "bank_bits",
    "entry_layout",
    "line_access_layout",
    "local_part_layout",
    "part_layout",
    "store_layout",
]

#: Bits of a byte offset in a line, and of a line number.
OFFSET_BITS = 6
LINE_BITS = 32 - OFFSET_BITS


def bank_bits(config: SmConfig) -> int:
    """Bits of a bank number of the local memory: 0 with one lane."""
    return config.threads.bit_length() - 1


def entry_layout(config: SmConfig) -> data.StructLayout:
    """A load or store in the queue. ``local`` and ``misaligned`` are lane masks, part of ``mask``.

    From here on addresses are those in memory (:func:`hdl.memory.stacks.to_bus`); reports turn them back.

    The lanes come first, so that each is a whole word of the simulator.
    """
    lanes = data.ArrayLayout(32, config.threads)
    return data.StructLayout({
        "address": lanes,
        "data": lanes,
        "warp": config.warp_bits,
        "pc": 32,
        "op": 4,
        "rd": 6,
        "writes_rd": 1,
        "mask": config.threads,
        "local": config.threads,
        "misaligned": config.threads,
    })


def line_access_layout(config: SmConfig) -> data.StructLayout:
    """The access of some lanes to one line. ``byte_mask``: the bytes that they touch; ``data`` counts for writes."""
    return data.StructLayout({
        "line": LINE_BITS,
        "lanes": config.threads,
        "write": 1,
        "first": 1,
        "byte_mask": config.line_bytes,
        "data": config.line_bytes * 8,
    })


def part_layout(config: SmConfig) -> data.StructLayout:
    """The lanes of a load or store that access one line. ``offset``: each lane's byte in the line."""
    return data.StructLayout({
        "warp": config.warp_bits,
        "pc": 32,
        "op": 4,
        "rd": 6,
        "writes_rd": 1,
        "mask": config.threads,
        "line": LINE_BITS,
        "offset": data.ArrayLayout(OFFSET_BITS, config.threads),
    })


def access_layout(config: SmConfig) -> data.StructLayout:
    """A line access on its way through the lookup stage. ``first``: the first of its instruction."""
    return data.StructLayout({
        "part": part_layout(config),
        "write": 1,
        "first": 1,
        "byte_mask": config.line_bytes,
        "data": config.line_bytes * 8,
    })


def store_layout(config: SmConfig) -> data.StructLayout:
    """Whom a fault of a line in the write buffer is laid to. ``address``: the program's, of the store's lowest lane."""
    return data.StructLayout({"warp": config.warp_bits, "pc": 32, "address": 32})


def local_part_layout(config: SmConfig) -> data.StructLayout:
    """What the unit remembers of a local load for the cycle that the banks take. ``byte`` and ``bank`` are per lane."""
    return data.StructLayout({
        "warp": config.warp_bits,
        "op": 4,
        "rd": 6,
        "mask": config.threads,
        "byte": data.ArrayLayout(2, config.threads),
        "bank": data.ArrayLayout(bank_bits(config), config.threads),
    })
