"""What the data cache holds: tags and lines."""

from __future__ import annotations

from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from ...config import LINE_NUMBER_BITS, SmConfig
from ...lib.block_memory import block_memory, registered_read
from ...lib.component import Component
from ...lib.onehot import encode
from ...lib.tags import CacheTags

__all__ = ["DataCache", "set_of"]


def set_of(line: Value, set_bits: int) -> Value:
    """The set of a line: the exclusive or of all groups of ``set_bits`` bits of its number.

    So lines at any power-of-two distance spread over the sets; lines with equal upper bits are still in distinct sets.
    """
    return reduce(xor, (line[start : start + set_bits] for start in range(0, LINE_NUMBER_BITS, set_bits)))[:set_bits]


class DataCache(Component):
    """A set-associative, LRU store of lines: one lookup, and one write or fill, in every cycle.

    With ordered channels a line gets its place in the lookup that misses (``allocate``), and its bytes later: so which
    line goes does not depend on when memory answers. Else it gets both with ``fill``.

    Reset: empty. May never happen: ``write``, or ``read`` in the same set, with ``fill``, or a fill or allocation of a
    line that is here.
    """

    def __init__(self, config: SmConfig) -> None:
        self._ways = config.dcache_ways
        self._sets = config.dcache_bytes // config.line_bytes // config.dcache_ways
        self._line_bytes = config.line_bytes
        self._ordered = config.ordered
        members: dict[str, Member] = {}
        if self._ordered:
            bits = (self._sets * self._ways - 1).bit_length()
            members = {
                #: The cache is empty from the next cycle on. Only while nothing comes.
                "invalidate": In(1),
                #: ``line``, which is not here, takes the place of the least recently used one of its set.
                "allocate": In(1),
                #: That place. Combinational.
                "victim": Out(bits),
                #: A register and ``line``: the set was used in the cycle before, of which ``victim`` does not know.
                "recent": Out(1),
                #: With ``fill``: the place that was allocated to the line.
                "fill_place": In(bits),
            }
        self._tells_place = config.watches_locality
        if self._tells_place:
            members["fill_place"] = Out(range(self._sets * self._ways))  # with ``fill``: where ``fill_line`` comes in
        super().__init__({
            **members,
            #: The line that is looked up, from the lookup stage.
            "line": In(LINE_NUMBER_BITS),
            #: Combinational: ``line`` is here.
            "hit": Out(1),
            #: The hit counts as a use of its line, for lines chosen to go two cycles later or later (CacheTags).
            "use": In(1),
            #: Read the hit's line.
            "read": In(1),
            #: The line that is read next is another's: ``data`` is 0 from the next cycle on, until the next ``read``.
            "clear": In(1),
            #: The line read last, from the cycle after ``read`` until the next one.
            "data": Out(8 * config.line_bytes),
            #: Bytes of the hit's line are written: a read in the next cycle sees them.
            "write": In(1),
            #: With ``write``: which bytes.
            "byte_mask": In(config.line_bytes),
            #: With ``write``: what they become.
            "write_data": In(8 * config.line_bytes),
            #: ``fill_line`` comes in, in place of the least recently used line of its set: a lookup in the next cycle
            #: hits. From the fill stage.
            "fill": In(1),
            #: With ``fill``: the line's number.
            "fill_line": In(LINE_NUMBER_BITS),
            #: With ``fill``: its bytes.
            "fill_data": In(8 * config.line_bytes),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = (self._sets - 1).bit_length()
        m.submodules.tags = tags = CacheTags(ways=self._ways, sets=self._sets, tag_bits=LINE_NUMBER_BITS - bits)
        looked_up = Signal(bits, name="set")
        m.d.comb += [
            looked_up.eq(set_of(self.line, bits)),
            *(port.eq(looked_up) for port in tags.set),
            tags.tag.eq(self.line[bits:]),
            tags.use.eq(self.use),
            self.hit.eq(tags.hit),
        ]
        if self._ordered:
            comes, taken = self.allocate, self.line
            filled: Value = self.fill_place
            m.d.comb += [
                tags.invalidate.eq(self.invalidate), self.recent.eq(tags.recent),
                self.victim.eq(Cat(looked_up, encode(tags.victim))),
            ]
        else:
            comes, taken = self.fill, self.fill_line
            filled = Cat(tags.fill_set, encode(tags.victim))
        m.d.comb += [
            tags.fill.eq(comes), tags.fill_set.eq(set_of(taken, bits)), tags.fill_tag.eq(taken[bits:]),
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
            self.data.eq(registered_read(m, lines, address=place, enable=self.read, clear=self.clear,
                                         name="line_read")),
            writer.addr.eq(Mux(self.fill, filled, place)),
            writer.en.eq(Mux(self.fill, whole, Mux(self.write, self.byte_mask, 0))),
            writer.data.as_value().eq(Mux(self.fill, self.fill_data, self.write_data)),
        ]
        return m
