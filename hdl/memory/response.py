"""From words of memory to lane values: the response stage of the load/store unit."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import FaultCause, SmConfig
from ..layouts.execute import fault_layout, writeback_layout
from ..lib.lru import lru_bits, lru_touch
from ..lib.onehot import select
from .lanes import pick
from .records import OFFSET_BITS, local_part_layout, part_layout
from .stacks import to_program

__all__ = ["ResponseStage", "extract", "lowest_address"]


def extract(word: Value, byte: Value, op: Value) -> Value:
    """What a load of kind ``op`` (LsuOp) takes from ``word`` at byte offset ``byte``, extended to 32 bits."""
    half = Mux(byte[1], word[16:], word[:16])
    low = Mux(byte[0], half[8:], half[:8])
    signed = ~op[2]
    return Mux(
        op[1], word,
        Mux(op[0], Cat(half, (half[15] & signed).replicate(16)), Cat(low, (low[7] & signed).replicate(24))),
    )


def lowest_address(m: Module, config: SmConfig, part: data.View) -> Value:
    """The program's address of the lowest lane of a part (:func:`part_layout`)."""
    offset = Signal(OFFSET_BITS)
    for lane in reversed(range(len(part.mask))):
        with m.If(part.mask[lane]):
            m.d.comb += offset.eq(part.offset[lane])
    return to_program(m, config, Cat(offset, part.line), "lowest_address")


