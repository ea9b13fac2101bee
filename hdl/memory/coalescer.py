"""The coalescer: which lanes are served in this cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import LsuOp
from .records import OFFSET_BITS, entry_layout, line_access_layout

__all__ = ["Coalescer", "StoreLanes"]

_STORE = LsuOp.SB.value.bit_length() - 1


class StoreLanes(wiring.Component):
    """Each lane's store data moved to its place in the word. Combinational.

    ``words[i]`` is ``data[i]`` with its low ``1 << size`` bytes repeated; ``enable[i]`` says which of the four bytes
    the address takes.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        super().__init__({
            "size": In(2),
            "address": In(data.ArrayLayout(32, threads)), "data": In(data.ArrayLayout(32, threads)),
            "words": Out(data.ArrayLayout(32, threads)), "enable": Out(data.ArrayLayout(4, threads)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for lane in range(self.threads):
            value, word, enable = self.data[lane], self.words[lane], self.enable[lane]
            low = self.address[lane][:2]
            with m.Switch(self.size):
                with m.Case(0):
                    m.d.comb += [word.eq(value[:8].replicate(4)), enable.eq(1 << low)]
                with m.Case(1):
                    m.d.comb += [word.eq(value[:16].replicate(2)), enable.eq(Mux(low[1], 0b1100, 0b0011))]
                with m.Default():
                    m.d.comb += [word.eq(value), enable.eq(0b1111)]
        return m


class Coalescer(wiring.Component):
    """Turns the instruction at the head of the queue into line accesses, then local accesses. Combinational but for
    the lanes already done.

    The lowest remaining lane of global memory chooses the line and all remaining lanes of that line join: one line a
    cycle. When none is left, ``local_lanes`` offers the remaining lanes of local memory; ``local_served`` says which of
    them the banks take. The instruction is popped in the cycle that serves its last lane, so one whose lanes share a
    line takes one cycle. A misaligned instruction is popped when ``fault_ready`` and does nothing else.

    Ports
    -----
    ``line``: stream of line accesses, stable until taken; of several lanes that write one byte the highest wins.
    ``local_valid``/``local_ready``: an access to local memory is offered / done. ``misaligned``: the head is dropped
    now because of a misaligned lane, at ``fault_address`` (lowest lane). ``first``: the head is at the head for its
    first cycle. ``store``: the head is a store.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        threads = config.threads
        super().__init__({
            "head_valid": In(1), "head": In(entry_layout(config)), "pop": Out(1),
            "words": In(data.ArrayLayout(32, threads)), "enable": In(data.ArrayLayout(4, threads)),
            "line": Out(stream.Signature(line_access_layout(config))),
            "local_valid": Out(1), "local_lanes": Out(threads), "local_ready": In(1), "local_served": In(threads),
            "misaligned": Out(1), "fault_address": Out(32), "fault_ready": In(1),
            "store": Out(1), "first": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        threads, head, access = self.config.threads, self.head, self.line.payload
        done, started = Signal(threads), Signal()
        remaining, far = Signal(threads), Signal(threads)
        aligned = Signal()
        m.d.comb += [
            remaining.eq(head.mask & ~done),
            far.eq(remaining & ~head.local),
            aligned.eq(self.head_valid & (head.misaligned == 0)),
            self.store.eq(head.op[_STORE]),
            self.first.eq(aligned & ~started),
            self.line.valid.eq(aligned & (far != 0)),
            self.local_lanes.eq(Mux(self.local_valid, remaining, 0)),
            self.local_valid.eq(aligned & (far == 0) & (remaining != 0)),
            self.misaligned.eq(self.head_valid & ~aligned & self.fault_ready),
            access.write.eq(self.store),
        ]
        for lane in reversed(range(threads)):
            with m.If(far[lane]):
                m.d.comb += access.line.eq(head.address[lane][OFFSET_BITS:])
            with m.If(head.misaligned[lane]):
                m.d.comb += self.fault_address.eq(head.address[lane])
        m.d.comb += access.lanes.eq(Cat(
            far[lane] & (head.address[lane][OFFSET_BITS:] == access.line) for lane in range(threads)
        ))
        self._assemble(m)

        served = Signal(threads)
        with m.If(self.line.valid & self.line.ready):
            m.d.comb += served.eq(access.lanes)
        with m.Elif(self.local_valid & self.local_ready):
            m.d.comb += served.eq(self.local_served)
        m.d.comb += self.pop.eq(self.misaligned | (aligned & ((remaining & ~served) == 0)))
        m.d.sync += [done.eq(Mux(self.pop, 0, done | served)), started.eq(self.head_valid & ~self.pop)]
        return m

    def _assemble(self, m: Module) -> None:
        """The line's bytes to write: later assignments, that is higher lanes, win."""
        access = self.line.payload
        with m.If(self.line.valid & self.store):
            for lane in range(self.config.threads):
                with m.If(access.lanes[lane]), m.Switch(self.head.address[lane][2:OFFSET_BITS]):
                    for word in range(self.config.words_per_line):
                        with m.Case(word):
                            self._place(m, lane, word)

    def _place(self, m: Module, lane: int, word: int) -> None:
        """Put the enabled bytes of ``lane`` into ``word`` of the line."""
        access = self.line.payload
        for byte in range(4):
            position = 4 * word + byte
            with m.If(self.enable[lane][byte]):
                m.d.comb += [
                    access.data[8 * position : 8 * position + 8].eq(self.words[lane][8 * byte : 8 * byte + 8]),
                    access.byte_mask[position].eq(1),
                ]
