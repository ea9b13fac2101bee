"""The response stage of the load/store unit: words of memory become lane values."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ...config import FaultCause, SmConfig
from ...layouts.execute import fault_layout, writeback_layout
from ...lib.component import Component
from ...lib.lane_vectors import pick
from ...lib.lru import lru_bits, lru_touch
from ...lib.onehot import select
from ..seam import answers_signature, load_bits, lowest_address, part_layout
from .records import local_part_layout

__all__ = ["ResponseStage", "extract"]


def extract(word: Value, byte: Value, op: Value) -> Value:
    """The value that a load of kind ``op`` (LsuOp) takes from ``word`` at byte offset ``byte``, extended to 32 bits."""
    half = Mux(byte[1], word[16:], word[:16])
    low = Mux(byte[0], half[8:], half[:8])
    signed = ~op[2]
    return Mux(
        op[1], word,
        Mux(op[0], Cat(half, (half[15] & signed).replicate(16)), Cat(low, (low[7] & signed).replicate(24))),
    )


class ResponseStage(Component):
    """Turns loaded words into writebacks; three slots: for a part of a line from memory, a hit and a local load.

    The oldest part goes first, one a cycle. A part pushed into its slot in cycle c is there from c+1 on, and at ``wb``
    in c+2 if nothing blocks. Loads that write no register leave without a writeback. A part of a line with an error
    writes no lane (mask 0) and raises a fault when it leaves. Reset: empty. May never happen: a push into a slot that
    is not free.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            #: The slots of lines from memory and of hits, from the L1.
            "answers": In(answers_signature(config)),
            #: A part of a local load takes its slot; only while ``local_free``.
            "local_push": In(1),
            #: The slot of local loads is empty, or is emptied in this cycle.
            "local_free": Out(1),
            #: With the push.
            "local_part": In(local_part_layout(config)),
            #: The banks' words, from the cycle after the push on, while the slot is taken. From the scratchpad.
            "bank_data": In(data.ArrayLayout(32, config.threads)),
            #: A part becomes the next writeback: it is at ``wb`` from the next cycle on.
            "answered": Out(1),
            #: The number of its load.
            "answered_load": Out(load_bits(config)),
            #: Combinational, of ``answered_load``: this part is its last. From PartCounts.
            "last": In(1),
            #: Lane values, registered.
            "wb": Out(stream.Signature(writeback_layout(config))),
            #: For one cycle, combinational: the part that leaves its slot is of a line that memory refused.
            "fault_valid": Out(1),
            #: A part of such a line is in its slot. Registered state only.
            "fault_waits": Out(1),
            #: With ``fault_valid``: its access fault.
            "fault": Out(fault_layout(config)),
            #: A slot is taken, or a writeback is here.
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fill, hits = self.answers.fill, self.answers.hit
        hit, local = Signal(part_layout(self.config)), Signal(local_part_layout(self.config))
        wants, first, leaves = Signal(3), Signal(3), Signal(3)
        taken, pushes = Signal(3), Cat(fill.push, hits.push, self.local_push)
        m.d.comb += [
            wants.eq(taken & Cat(fill.part.writes_rd, 1, 1)),
            self.answered.eq(wants.any() & (~self.wb.valid | self.wb.ready)),
            leaves.eq(Cat(taken[0] & ~wants[0], 0, 0) | Mux(self.answered, first, 0)),
            Cat(fill.free, hits.free, self.local_free).eq(~taken | leaves),
            self.busy.eq(taken.any() | self.wb.valid),
        ]
        m.d.sync += taken.eq(pushes | (taken & ~leaves))
        with m.If(hits.push):
            m.d.sync += hit.eq(hits.part)
        with m.If(self.local_push):
            m.d.sync += local.eq(self.local_part)
        m.d.comb += first.eq(self._oldest(m, wants, pushes))
        self._writeback(m, parts=(fill.part, hit, local), first=first)
        self._fault(m, leaves[0] & fill.error)
        m.d.comb += self.fault_waits.eq(taken[0] & fill.error)
        return m

    def _oldest(self, m: Module, wants: Signal, pushes: Value) -> Value:
        """The slot among ``wants`` that was filled first, one-hot. Within one cycle the lowest is the oldest."""
        order = Signal(lru_bits(3))
        after: Value = order
        for slot in range(3):
            after = lru_touch(after, Cat(pushes[slot] & (number == slot) for number in range(3)), 3)
        with m.If(pushes.any()):
            m.d.sync += order.eq(after)
        fill_after_hit, fill_after_local, hit_after_local = order[0], order[1], order[2]
        return wants & ~Cat(
            (wants[1] & fill_after_hit) | (wants[2] & fill_after_local),
            (wants[0] & ~fill_after_hit) | (wants[2] & hit_after_local),
            (wants[0] & ~fill_after_local) | (wants[1] & ~hit_after_local),
        )

    def _writeback(
        self, m: Module, *, parts: tuple[data.View, data.View, data.View], first: Signal
    ) -> None:
        """Load the writeback register from the slot ``first`` when ``answered``."""
        wb, threads, load = self.wb.payload, self.config.threads, self.answered
        fill, hits = self.answers.fill, self.answers.hit
        op, mask = Signal(4), Signal(threads)
        m.d.comb += [
            self.answered_load.eq(select(first, [part.load for part in parts])),
            op.eq(select(first, [part.op for part in parts])),
            mask.eq(select(first, [parts[0].mask & ~fill.error.replicate(threads), parts[1].mask, parts[2].mask])),
        ]
        warp, rd, lanes = Signal.like(wb.warp), Signal.like(wb.rd), Signal.like(wb.mask)
        last, valid, kind = Signal(), Signal(), Signal.like(op)
        with m.If(load):
            m.d.sync += [
                valid.eq(1), warp.eq(select(first, [part.warp for part in parts])),
                rd.eq(select(first, [part.rd for part in parts])), lanes.eq(mask), last.eq(self.last), kind.eq(op),
            ]
        with m.Elif(self.wb.ready):
            m.d.sync += valid.eq(0)
        line, offsets = Signal(8 * self.config.line_bytes), Signal.like(parts[0].offset)
        m.d.comb += [
            line.eq(Mux(first[0], fill.data, hits.data)),
            offsets.eq(Mux(first[0], parts[0].offset.as_value(), parts[1].offset.as_value())),
        ]
        m.d.comb += [
            self.wb.valid.eq(valid), wb.warp.eq(warp), wb.rd.eq(rd), wb.mask.eq(lanes), wb.last.eq(last),
        ]
        words = self._words(m, line=line, offsets=offsets, local=parts[2], use_local=first[2],
                            active=mask & load.replicate(threads))
        # Shortened and extended behind the register: the words come late in their cycle.
        m.d.comb += wb.data.as_value().eq(Cat(extract(word, byte, kind) for word, byte in words))

    def _words(
        self, m: Module, *, line: Signal, offsets: data.View, local: data.View, use_local: Value, active: Value,
    ) -> list[tuple[Signal, Signal]]:
        """The registers of the lanes' words and of the places of their bytes, loaded by the bits of ``active``."""
        words = [line[start : start + 32] for start in range(0, len(line), 32)]
        banks = [self.bank_data[bank] for bank in range(self.config.threads)]
        registers = []
        for lane in range(self.config.threads):
            word, byte = Signal(32, name=f"word{lane}"), Signal(2, name=f"byte{lane}")
            offset = offsets[lane]
            with m.If(active[lane]):
                m.d.sync += [
                    word.eq(Mux(use_local, pick(banks, local.bank[lane]), pick(words, offset[2:]))),
                    byte.eq(Mux(use_local, local.byte[lane], offset[:2])),
                ]
            registers.append((word, byte))
        return registers

    def _fault(self, m: Module, valid: Value) -> None:
        """The access fault of the part that leaves now, at its lowest lane."""
        part = self.answers.fill.part
        m.d.comb += [
            self.fault_valid.eq(valid),
            self.fault.cause.eq(FaultCause.LOAD_ACCESS),
            self.fault.warp.eq(part.warp),
            self.fault.pc.eq(part.pc),
            self.fault.address.eq(lowest_address(m, self.config, part)),
        ]
