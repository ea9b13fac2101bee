"""The contents of the data cache: tags and lines."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from ...config import LINE_NUMBER_BITS, SmConfig
from ...lib.block_memory import block_memory, registered_read
from ...lib.component import Component
from ...lib.onehot import encode
from ...lib.tags import CacheTags
from ..seam import set_of
from .signatures import fill_signature, lookup_signature

__all__ = ["DataCache"]


class DataCache(Component):
    """A set-associative, LRU store of lines: one lookup, and one write or fill, in every cycle.

    With ordered channels a line gets its place in the lookup that misses, and its bytes later: the victim does not
    depend on when memory answers. Otherwise a line gets both when memory delivers it.

    Reset: empty. May never happen: a store, or a read in the same set, while a line comes in; a line that comes in or
    gets a place although it is already here.
    """

    def __init__(self, config: SmConfig, *, invalidates: bool = False) -> None:
        self._ways = config.dcache_ways
        self._sets = config.dcache_bytes // config.line_bytes // config.dcache_ways
        self._line_bytes = config.line_bytes
        self._ordered = config.ordered
        self._ahead = config.lookup_latency > 1
        self._invalidates = invalidates or config.ordered
        members: dict[str, Member] = {}
        if self._invalidates:
            members["invalidate"] = In(1)  # the cache is empty from the next cycle on; only while nothing comes
        if self._ordered:
            bits = (self._sets * self._ways - 1).bit_length()
            members |= {
                #: The place of the least recently used line of the set, which the access takes if it gets one.
                #: Combinational.
                "victim": Out(bits),
                #: A register and the access's line: the set was used in the cycle before, of which ``victim`` does not
                #: know.
                "recent": Out(1),
                #: The place that was given to the line that comes in.
                "fill_place": In(bits),
            }
        self._tells_place = config.watches_locality
        if self._tells_place:
            members["fill_place"] = Out(range(self._sets * self._ways))  # where the line comes in
        super().__init__({
            **members,
            #: The access that is looked up. A use counts for lines chosen to go two cycles later or later (CacheTags).
            #: A read in the next cycle sees the bytes that a hit writes.
            "lookup": In(lookup_signature(config)),
            #: The line that comes in, in place of the least recently used line of its set.
            "fill": In(fill_signature(config)),
            #: Combinational: the line that is looked up is here.
            "hit": Out(1),
            #: The line read last, from the cycle after the read until the next one; 0 from the cycle after a load has
            #: read the write buffer.
            "data": Out(8 * config.line_bytes),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lookup, fill = self.lookup, self.fill
        line, written = lookup.held.part.line, lookup.write & self.hit
        bits = (self._sets - 1).bit_length()
        m.submodules.tags = tags = CacheTags(
            ways=self._ways, sets=self._sets, tag_bits=LINE_NUMBER_BITS - bits, ahead=self._ahead)
        looked_up, compared = Signal(bits, name="set"), lookup.next_line if self._ahead else line
        if self._ahead:
            setter, fill_set = (lookup, looked_up) if self._ordered else (fill, fill.set)
            m.d.comb += [
                tags.comes.eq(lookup.comes), looked_up.eq(lookup.held.set),
                tags.fill_comes.eq(setter.comes), tags.fill_next_set.eq(setter.next_set), tags.fill_set.eq(fill_set),
            ]
        else:
            m.d.comb += [
                looked_up.eq(set_of(line, bits)),
                tags.fill_set.eq(set_of(line if self._ordered else fill.line, bits)),
            ]
        m.d.comb += [
            *(port.eq(lookup.next_set if self._ahead else set_of(compared, bits)) for port in tags.set),
            tags.tag.eq(compared[bits:]),
            tags.use.eq(lookup.use),
            self.hit.eq(tags.hit),
        ]
        if self._ordered:
            comes, taken = lookup.place, line
            filled: Value = self.fill_place
            m.d.comb += [
                self.recent.eq(tags.recent),
                self.victim.eq(Cat(looked_up, encode(tags.victim))),
            ]
        else:
            comes, taken = fill.install, fill.line
            filled = Cat(tags.fill_set, encode(tags.victim))
        if self._invalidates:
            m.d.comb += tags.invalidate.eq(self.invalidate)
        m.d.comb += [
            tags.fill.eq(comes), tags.fill_tag.eq(taken[bits:]),
        ]
        m.submodules.lines = lines = block_memory(
            shape=data.ArrayLayout(8, self._line_bytes), depth=self._sets * self._ways
        )
        writer = lines.write_port(granularity=1)
        place = Cat(looked_up, encode(tags.hit_ways))
        if self._tells_place:
            m.d.comb += self.fill_place.eq(Cat(tags.fill_set, encode(tags.victim)))
        whole = (1 << self._line_bytes) - 1
        m.d.comb += [
            self.data.eq(registered_read(m, lines, address=place, enable=lookup.read, clear=lookup.forward,
                                         name="line_read")),
            writer.addr.eq(Mux(fill.install, filled, place)),
            writer.en.eq(Mux(fill.install, whole, Mux(written, lookup.held.byte_mask, 0))),
            writer.data.as_value().eq(Mux(fill.install, fill.install_data, lookup.held.data)),
        ]
        return m
