"""Stores on their way to memory, merged by line."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...config import LINE_NUMBER_BITS, SmConfig
from ...lib.block_memory import block_memory, registered_read
from ...lib.component import Component
from ...lib.onehot import encode, from_lowest, lowest_one, one_hot, or_all
from .entry_bytes import EntryBytes
from .match import Matches, entries_with_line
from .records import entry_bits, store_layout, store_request_layout
from .signatures import fill_signature, lookup_signature, mshrs_signature, write_buffer_signature
from .store_order import StoreOrder

__all__ = ["WriteBuffer"]


class WriteBuffer(Component):
    """One entry for a line with stores: its bytes, and the warps that wrote them, until memory has completed it.

    A store joins the entry of its line that has not been sent. If there is none, it creates a new entry. This entry is
    sent when all earlier accesses that it may not overtake are complete: entries of the same line, and loads' requests
    of that line. Memory, which may reorder, therefore sees the accesses to a line one after the other. Uncached stores
    never join, and all uncached lines count as one line.

    A store that arrives in cycle c is at ``request`` in c+2 if nothing delays it, one line per cycle; with a
    ``lookup_latency`` of 2 it is there in c+3, and ``covers`` is that of the cycle before. Then a line that arrives for
    the data cache delays the entry that would be at ``request`` next by a cycle. Entries that may
    be sent take turns. In each cycle, one store can arrive, one entry can be sent, and one can be completed. Reset:
    empty. May never happen: a store without ``ready``.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        self._early = config.lookup_latency > 1
        super().__init__({
            #: The access that is looked up: a store that enters, only while ``ready``, or a load that reads the
            #: youngest entry of its line. No read sees a store that enters in the same cycle.
            "lookup": In(lookup_signature(config)),
            #: With a new store: the warp to which a fault is attributed.
            "store": In(store_layout(config)),
            #: The MSHRs of its line: their answers must arrive before a new entry is sent. If an entry has the line, it
            #: must be the first to wait for them.
            "mshrs": In(mshrs_signature(config)),
            #: The MSHR of an arriving line, which an entry may wait for, the MSHR that has finished, and the completed
            #: entry.
            "fill": In(fill_signature(config)),
            "out": Out(write_buffer_signature(config)),  # for the access and for the line that has arrived
            #: The bytes of the entry that a load has read, from the next cycle on; 0 from the cycle after a load has
            #: read the cache.
            "forward_data": Out(8 * config.line_bytes),
            #: Lines to write to memory. Stable until taken.
            "request": Out(stream.Signature(store_request_layout(config))),
            #: The first store of the last completed entry, from the cycle after its completion.
            "completed_store": Out(store_layout(config)),
            #: The warps with stores in the write buffer.
            "pending": Out(config.warps),
            #: An entry is in use.
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, lookup, out = self.config.store_buffer, self.lookup, self.out
        line = lookup.held.part.line
        valid, sent, uncached = Signal(count), Signal(count), Signal(count)
        chosen, done, joined, made = (Signal(count, name=name) for name in ("chosen", "done", "joined", "made"))
        #: Not ``joins``: with a ``lookup_latency`` of 2 a register of its own, because each of the bytes needs it.
        self._begins = Signal(init=1)
        #: With a ``lookup_latency`` of 2 an entry ``waits`` to be read for memory. The bytes have one read port then
        #: (:class:`EntryBytes`): those for a line that ``arrives`` for the cache go first, and loads wait for both.
        self._waits: Value = Signal(name="waits") if self._early else Const(0, 1)
        self._arrives = self.fill.accepts & (self.config.dcache_bytes > 0)
        makes, full, ending = Signal(), Signal(), one_hot(self.fill.completed_number, count)
        lines = [Signal(LINE_NUMBER_BITS, name=f"line{number}") for number in range(count)]
        free, newest, target, peeked = (Signal(count, name=name) for name in ("free", "newest", "target", "peeked"))
        may_go, youngest = Signal(count), Signal(entry_bits(self.config))
        matches = entries_with_line(
            m, self.config, lookup, lines=lines, uncached=uncached, valid=valid, free=free, makes=makes,
            ending=ending, ends=self.fill.completed)
        same = matches.same
        # Signals, not expressions: a value used bit by bit would be written out again for each of its bits.
        m.d.comb += [
            free.eq(lowest_one(~valid)),
            target.eq(Mux(out.joins, joined, free)),
            youngest.eq(encode(newest)),
            makes.eq(lookup.write & ~out.joins),
            made.eq(Mux(makes, free, 0)),
            done.eq(Mux(self.fill.completed, ending, 0)),
            out.holds.eq(matches.some),
            out.ready.eq(out.joins | ~full),
            out.readable.eq(~(self._waits | self._arrives) if self._early else 1),
            self.busy.eq(valid.any()),
        ]
        m.d.sync += [valid.eq((valid & ~done) | made), sent.eq((sent | chosen) & ~made)]
        for number in range(count):
            with m.If(made[number]):
                m.d.sync += [lines[number].eq(line), uncached[number].eq(lookup.uncached)]
        # ``made`` comes late, so with a ``lookup_latency`` of 2 nothing that follows waits for it.
        place, begins = (encode(free), makes) if self._early else (encode(made), made.any())
        held_back, filling = self._order(m, made=made, makes=begins, place=place, youngest=youngest)
        m.d.comb += [may_go.eq(valid & ~sent & ~held_back), peeked.eq(filling)]
        read, chosen_now = self._send(m, may_go=may_go, chosen=chosen)
        if self._early:
            self._joining(m, matches, sent=sent, free=free, makes=makes, joined=joined)
            m.d.comb += newest.eq(Mux(out.joins, joined, same))
            m.d.sync += full.eq(~self.fill.completed & (full | (makes & (valid | free).all())))
        else:
            m.d.comb += [
                joined.eq(same & ~sent & ~chosen & ~lookup.uncached.replicate(count)),
                newest.eq(Mux((same & ~sent).any(), same & ~sent, same)),
                out.joins.eq(joined.any()), self._begins.eq(~out.joins), full.eq(valid.all()),
            ]
        self._warps(m, valid=valid, made=made, joined=joined)
        self._bytes(m, target=target, read=(read, chosen_now), peeked=peeked, youngest=youngest)
        self._firsts(m, makes=begins, place=place)
        return m

    def _joining(
        self, m: Module, matches: Matches, *, sent: Signal, free: Signal, makes: Value, joined: Signal
    ) -> None:
        """Find out a cycle ahead which entry a store joins: that of its line which has not been sent, if any.

        The bytes of an entry that is chosen are read in the next cycle, so a store may still join it. The entry of an
        uncached line is never joined.
        """
        lookup, comes, makes_it = self.lookup, self.lookup.comes, Signal()
        sends, turn, others_later, candidates = self._turn
        known, joins = Signal(name="known_joins"), Signal(name="joins_next")
        found = matches.found & ~sent & ~lookup.next_uncached.replicate(len(sent))
        same = matches.same & ~sent & ~lookup.uncached.replicate(len(sent))

        def stay(entries: Value) -> Value:
            left = [(entries & ~candidate).any() for candidate in candidates]
            return Mux(sends, Mux(others_later, left[0], left[1]), entries.any())

        # Late signals only select among values that are known earlier. Entries that end have been sent.
        m.d.comb += [
            makes_it.eq(lookup.follows & ~lookup.next_uncached),
            joins.eq((makes & makes_it) | Mux(comes, stay(found), stay(same))),
            self.out.joins.eq(known),
        ]
        m.d.sync += [
            known.eq(joins), self._begins.eq(~joins),
            joined.eq(Mux(makes, Mux(makes_it, free, 0), 0) | (Mux(comes, found, same) & ~Mux(sends, turn, 0))),
        ]

    def _order(self, m: Module, *, made: Signal, makes: Value, place: Value, youngest: Signal) -> tuple[Value, Value]:
        """The entries that must wait, and those that wait for the MSHR that memory answers."""
        m.submodules.order = order = StoreOrder(self.config)
        last_uncached = Signal.like(youngest)
        with m.If(makes & self.lookup.uncached):
            m.d.sync += last_uncached.eq(place)
        wiring.connect(m, wiring.flipped(self.mshrs), order.mshrs)
        wiring.connect(m, wiring.flipped(self.fill), order.fill)
        m.d.comb += [
            order.made.eq(made),
            order.makes.eq(makes),
            order.number.eq(place),
            order.behind.eq(self.out.holds),
            order.youngest.eq(youngest),
            order.last_uncached.eq(last_uncached),
            order.uncached.eq(self.lookup.uncached),
        ]
        return order.held_back, order.filling

    def _send(self, m: Module, *, may_go: Signal, chosen: Signal) -> tuple[Value, Value]:
        """Choose the next entry, in turn, once the one before has gone; it is at ``request`` one cycle later.

        With a ``lookup_latency`` of 2 there is a register between the choice and ``request``. Return the number of the
        entry whose bytes are read in this cycle, and whether one is read.
        """
        request = self.request
        last, later, turn = (Signal.like(chosen, name=name) for name in ("last", "later", "turn"))
        valid, number, sends = Signal(), Signal(entry_bits(self.config)), Signal()
        #: Whether an entry is chosen in this cycle, if one may go, and which one: one of two candidates.
        candidates = [lowest_one(later), lowest_one(may_go)]
        self._turn = sends, turn, later.any(), candidates
        behind = from_lowest(last) & ~last
        if self._early:
            # The same from a register of its own: the entries after the one that was chosen last.
            behind = Signal.like(chosen, name="behind")
            with m.If(sends & may_go.any()):
                m.d.sync += behind.eq(Mux(later.any(), from_lowest(later), from_lowest(may_go)) << 1)
        m.d.comb += [
            later.eq(may_go & behind),
            turn.eq(Mux(later.any(), *candidates)),
            sends.eq(~request.valid | request.ready),
            chosen.eq(Mux(sends, turn, 0)),
        ]
        m.d.comb += [request.valid.eq(valid), request.payload.number.eq(number)]
        read, reads = encode(chosen), chosen.any()
        if self._early:
            picked, waits = Signal.like(number), self._waits
            space = (~request.valid | request.ready) & ~self._arrives
            read, reads = picked, waits & space
            m.d.comb += sends.eq(~waits | space)
            with m.If(sends & may_go.any()):
                m.d.sync += [waits.eq(1), picked.eq(encode(turn))]
            with m.Elif(space):
                m.d.sync += waits.eq(0)
        with m.If(reads):
            m.d.sync += [valid.eq(1), number.eq(read)]
            if not self._early:
                m.d.sync += last.eq(chosen)
        with m.Elif(request.ready):
            m.d.sync += valid.eq(0)
        return read, reads

    def _warps(self, m: Module, *, valid: Signal, made: Signal, joined: Signal) -> None:
        """Track which warps have stores in which entry."""
        config = self.config
        warp = one_hot(self.store.warp, config.warps)
        waiting = []
        for number in range(config.store_buffer):
            warps = Signal(config.warps, name=f"warps{number}")
            with m.If(made[number]):
                m.d.sync += warps.eq(warp)
            with m.Elif(self.lookup.write & joined[number]):
                m.d.sync += warps.eq(warps | warp)
            waiting.append(Mux(valid[number], warps, 0))
        m.d.comb += self.pending.eq(or_all(waiting))

    def _firsts(self, m: Module, *, makes: Value, place: Value) -> None:
        """The first store of each entry."""
        layout = store_layout(self.config)
        m.submodules.firsts = firsts = block_memory(shape=layout, depth=self.config.store_buffer)
        write = firsts.write_port()
        m.d.comb += [write.addr.eq(place), write.data.eq(self.store), write.en.eq(makes)]
        m.d.comb += self.completed_store.as_value().eq(
            registered_read(m, firsts, address=self.fill.completed_number, enable=self.fill.completed, name="first")
        )

    def _bytes(
        self, m: Module, *, target: Signal, read: tuple[Value, Value], peeked: Signal, youngest: Signal
    ) -> None:
        """The entries' contents: line, data bytes, and which of them are set. ``read``: for the request, and when."""
        lookup, out, config = self.lookup, self.out, self.config
        held, payload = lookup.held, self.request.payload
        m.submodules.bytes = content = EntryBytes(config)
        m.submodules.lines = lines = block_memory(shape=LINE_NUMBER_BITS, depth=config.store_buffer)
        write_line, where = lines.write_port(), Signal.like(youngest)
        lacking = held.byte_mask & ~content.now_mask
        if self._early:
            words = Signal(config.words_per_line, name="lacking_words")
            m.d.sync += words.eq(Cat(lacking[start : start + 4].any() for start in range(0, config.line_bytes, 4)))
            lacking = words
        m.d.comb += [
            where.eq(encode(target)), out.covers.eq(lacking == 0),
            write_line.addr.eq(where), write_line.en.eq(lookup.write), write_line.data.eq(held.part.line),
            content.write.eq(lookup.write), content.place.eq(where), content.begins.eq(self._begins),
            content.mask.eq(held.byte_mask), content.data.eq(held.data),
            content.waits.eq(self._waits), content.send.eq(read[1]), content.sent_place.eq(read[0]),
            content.peek.eq(self._arrives), content.peeks.eq(peeked.any()), content.peeked_place.eq(encode(peeked)),
            content.forward.eq(lookup.forward), content.forwarded_place.eq(youngest), content.forget.eq(lookup.read),
            payload.line.eq(registered_read(m, lines, address=read[0], enable=read[1], name="sent_line")),
            payload.byte_mask.eq(content.sent_mask), payload.data.eq(content.sent_data),
            out.peek_mask.eq(content.peeked_mask), out.peek_data.eq(content.peeked_data),
            self.forward_data.eq(content.forwarded),
        ]
