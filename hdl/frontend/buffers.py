"""The instruction buffers: one ring of d slots a warp; the selection that pops a slot also refills it."""

from amaranth.hdl import Array, Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.decoded import BufferEntry, IssueInfo

__all__ = ["InstructionBuffers", "slot_bits"]


def slot_bits(config: SmConfig) -> int:
    """Bits of a slot number."""
    return (config.buffer_depth - 1).bit_length()


class InstructionBuffers(wiring.Component):
    """Instruction buffers of the ``swas`` scheme: buffer + in flight = d for every warp, always (design.md section 3).

    - ``head_info[w]``, ``head_nop[w]``: the head of each warp's ring, combinational.
    - ``pop`` (one-hot warp) in cycle t: the head of that warp leaves; its ``entry`` appears in t+1; the fetch made in t
      fills the same slot (``pop_slot``), so that one pointer a warp serves and nothing is counted.
    - ``fill`` with warp, slot, entry, nop: writes a slot; poppable in the next cycle.
    - ``flush`` (mask of warps): every slot of these warps becomes a NOP, one filled in this cycle included.
    - ``occupancy``: filled slots of ``pop_warp``, before this cycle's pop.
    - ``empty_pop``: the popped slot had not been filled. It may never happen; it is what the hardware assertion
      watches.

    Reset: d NOPs for every warp.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "head_info": Out(data.ArrayLayout(IssueInfo, config.warps)),
            "head_nop": Out(config.warps),
            "pop": In(config.warps),
            "pop_warp": In(config.warp_bits),
            "pop_slot": Out(slot_bits(config)),
            "entry": Out(BufferEntry),
            "fill": In(1),
            "fill_warp": In(config.warp_bits),
            "fill_slot": In(slot_bits(config)),
            "fill_nop": In(1),
            "fill_entry": In(BufferEntry),
            "flush": In(config.warps),
            "empty_pop": Out(1),
            "occupancy": Out(range(config.buffer_depth + 1)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        depth = config.buffer_depth
        pointers = [Signal(slot_bits(config), name=f"pointer_{w}") for w in range(config.warps)]
        m.d.comb += self.pop_slot.eq(Array(pointers)[self.pop_warp])

        m.submodules.entries = entries = Memory(shape=BufferEntry, depth=config.warps * depth, init=[])
        write, read = entries.write_port(), entries.read_port()
        m.d.comb += [
            write.addr.eq(Cat(self.fill_slot, self.fill_warp)),
            write.data.eq(self.fill_entry),
            write.en.eq(self.fill),
            read.addr.eq(Cat(self.pop_slot, self.pop_warp)),
            read.en.eq(self.pop.any()),
            self.entry.eq(read.data),
        ]
        empty = Signal(config.warps)
        filled = [self._ring(m, w, pointers[w], empty) for w in range(config.warps)]
        slots = Signal(depth)
        m.d.comb += [
            self.empty_pop.eq((self.pop & empty).any()),
            slots.eq(Array(filled)[self.pop_warp]),
            self.occupancy.eq(sum((slots[i] for i in range(depth)), Const(0, 1))),
        ]
        return m

    def _ring(self, m: Module, w: int, pointer: Signal, empty: Signal) -> Signal:
        """One warp's flags; returns the filled slots. The wide part of an entry is in the shared memory."""
        depth = self._config.buffer_depth
        infos = [Signal(IssueInfo, name=f"info_{w}_{slot}") for slot in range(depth)]
        nop = Signal(depth, name=f"nop_{w}", init=(1 << depth) - 1)
        filled = Signal(depth, name=f"filled_{w}", init=(1 << depth) - 1)
        filling = Signal(depth, name=f"filling_{w}")
        popping = Signal(depth, name=f"popping_{w}")
        m.d.comb += [
            self.head_info[w].eq(data.View(IssueInfo, Array([info.as_value() for info in infos])[pointer])),
            self.head_nop[w].eq(nop.bit_select(pointer, 1)),
            empty[w].eq(~filled.bit_select(pointer, 1)),
        ]
        with m.If(self.fill & (self.fill_warp == w)):
            m.d.comb += filling.eq(Const(1, depth) << self.fill_slot)
        with m.If(self.pop[w]):
            m.d.comb += popping.eq(Const(1, depth) << pointer)
            m.d.sync += pointer.eq(pointer + 1)
        m.d.sync += filled.eq(filled & ~popping | filling)
        for slot in range(depth):
            with m.If(filling[slot]):
                m.d.sync += [infos[slot].eq(self.fill_entry.decoded.info), nop[slot].eq(self.fill_nop)]
        with m.If(self.flush[w]):
            m.d.sync += nop.eq((1 << depth) - 1)
        return filled
