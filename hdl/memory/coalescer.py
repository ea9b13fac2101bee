"""The coalescer: which lanes are served in this cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import LsuOp
from .assembler import LineAssembler, StoreLanes
from .records import LINE_BITS, OFFSET_BITS, entry_layout, line_access_layout
from .stacks import to_program

__all__ = ["Coalescer"]

_STORE = LsuOp.SB.value.bit_length() - 1


class Coalescer(wiring.Component):
    """Turns the instruction at the head of the queue into line accesses, then local accesses.

    Combinational but for the lanes already done. The lowest remaining lane of global memory chooses the line and all
    remaining lanes of that line join: one line a cycle. When none is left, ``local_lanes`` offers the remaining lanes
    of local memory; ``local_served`` says which of them the banks take. The instruction is popped in the cycle that
    serves its last lane, so one whose lanes share a line takes one cycle. A misaligned instruction is popped when
    ``fault_ready`` and does nothing else.

    Ports
    -----
    ``line``: stream of line accesses, stable until taken. ``words``, ``enable``: the head's store data, each lane's
    in its place in the word.
    ``local_valid``/``local_ready``: an access to local memory is offered / done. ``misaligned``: the head is dropped
    now because of a misaligned lane, at ``fault_address`` (the program's, of the lowest lane). ``first``: the head is
    at the head for its first cycle. ``store``: the head is a store.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        threads = config.threads
        super().__init__({
            "head_valid": In(1), "head": In(entry_layout(config)), "pop": Out(1),
            "words": Out(data.ArrayLayout(32, threads)), "enable": Out(data.ArrayLayout(4, threads)),
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
        line, lanes, misaligned = Signal(LINE_BITS), Signal(threads), Signal(32)
        m.d.comb += [
            self.fault_address.eq(to_program(m, self.config, misaligned, "fault_address")),
            remaining.eq(head.mask & ~done),
            far.eq(remaining & ~head.local),
            aligned.eq(self.head_valid & (head.misaligned == 0)),
            self.store.eq(head.op[_STORE]),
            self.first.eq(aligned & ~started),
            self.line.valid.eq(aligned & (far != 0)),
            self.local_lanes.eq(Mux(self.local_valid, remaining, 0)),
            self.local_valid.eq(aligned & (far == 0) & (remaining != 0)),
            self.misaligned.eq(self.head_valid & ~aligned & self.fault_ready),
            lanes.eq(Cat(far[lane] & (head.address[lane][OFFSET_BITS:] == line) for lane in range(threads))),
            access.write.eq(self.store),
            access.first.eq(done == 0),
            access.line.eq(line),
            access.lanes.eq(lanes),
        ]
        for lane in reversed(range(threads)):
            with m.If(far[lane]):
                m.d.comb += line.eq(head.address[lane][OFFSET_BITS:])
            with m.If(head.misaligned[lane]):
                m.d.comb += misaligned.eq(head.address[lane])
        self._assemble(m, lanes)

        served = Signal(threads)
        with m.If(self.line.valid & self.line.ready):
            m.d.comb += served.eq(lanes)
        with m.Elif(self.local_valid & self.local_ready):
            m.d.comb += served.eq(self.local_served)
        m.d.comb += self.pop.eq(self.misaligned | (aligned & ((remaining & ~served) == 0)))
        m.d.sync += [done.eq(Mux(self.pop, 0, done | served)), started.eq(self.head_valid & ~self.pop)]
        return m

    def _assemble(self, m: Module, lanes: Signal) -> None:
        """The bytes that ``lanes`` touch in the line, and what a store writes there."""
        config, head, access = self.config, self.head, self.line.payload
        m.submodules.store_lanes = placed = StoreLanes(config.threads)
        m.submodules.assembler = assembler = LineAssembler(
            threads=config.threads, words_per_line=config.words_per_line
        )
        m.d.comb += [
            placed.size.eq(head.op[:2]),
            placed.address.eq(head.address),
            placed.data.eq(head.data),
            self.words.eq(placed.words),
            self.enable.eq(placed.enable),
            assembler.lanes.eq(lanes),
            assembler.address.eq(head.address),
            assembler.words.eq(placed.words),
            assembler.enable.eq(placed.enable),
            access.byte_mask.eq(assembler.byte_mask),
            access.data.eq(assembler.data),
        ]
