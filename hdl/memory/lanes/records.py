"""The records that travel between the parts of the lanes' side."""

from __future__ import annotations

from amaranth.lib import data

from ...config import SmConfig
from ..seam import load_bits, part_layout, set_bits

__all__ = ["PAIRED", "bank_bits", "chosen_layout", "entry_layout", "local_access_layout", "local_part_layout",
           "pair_bits"]

#: The most lanes of which all pairs of lines are compared.
PAIRED = 4
#: Bits of a pair's comparison in an entry of the queue.
_PAIR_BITS = 4


def bank_bits(config: SmConfig) -> int:
    """Bits of a bank number of the local memory: 0 with one lane."""
    return config.threads.bit_length() - 1


def pair_bits(config: SmConfig) -> int:
    """Bits of the comparison of two lanes' lines that an entry of the queue has for each pair of lanes, if any.

    With two cycles to the lookup and few lanes, the lines are compared before the queue, in pieces.
    """
    return _PAIR_BITS if config.lookup_latency > 1 and config.threads <= PAIRED else 0


def entry_layout(config: SmConfig) -> data.StructLayout:
    """A load or store in the queue. ``local`` and ``misaligned`` are lane masks, part of ``mask``.

    From here on addresses are those in memory (:func:`hdl.lib.stacks.to_bus`); reports convert them back.

    ``equal``: for each pair of lanes (:func:`pair_bits`), whether pieces of their lines are equal. The pairs are those
    of lane 1 with lane 0, of lane 2 with 0 and 1, and so on.

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
        "equal": config.threads * (config.threads - 1) // 2 * pair_bits(config),
    })


def chosen_layout(config: SmConfig) -> data.StructLayout:
    """A line access before its bytes are put together: the lanes' ``words``, and the bytes of them that they touch."""
    return data.StructLayout({
        "part": part_layout(config),
        "write": 1,
        "first": 1,
        "set": set_bits(config),
        "words": data.ArrayLayout(32, config.threads),
        "enable": data.ArrayLayout(4, config.threads),
    })


def local_part_layout(config: SmConfig) -> data.StructLayout:
    """A part of a local load, for the cycle that the banks take. ``byte`` and ``bank`` are per lane."""
    return data.StructLayout({
        "warp": config.warp_bits,
        "op": 4,
        "rd": 6,
        "load": load_bits(config),
        "mask": config.threads,
        "byte": data.ArrayLayout(2, config.threads),
        "bank": data.ArrayLayout(bank_bits(config), config.threads),
    })


def local_access_layout(config: SmConfig) -> data.StructLayout:
    """An access to local memory, without its lanes: a store, or a load (``read``: it writes a register).

    ``word`` and ``byte`` are each lane's number of a word in local memory, and of a byte in the word.
    """
    return data.StructLayout({
        "store": 1,
        "read": 1,
        "warp": config.warp_bits,
        "op": 4,
        "rd": 6,
        "load": load_bits(config),
        "word": data.ArrayLayout((config.local_bytes // 4 - 1).bit_length(), config.threads),
        "byte": data.ArrayLayout(2, config.threads),
        "data": data.ArrayLayout(32, config.threads),
        "enable": data.ArrayLayout(4, config.threads),
    })
