"""The contents of the instruction cache: tags and lines."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import LINE_NUMBER_BITS, LINE_OFFSET_BITS, SmConfig
from ..lib.block_memory import block_memory, registered_read
from ..lib.component import Component
from ..lib.onehot import encode
from ..lib.tags import BANK, CacheTags
from .signatures import refill_signature

__all__ = ["ICacheStore", "store_ports"]


def store_ports(config: SmConfig) -> dict[str, wiring.Member]:
    """The ports of the fetch pipeline's instruction store; a fetch made in t is looked up in t+1."""
    return {
        "lookup_valid": In(1),  # in t+1: a lookup takes place
        #: In t+1: three copies from separate registers, to limit the fanout; the first comes later in the cycle.
        "lookup_pc": In(data.ArrayLayout(32, 3)),
        "hit": Out(1),  # in t+1, combinational: the line is present; undefined without ``lookup_valid``
        "instruction": Out(32),  # in t+3: the word, if it hit
        "error": Out(1),  # in t+3: memory answered with an error when its line was fetched, if it hit
        "refill": In(refill_signature(config)),  # in c: a line is written; lookups find it from c+1 on
        "invalidate": In(1),  # in c: the store is empty for lookups from c+1 on
    }


class ICacheStore(Component):
    """A set-associative, LRU instruction store with fixed latencies and a lookup in every cycle.

    The victim of a refill is the least recently used way of the set (an empty way has not been used since it was
    emptied); a hit counts as a use for refills in its t+3 or later. A hit whose line is overwritten in its own t+1
    still delivers the old word. One refill a cycle, in parallel with the lookup. Reset: empty.

    t+1: tags and valid bits are read and compared; the way that hits addresses the line. t+2: the word is selected and
    the hit is recorded as a use. t+3: the word is in a register.
    """

    def __init__(self, config: SmConfig) -> None:
        self._ways = config.icache_ways
        self._sets = config.icache_bytes // config.line_bytes // config.icache_ways
        self._set_bits = (self._sets - 1).bit_length()
        self._tag_bits = LINE_NUMBER_BITS - self._set_bits
        super().__init__(store_ports(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address = data.StructLayout({"offset": LINE_OFFSET_BITS, "set": self._set_bits, "tag": self._tag_bits})
        refill = Signal(address)
        looked_up = [data.View(address, pc) for pc in self.lookup_pc]
        m.d.comb += refill.eq(self.refill.line << LINE_OFFSET_BITS)
        m.submodules.tags = tags = CacheTags(
            ways=self._ways, sets=self._sets, tag_bits=self._tag_bits,
            apart=self._sets > BANK,  # the longest path is then through the comparison
        )
        m.d.comb += [
            *(port.eq(looked_up[1 + way % 2].set) for way, port in enumerate(tags.set)),
            tags.tag.eq(looked_up[0].tag),
            tags.use.eq(self.lookup_valid),
            tags.fill.eq(self.refill.valid),
            tags.fill_set.eq(refill.set),
            tags.fill_tag.eq(refill.tag),
            tags.invalidate.eq(self.invalidate),
            self.hit.eq(tags.hit),
        ]
        self._read_word(m, looked_up=looked_up[0], hit_ways=tags.hit_ways, refill=refill, victim=tags.victim)
        return m

    def _read_word(self, m: Module, *, looked_up: data.View, hit_ways: Signal, refill: data.View,
                   victim: Signal) -> None:
        """t+1: the way is known, the line is addressed; t+2: the word is selected; t+3: it is in a register."""
        line = data.StructLayout({"words": data.ArrayLayout(32, 1 << LINE_OFFSET_BITS - 2), "error": 1})
        m.submodules.lines = lines = block_memory(shape=line, depth=self._sets * self._ways)
        # A line is written in c+1, so that a lookup in c can still read the one it replaces. A lookup of the new line
        # in c+1 gets the word from the register on the way.
        arrived, set_of_it, way_of_it = Signal(), Signal.like(refill.set), Signal.like(victim)
        fresh = Signal(line)
        m.d.sync += arrived.eq(self.refill.valid)
        with m.If(self.refill.valid):
            m.d.sync += [
                fresh.eq(Cat(self.refill.data, self.refill.error)), set_of_it.eq(refill.set), way_of_it.eq(victim),
            ]
        write = lines.write_port()
        m.d.comb += [
            write.addr.eq(Cat(set_of_it, encode(way_of_it))), write.data.eq(fresh), write.en.eq(arrived),
        ]
        word, use_fresh = Signal(LINE_OFFSET_BITS - 2), Signal()
        fresh_word, fresh_error = Signal(32), Signal()
        place = Cat(looked_up.set, encode(hit_ways))
        read = data.View(line, registered_read(m, lines, address=place, enable=1, name="line_read"))
        m.d.sync += [
            word.eq(looked_up.offset[2:]),
            use_fresh.eq(arrived & (looked_up.set == set_of_it) & (hit_ways & way_of_it).any()),
            self.instruction.eq(Mux(use_fresh, fresh_word, read.words[word])),
            self.error.eq(Mux(use_fresh, fresh_error, read.error)),
        ]
        with m.If(arrived):
            m.d.sync += [fresh_word.eq(fresh.words[looked_up.offset[2:]]), fresh_error.eq(fresh.error)]
