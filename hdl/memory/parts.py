"""The parts of loads that wait for a line of memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..lib.onehot import encode, lowest_one
from .misses import fill_tag_bits
from .records import part_layout

__all__ = ["PartTable"]


class PartTable(wiring.Component):
    """One entry a waiting part: what is needed when its line comes, and which miss register that is.

    With ``add`` the table takes ``part``, which waits for the miss register ``add_miss``; only while not ``full``.
    ``left`` (combinational): a part waits for ``filled``. With ``take`` one of the parts that wait for ``answered``
    (with ``take_filled``: for ``filled``) leaves and is at ``answer`` from the next cycle on until the next take. A
    part that is added in this cycle is not among them yet.
    ``shares`` (combinational): a waiting part belongs to the load of ``key_warp`` to ``key_rd``.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        bits = fill_tag_bits(config)
        super().__init__({
            "add": In(1), "add_miss": In(bits), "part": In(part_layout(config)), "full": Out(1),
            "filled": In(bits), "left": Out(1), "answered": In(bits),
            "take": In(1), "take_filled": In(1), "answer": Out(part_layout(config)),
            "key_warp": In(config.warp_bits), "key_rd": In(6), "shares": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, count = self.config, self.config.lsu_tags
        valid, tracked = Signal(count), Signal(count)
        free, taken = Signal(count), Signal(count)
        misses = [Signal(len(self.filled), name=f"miss{number}") for number in range(count)]
        warps = [Signal(config.warp_bits, name=f"warp{number}") for number in range(count)]
        rds = [Signal(6, name=f"rd{number}") for number in range(count)]
        of_filled = Cat(misses[number] == self.filled for number in range(count)) & valid
        of_answered = Cat(misses[number] == self.answered for number in range(count)) & valid
        added = Mux(self.add, free, 0)
        m.d.comb += [
            free.eq(lowest_one(~valid)),
            taken.eq(Mux(self.take, lowest_one(Mux(self.take_filled, of_filled, of_answered)), 0)),
            self.full.eq(valid.all()),
            self.left.eq(of_filled.any()),
        ]
        m.d.sync += [
            valid.eq((valid & ~taken) | added),
            tracked.eq(Mux(self.part.writes_rd, tracked | added, tracked & ~added)),
        ]
        for number in range(count):
            with m.If(added[number]):
                m.d.sync += [
                    misses[number].eq(self.add_miss), warps[number].eq(self.part.warp), rds[number].eq(self.part.rd),
                ]
        same_key = Cat((warps[number] == self.key_warp) & (rds[number] == self.key_rd) for number in range(count))
        m.d.comb += self.shares.eq((valid & tracked & same_key).any())

        m.submodules.parts = parts = Memory(shape=part_layout(config), depth=count, init=[])
        fill, drain = parts.write_port(), parts.read_port()
        m.d.comb += [
            fill.addr.eq(encode(free)), fill.data.eq(self.part), fill.en.eq(self.add),
            drain.addr.eq(encode(taken)), drain.en.eq(self.take), self.answer.eq(drain.data),
        ]
        return m
