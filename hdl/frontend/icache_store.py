"""Tags, data and replacement state of the instruction cache."""

from itertools import product

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..lib.lru import lru_bits, lru_touch, lru_victim
from ..lib.onehot import encode, one_hot

__all__ = ["ICacheStore"]

#: Words of a distributed memory (TRELLIS_DPR16X4 of ECP5).
_BANK = 16


class ICacheStore(wiring.Component):
    """A set-associative, LRU instruction store with fixed latencies and a lookup in every cycle.

    Lookup, for a pc presented in cycle t with ``lookup_valid``: ``hit`` in t+1 (meaningful only then), the word in
    ``instruction`` and ``error`` (its line came with an error) in t+3. ``error`` and the word mean nothing after a
    miss. Refill: ``refill_valid`` in cycle c writes the whole line; a lookup presented in c already hits it. The
    victim is the least recently used way of the set (one that holds nothing has not been used since it was emptied); a
    hit counts as a use for refills in its t+3 or later. A hit whose line is overwritten in its own t+1 still delivers
    the old word. ``invalidate`` in cycle c empties the store for lookups presented in c or later. Reset: empty.

    t: the pc goes into a register. t+1: tags and valid bits are read and compared, the way that hits addresses the
    line. t+2: the word is chosen; the hit is recorded as a use. t+3: the word is in a register. Tags and valid bits
    are read after the register, so that a refill in t needs no way around them.
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
        refill = Signal(address)
        looked_up = Signal(address)
        looking = Signal()
        m.d.comb += refill.eq(self.refill_line << self._offset_bits)
        m.d.sync += [looked_up.eq(self.lookup_pc), looking.eq(self.lookup_valid)]

        victim = Signal(self._ways)
        valid = self._valid_bits(m, refill=refill, victim=victim)
        hit_ways = self._compare_tags(m, looked_up=looked_up, refill=refill, victim=victim, valid=valid)
        self._replacement(m, looking=looking, looked_up=looked_up, hit_ways=hit_ways, refill=refill, victim=victim)
        m.d.comb += self.hit.eq(hit_ways.any())
        self._read_word(m, looked_up=looked_up, hit_ways=hit_ways, refill=refill, victim=victim)
        return m

    def _valid_bits(self, m: Module, *, refill: data.View, victim: Signal) -> list[Signal]:
        """For each way one flip-flop a set, so that all can be cleared at once."""
        valid = [Signal(self._sets, name=f"valid_{way}") for way in range(self._ways)]
        for way, bits in enumerate(valid):
            with m.If(self.invalidate):
                m.d.sync += bits.eq(0)
            with m.Elif(self.refill_valid & victim[way]):
                m.d.sync += bits.eq(bits | one_hot(refill.set, self._sets))
        return valid

    def _compare_tags(self, m: Module, *, looked_up: data.View, refill: data.View, victim: Signal,
                      valid: list[Signal]) -> Signal:
        """t+1: the way whose tag is that of the lookup, one-hot, or 0.

        Tags are in banks of as many sets as one distributed memory of an FPGA has words, and every bank compares its
        own: the bank is chosen among single bits, not among tags.
        """
        depth = min(_BANK, self._sets)
        banks = self._sets // depth
        bits = (depth - 1).bit_length()
        chosen, written = Signal(banks), Signal(banks)
        found = Signal(data.ArrayLayout(banks, self._ways))
        m.d.comb += [
            chosen.eq(one_hot(looked_up.set[bits:], banks)),
            written.eq(Mux(self.refill_valid, one_hot(refill.set[bits:], banks), 0)),
        ]
        for way, bank in product(range(self._ways), range(banks)):
            m.submodules[f"tags_{way}_{bank}"] = tags = Memory(shape=self._tag_bits, depth=depth, init=[])
            write, read = tags.write_port(), tags.read_port(domain="comb")
            holds = valid[way][bank * depth : (bank + 1) * depth].bit_select(looked_up.set[:bits], 1)
            m.d.comb += [
                write.addr.eq(refill.set[:bits]),
                write.data.eq(refill.tag),
                write.en.eq(written[bank] & victim[way]),
                read.addr.eq(looked_up.set[:bits]),
                found[way][bank].eq(chosen[bank] & holds & (read.data == looked_up.tag)),
            ]
        hit_ways = Signal(self._ways)
        m.d.comb += hit_ways.eq(Cat(found[way].any() for way in range(self._ways)))
        return hit_ways

    def _replacement(self, m: Module, *, looking: Signal, looked_up: data.View, hit_ways: Signal, refill: data.View,
                     victim: Signal) -> None:
        """LRU order per set: a lookup that hits and a refill each use their way; both may happen in one cycle.

        An order is the exclusive or of two words, in two memories: one is written by hits, the other by refills, so
        each has one write port. The order is not reset: ways without a line are older than all others in it whatever
        the ways held before.
        """
        ways = self._ways
        bits = lru_bits(ways)
        used = Signal(ways)
        used_set = Signal(self._set_bits)
        m.d.sync += [used.eq(Mux(looking, hit_ways, 0)), used_set.eq(looked_up.set)]
        sets = {"used": used_set, "filled": refill.set}
        writes, words = {}, {}
        for name in sets:
            m.submodules[f"order_{name}"] = memory = Memory(shape=bits, depth=self._sets, init=[])
            writes[name] = memory.write_port()
            for of, address in sets.items():
                read = memory.read_port(domain="comb")
                m.d.comb += read.addr.eq(address)
                words[name, of] = read.data
        both = Signal()
        order = {of: Signal(bits, name=f"order_of_{of}") for of in sets}
        touched = Signal(bits)
        m.d.comb += [
            order[of].eq(words["used", of] ^ words["filled", of]) for of in sets
        ]
        m.d.comb += [
            both.eq(used.any() & self.refill_valid & (used_set == refill.set)),
            touched.eq(lru_touch(order["used"], used, ways)),
            victim.eq(lru_victim(order["filled"], ways)),
            writes["used"].addr.eq(used_set),
            writes["used"].data.eq(touched ^ words["filled", "used"]),
            writes["used"].en.eq(used.any() & ~both),
            writes["filled"].addr.eq(refill.set),
            # A refill adds its use to this cycle's hit in the same set, so that both count.
            writes["filled"].data.eq(
                lru_touch(Mux(both, touched, order["filled"]), victim, ways) ^ words["used", "filled"]
            ),
            writes["filled"].en.eq(self.refill_valid),
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
