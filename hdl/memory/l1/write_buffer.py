"""Stores on their way to memory, merged by line."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import LINE_NUMBER_BITS, SmConfig
from ...lib.component import Component
from ...lib.lane_vectors import pick
from ...lib.onehot import encode, from_lowest, lowest_one, one_hot, or_all
from .records import entry_bits, mshr_bits, store_layout, store_request_layout

__all__ = ["WriteBuffer"]


class WriteBuffer(Component):
    """One entry for a line with stores: its bytes, and the warps that wrote them, until memory has completed it.

    A store joins the entry of its line that has not been sent. If there is none it makes one, which is sent when all
    that may not be overtaken is over: entries of the same line, and the loads' line requests in ``waits_for``. So
    memory, which may reorder, sees the accesses to a line one after the other. Uncached stores never join, and all
    uncached lines count as one line.

    A store that comes in cycle c is at ``request`` in c+2 when nothing is in the way, one line a cycle; entries that
    may be sent take turns. One store comes, one entry goes and one is completed in every cycle. Reset: empty. May never
    happen: ``write`` without ``ready``, ``forward`` and ``overlay`` in one cycle.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        line = 8 * config.line_bytes
        super().__init__({
            #: The line of the access that is looked up. From the lookup stage.
            "line": In(LINE_NUMBER_BITS),
            #: That access is uncached.
            "uncached": In(1),
            #: The bytes that it touches.
            "byte_mask": In(config.line_bytes),
            #: Combinational: an entry has the line.
            "holds": Out(1),
            #: Combinational: the youngest such entry has all of the bytes.
            "covers": Out(1),
            #: Combinational: there is room for a store of the line.
            "ready": Out(1),
            #: Combinational: such a store would join an entry.
            "joins": Out(1),
            #: The access is a store and comes in; only while ``ready``.
            "write": In(1),
            #: With ``write``: its bytes, in their place in the line.
            "data": In(line),
            #: With ``write``: to whom a fault is laid.
            "store": In(store_layout(config)),
            #: With ``write``: the MSHRs whose lines must come before a new entry is sent, one bit each.
            "waits_for": In(config.line_requests),
            #: Look up the youngest entry of ``line``, but for a store that comes in this cycle. From the lookup stage.
            "forward": In(1),
            #: Look up the entry that waits for the MSHR ``answered``, but for such a store. From the fill stage.
            "overlay": In(1),
            #: The MSHR that memory answers.
            "answered": In(mshr_bits(config)),
            #: The bytes of the entry that was looked up, 0 if there was none; from the next cycle to the next look-up.
            "peek_mask": Out(config.line_bytes),
            #: Those bytes.
            "peek_data": Out(line),
            #: Lines to be written to memory. Stable until taken.
            "request": Out(stream.Signature(store_request_layout(config))),
            #: An MSHR is done. From the fill stage.
            "filled": In(1),
            #: With ``filled``: its number.
            "filled_number": In(mshr_bits(config)),
            #: Memory has completed an entry: it is free from the next cycle on. From the fill stage.
            "completed": In(1),
            #: With ``completed``: its number.
            "completed_number": In(entry_bits(config)),
            #: Combinational, of ``completed_number``: the first store of the entry.
            "completed_store": Out(store_layout(config)),
            #: One bit a warp: it has stores in here.
            "pending": Out(config.warps),
            #: An entry is taken.
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = self.config.store_buffer
        valid, sent, uncached = Signal(count), Signal(count), Signal(count)
        chosen, done, same, joined, made = (Signal(count, name=name) for name in (
            "chosen", "done", "same", "joined", "made"))
        lines = [Signal(LINE_NUMBER_BITS, name=f"line{number}") for number in range(count)]
        free, newest, target, peeked = (Signal(count, name=name) for name in ("free", "newest", "target", "peeked"))
        may_go = Signal(count)
        equal = Cat(lines[number] == self.line for number in range(count))
        # Signals, not expressions: what is used bit by bit would be written out again for each of its bits.
        m.d.comb += [
            free.eq(lowest_one(~valid)),
            target.eq(Mux(self.joins, joined, free)),
            same.eq(valid & (equal | (uncached & self.uncached.replicate(count)))),
            newest.eq(Mux((same & ~sent).any(), same & ~sent, same)),
            joined.eq(same & ~sent & ~chosen & ~self.uncached.replicate(count)),
            made.eq(Mux(self.write & ~self.joins, free, 0)),
            done.eq(Mux(self.completed, one_hot(self.completed_number, count), 0)),
            self.holds.eq(same.any()),
            self.joins.eq(joined.any()),
            self.ready.eq(self.joins | ~valid.all()),
            self.busy.eq(valid.any()),
        ]
        m.d.sync += [valid.eq((valid & ~done) | made), sent.eq((sent | chosen) & ~made)]
        for number in range(count):
            with m.If(made[number]):
                m.d.sync += [lines[number].eq(self.line), uncached[number].eq(self.uncached)]
        held_back, filling = self._order(m, made=made, same=same, done=done)
        m.d.comb += [may_go.eq(valid & ~sent & ~held_back), peeked.eq(Mux(self.overlay, filling, newest))]
        self._send(m, may_go=may_go, chosen=chosen, lines=lines)
        self._warps(m, valid=valid, made=made, joined=joined)
        self._bytes(m, target=target, chosen=chosen, peeked=peeked, newest=newest)
        return m

    def _order(self, m: Module, *, made: Signal, same: Signal, done: Signal) -> tuple[Value, Value]:
        """The entries that must wait, and those that wait for the MSHR ``answered``."""
        count, requests = self.config.store_buffer, self.config.line_requests
        filled = Signal(requests)
        m.d.comb += filled.eq(Mux(self.filled, one_hot(self.filled_number, requests), 0))
        held_back, filling = [], []
        for number in range(count):
            after = Signal(count, name=f"after{number}")
            loads = Signal(requests, name=f"loads{number}")
            m.d.sync += [
                after.eq(Mux(made[number], same, after) & ~done),
                loads.eq(Mux(made[number], self.waits_for, loads) & ~filled),
            ]
            held_back.append(after.any() | loads.any())
            filling.append(pick(list(loads), self.answered))
        return Cat(held_back), Cat(filling)

    def _send(self, m: Module, *, may_go: Signal, chosen: Signal, lines: list[Signal]) -> None:
        """Choose the next entry, in turn, when the one before has gone; it is at ``request`` one cycle later."""
        request = self.request
        last, later = Signal.like(chosen), Signal.like(chosen)
        m.d.comb += [
            later.eq(may_go & from_lowest(last) & ~last),
            chosen.eq(Mux(~request.valid | request.ready, Mux(later.any(), lowest_one(later), lowest_one(may_go)), 0)),
        ]
        valid, number, line = Signal(), Signal.like(request.payload.number), Signal(LINE_NUMBER_BITS, name="sent_line")
        with m.If(chosen.any()):
            m.d.sync += [
                valid.eq(1), last.eq(chosen), number.eq(encode(chosen)), line.eq(pick(lines, encode(chosen))),
            ]
        with m.Elif(request.ready):
            m.d.sync += valid.eq(0)
        m.d.comb += [request.valid.eq(valid), request.payload.number.eq(number), request.payload.line.eq(line)]

    def _warps(self, m: Module, *, valid: Signal, made: Signal, joined: Signal) -> None:
        """Whose stores are in which entry, and the first of each."""
        config = self.config
        warp = one_hot(self.store.warp, config.warps)
        waiting, stores = [], []
        for number in range(config.store_buffer):
            warps = Signal(config.warps, name=f"warps{number}")
            first = Signal(store_layout(config), name=f"first{number}")
            with m.If(made[number]):
                m.d.sync += [warps.eq(warp), first.eq(self.store)]
            with m.Elif(self.write & joined[number]):
                m.d.sync += warps.eq(warps | warp)
            waiting.append(Mux(valid[number], warps, 0))
            stores.append(first.as_value())
        m.d.comb += [
            self.pending.eq(or_all(waiting)), self.completed_store.eq(pick(stores, self.completed_number)),
        ]

    def _bytes(self, m: Module, *, target: Signal, chosen: Signal, peeked: Signal, newest: Signal) -> None:
        """The memories: bytes of data, and which of them are set."""
        config, payload = self.config, self.request.payload
        m.submodules.data = lines = Memory(
            shape=data.ArrayLayout(8, config.line_bytes), depth=config.store_buffer, init=[]
        )
        m.submodules.masks = masks = Memory(shape=config.line_bytes, depth=config.store_buffer, init=[])
        write, write_mask = lines.write_port(granularity=1), masks.write_port()
        now = masks.read_port(domain="comb")
        where, which = Signal.like(payload.number), Signal.like(payload.number)
        m.d.comb += [
            where.eq(encode(target)), which.eq(encode(newest)),
            write.addr.eq(where), write.data.as_value().eq(self.data), write.en.eq(Mux(self.write, self.byte_mask, 0)),
            now.addr.eq(which), self.covers.eq((self.byte_mask & ~now.data) == 0),
            write_mask.addr.eq(where), write_mask.en.eq(self.write),
            write_mask.data.eq(self.byte_mask | Mux(self.joins, now.data, 0)),
        ]
        any_peeked, peek = Signal(), self.forward | self.overlay
        with m.If(peek):
            m.d.sync += any_peeked.eq(peeked.any())
        for memory, send_to, peek_to in (
            (lines, payload.data, self.peek_data), (masks, payload.byte_mask, self.peek_mask),
        ):
            send, look = memory.read_port(), memory.read_port()
            m.d.comb += [
                send.addr.eq(encode(chosen)), send.en.eq(chosen.any()), send_to.eq(send.data),
                look.addr.eq(encode(peeked)), look.en.eq(peek),
            ]
            seen = Value.cast(look.data)
            m.d.comb += peek_to.eq(Mux(any_peeked, seen, 0) if memory is masks else seen)
