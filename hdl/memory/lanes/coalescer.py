"""The coalescer: chooses the lanes that are served in a cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ...config import LINE_NUMBER_BITS, LINE_OFFSET_BITS, SmConfig
from ...isa.ops import LsuOp
from ...lib.component import Component
from ...lib.onehot import lowest_one
from ...lib.stacks import to_program
from ..seam import load_bits, set_bits, set_of
from .assembler import StoreLanes
from .records import chosen_layout, entry_layout, pair_bits

__all__ = ["Coalescer"]

_STORE = LsuOp.SB.value.bit_length() - 1


class Coalescer(Component):
    """Turns the instruction at the head of the queue into line accesses, then local accesses.

    Combinational except for the lanes already served. The lowest remaining lane of global memory chooses the line, and
    all remaining lanes of that line join: one line a cycle. When none is left, the remaining lanes of local memory are
    offered to the banks. The instruction is popped in the cycle that serves its last lane, so one whose lanes share a
    line takes one cycle. A misaligned instruction is popped when ``fault_ready`` and does nothing else. The first part
    of a load waits for a number (:class:`PartCounts`). Reset: no lane of the head is served.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        threads = config.threads
        super().__init__({
            #: There is an instruction in the queue. From the entrance.
            "head_valid": In(1),
            #: The oldest one; stays until ``pop``.
            "head": In(entry_layout(config)),
            #: The head leaves the queue in this cycle.
            "pop": Out(1),
            #: The head's store data, each lane's in its place in the word (:class:`StoreLanes`).
            "words": Out(data.ArrayLayout(32, threads)),
            #: The bytes of the word that each lane of the head touches.
            "enable": Out(data.ArrayLayout(4, threads)),
            #: The line accesses of all instructions, in order. Stable until taken.
            "access": Out(stream.Signature(chosen_layout(config))),
            #: An access to local memory is offered.
            "local_valid": Out(1),
            #: Its lanes; 0 without one.
            "local_lanes": Out(threads),
            #: The access is done in this cycle, for the lanes ``local_served``.
            "local_ready": In(1),
            #: Those of ``local_lanes`` that the banks take.
            "local_served": In(threads),
            #: The head is dropped now because of a misaligned lane; only while ``fault_ready``.
            "misaligned": Out(1),
            #: The program's address of the lowest misaligned lane.
            "fault_address": Out(32),
            #: The fault of a misaligned head would be taken in this cycle.
            "fault_ready": In(1),
            #: The head is a store.
            "store": Out(1),
            #: The head is at the head for its first cycle, and not misaligned.
            "arrives": Out(1),
            #: No lane of the head has been served in an earlier cycle.
            "begins": Out(1),
            #: A part of a load that writes a register is made in this cycle, of a line or of local memory.
            "made": Out(1),
            #: The number of the load at the head. From PartCounts.
            "number": In(load_bits(config)),
            #: There is a number for a load that ``begins``. From PartCounts.
            "number_ready": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        threads, head, access = self.config.threads, self.head, self.access
        done, started, served = Signal(threads), Signal(), Signal(threads)
        remaining, far = Signal(threads), Signal(threads)
        aligned, counted, may_start = Signal(), Signal(), Signal()
        line, lanes, misaligned = Signal(LINE_NUMBER_BITS), Signal(threads), Signal(32)
        m.d.comb += [
            self.fault_address.eq(to_program(m, self.config, misaligned, "fault_address")),
            remaining.eq(head.mask & ~done),
            far.eq(remaining & ~head.local),
            aligned.eq(self.head_valid & (head.misaligned == 0)),
            self.store.eq(head.op[_STORE]),
            self.arrives.eq(aligned & ~started),
            self.begins.eq(done == 0),
            counted.eq(~self.store & head.writes_rd),
            may_start.eq(aligned & (self.number_ready | ~self.begins | ~counted)),
            access.valid.eq(may_start & (far != 0)),
            self.local_valid.eq(may_start & (far == 0) & (remaining != 0)),
            self.local_lanes.eq(Mux(self.local_valid, remaining, 0)),
            self.made.eq(counted & ((access.valid & access.ready) | (self.local_valid & self.local_ready))),
            self.misaligned.eq(self.head_valid & ~aligned & self.fault_ready),
            lanes.eq(self._with_line(far, line)),
        ]
        for lane in reversed(range(threads)):
            with m.If(far[lane]):
                m.d.comb += line.eq(head.address[lane][LINE_OFFSET_BITS:])
            with m.If(head.misaligned[lane]):
                m.d.comb += misaligned.eq(head.address[lane])
        self._describe(m, line=line, lanes=lanes)
        self._place(m)

        with m.If(access.valid & access.ready):
            m.d.comb += served.eq(lanes)
        with m.Elif(self.local_valid & self.local_ready):
            m.d.comb += served.eq(self.local_served)
        m.d.comb += self.pop.eq(self.misaligned | (aligned & ((remaining & ~served) == 0)))
        if self.config.lookup_latency > 1:
            # All local lanes leave at once. The terms are alike, but each waits for ``ready`` last.
            ends, nears = Signal(), Signal()
            m.d.comb += [
                ends.eq(access.valid & ((remaining & ~lanes) == 0)), nears.eq(self.local_valid),
                self.pop.eq(self.misaligned | (ends & access.ready) | (nears & self.local_ready)),
            ]
        m.d.sync += [done.eq(Mux(self.pop, 0, done | served)), started.eq(self.head_valid & ~self.pop)]
        return m

    def _with_line(self, far: Signal, line: Signal) -> Value:
        """The lanes of ``far`` that touch ``line``, which is that of the lowest one.

        With two cycles to the lookup and few lanes all pairs are compared, in front of the queue.
        """
        pieces = pair_bits(self.config)
        if not pieces:
            lines = [self.head.address[lane][LINE_OFFSET_BITS:] for lane in range(len(far))]
            return Cat(far[lane] & (own == line) for lane, own in enumerate(lines))
        first = lowest_one(far)

        def equal(lane: int, low: int) -> Value:
            return self.head.equal.word_select(lane * (lane - 1) // 2 + low, pieces).all()

        return Cat(
            first[lane] | (far[lane] & Cat(first[low] & equal(lane, low) for low in range(lane)).any())
            for lane in range(len(far))
        )

    def _describe(self, m: Module, *, line: Signal, lanes: Signal) -> None:
        """The line access of ``lanes``, without its words."""
        head, access = self.head, self.access.payload
        part = access.part
        m.d.comb += [
            access.write.eq(self.store), access.first.eq(self.begins),
            part.mask.eq(lanes), part.line.eq(line), part.load.eq(self.number),
        ]
        if set_bits(self.config):
            m.d.comb += access.set.eq(set_of(line, set_bits(self.config)))
        m.d.comb += [part[name].eq(head[name]) for name in ("warp", "pc", "op", "rd", "writes_rd")]
        m.d.comb += [
            part.offset[lane].eq(head.address[lane][:LINE_OFFSET_BITS]) for lane in range(self.config.threads)
        ]

    def _place(self, m: Module) -> None:
        """The bytes that each lane touches in its word, and a store's data there."""
        head, access = self.head, self.access.payload
        m.submodules.store_lanes = placed = StoreLanes(self.config.threads)
        m.d.comb += [
            placed.size.eq(head.op[:2]),
            placed.address.eq(head.address),
            placed.data.eq(head.data),
            self.words.eq(placed.words),
            self.enable.eq(placed.enable),
            access.words.eq(placed.words),
            access.enable.eq(placed.enable),
        ]
