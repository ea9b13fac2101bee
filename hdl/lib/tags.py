"""Tags and replacement state of a set-associative cache."""

from __future__ import annotations

from itertools import product

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Member, Out

from .component import Component
from .lru import lru_bits, lru_touch, lru_victim
from .onehot import one_hot, or_all

__all__ = ["BANK", "CacheTags"]

#: Words of a distributed memory (TRELLIS_DPR16X4 of ECP5).
BANK = 16


class CacheTags(Component):
    """The tags of each way and set, and the way to be replaced next.

    One lookup and one fill in every cycle. Reset: empty. May never happen: ``fill`` with a tag that its set already
    holds.

    Parameters
    ----------
    ways, sets
        Powers of two; at least two sets.
    tag_bits
        Width of a tag. The user chooses which addresses share a set; set and tag together name a line.
    ahead
        ``set`` and ``tag`` come a cycle before the lookup, with ``comes``; ``hit`` is then registered, and follows the
        fills.
    apart
        Whether the comparison is a module of its own, ``comparison``, which synthesis maps by itself
        (``sim/fpga/synth/flow.py``). Nothing else depends on it.
    """

    def __init__(self, *, ways: int, sets: int, tag_bits: int, ahead: bool = False, apart: bool = False) -> None:
        self._ahead = ahead
        self._apart = apart
        members: dict[str, Member] = {}
        self._ways = ways
        self._sets = sets
        self._tag_bits = tag_bits
        set_bits = (sets - 1).bit_length()
        if ahead:
            members = {
                "comes": In(1),  # the lookup in the next cycle is that of ``set`` and ``tag``, else the same again
                "fill_comes": In(1),  # ``fill_set`` in the next cycle is ``fill_next_set``, else the same again
                "fill_next_set": In(set_bits),  # with ``fill_comes``: the set of the next fill
            }
        super().__init__({
            **members,
            #: The set that is looked up, once for each way, all of one value: where the path is tight, several
            #: registers drive them.
            "set": In(data.ArrayLayout(set_bits, ways)),
            #: The tag to look up in the set.
            "tag": In(tag_bits),
            #: Combinational: a way holds the tag.
            "hit": Out(1),
            #: Combinational, one-hot or 0: the way that holds it; later than ``hit``.
            "hit_ways": Out(ways),
            #: The hit counts as a use of its way, for victims chosen two cycles later or later.
            "use": In(1),
            #: ``victim`` of ``fill_set`` holds ``fill_tag`` from the next cycle on; this counts as a use.
            "fill": In(1),
            #: The set of ``victim``, which ``fill`` writes.
            "fill_set": In(set_bits),
            #: The tag that ``fill`` writes.
            "fill_tag": In(tag_bits),
            #: Combinational, one-hot: the least recently used way of ``fill_set``. One that holds nothing has not been
            #: used since it was emptied.
            "victim": Out(ways),
            #: A register and ``fill_set``: that set was used in the cycle before, which ``victim`` does not include.
            "recent": Out(1),
            #: From the next cycle on the tags are empty, including a line filled in this cycle.
            "invalidate": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner = m
        if self._apart:
            m.submodules.comparison = inner = Module()
        self._compare(m, inner, oldest=self._replacement(m))
        return m

    def _compare(self, m: Module, inner: Module, *, oldest: Value) -> None:
        """Find the way that holds the tag, and the one that a fill takes: ``oldest`` if its set was filled.

        ``inner``: the module that compares.

        One flip-flop per set records whether it has been filled since all was emptied. Before that, its ways hold
        nothing, whatever their memories contain. The first fill writes its tag into all ways, and its line is in way 0,
        which has priority over the others: those are filled before way 0 is used again, as they have been used less
        recently. So no tag needs a valid bit.

        Tags are in banks with as many sets as one distributed memory of an FPGA has words, and every bank compares its
        own: the bank is selected among single bits, not among tags.
        """
        depth = min(BANK, self._sets)
        banks = self._sets // depth
        bits = (depth - 1).bit_length()
        used, chosen, written, first = Signal(self._sets), Signal(banks), Signal(banks), Signal()
        matches = Signal(data.ArrayLayout(banks, self._ways))
        with m.If(self.invalidate):
            m.d.sync += used.eq(0)
        with m.Elif(self.fill):
            m.d.sync += used.eq(used | one_hot(self.fill_set, self._sets))
        m.d.comb += [
            first.eq(~self._filled(m, used)),
            self.victim.eq(Mux(first, 1, oldest)),
            written.eq(Mux(self.fill, one_hot(self.fill_set[bits:], banks), 0)),
        ]
        inner.d.comb += [
            chosen.eq(one_hot(self.set[0][bits:], banks) & Cat(
                used[bank * depth : (bank + 1) * depth].bit_select(self.set[0][:bits], 1) for bank in range(banks)
            )),
        ]
        for way, bank in product(range(self._ways), range(banks)):
            inner.submodules[f"tags_{way}_{bank}"] = tags = Memory(shape=self._tag_bits, depth=depth, init=[])
            write, read = tags.write_port(), tags.read_port(domain="comb")
            m.d.comb += write.en.eq(written[bank] & (self.victim[way] | first))
            inner.d.comb += [
                write.addr.eq(self.fill_set[:bits]),
                write.data.eq(self.fill_tag),
                read.addr.eq(self.set[way][:bits]),
                matches[way][bank].eq(chosen[bank] & (read.data == self.tag)),
            ]
        hits: list[Value] = [matches[way].any() for way in range(self._ways)]
        if self._apart:
            found = Signal(self._ways)
            inner.d.comb += found.eq(Cat(hits))
            hits = list(found)
        if self._ahead:
            hits = self._registered(m, hits, filled=[self.victim[way] | first for way in range(self._ways)])
        (m if self._ahead else inner).d.comb += self.hit.eq(or_all(hits))
        m.d.comb += self.hit_ways.eq(Cat(hits[0], *(hit & ~hits[0] for hit in hits[1:])))

    def _registered(self, m: Module, found: list[Value], *, filled: list[Value]) -> list[Value]:
        """The ways that hold the tag of this cycle's lookup, from those ``found`` for the next one.

        ``filled``: the ways of ``fill_set`` that ``fill`` writes.
        """
        same = Signal(self._ways, name="hits")
        tag = Signal(self._tag_bits, name="now_tag")
        in_next, in_now, next_tag, own_tag = (
            Signal(name=name) for name in ("in_next", "in_now", "next_tag", "own_tag"))
        m.d.comb += [
            in_next.eq(self.fill & (self.fill_set == self.set[0])), next_tag.eq(self.fill_tag == self.tag),
            in_now.eq(self.fill & (self.fill_set == self._now_set)), own_tag.eq(self.fill_tag == tag),
        ]
        with m.If(self.comes):
            m.d.sync += tag.eq(self.tag)
        for way in range(self._ways):
            m.d.sync += same[way].eq(Mux(
                self.comes, Mux(in_next & filled[way], next_tag, found[way]),
                Mux(in_now & filled[way], own_tag, same[way]),
            ))
        return list(same)

    def _filled(self, m: Module, used: Signal) -> Value:
        """Whether ``fill_set`` is ``used``; if ``ahead``, half of the choice is made in the cycle before."""
        if not self._ahead:
            return used.bit_select(self.fill_set, 1)
        low = (len(self.fill_set) + 1) // 2
        rows, just = Signal(self._sets >> low, name="rows"), Signal(name="just_filled")
        with m.If(self.fill_comes):
            m.d.sync += [
                rows.eq(Cat(used[row << low : (row + 1) << low].bit_select(self.fill_next_set[:low], 1)
                            for row in range(len(rows)))),
                just.eq(self.fill & (self.fill_set == self.fill_next_set)),
            ]
        with m.Elif(self.fill):
            m.d.sync += just.eq(1)
        with m.If(self.invalidate):
            m.d.sync += [rows.eq(0), just.eq(0)]
        return just | rows.bit_select(self.fill_set[low:], 1)

    def _replacement(self, m: Module) -> Value:
        """The way of ``fill_set`` to be replaced next, one-hot.

        LRU order per set: a hit that is used and a fill each count as a use of their way; both may happen in one cycle.

        An order is the exclusive or of two words in two memories: hits write one and fills the other, so each has one
        write port. The order is not reset: ways without a line are older than all others in it, whatever the ways held
        before.
        """
        ways = self._ways
        bits = lru_bits(ways)
        used = Signal(ways)
        used_set = Signal.like(self.fill_set)
        self._now_set: Value = self.set[0]
        if self._ahead:
            self._now_set = Signal.like(self.fill_set, name="now_set")
            with m.If(self.comes):
                m.d.sync += self._now_set.eq(self.set[0])
        m.d.sync += [used.eq(Mux(self.use, self.hit_ways, 0)), used_set.eq(self._now_set)]
        sets = {"used": used_set, "filled": self.fill_set}
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
            self.recent.eq(used.any() & (used_set == self.fill_set)),
            both.eq(self.recent & self.fill),
            touched.eq(lru_touch(order["used"], used, ways)),
            writes["used"].addr.eq(used_set),
            writes["used"].data.eq(touched ^ words["filled", "used"]),
            writes["used"].en.eq(used.any() & ~both),
            writes["filled"].addr.eq(self.fill_set),
            # A fill adds its use to this cycle's hit in the same set, so that both count.
            writes["filled"].data.eq(
                lru_touch(Mux(both, touched, order["filled"]), self.victim, ways) ^ words["used", "filled"]
            ),
            writes["filled"].en.eq(self.fill),
        ]
        return lru_victim(order["filled"], ways)
