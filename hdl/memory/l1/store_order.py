"""The order of stores: the entries and loads that each entry of the write buffer waits for."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...lib.component import Component
from ...lib.lane_vectors import pick
from ...lib.onehot import encode, one_hot
from .records import entry_bits
from .signatures import fill_signature, mshrs_signature

__all__ = ["StoreOrder"]


class StoreOrder(Component):
    """The entries of the write buffer that may not be sent yet, as an older entry of their line or loads must complete.

    At most one entry waits for another one: a cached line has at most two, and each uncached one waits for the one
    before it. An older entry's number therefore identifies the one that waits for it. With a data cache, a line has at
    most one request, so an MSHR's number does, too. Without a data cache an entry may wait for several requests.

    An entry made in cycle c waits from c+1 on, at most until the cycle in which ``fill`` reports that the entry or
    request it waits for is complete. Reset: no entry waits.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        self._early = config.lookup_latency > 1
        super().__init__({
            #: One-hot or 0: the entry that is made in this cycle.
            "made": In(config.store_buffer),
            #: An entry is made in this cycle.
            "makes": In(1),
            #: With ``makes``: its number.
            "number": In(entry_bits(config)),
            #: With ``made``: its line has an entry already.
            "behind": In(1),
            #: With ``behind``: the number of the youngest such entry, if the line is cached.
            "youngest": In(entry_bits(config)),
            #: The same if it is ``uncached``.
            "last_uncached": In(entry_bits(config)),
            "uncached": In(1),  # the line is uncached
            #: The MSHRs whose lines must arrive before the new entry may be sent; ignored with ``behind``, because the
            #: older entry waits for them.
            "mshrs": In(mshrs_signature(config)),
            "fill": In(fill_signature(config)),  # the completed entry and MSHR, and the MSHR that is answered
            #: Registered: the entries that must wait.
            "held_back": Out(config.store_buffer),
            #: Combinational: the entries that wait for the MSHR that is answered.
            "filling": Out(config.store_buffer),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        behind_load = self._loads(m) if self.config.dcache_bytes else self._many_loads(m)
        m.d.comb += self.held_back.eq(self._stores(m) | behind_load)
        return m

    def _stores(self, m: Module) -> Signal:
        """The entries that wait for an older entry."""
        count = self.config.store_buffer
        waits, freed, last, follows = Signal(count), Signal(count), Signal(count), Signal()
        done = self.fill.completed_number
        youngest = Mux(self.uncached, self.last_uncached, self.youngest)
        over = self.fill.completed & (done == youngest)
        if self._early:
            over = self.fill.completed & Mux(self.uncached, done == self.last_uncached, done == self.youngest)
        starts = self.makes & self.behind & ~over
        m.d.comb += [
            last.eq(Mux(follows if self._early else starts, one_hot(youngest, count), 0)),
            follows.eq(starts if self._early else last.any()),
        ]
        m.d.comb += freed.eq(self._followers(
            m, "behind_store", last=last, follows=follows, address=youngest if self._early else encode(last),
            over=self.fill.completed, number=done, forget=self.made,
        )[0])
        m.d.sync += waits.eq((waits & ~freed) | Mux(follows, self.made, 0))
        return waits

    def _loads(self, m: Module) -> Signal:
        """The entries that wait for a load, if a line has at most one request."""
        waits, freed = (Signal(self.config.store_buffer, name=name) for name in ("waits_for_load", "freed_by_load"))
        filled, awaited = Signal(self.config.line_requests), Signal(self.config.line_requests)
        follows = Signal(name="follows_load")
        address, starts = encode(awaited), self.makes & ~self.behind
        if self._early:
            address = encode(self.mshrs.same)
        m.d.comb += [
            # With a ``lookup_latency`` of 2 the end of a request selects among what is known before.
            follows.eq(awaited.any() if not self._early else starts & Mux(
                self.fill.release, (self.mshrs.same & ~one_hot(self.fill.filled, len(filled))).any(),
                self.mshrs.same.any())),
            filled.eq(Mux(self.fill.release, one_hot(self.fill.filled, self.config.line_requests), 0)),
            awaited.eq(Mux(follows, self.mshrs.same, 0) if self._early else Mux(starts, self.mshrs.same & ~filled, 0)),
        ]
        followers = self._followers(
            m, "behind_load", last=awaited, follows=follows, address=address, over=self.fill.release,
            number=self.fill.filled, forget=filled, also=self.fill.asked,
        )
        m.d.comb += [freed.eq(followers[0]), self.filling.eq(followers[1])]
        m.d.sync += waits.eq((waits & ~freed) | Mux(follows, self.made, 0))
        return waits

    def _followers(self, m: Module, name: str, *, last: Signal, follows: Value, address: Value, over: Value,
                   number: Value, forget: Value, also: Value | None = None) -> list[Value]:
        """If it ``follows``, make the new entry the follower of ``last``, one-hot, whose number is ``address``.

        Returns the entry that follows ``number``, one-hot, if that is ``over``, and the one that follows ``also``. An
        entry whose bit of ``forget`` is set has no follower from the next cycle on.
        """
        count, followed = self.config.store_buffer, Signal(len(last), name=f"{name}_followed")
        m.submodules[name] = numbers = Memory(shape=entry_bits(self.config), depth=len(last), init=[])
        write = numbers.write_port()
        m.d.comb += [write.addr.eq(address), write.data.eq(self.number), write.en.eq(follows)]
        m.d.sync += followed.eq((followed & ~forget) | last)
        found: list[Value] = []
        for now, whose in ((over, number), *([] if also is None else [(1, also)])):
            read = numbers.read_port(domain="comb")
            m.d.comb += read.addr.eq(whose)
            found.append(Mux(now & followed.bit_select(whose, 1), one_hot(read.data, count), 0))
        return found

    def _many_loads(self, m: Module) -> Value:
        """The entries that wait for loads, possibly several each."""
        count, requests = self.config.store_buffer, self.config.line_requests
        filled = Signal(requests)
        m.d.comb += filled.eq(Mux(self.fill.release, one_hot(self.fill.filled, requests), 0))
        waits, filling = [], []
        for number in range(count):
            loads = Signal(requests, name=f"loads{number}")
            m.d.sync += loads.eq(Mux(self.made[number], self.mshrs.same, loads) & ~filled)
            waits.append(loads.any())
            filling.append(pick(list(loads), self.fill.asked))
        m.d.comb += self.filling.eq(Cat(filling))
        return Cat(waits)
