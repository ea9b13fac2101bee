"""The lines that each warp has brought into the data cache and lost again, for the policy ``ccws``."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import LINE_NUMBER_BITS, SmConfig
from ...lib.component import Component
from ...lib.onehot import one_hot
from .signatures import fill_signature, lookup_signature, mshrs_signature

__all__ = ["VictimTags"]


class VictimTags(Component):
    """For each warp, the last ``victim_tags`` lines that it brought into the cache and that others have replaced.

    The warp whose load requested a line brings it in. When the line goes, it replaces the warp's oldest tag. A load
    that misses and finds its line among its own warp's tags has lost locality: the tag is removed, and ``lost`` reports
    the warp in the next cycle (Rogers 2012, section 3.3; docs/policies.md, "Lost locality"). One miss and one line that
    goes in every cycle; a miss sees the lines that went in earlier cycles. Reset: no tags. May never happen: a line
    goes while a load of it is looked up.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        self.places = config.dcache_bytes // config.line_bytes
        super().__init__({
            "lookup": In(lookup_signature(config)),  # a load that misses the cache: it joins a request, or makes one
            "mshrs": In(mshrs_signature(config)),  # the MSHR that a request takes
            "fill": In(fill_signature(config)),  # the line that goes into the cache, at ``place``
            #: Where in the cache it goes: another line may be there, which then goes.
            "place": In(range(self.places)),
            #: The warps that lost locality in the previous cycle. Registered.
            "lost": Out(config.warps),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        goes, owner, gone = self._go(m)
        self._tags(m, goes, owner, gone)
        return m

    def _go(self, m: Module) -> tuple[Signal, Signal, Signal]:
        """Whether a line goes, the warp that brought it in, and its number."""
        config = self.config
        m.submodules.askers = askers = Memory(shape=config.warp_bits, depth=max(2, config.line_requests), init=[])
        asks, asked = askers.write_port(), askers.read_port(domain="comb")
        line = data.StructLayout({"line": LINE_NUMBER_BITS, "warp": config.warp_bits})
        m.submodules.lines = lines = Memory(shape=line, depth=self.places, init=[])
        comes, goes = lines.write_port(), lines.read_port(domain="comb")
        held = Signal(self.places)
        leaves, owner, gone = Signal(), Signal(config.warp_bits, name="owner"), Signal(LINE_NUMBER_BITS, name="gone")
        m.d.comb += [
            asks.addr.eq(self.mshrs.number), asks.data.eq(self.lookup.held.part.warp), asks.en.eq(self.lookup.allocate),
            asked.addr.eq(self.fill.filled),
            comes.addr.eq(self.place), comes.en.eq(self.fill.install),
            comes.data.line.eq(self.fill.line), comes.data.warp.eq(asked.data),
            goes.addr.eq(self.place),
            leaves.eq(self.fill.install & held.bit_select(self.place, 1)),
            owner.eq(goes.data.warp), gone.eq(goes.data.line),
        ]
        with m.If(self.fill.install):
            m.d.sync += held.bit_select(self.place, 1).eq(1)
        return leaves, owner, gone

    def _tags(self, m: Module, goes: Signal, owner: Signal, gone: Signal) -> None:
        """The tags: one ring per warp, whose oldest place is overwritten whether or not it is taken."""
        warps, count = self.config.warps, self.config.victim_tags
        part = self.lookup.held.part
        depth = max(2, warps)
        # At least one bit: a memory of width 0 does not survive the conversion to Verilog.
        m.submodules.oldest = oldest = Memory(shape=max(1, (count - 1).bit_length()), depth=depth, init=[])
        follows, place = oldest.write_port(), oldest.read_port(domain="comb")
        m.d.comb += [
            place.addr.eq(owner), follows.addr.eq(owner), follows.en.eq(goes),
            follows.data.eq(Mux(place.data == count - 1, 0, place.data + 1)),
        ]
        taken = [Signal(count, name=f"taken_{w}") for w in range(warps)]
        misses, mine, found, put = Signal(), Signal(count), Signal(count), Signal(count)
        m.d.comb += misses.eq(self.lookup.add & ~self.lookup.uncached)
        for number in range(count):
            m.submodules[f"tags_{number}"] = tags = Memory(shape=LINE_NUMBER_BITS, depth=depth, init=[])
            write, read = tags.write_port(), tags.read_port(domain="comb")
            m.d.comb += [
                put[number].eq(goes & (place.data == number)),
                write.addr.eq(owner), write.data.eq(gone), write.en.eq(put[number]),
                read.addr.eq(part.warp),
                found[number].eq(misses & mine[number] & (read.data == part.line)),
            ]
        asker, puts = one_hot(part.warp, warps), one_hot(owner, warps)
        m.d.comb += mine.eq(Cat(Cat(each[number] for each in taken).bit_select(part.warp, 1)
                                for number in range(count)))
        for w in range(warps):
            m.d.sync += taken[w].eq((taken[w] & ~Mux(asker[w], found, 0)) | Mux(puts[w], put, 0))
        m.d.sync += self.lost.eq(Mux(found.any(), asker, 0))
