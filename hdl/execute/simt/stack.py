"""The divergence stack of every warp: split pushes its entries, join visits and pops them."""

from amaranth.hdl import Array, Cat, Const, Module, Signal
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...lib.component import Component

__all__ = ["DivergenceStack", "entry_layout"]


def entry_layout(config: SmConfig) -> data.StructLayout:
    """One divergent split: the mask before it, the waiting side and its pc, and whether a join has visited it once."""
    return data.StructLayout({"union": config.threads, "other": config.threads, "pc": 32, "visited": 1})


class DivergenceStack(Component):
    """One stack per warp, ``stack_depth`` entries deep (isa.md, split and join).

    A warp is peeked at in cycle c, and read and changed in c+1: at most one of ``push``, ``visit`` and ``pop``. A warp
    has at most one SIMT instruction in flight, so a peek never coincides with its own warp's update. Reset: empty.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        layout = entry_layout(config)
        super().__init__({
            #: The warp whose stack is peeked at; in the next cycle, the other ports refer to this warp.
            "peek_warp": In(config.warp_bits),
            "pointer": Out(config.stack_pointer_bits),  # entries on the stack of the warp peeked at in the cycle before
            "top": Out(layout),  # the top entry of this stack; undefined at pointer 0
            "push": In(1),  # push `pushed` on this stack; not allowed at pointer `stack_depth`
            "pushed": In(layout),  # the new entry; `visited` is ignored: a new entry is not visited
            "visit": In(1),  # mark the top entry as visited
            "pop": In(1),  # pop the top entry; not allowed at pointer 0
            "clear": In(config.warps),  # warps whose stacks are empty for a peek from the next cycle on
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
