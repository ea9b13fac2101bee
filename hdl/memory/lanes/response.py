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
        slots = 3 if config.lookup_latency > 1 else 1
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
            #: A part becomes the next writeback: it is at ``wb`` from the next cycle on. With a ``lookup_latency`` of 2
            #: one bit for each slot.
            "answered": Out(slots),
            #: The number of its load. With a ``lookup_latency`` of 2 that of each slot's part, one after the other.
            "answered_load": Out(slots * load_bits(config)),
            #: Combinational, of the part ``answered``: it is the last one of its load. From PartCounts.
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
        answers = Signal()
        taken, pushes = Signal(3), Cat(fill.push, hits.push, self.local_push)
        m.d.comb += [
            wants.eq(taken & Cat(fill.part.writes_rd, 1, 1)),
            answers.eq(wants.any() & (~self.wb.valid | self.wb.ready)),
            self.answered.eq(answers),
            leaves.eq(Cat(taken[0] & ~wants[0], 0, 0) | Mux(answers, first, 0)),
            Cat(fill.free, hits.free, self.local_free).eq(~taken | leaves),
            self.busy.eq(taken.any() | self.wb.valid),
        ]
        m.d.sync += taken.eq(pushes | (taken & ~leaves))
        with m.If(hits.push):
            m.d.sync += hit.eq(hits.part)
        with m.If(self.local_push):
            m.d.sync += local.eq(self.local_part)
        order = self._order(m, pushes)
        m.d.comb += first.eq(self._oldest(wants, order))
        use_fill: Value = first[0]
        if self.config.lookup_latency > 1:
            m.d.comb += self.answered.eq(Mux(answers, first, 0))
            # The choice among whole lines ignores local loads, whose words replace those of the line. A register says
            # whether there is a hit older than the line from memory.
            hit_first = Signal()
            m.d.sync += hit_first.eq(~hits.push & taken[1] & ~leaves[1] & (fill.push | order[0]))
            use_fill = wants[0] & ~hit_first
            # Whether these two slots are free is needed early: neither waits for the choice among all.
            space, written = ~self.wb.valid | self.wb.ready, fill.part.writes_rd
            m.d.comb += [
                fill.free.eq(~(taken[0] & written) | (space & ~(taken[1] & order[0]) & ~(taken[2] & order[1]))),
                hits.free.eq(~taken[1] | (space & ~(wants[0] & ~order[0]) & ~(taken[2] & order[2]))),
            ]
        self._writeback(m, parts=(fill.part, hit, local), first=first, load=answers, use_fill=use_fill)
        self._fault(m, leaves[0] & fill.error)
        m.d.comb += self.fault_waits.eq(taken[0] & fill.error)
        return m

    def _order(self, m: Module, pushes: Value) -> Signal:
        """Which of two slots was filled later; within one cycle the lowest is the oldest.

        Bit 0: the first after the second. Bit 1: the first after the third. Bit 2: the second after the third.
        """
        order = Signal(lru_bits(3))
        after: Value = order
        for slot in range(3):
            after = lru_touch(after, Cat(pushes[slot] & (number == slot) for number in range(3)), 3)
        with m.If(pushes.any()):
            m.d.sync += order.eq(after)
        return order

    def _oldest(self, wants: Signal, order: Signal) -> Value:
        """The slot among ``wants`` that was filled first, one-hot."""
        fill_after_hit, fill_after_local, hit_after_local = order[0], order[1], order[2]
        return wants & ~Cat(
            (wants[1] & fill_after_hit) | (wants[2] & fill_after_local),
            (wants[0] & ~fill_after_hit) | (wants[2] & hit_after_local),
            (wants[0] & ~fill_after_local) | (wants[1] & ~hit_after_local),
        )

    def _writeback(
        self, m: Module, *, parts: tuple[data.View, data.View, data.View], first: Signal, load: Signal,
        use_fill: Value,
    ) -> None:
        """Load the writeback register from the slot ``first`` if ``load``.

        ``use_fill``: unless the slot is that of local loads, it is that of lines from memory.
        """
        wb, threads, numbers = self.wb.payload, self.config.threads, [part.load for part in parts]
        fill, hits = self.answers.fill, self.answers.hit
        op, mask = Signal(4), Signal(threads)
        m.d.comb += [
            self.answered_load.eq(Cat(numbers) if len(self.answered) > 1 else select(first, numbers)),
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
            line.eq(Mux(use_fill, fill.data, hits.data)),
            offsets.eq(Mux(use_fill, parts[0].offset.as_value(), parts[1].offset.as_value())),
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
