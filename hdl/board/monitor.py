"""The monitor on the serial line: takes requests to read and write words, and answers them (docs/board.md)."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..lib.component import Component
from .protocol import CRC_START, FILL_WORDS, HEADER_BYTES, MAX_WORDS, Flag, Mark, Space, crc_step

__all__ = ["Monitor"]


class Monitor(Component):
    """Answers one request after the other; if a request is damaged, it asks for it again.

    A word for memory is written as soon as it arrives. A word for a register, or one that fills memory, is the only one
    of its request and is written only after its CRC was right. If a request is damaged, or no byte comes for
    ``patience`` cycles in the middle of it, the rest is dropped, and everything that comes before a silence of that
    length is ignored. Reset: it waits for a request.

    ``valid`` and the signals that belong to it stay until ``done``, which may come in the same cycle.

    Raises
    ------
    ValueError
        For a patience below 1.
    """

    def __init__(self, patience: int) -> None:
        if patience < 1:
            raise ValueError(f"patience must be at least 1, not {patience!r}")
        self._patience = patience
        super().__init__({
            "received": In(stream.Signature(8)),  # the bytes of the host
            "sent": Out(stream.Signature(8)),  # the bytes for it
            "valid": Out(1),  # a word is accessed
            "write": Out(1),  # with ``valid``: it is written
            "space": Out(Space),  # with ``valid``: its address space
            "address": Out(30),  # with ``valid``: its byte address divided by 4
            "data": Out(32),  # with ``valid``: the data to write
            "done": In(1),  # the access is done
            "read": In(32),  # with ``done``: the data read
            "error": In(1),  # with ``done``: there is no such word
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._crc, self._left = Signal(16, init=CRC_START), Signal(range(HEADER_BYTES + 1))
        self._words, self._header = Signal(range(MAX_WORDS * FILL_WORDS)), Signal(8 * HEADER_BYTES)
        self._flags, self._mark = Signal(8), Signal(8)
        self._silence = silence = Signal(range(self._patience + 1))
        self._broken = Signal()  # silence has ended the request, if there was one
        operation, count, address = self._header[:8], self._header[8:16], self._header[16:48]
        self._is_write, self._is_late = Signal(), Signal()  # late: the CRC is looked at before
        m.d.comb += [
            self._is_write.eq(operation[2]), self.write.eq(self._is_write), self.space.eq(operation[:2]),
            self._broken.eq(silence == self._patience),
        ]
        with m.If(self.received.valid):
            m.d.sync += silence.eq(0)
        with m.Elif(~self._broken):
            m.d.sync += silence.eq(silence + 1)
        with m.FSM():
            self._request(m, operation, count, address)
            self._data(m)
            self._answer(m)
        return m

    def _take(self, m: Module) -> Value:
        """Take a byte if there is one in this cycle; return whether there is."""
        m.d.comb += self.received.ready.eq(1)
        with m.If(self.received.valid):
            m.d.sync += [self._crc.eq(crc_step(self._crc, self.received.payload)), self._left.eq(self._left - 1)]
        return self.received.valid

    def _give(self, m: Module, byte: Value, crc: bool = True) -> Value:
        """Send a byte as soon as possible; return whether it goes out in this cycle."""
        m.d.comb += [self.sent.valid.eq(1), self.sent.payload.eq(byte)]
        with m.If(self.sent.ready):
            m.d.sync += self._left.eq(self._left - 1)
            m.d.sync += self._crc.eq(crc_step(self._crc, byte) if crc else self._crc << 8)
        return self.sent.ready

    def _end(self, m: Module, mark: Mark) -> None:
        """Answer with this mark."""
        m.d.sync += [self._mark.eq(mark), self._crc.eq(CRC_START)]
        m.next = "MARK"

    def _unless_broken(self, m: Module) -> None:
        with m.If(self._broken):
            m.d.sync += self._flags.eq(0)
            self._end(m, Mark.REPEAT)

    def _request(self, m: Module, operation: Value, count: Value, address: Value) -> None:
        """Mark and header."""
        fill, to_memory, words = operation[3], self.space == Space.MEMORY, Signal(range(1, MAX_WORDS + 1))
        late = Mux(fill, to_memory & self._is_write, (self.space == Space.REGISTERS) & self._is_write & (count == 1))
        refused = (operation[4:] != 0) | Mux(fill | (self._is_write & ~to_memory), ~late, 0)
        m.d.comb += words.eq(Mux(count == 0, MAX_WORDS, count))
        with m.State("WAIT"):
            m.d.comb += self.received.ready.eq(1)
            m.d.sync += [
                self._crc.eq(crc_step(Const(CRC_START, 16), self.received.payload)), self._left.eq(HEADER_BYTES - 1),
                self._flags.eq(0),
            ]
            with m.If(self.received.valid & (self.received.payload == Mark.REQUEST)):
                m.next = "HEADER"
        with m.State("HEADER"):
            with m.If(self._take(m)):
                m.d.sync += self._header.eq(Cat(self._header[8:], self.received.payload))
                with m.If(self._left == 0):
                    m.next = "LOOK"
            self._unless_broken(m)
        with m.State("LOOK"):
            m.d.sync += [
                self.address.eq(address[2:]), self._left.eq(3),
                self._words.eq(Mux(fill & ~refused, words * FILL_WORDS, words) - 1),
                self._flags.eq(Mux(refused, Flag.REFUSED, 0)), self._is_late.eq(late & ~refused),
            ]
            with m.If(self._crc != 0):
                m.next = "DRAIN"
            with m.Elif(self._is_write):
                m.d.sync += self._crc.eq(CRC_START)
                m.next = "WORD"
            with m.Else():
                self._end(m, Mark.DONE)
        with m.State("DRAIN"):
            m.d.comb += self.received.ready.eq(1)
            self._unless_broken(m)

    def _data(self, m: Module) -> None:
        """The words of a write, and their CRC."""
        refused = self._flags[1]
        with m.State("WORD"):
            with m.If(self._take(m)):
                m.d.sync += self.data.eq(Cat(self.data[8:], self.received.payload))
                with m.If(self._left == 0):
                    m.next = "STORE"
            self._unless_broken(m)
        with m.State("STORE"):
            now, last = ~self._is_late & ~refused, self._is_late | (self._words == 0)
            m.d.comb += self.valid.eq(now)
            with m.If(self.done | ~now):
                m.d.sync += self._left.eq(Mux(last, 1, 3))
                with m.If(~self._is_late):
                    self._next_word(m)
                m.next = "WORD"
                with m.If(last):
                    m.next = "CHECK"
        with m.State("CHECK"):
            with m.If(self._take(m)):
                with m.If(self._left == 0):
                    m.next = "JUDGE"
            self._unless_broken(m)
        with m.State("JUDGE"):
            with m.If(self._crc != 0):
                m.next = "DRAIN"
            with m.Elif(self._is_late):
                m.next = "APPLY"
            with m.Else():
                self._end(m, Mark.DONE)
        with m.State("APPLY"):
            m.d.comb += self.valid.eq(1)
            with m.If(self.done):
                self._next_word(m)
                with m.If(self._words == 0):
                    self._end(m, Mark.DONE)

    def _next_word(self, m: Module) -> None:
        """Finish a word: note whether it was there, and advance to the next."""
        m.d.sync += [self.address.eq(self.address + 1), self._words.eq(self._words - 1)]
        with m.If(self.error & ~self._flags[1]):
            m.d.sync += self._flags[0].eq(1)

    def _answer(self, m: Module) -> None:
        """Mark, the words of a read, flags and CRC."""
        with m.State("MARK"):
            with m.If(self._give(m, self._mark)):
                m.next = "FLAGS"
                with m.If((self._mark == Mark.DONE) & ~self._is_write):
                    m.next = "LOAD"
        with m.State("LOAD"):
            absent = self._flags[1]
            m.d.comb += self.valid.eq(~absent)
            m.d.sync += [self.data.eq(Mux(absent, 0, self.read)), self._left.eq(3)]
            with m.If(self.done | absent):
                self._next_word(m)
                m.next = "GIVE"
        with m.State("GIVE"):
            with m.If(self._give(m, self.data[:8])):
                m.d.sync += self.data.eq(self.data >> 8)
                with m.If(self._left == 0):
                    m.next = "LOAD"
                    with m.If(self._words.all()):  # one below 0
                        m.next = "FLAGS"
        with m.State("FLAGS"):
            with m.If(self._give(m, self._flags)):
                m.d.sync += self._left.eq(1)
                m.next = "CRC"
        with m.State("CRC"):
            with m.If(self._give(m, self._crc[8:], crc=False)):
                with m.If(self._left == 0):
                    m.next = "WAIT"
