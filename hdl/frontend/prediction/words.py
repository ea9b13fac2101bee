"""The words that the predictors keep for each warp, in memories that need no reset."""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...lib.component import Component

__all__ = ["Words", "words_signature"]


def words_signature(ahead: int, behind: int) -> wiring.Signature:
    """A predictor's share of the words, seen from the predictor: ``ahead`` and ``behind`` are numbers of bits."""
    return wiring.Signature({
        "newer": In(1),  # the warp in decode has a word ahead
        "ahead": In(ahead),  # that word; undefined without one
        "ahead_next": Out(ahead),  # the word after the instruction in decode; that of now if it changes nothing
        "ahead_changes": Out(1),  # it changes something
        "behind": In(behind),  # the word behind of the warp in decode
        "settled": In(behind),  # the word behind of the warp of the outcome
        "settled_next": Out(behind),  # that word after the outcome; that of now if it changes nothing
        "settled_changes": Out(1),  # it changes something
    })


class Words(Component):
    """Two words for each warp: one behind, which follows outcomes, and one ahead, which follows instructions in decode.

    The word behind is 0 when the warp starts. There is a word ahead from the first change in decode to the next
    redirect. All reads are combinational, and see the words before this cycle's writes.
    """

    def __init__(self, config: SmConfig, ahead: int, behind: int) -> None:
        self._config, self._ahead, self._behind = config, ahead, behind
        super().__init__({
            "start": In(config.warps),  # warps that start
            "restore": In(config.warps),  # warps that are redirected
            "warp": In(config.warp_bits),  # the warp in decode; not in these if its word changes
            "settled_warp": In(config.warp_bits),  # the warp of the outcome
            "share": In(words_signature(ahead, behind)),  # what both read and write
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps, share = self._config.warps, self.share
        m.submodules.ahead = ahead = Memory(shape=self._ahead, depth=warps, init=[])
        m.submodules.behind = behind = Memory(shape=self._behind, depth=warps, init=[])
        newer, fresh = Signal(warps, name="newer"), Signal(warps, name="fresh")
        old, before = behind.read_port(domain="comb"), behind.read_port(domain="comb")
        young, writes, settles = ahead.read_port(domain="comb"), ahead.write_port(), behind.write_port()
        m.d.comb += [
            young.addr.eq(self.warp), old.addr.eq(self.warp), before.addr.eq(self.settled_warp),
            share.newer.eq(Array(newer)[self.warp]), share.ahead.eq(young.data),
            share.behind.eq(Mux(Array(fresh)[self.warp], 0, old.data)),
            share.settled.eq(Mux(Array(fresh)[self.settled_warp], 0, before.data)),
            writes.addr.eq(self.warp), writes.data.eq(share.ahead_next), writes.en.eq(share.ahead_changes),
            settles.addr.eq(self.settled_warp), settles.data.eq(share.settled_next),
            settles.en.eq(share.settled_changes),
        ]
        for w in range(warps):
            with m.If(self.start[w]):
                m.d.sync += [fresh[w].eq(1), newer[w].eq(0)]
            with m.Else():
                with m.If(share.settled_changes & (self.settled_warp == w)):
                    m.d.sync += fresh[w].eq(0)
                with m.If(self.restore[w]):
                    m.d.sync += newer[w].eq(0)
                with m.Elif(share.ahead_changes & (self.warp == w)):
                    m.d.sync += newer[w].eq(1)
        return m
