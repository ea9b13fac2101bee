"""The line accesses that memory has not answered yet."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from .lanes import pick
from .port import lsu_tag_bits
from .records import LINE_BITS, part_layout

__all__ = ["PendingTable"]


class PendingTable(wiring.Component):
    """One entry a tag: what is needed when the answer comes, and the lines and registers that are under way.

    ``conflict`` (combinational): an access to ``line`` with ``write`` must wait, because an access to that line is
    outstanding and not both are reads. ``full``: no tag is free, else ``tag`` is one. With ``allocate`` the entry
    ``part`` takes ``tag``. ``released`` frees ``released_tag``; ``released_store`` and ``released_warp`` tell of it in
    the same cycle, ``answer`` is its part from the next cycle on until the next release.
    ``shares`` (combinational): an outstanding read belongs to the load of ``key_warp`` to ``key_rd``. ``busy``: a tag
    is in use.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        tag_bits = lsu_tag_bits(config)
        super().__init__({
            "line": In(LINE_BITS), "write": In(1), "conflict": Out(1), "full": Out(1),
            "allocate": In(1), "tag": Out(tag_bits), "part": In(part_layout(config)),
            "released": In(1), "released_tag": In(tag_bits), "released_store": Out(1),
            "released_warp": Out(config.warp_bits),
            "answer": Out(part_layout(config)),
            "key_warp": In(config.warp_bits), "key_rd": In(6), "shares": Out(1),
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, tags = self.config, self.config.lsu_tags
        valid, writes, tracked = Signal(tags), Signal(tags), Signal(tags)
        chosen, freed = Signal(tags), Signal(tags)
        lines = [Signal(LINE_BITS, name=f"line{tag}") for tag in range(tags)]
        warps = [Signal(config.warp_bits, name=f"warp{tag}") for tag in range(tags)]
        rds = [Signal(6, name=f"rd{tag}") for tag in range(tags)]

        m.d.comb += [
            chosen.eq(Mux(self.allocate, (1 << self.tag)[:tags], 0)),
            freed.eq(Mux(self.released, (1 << self.released_tag)[:tags], 0)),
        ]
        m.d.sync += [
            valid.eq((valid & ~freed) | chosen),
            writes.eq(Mux(self.write, writes | chosen, writes & ~chosen)),
            tracked.eq(Mux(self.part.writes_rd & ~self.write, tracked | chosen, tracked & ~chosen)),
        ]
        for tag in reversed(range(tags)):
            with m.If(~valid[tag]):
                m.d.comb += self.tag.eq(tag)
            with m.If(chosen[tag]):
                m.d.sync += [lines[tag].eq(self.line), warps[tag].eq(self.part.warp), rds[tag].eq(self.part.rd)]
        same_line = Cat(lines[tag] == self.line for tag in range(tags))
        same_key = Cat((warps[tag] == self.key_warp) & (rds[tag] == self.key_rd) for tag in range(tags))
        m.d.comb += [
            self.full.eq(valid.all()),
            self.busy.eq(valid.any()),
            self.conflict.eq((valid & same_line & (writes | self.write.replicate(tags))).any()),
            self.shares.eq((valid & tracked & same_key).any()),
            self.released_store.eq((freed & writes).any()),
            self.released_warp.eq(pick(warps, self.released_tag)),
        ]

        m.submodules.parts = parts = Memory(shape=part_layout(config), depth=tags, init=[])
        fill, drain = parts.write_port(), parts.read_port()
        m.d.comb += [
            fill.addr.eq(self.tag), fill.data.eq(self.part), fill.en.eq(self.allocate),
            drain.addr.eq(self.released_tag), drain.en.eq(self.released), self.answer.eq(drain.data),
        ]
        return m
