"""The seam between `lanes` and `l1`: line accesses go to the L1, lines for their parts come back.

Both sides take what crosses it from here, and :class:`hdl.memory.lsu.Lsu` connects them in one place.
"""

from __future__ import annotations

from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import LINE_NUMBER_BITS, LINE_OFFSET_BITS, Channels, SmConfig
from ..lib.stacks import to_program

__all__ = [
    "CHOSEN", "access_layout", "answers_signature", "load_bits", "loads_under_way", "lowest_address", "part_layout",
    "set_bits", "set_of",
]

#: Line accesses between the coalescer and the lookup, if ``lookup_latency`` is 2.
CHOSEN = 2


def set_bits(config: SmConfig) -> int:
    """Bits of the data cache's set that an access brings with it; 0 with a ``lookup_latency`` of 1."""
    return config.dcache_set_bits if config.lookup_latency > 1 and config.dcache_bytes else 0


def set_of(line: Value, bits: int) -> Value:
    """The data cache's set of a line: the exclusive or of all groups of ``bits`` bits of its number.

    Lines at any power-of-two distance spread over the sets; lines with equal upper bits are still in distinct sets.
    """
    return reduce(xor, (line[start : start + bits] for start in range(0, LINE_NUMBER_BITS, bits)))[:bits]


def loads_under_way(config: SmConfig) -> int:
    """The number of loads that write registers and may be in flight at once, each with a number (:class:`PartCounts`).

    Enough that no load ever waits for a number: one in the coalescer, one in the lookup, ``load_parts`` that wait for
    memory, three in the slots of the response stage, and one number that is chosen ahead. Channels add the accesses
    that they can hold, and so does the queue behind the coalescer.
    """
    channels = config.warps * config.channel_depth if config.channels is not Channels.NONE else 0
    return config.load_parts + 6 + channels + (CHOSEN if config.lookup_latency > 1 else 0)


def load_bits(config: SmConfig) -> int:
    """Bits of a load's number."""
    return (loads_under_way(config) - 1).bit_length()


def part_layout(config: SmConfig) -> data.StructLayout:
    """A part of a load or store: its lanes, ``mask``, that access one ``line``.

    ``offset``: each lane's byte in the line. ``load``: the load's number; undefined unless ``writes_rd``.
    """
    return data.StructLayout({
        "warp": config.warp_bits,
        "pc": 32,
        "op": 4,
        "rd": 6,
        "writes_rd": 1,
        "load": load_bits(config),
        "mask": config.threads,
        "line": LINE_NUMBER_BITS,
        "offset": data.ArrayLayout(LINE_OFFSET_BITS, config.threads),
    })


def access_layout(config: SmConfig) -> data.StructLayout:
    """A line access: the operation of a ``part`` on its line.

    ``first``: the first of its instruction. ``byte_mask``: the bytes that the lanes touch; ``data``: the bytes that a
    ``write`` stores. ``set``: that of the line (:func:`set_bits`).
    """
    return data.StructLayout({
        "part": part_layout(config),
        "write": 1,
        "first": 1,
        "set": set_bits(config),
        "byte_mask": config.line_bytes,
        "data": config.line_bytes * 8,
    })


def answers_signature(config: SmConfig) -> wiring.Signature:
    """Loaded lines on their way to the two slots of the response stage, seen from the L1."""
    line = 8 * config.line_bytes
    return wiring.Signature({
        #: The slot of lines from memory.
        "fill": Out(wiring.Signature({
            #: A part of a line from memory takes the slot; only while ``free``.
            "push": Out(1),
            #: The slot is empty, or is emptied in this cycle.
            "free": In(1),
            #: The part; from the cycle after the push on, while the slot is taken.
            "part": Out(part_layout(config)),
            #: Its line; as long.
            "data": Out(line),
            #: Memory refused the line; as long.
            "error": Out(1),
        })),
        #: The slot of hits.
        "hit": Out(wiring.Signature({
            #: A part that the cache or the write buffer has takes the slot; only while ``free``.
            "push": Out(1),
            #: The slot is empty, or is emptied in this cycle.
            "free": In(1),
            #: With the push: the part.
            "part": Out(part_layout(config)),
            #: Its line; from the cycle after the push on, while the slot is taken.
            "data": Out(line),
        })),
    })


def lowest_address(m: Module, config: SmConfig, part: data.View) -> Value:
    """The program's address of the lowest lane of a part (:func:`part_layout`)."""
    offset = Signal(LINE_OFFSET_BITS)
    for lane in reversed(range(len(part.mask))):
        with m.If(part.mask[lane]):
            m.d.comb += offset.eq(part.offset[lane])
    return to_program(m, config, Cat(offset, part.line), "lowest_address")
