"""Instruction fetch without a cache: one line per warp."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In

from ..config import LINE_BYTES, LINE_NUMBER_BITS, LINE_OFFSET_BITS, SmConfig
from ..lib.component import Component
from ..lib.onehot import one_hot
from .icache_store import store_ports

__all__ = ["LineStore"]


class LineStore(Component):
    """The last line that each warp fetched, in place of :class:`hdl.frontend.icache_store.ICacheStore`.

    Ports and cycles are those of the cache: ``hit`` in t+1, ``instruction`` and ``error`` in t+3, a refill in c counts
    for lookups in c+1. But a lookup of ``lookup_warp`` finds only that warp's own line, and a refill goes only to
    ``refill.warp`` and replaces its line. Only ``invalidate`` also removes lines, so a warp whose line has arrived
    can fetch from it regardless of the other warps. Reset: empty.
    """

    def __init__(self, config: SmConfig) -> None:
        self._warps = config.warps
        super().__init__({
            **store_ports(config),
            "lookup_warp": In(config.warp_bits),  # in t+1: the warp whose line is looked up
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        line_bits = 8 * LINE_BYTES
        valid = Signal(self._warps)
        pc = self.lookup_pc[0]
        word = Signal(LINE_OFFSET_BITS - 2)
        m.submodules.tags = tags = Memory(shape=LINE_NUMBER_BITS, depth=self._warps, init=[])
        m.submodules.lines = lines = Memory(shape=line_bits + 1, depth=self._warps, init=[])
        tag, line = tags.read_port(domain="comb"), lines.read_port()
        for write, value in (
            (tags.write_port(), self.refill.line),
            (lines.write_port(), Cat(self.refill.data, self.refill.error)),
        ):
            m.d.comb += [write.addr.eq(self.refill.warp), write.data.eq(value), write.en.eq(self.refill.valid)]
        with m.If(self.invalidate):
            m.d.sync += valid.eq(0)
        with m.Elif(self.refill.valid):
            m.d.sync += valid.eq(valid | one_hot(self.refill.warp, self._warps))
        # As in the cache, tag and line are read in t+1, the word in t+2.
        m.d.comb += [
            tag.addr.eq(self.lookup_warp),
            line.addr.eq(self.lookup_warp),
            line.en.eq(1),
            self.hit.eq(valid.bit_select(self.lookup_warp, 1) & (tag.data == pc[LINE_OFFSET_BITS:])),
        ]
        m.d.sync += [
            word.eq(pc[2:LINE_OFFSET_BITS]),
            self.instruction.eq(line.data[:line_bits].word_select(word, 32)),
            self.error.eq(line.data[line_bits]),
        ]
        return m
