"""The divergence stack of every warp: what split pushes and join visits."""

from amaranth.hdl import Array, Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig

__all__ = ["DivergenceStack", "entry_layout"]


def entry_layout(config: SmConfig) -> data.StructLayout:
    """One divergent split: the mask before it, the side that waits and where, and whether a join came by once."""
    return data.StructLayout({"union": config.threads, "other": config.threads, "pc": 32, "visited": 1})


class DivergenceStack(wiring.Component):
    """One stack a warp, ``stack_depth`` entries deep (isa.md, split and join).

    ``peek_warp`` in cycle c gives that warp's ``pointer`` and ``top`` entry in c+1 (the top means nothing at pointer
    0). In that cycle the warp may ``push`` ``pushed``, ``visit`` (mark the top as visited) or ``pop``; one of the
    three at most. A warp has one SIMT instruction in flight at most, so a peek never meets its own warp's update.
    ``clear`` (mask): the pointer of these warps becomes 0. Reset: empty.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        layout = entry_layout(config)
        super().__init__({
            "peek_warp": In(config.warp_bits),
            "pointer": Out(config.stack_pointer_bits),
            "top": Out(layout),
            "push": In(1),
            "pushed": In(layout),
            "visit": In(1),
            "pop": In(1),
            "clear": In(config.warps),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        layout = entry_layout(config)
        index_bits = max(1, (config.stack_depth - 1).bit_length())
        pointers = [Signal(config.stack_pointer_bits, name=f"pointer_{w}") for w in range(config.warps)]
        warp = Signal(config.warp_bits)
        peeked = Array(pointers)[self.peek_warp]
        m.d.sync += [warp.eq(self.peek_warp), self.pointer.eq(peeked)]

        m.submodules.entries = entries = Memory(shape=layout, depth=1 << (index_bits + config.warp_bits), init=[])
        read, write = entries.read_port(), entries.write_port()
        top = Signal(index_bits)
        m.d.comb += [
            top.eq(self.pointer - 1),
            read.addr.eq(Cat((peeked - 1)[:index_bits], self.peek_warp)),
            read.en.eq(1),
            self.top.eq(read.data),
            write.en.eq(self.push | self.visit),
        ]
        with m.If(self.push):
            m.d.comb += [
                write.addr.eq(Cat(self.pointer[:index_bits], warp)),
                write.data.eq(self.pushed),
                write.data.visited.eq(0),
            ]
        with m.Else():
            m.d.comb += [
                write.addr.eq(Cat(top, warp)),
                write.data.eq(self.top),
                write.data.visited.eq(1),
            ]
        moved = Signal(config.warps)
        m.d.comb += moved.eq((Const(1, config.warps) << warp) & (self.push | self.pop).replicate(config.warps))
        for w, pointer in enumerate(pointers):
            with m.If(self.clear[w]):
                m.d.sync += pointer.eq(0)
            with m.Elif(moved[w]):
                m.d.sync += pointer.eq(self.pointer + self.push - self.pop)
        return m
