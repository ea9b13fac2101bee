"""Tags, data and replacement state of the instruction cache."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..lib.lru import lru_bits, lru_touch, lru_victim
from ..lib.onehot import encode, lowest_one, one_hot

__all__ = ["ICacheStore"]


class ICacheStore(wiring.Component):
    """A set-associative, LRU instruction store with fixed latencies and a lookup in every cycle.

    Lookup, for a pc presented in cycle t with ``lookup_valid``: ``hit`` in t+1 (meaningful only then), the word in
    ``instruction`` and ``error`` (its line came with an error) in t+3. ``error`` and the word mean nothing after a
    miss. Refill: ``refill_valid`` in cycle c writes the whole line; a lookup presented in c already hits it. The
    victim is the first empty way of the set, else the least recently used one. A hit whose line is overwritten in its
    own t+1 still delivers the old word. ``invalidate`` in cycle c empties the store for lookups presented in c or
    later. Reset: empty.
    """

    def __init__(self, config: SmConfig) -> None:
        self._ways = config.icache_ways
        self._sets = config.icache_bytes // config.line_bytes // config.icache_ways
        self._offset_bits = (config.line_bytes - 1).bit_length()
        self._set_bits = (self._sets - 1).bit_length()
        self._tag_bits = 32 - self._offset_bits - self._set_bits
        super().__init__({
            "lookup_valid": In(1),
            "lookup_pc": In(32),
            "hit": Out(1),
            "instruction": Out(32),
            "error": Out(1),
            "refill_valid": In(1),
            "refill_line": In(32 - self._offset_bits),
            "refill_data": In(config.line_bytes * 8),
            "refill_error": In(1),
            "invalidate": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address = data.StructLayout({"offset": self._offset_bits, "set": self._set_bits, "tag": self._tag_bits})
        lookup = Signal(address)
        refill = Signal(address)
        m.d.comb += [lookup.eq(self.lookup_pc), refill.eq(self.refill_line << self._offset_bits)]

        victim = Signal(self._ways)
        looked_up = Signal(address)
        m.d.sync += looked_up.eq(lookup)
        valid_row = self._valid_bits(m, lookup=lookup, refill=refill, victim=victim)
        hit_ways = self._compare_tags(m, lookup=lookup, looked_up=looked_up, refill=refill, victim=victim,
                                      valid_row=valid_row)
        self._replacement(m, looked_up=looked_up, hit_ways=hit_ways, refill=refill, victim=victim)
        m.d.comb += self.hit.eq(hit_ways.any())
        self._read_word(m, looked_up=looked_up, hit_ways=hit_ways, refill=refill, victim=victim)
        return m

    def _valid_bits(self, m: Module, *, lookup: data.View, refill: data.View, victim: Signal) -> Signal:
        """One flip-flop a line, so that all can be cleared at once; the row of the lookup's set, in its t+1."""
        row = Signal(self._ways)
        self._valid = [Signal(self._sets, name=f"valid_{way}") for way in range(self._ways)]
        for way, valid in enumerate(self._valid):
            following = Signal(self._sets, name=f"valid_{way}_following")
            written = Mux(self.refill_valid & victim[way], one_hot(refill.set, self._sets), 0)
            m.d.comb += following.eq(Mux(self.invalidate, 0, valid | written))
            m.d.sync += [valid.eq(following), row[way].eq(following.bit_select(lookup.set, 1))]
        return row

    def _compare_tags(self, m: Module, *, lookup: data.View, looked_up: data.View, refill: data.View, victim: Signal,
                      valid_row: Signal) -> Signal:
        width = self._tag_bits
        m.submodules.tags = tags = Memory(shape=width * self._ways, depth=self._sets, init=[])
        write = tags.write_port(granularity=width)
        read = tags.read_port(transparent_for=(write,))
        hit_ways = Signal(self._ways)
        m.d.comb += [
            write.addr.eq(refill.set),
            write.data.eq(Cat(refill.tag for _ in range(self._ways))),
            write.en.eq(Mux(self.refill_valid, victim, 0)),
            read.addr.eq(lookup.set),
            read.en.eq(self.lookup_valid),
            hit_ways.eq(Cat(
                valid_row[way] & (read.data.word_select(way, width) == looked_up.tag) for way in range(self._ways)
            )),
        ]
        return hit_ways

    def _replacement(self, m: Module, *, looked_up: data.View, hit_ways: Signal, refill: data.View,
                     victim: Signal) -> None:
        """LRU order per set: a lookup that hits and a refill each use their way; both may happen in one cycle.

        The order is not reset: it counts only once every way of the set has been filled, and so used, since.
        """
        ways = self._ways
        m.submodules.orders = orders = Memory(shape=lru_bits(ways), depth=self._sets, init=[])
        hit_order, refill_order = orders.read_port(domain="comb"), orders.read_port(domain="comb")
        hit_write, refill_write = orders.write_port(), orders.write_port()
        used_valid = Signal()
        m.d.sync += used_valid.eq(self.lookup_valid)
        hit, both = Signal(), Signal()
        touched = Signal(lru_bits(ways))
        occupied = Cat(valid.bit_select(refill.set, 1) for valid in self._valid)
        m.d.comb += [
            hit.eq(used_valid & hit_ways.any()),
            both.eq(hit & self.refill_valid & (looked_up.set == refill.set)),
            hit_order.addr.eq(looked_up.set),
            touched.eq(lru_touch(hit_order.data, encode(hit_ways), ways)),
            hit_write.addr.eq(looked_up.set),
            hit_write.data.eq(touched),
            hit_write.en.eq(hit & ~both),
            refill_order.addr.eq(refill.set),
            victim.eq(Mux(occupied.all(), lru_victim(refill_order.data, ways), lowest_one(~occupied))),
            refill_write.addr.eq(refill.set),
            # A refill adds its use to this cycle's hit in the same set, so that both count.
            refill_write.data.eq(lru_touch(Mux(both, touched, refill_order.data), encode(victim), ways)),
            refill_write.en.eq(self.refill_valid),
        ]

    def _read_word(self, m: Module, *, looked_up: data.View, hit_ways: Signal, refill: data.View,
                   victim: Signal) -> None:
        """t+1: the way is known, the line is addressed; t+2: the word is chosen; t+3: it is in a register."""
        line_bits = 8 << self._offset_bits
        m.submodules.lines = lines = Memory(shape=line_bits + 1, depth=self._sets * self._ways, init=[])
        write = lines.write_port()
        read = lines.read_port()
        word = Signal(self._offset_bits - 2)
        m.d.sync += word.eq(looked_up.offset[2:])
        m.d.comb += [
            write.addr.eq(Cat(refill.set, encode(victim))),
            write.data.eq(Cat(self.refill_data, self.refill_error)),
            write.en.eq(self.refill_valid),
            read.addr.eq(Cat(looked_up.set, encode(hit_ways))),
            read.en.eq(1),
        ]
        m.d.sync += [
            self.instruction.eq(read.data[:line_bits].word_select(word, 32)),
            self.error.eq(read.data[line_bits]),
        ]
