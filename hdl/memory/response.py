"""From words of memory to lane values: the response stage of the load/store unit."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import FaultCause, SmConfig
from ..layouts.execute import fault_layout, writeback_layout
from ..layouts.memory import memory_response_layout
from .lanes import pick
from .port import lsu_tag_bits
from .records import OFFSET_BITS, local_part_layout, part_layout

__all__ = ["ResponseStage", "extract"]

_STORE_BIT = 3


def extract(word: Value, byte: Value, op: Value) -> Value:
    """What a load of kind ``op`` (LsuOp) takes from ``word`` at byte offset ``byte``, extended to 32 bits."""
    half = Mux(byte[1], word[16:], word[:16])
    low = Mux(byte[0], half[8:], half[:8])
    signed = ~op[2]
    return Mux(
        op[1], word,
        Mux(op[0], Cat(half, (half[15] & signed).replicate(16)), Cat(low, (low[7] & signed).replicate(24))),
    )


class ResponseStage(wiring.Component):
    """Holds one answer of memory and one of local memory, and turns them into writebacks, oldest first.

    An answer accepted in cycle c is at ``wb`` in c+2 when nothing blocks; one a cycle. Stores, and loads that write no
    register, leave without a writeback. An answer with an error writes no lane (mask 0) and raises a fault when it
    leaves.

    Ports
    -----
    ``response``: from memory. ``part``: what the answer belongs to, from the cycle after the response was accepted (the
    table's ``answer``). ``local_push``, ``local_part``: a local load whose ``bank_data`` is there from the next cycle;
    only while ``local_ready``. ``key_warp``, ``key_rd``: the load of the answer that is about to leave; ``shares``:
    more of that load is outside this stage, so its writeback is not the ``last``. ``fault_valid``, ``fault``:
    combinational, one cycle. ``busy``: an answer or a writeback is here.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            "response": In(stream.Signature(memory_response_layout(config, tag_bits=lsu_tag_bits(config)))),
            "part": In(part_layout(config)),
            "local_push": In(1), "local_part": In(local_part_layout(config)), "local_ready": Out(1),
            "bank_data": In(data.ArrayLayout(32, config.threads)),
            "key_warp": Out(config.warp_bits), "key_rd": Out(6), "shares": In(1),
            "wb": Out(stream.Signature(writeback_layout(config))),
            "fault_valid": Out(1), "fault": Out(fault_layout(config)),
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        line_valid, line_error = Signal(), Signal()
        local_valid, line_older = Signal(), Signal()
        line = Signal(self.config.line_bytes * 8)
        local = Signal(local_part_layout(self.config))
        writes, use_local = Signal(), Signal()
        line_leaves, local_leaves, load = Signal(), Signal(), Signal()
        accepted = Signal()
        m.d.comb += [
            accepted.eq(self.response.valid & self.response.ready),
            writes.eq(line_valid & self.part.writes_rd & ~self.part.op[_STORE_BIT]),
            use_local.eq(local_valid & ~(writes & line_older)),
            load.eq((use_local | writes) & (~self.wb.valid | self.wb.ready)),
            line_leaves.eq(line_valid & (~writes | (load & ~use_local))),
            local_leaves.eq(use_local & load),
            self.response.ready.eq(~line_valid | line_leaves),
            self.local_ready.eq(~local_valid | local_leaves),
            self.busy.eq(line_valid | local_valid | self.wb.valid),
        ]
        with m.If(accepted):
            m.d.sync += [line.eq(self.response.payload.data), line_error.eq(self.response.payload.error)]
        with m.If(self.local_push):
            m.d.sync += local.eq(self.local_part)
        m.d.sync += [
            line_valid.eq(accepted | (line_valid & ~line_leaves)),
            local_valid.eq(self.local_push | (local_valid & ~local_leaves)),
        ]
        # Of two answers that arrive in one cycle, memory's is called the older.
        with m.If(accepted):
            m.d.sync += line_older.eq(~(local_valid & ~local_leaves))
        with m.Elif(self.local_push):
            m.d.sync += line_older.eq(1)
        self._writeback(m, line=line, local=local, use_local=use_local, load=load, error=line_error,
                        other=local_valid & writes)
        self._fault(m, line_leaves & line_error)
        return m

    def _writeback(
        self, m: Module, *, line: Signal, local: data.View, use_local: Signal, load: Signal, error: Signal, other: Value
    ) -> None:
        """Load the writeback register when ``load``; ``other``: both kinds of answer are here."""
        part, wb = self.part, self.wb.payload
        op = Signal(4)
        mask = Signal(self.config.threads)
        m.d.comb += [
            self.key_warp.eq(Mux(use_local, local.warp, part.warp)),
            self.key_rd.eq(Mux(use_local, local.rd, part.rd)),
            op.eq(Mux(use_local, local.op, part.op)),
            mask.eq(Mux(use_local, local.mask, part.mask & ~error.replicate(self.config.threads))),
        ]
        both = other & (local.warp == part.warp) & (local.rd == part.rd)
        warp, rd, lanes = Signal.like(wb.warp), Signal.like(wb.rd), Signal.like(wb.mask)
        last, valid = Signal(), Signal()
        with m.If(load):
            m.d.sync += [
                valid.eq(1), warp.eq(self.key_warp), rd.eq(self.key_rd), lanes.eq(mask), last.eq(~self.shares & ~both),
            ]
        with m.Elif(self.wb.ready):
            m.d.sync += valid.eq(0)
        m.d.comb += [
            self.wb.valid.eq(valid), wb.warp.eq(warp), wb.rd.eq(rd), wb.mask.eq(lanes), wb.last.eq(last),
            wb.data.as_value().eq(Cat(self._values(m, line=line, local=local, use_local=use_local, op=op,
                                                   active=mask & load.replicate(len(mask))))),
        ]

    def _values(
        self, m: Module, *, line: Signal, local: data.View, use_local: Signal, op: Signal, active: Value
    ) -> list[Signal]:
        """The registers of the lane values; each is loaded when its bit of ``active`` is set."""
        words = [line[start : start + 32] for start in range(0, len(line), 32)]
        banks = [self.bank_data[bank] for bank in range(self.config.threads)]
        values = []
        for lane in range(self.config.threads):
            value, word = Signal(32, name=f"value{lane}"), Signal(32, name=f"word{lane}")
            byte = Signal(2, name=f"byte{lane}")
            offset = self.part.offset[lane]
            m.d.comb += byte.eq(Mux(use_local, local.byte[lane], offset[:2]))
            with m.If(active[lane]):
                m.d.comb += word.eq(Mux(use_local, pick(banks, local.bank[lane]), pick(words, offset[2:])))
                m.d.sync += value.eq(extract(word, byte, op))
            values.append(value)
        return values

    def _fault(self, m: Module, valid: Value) -> None:
        """The access fault of the answer that leaves now, at the part's lowest lane."""
        part = self.part
        offset = Signal(OFFSET_BITS)
        for lane in reversed(range(self.config.threads)):
            with m.If(part.mask[lane]):
                m.d.comb += offset.eq(part.offset[lane])
        m.d.comb += [
            self.fault_valid.eq(valid),
            self.fault.cause.eq(Mux(part.op[_STORE_BIT], FaultCause.STORE_ACCESS, FaultCause.LOAD_ACCESS)),
            self.fault.warp.eq(part.warp),
            self.fault.pc.eq(part.pc),
            self.fault.address.eq(Cat(offset, part.line)),
        ]