class ResponseStage(wiring.Component):
    """Turns loaded words into writebacks: three slots, for a part of a line from memory, a hit and a local load.

    The oldest that is here goes first, one a cycle. What comes into its slot in cycle c (a ``push``) is there from c+1
    on, and at ``wb`` in c+2 when nothing blocks. A slot's ``free`` says that a push is taken. Loads that write no
    register leave without a writeback. A part of a line with an error writes no lane (mask 0) and raises a fault when
    it leaves.

    Ports
    -----
    ``fill_part``, ``fill_data``, ``fill_error``: there while the slot is taken. ``hit_part``: with the push;
    ``hit_forwarded`` with it: the line will be ``forward_data`` and not ``hit_data``, which are there while the slot is
    taken; ``peek_free``: ``forward_data`` is not needed after this cycle. ``local_part``: with the push; ``bank_data``
    is there while the slot is taken. ``key_warp``, ``key_rd``: the load that is about to leave; ``shares``: more of it
    is outside this stage, so its writeback is not the ``last``. ``fault_valid``, ``fault``: combinational, one cycle.
    ``busy``: a slot is taken, or a writeback is here.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        line = 8 * config.line_bytes
        super().__init__({
            "fill_push": In(1), "fill_free": Out(1),
            "fill_part": In(part_layout(config)), "fill_data": In(line), "fill_error": In(1),
            "hit_push": In(1), "hit_free": Out(1), "hit_part": In(part_layout(config)), "hit_forwarded": In(1),
            "hit_data": In(line), "forward_data": In(line), "peek_free": Out(1),
            "local_push": In(1), "local_free": Out(1), "local_part": In(local_part_layout(config)),
            "bank_data": In(data.ArrayLayout(32, config.threads)),
            "key_warp": Out(config.warp_bits), "key_rd": Out(6), "shares": In(1),
            "wb": Out(stream.Signature(writeback_layout(config))),
            "fault_valid": Out(1), "fault": Out(fault_layout(config)),
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        hit, local = Signal(part_layout(self.config)), Signal(local_part_layout(self.config))
        forwarded, wants, first, leaves = Signal(), Signal(3), Signal(3), Signal(3)
        taken, pushes = Signal(3), Cat(self.fill_push, self.hit_push, self.local_push)
        load = Signal()
        m.d.comb += [
            wants.eq(taken & Cat(self.fill_part.writes_rd, 1, 1)),
            load.eq(wants.any() & (~self.wb.valid | self.wb.ready)),
            leaves.eq(Cat(taken[0] & ~wants[0], 0, 0) | Mux(load, first, 0)),
            Cat(self.fill_free, self.hit_free, self.local_free).eq(~taken | leaves),
            self.peek_free.eq(~(taken[1] & forwarded) | leaves[1]),
            self.busy.eq(taken.any() | self.wb.valid),
        ]
        m.d.sync += taken.eq(pushes | (taken & ~leaves))
        with m.If(self.hit_push):
            m.d.sync += [hit.eq(self.hit_part), forwarded.eq(self.hit_forwarded)]
        with m.If(self.local_push):
            m.d.sync += local.eq(self.local_part)
        m.d.comb += first.eq(self._oldest(m, wants, pushes))
        self._writeback(m, parts=(self.fill_part, hit, local), wants=wants, first=first, load=load,
                        forwarded=forwarded)
        self._fault(m, leaves[0] & self.fill_error)
        return m

    def _oldest(self, m: Module, wants: Signal, pushes: Value) -> Value:
        """The slot among ``wants`` that was taken first, one-hot. Of several in one cycle the lowest is the oldest."""
        order = Signal(lru_bits(3))
        after = order
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
        self, m: Module, *, parts: tuple[data.View, data.View, data.View], wants: Signal, first: Signal, load: Signal,
        forwarded: Signal,
    ) -> None:
        """Load the writeback register when ``load`` with the slot ``first``."""
        wb, threads = self.wb.payload, self.config.threads
        op, mask = Signal(4), Signal(threads)
        m.d.comb += [
            self.key_warp.eq(select(first, [part.warp for part in parts])),
            self.key_rd.eq(select(first, [part.rd for part in parts])),
            op.eq(select(first, [part.op for part in parts])),
            mask.eq(select(first, [parts[0].mask & ~self.fill_error.replicate(threads), parts[1].mask, parts[2].mask])),
        ]
        others = Cat(
            wants[slot] & ~first[slot] & (part.warp == self.key_warp) & (part.rd == self.key_rd)
            for slot, part in enumerate(parts)
        )
        warp, rd, lanes = Signal.like(wb.warp), Signal.like(wb.rd), Signal.like(wb.mask)
        last, valid = Signal(), Signal()
        with m.If(load):
            m.d.sync += [
                valid.eq(1), warp.eq(self.key_warp), rd.eq(self.key_rd), lanes.eq(mask),
                last.eq(~self.shares & ~others.any()),
            ]
        with m.Elif(self.wb.ready):
            m.d.sync += valid.eq(0)
        line, offsets = Signal(8 * self.config.line_bytes), Signal.like(parts[0].offset)
        with m.If(load):
            m.d.comb += [
                line.eq(Mux(first[0], self.fill_data, Mux(forwarded, self.forward_data, self.hit_data))),
                offsets.eq(Mux(first[0], parts[0].offset.as_value(), parts[1].offset.as_value())),
            ]
        m.d.comb += [
            self.wb.valid.eq(valid), wb.warp.eq(warp), wb.rd.eq(rd), wb.mask.eq(lanes), wb.last.eq(last),
            wb.data.as_value().eq(Cat(self._values(m, line=line, offsets=offsets, local=parts[2], use_local=first[2],
                                                   op=op, active=mask & load.replicate(threads)))),
        ]

    def _values(
        self, m: Module, *, line: Signal, offsets: data.View, local: data.View, use_local: Value, op: Signal,
        active: Value,
    ) -> list[Signal]:
        """The registers of the lane values; each is loaded when its bit of ``active`` is set."""
        words = [line[start : start + 32] for start in range(0, len(line), 32)]
        banks = [self.bank_data[bank] for bank in range(self.config.threads)]
        values = []
        for lane in range(self.config.threads):
            value, word = Signal(32, name=f"value{lane}"), Signal(32, name=f"word{lane}")
            byte = Signal(2, name=f"byte{lane}")
            offset = offsets[lane]
            m.d.comb += byte.eq(Mux(use_local, local.byte[lane], offset[:2]))
            with m.If(active[lane]):
                m.d.comb += word.eq(Mux(use_local, pick(banks, local.bank[lane]), pick(words, offset[2:])))
                m.d.sync += value.eq(extract(word, byte, op))
            values.append(value)
        return values

    def _fault(self, m: Module, valid: Value) -> None:
        """The access fault of the part of a line that leaves now, at its lowest lane."""
        part = self.fill_part
        m.d.comb += [
            self.fault_valid.eq(valid),
            self.fault.cause.eq(FaultCause.LOAD_ACCESS),
            self.fault.warp.eq(part.warp),
            self.fault.pc.eq(part.pc),
            self.fault.address.eq(lowest_address(m, self.config, part)),
        ]
