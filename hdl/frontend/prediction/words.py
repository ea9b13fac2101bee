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
        "ahead": In(ahead),  # the word ahead of the warp in decode; ``early_none`` if it has none
        "ahead_next": Out(ahead),  # the word after the instruction in decode; that of now if it changes nothing
        "ahead_changes": Out(1),  # it changes something
        #: The word ahead of the warp that is in decode in the next cycle, before the instruction that is in decode now.
        "early_ahead": In(ahead),
        "early_none": Out(ahead),  # the same if it has none: as its word behind says
        "early_behind": In(behind),  # the word behind of the warp that is in decode in the next cycle
        "behind": In(behind),  # the word behind of the warp in decode
        "settled": In(behind),  # the word behind of the warp of the outcome
        "settled_next": Out(behind),  # that word after the outcome; that of now if it changes nothing
        "settled_changes": Out(1),  # it changes something
    })


class Words(Component):
    """Two words for each warp: one behind, which follows outcomes, and one ahead, which follows instructions in decode.

    The word behind is 0 when the warp starts. There is a word ahead from the first change in decode to the next
    redirect. Words of the warp in decode are read a cycle early, into registers. The word ahead is that after the
    instruction before. An outcome in between does not matter: if its prediction was right, the warp has a word ahead,
    and what has only a word behind does not change; if it was wrong, the warp is redirected.
    """

    def __init__(self, config: SmConfig, ahead: int, behind: int) -> None:
        self._config, self._ahead, self._behind = config, ahead, behind
        super().__init__({
            "start": In(config.warps),  # warps that start
            "restore": In(config.warps),  # warps that are redirected
            "early_warp": In(config.warp_bits),  # the warp that is in decode in the next cycle
            "warp": In(config.warp_bits),  # the warp in decode; not in ``start`` and ``restore`` if its word changes
            "settled_warp": In(config.warp_bits),  # the warp of the outcome
            "share": In(words_signature(ahead, behind)),  # what both read and write
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A memory without bits cannot be written as Verilog.
        if self._ahead:
            self._follow_decode(m)
        if self._behind:
            self._follow_outcomes(m)
        return m

    def _follow_decode(self, m: Module) -> None:
        share, newer = self.share, Signal(self._config.warps, name="newer")
        m.submodules.ahead = words = Memory(shape=self._ahead, depth=self._config.warps, init=[])
        read, write = words.read_port(domain="comb"), words.write_port()
        word, last, follows = Signal(self._ahead), Signal(self._ahead), Signal()
        m.d.sync += [
            word.eq(share.early_ahead),
            last.eq(share.ahead_next), follows.eq(share.ahead_changes & (self.warp == self.early_warp)),
        ]
        m.d.comb += [
            read.addr.eq(self.early_warp),
            share.early_ahead.eq(Mux(Array(newer)[self.early_warp], read.data, share.early_none)),
            share.ahead.eq(Mux(follows, last, word)),
            write.addr.eq(self.warp), write.data.eq(share.ahead_next), write.en.eq(share.ahead_changes),
        ]
        for w in range(self._config.warps):
            with m.If(self.start[w] | self.restore[w]):
                m.d.sync += newer[w].eq(0)
            with m.Elif(share.ahead_changes & (self.warp == w)):
                m.d.sync += newer[w].eq(1)

    def _follow_outcomes(self, m: Module) -> None:
        share, fresh = self.share, Signal(self._config.warps, name="fresh")
        m.submodules.behind = words = Memory(shape=self._behind, depth=self._config.warps, init=[])
        write, early, settled = words.write_port(), words.read_port(domain="comb"), words.read_port(domain="comb")
        m.d.comb += [
            early.addr.eq(self.early_warp),
            share.early_behind.eq(Mux(Array(fresh)[self.early_warp], 0, early.data)),
            settled.addr.eq(self.settled_warp),
            share.settled.eq(Mux(Array(fresh)[self.settled_warp], 0, settled.data)),
            write.addr.eq(self.settled_warp), write.data.eq(share.settled_next), write.en.eq(share.settled_changes),
        ]
        m.d.sync += share.behind.eq(share.early_behind)
        for w in range(self._config.warps):
            with m.If(self.start[w]):
                m.d.sync += fresh[w].eq(1)
            with m.Elif(share.settled_changes & (self.settled_warp == w)):
                m.d.sync += fresh[w].eq(0)
