"""The requests that wait for memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import LINE_NUMBER_BITS
from ...lib.component import Component
from ...lib.onehot import encode, lowest_one, one_hot

__all__ = ["L2Requests"]


class L2Requests(Component):
    """One entry for each request that was sent to memory, and for each read that has joined one.

    A request that was sent *leads*; its number is its tag at memory. It is *open* until memory's answer is accepted.
    One request comes in every cycle, and one is answered. An entry is free from the cycle after its answer on; that of
    a request that leads, from the cycle after the last answer to those that have joined it. Reset: empty. May never
    happen: ``add`` while ``full``.

    Parameters
    ----------
    count
        Number of entries.
    tag_bits
        Width of the tags of those who ask.
    """

    def __init__(self, *, count: int, tag_bits: int) -> None:
        self._count, self._tag_bits = count, tag_bits
        bits = max(1, (count - 1).bit_length())
        super().__init__({
            "line": In(LINE_NUMBER_BITS),  # the request in the lookup
            "write": In(1),  # it is a write
            "cached": In(1),  # its line may be in the cache
            "tag": In(tag_bits),  # its tag
            "add": In(1),  # it gets the entry ``number``
            "joins": In(1),  # with ``add``: it waits for the line of the open read of ``read_open``
            "full": Out(1),  # there is no free entry. Registered state only
            "number": Out(bits),  # the free entry with the lowest number
            "read_open": Out(1),  # combinational: an open read of the line, which others may join
            "write_open": Out(1),  # combinational: an open write of the line
            "some_open": Out(1),  # combinational: an open request of the line
            "asked": In(bits),  # the request whose answer memory offers
            "accepted": In(1),  # that answer is accepted: the request is no longer open
            "asked_line": Out(LINE_NUMBER_BITS),  # combinational: its line
            "asked_keeps": Out(1),  # combinational: the line may go into the cache
            "filled": In(bits),  # the request whose answer is passed on
            "first": In(1),  # it has not been answered itself
            "answered": In(1),  # the next of the requests that wait for this answer is answered
            "next_tag": Out(tag_bits),  # combinational: the tag of that one
            "last": Out(1),  # combinational: no other waits for this answer
            #: No line that was asked for in this cycle or before goes into the cache, or is joined later.
            "forget": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = self._count
        valid, opened, leads, writes, keeps = (
            Signal(count, name=name) for name in ("valid", "open", "leads", "writes", "keeps"))
        lines = [Signal(LINE_NUMBER_BITS, name=f"line{number}") for number in range(count)]
        groups = [Signal.like(self.filled, name=f"leader{number}") for number in range(count)]
        free, same, joined = Signal(count), Signal(count), Signal(count)
        m.d.comb += [
            free.eq(lowest_one(~valid)),
            self.full.eq(valid.all()),
            self.number.eq(encode(free)),
            # One that has joined is not compared: the one that it waits for is.
            same.eq(Cat(line == self.line for line in lines) & opened & leads),
            joined.eq(same & ~writes & keeps),
            self.read_open.eq(joined.any()),
            self.write_open.eq((same & writes).any()),
            self.some_open.eq(same.any()),
            self.asked_line.eq(self._of(m, lines)),
            self.asked_keeps.eq(keeps.bit_select(self.asked, 1)),
        ]
        added, freed = Mux(self.add, free, 0), self._answer(m, valid=valid, leads=leads, groups=groups)
        m.d.sync += [
            valid.eq((valid & ~freed) | added),
            opened.eq((opened & ~Mux(self.accepted, one_hot(self.asked, count), 0)) | added),
        ]
        for number in range(count):
            with m.If(added[number]):
                m.d.sync += [
                    lines[number].eq(self.line), groups[number].eq(encode(joined)), leads[number].eq(~self.joins),
                    writes[number].eq(self.write), keeps[number].eq(self.cached & ~self.write),
                ]
        with m.If(self.forget):
            m.d.sync += keeps.eq(0)
        return m

    def _of(self, m: Module, lines: list[Signal]) -> Signal:
        """The line of the request ``asked``, from a memory: that is smaller than a multiplexer of the registers."""
        m.submodules.asked = numbers = Memory(shape=LINE_NUMBER_BITS, depth=self._count, init=[])
        write, read = numbers.write_port(), numbers.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.number), write.data.eq(self.line), write.en.eq(self.add), read.addr.eq(self.asked),
        ]
        return read.data

    def _answer(self, m: Module, *, valid: Signal, leads: Signal, groups: list[Signal]) -> Signal:
        """Choose the next request to be answered, the one that leads first; return the entries that become free."""
        count = self._count
        waiting, following, lead = Signal(count), Signal(count), Signal(count)
        freed = Signal(count)
        m.d.comb += [
            lead.eq(one_hot(self.filled, count)),
            waiting.eq(Cat(group == self.filled for group in groups) & valid & ~leads),
            following.eq(lowest_one(waiting)),
            self.last.eq(Mux(self.first, ~waiting.any(), ~(waiting & ~following).any())),
        ]
        with m.If(self.answered):
            m.d.comb += freed.eq(Mux(self.first, 0, following) | Mux(self.last, lead, 0))
        m.submodules.tags = tags = Memory(shape=self._tag_bits, depth=count, init=[])
        write, read = tags.write_port(), tags.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.number), write.data.eq(self.tag), write.en.eq(self.add),
            read.addr.eq(Mux(self.first, self.filled, encode(following))), self.next_tag.eq(read.data),
        ]
        return freed
