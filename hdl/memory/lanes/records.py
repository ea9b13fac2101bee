"""The records that travel between the parts of the lanes' side."""

from __future__ import annotations

from amaranth.lib import data

from ...config import SmConfig
from ..seam import load_bits, part_layout

__all__ = ["bank_bits", "chosen_layout", "entry_layout", "local_access_layout", "local_part_layout"]


def bank_bits(config: SmConfig) -> int:
    """Bits of a bank number of the local memory: 0 with one lane."""
    return config.threads.bit_length() - 1


def entry_layout(config: SmConfig) -> data.StructLayout:
    """A load or store in the queue. ``local`` and ``misaligned`` are lane masks, part of ``mask``.

    From here on addresses are those in memory (:func:`hdl.lib.stacks.to_bus`); reports convert them back.

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


def chosen_layout(config: SmConfig) -> data.StructLayout:
    """A line access before its bytes are put together: the lanes' ``words``, and the bytes of them that they touch."""
    return data.StructLayout({
        "part": part_layout(config),
        "write": 1,
        "first": 1,
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
