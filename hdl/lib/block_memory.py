"""Memories for an FPGA's RAM blocks: read in one cycle, used in the next."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal, Value, ValueLike
from amaranth.lib.memory import Memory

__all__ = ["block_memory", "registered_read"]

#: The most words that are in flip-flops instead.
_FEW = 2


def block_memory(*, shape: Any, depth: int) -> Memory:
    """A memory for block RAM, read by :func:`registered_read`. Its initial contents mean nothing.

    One of two words or less is in flip-flops: a block for every 36 bits of a word would be almost empty.

    May never happen: use of a word that was read in the cycle in which it was written. No ECP5 block promises the old
    word then; to provide it, Yosys would add a register and a multiplexer, as wide as a word, beside the block.
    """
    attributes: dict[str, Any] = {"ram_style": "registers" if depth <= _FEW else "block", "no_rw_check": 1}
    return Memory(shape=shape, depth=depth, init=[], attrs=attributes)


def registered_read(
    m: Module, memory: Memory, *, address: ValueLike, enable: ValueLike, name: str,
    clear: Value | None = None,
) -> Signal:
    """The word at ``address``: from the cycle after ``enable`` until the next ``enable``.

    With ``clear`` it is 0 from the cycle after that on, and after a reset. Without, it is undefined after a reset.

    Each call is a read port of its own. In an FPGA that is a copy of the blocks, which have a reset for ``clear``.
    """
    # Not memory.read_port(), whose register Yosys does not recognise: only such a pair honours no_rw_check.
    port = memory.read_port(domain="comb")
    word = Signal(len(Value.cast(port.data)), name=name, reset_less=clear is None)
    m.d.comb += port.addr.eq(address)
    with m.If(0 if clear is None else clear):
        m.d.sync += word.eq(0)
    with m.Elif(enable):
        m.d.sync += word.eq(port.data)
    return word
