"""Counters of two bits for the branches of each warp."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...layouts.prediction import outcome_layout
from ...lib.component import Component
from .words import words_signature

__all__ = ["TwoBit"]


class TwoBit(Component):
    """Counts for each branch how often it goes against the static prediction: up, else down (docs/prediction.md).

    The lowest bits of its pc select the counter. From 2 on, the static prediction is inverted. There are two copies of
    the counters, as in :class:`hdl.frontend.prediction.return_stack.ReturnStack`. Reset and start: 0.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "valid": In(1),  # a branch in decode
            "warp": In(config.warp_bits),  # its warp
            "pc": In(32),  # its pc
            "differs": In(1),  # its predicted outcome is not the static one
            "inverts": Out(1),  # the static prediction is inverted; combinational
            "outcome": In(outcome_layout(config)),  # of an older branch
            #: Ahead: the counters that are newer there. Behind: the counters that are not 0 for want of a branch.
            "words": Out(words_signature(config.two_bit, config.two_bit)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, entries = self._config, self._config.two_bit
        words = self.words
        m.submodules.ahead = ahead = Memory(shape=2, depth=config.warps * entries, init=[])
        m.submodules.behind = behind = Memory(shape=2, depth=config.warps * entries, init=[])
        here, there = Signal(range(entries)), Signal(range(entries))
        bits = (entries - 1).bit_length()
        at, at_outcome = Cat(here[:bits], self.warp), Cat(there[:bits], self.outcome.warp)
        read, write = ahead.read_port(domain="comb"), ahead.write_port()
        below, own, settles = behind.read_port(domain="comb"), behind.read_port(domain="comb"), behind.write_port()
        now, before = Signal(2), Signal(2)
        learns = self.outcome.valid & self.outcome.conditional
        m.d.comb += [
            here.eq(self.pc[2:]), there.eq(self.outcome.pc[2:]),
            words.ahead_changes.eq(self.valid), words.ahead_next.eq(words.ahead | Mux(self.valid, 1 << here, 0)),
            words.settled_changes.eq(learns), words.settled_next.eq(words.settled | Mux(learns, 1 << there, 0)),
            read.addr.eq(at), below.addr.eq(at), own.addr.eq(at_outcome),
            now.eq(Mux(
                words.ahead.bit_select(here, 1), read.data, Mux(words.behind.bit_select(here, 1), below.data, 0),
            )),
            before.eq(Mux(words.settled.bit_select(there, 1), own.data, 0)),
            self.inverts.eq(now[1]),
            write.addr.eq(at), write.en.eq(self.valid), write.data.eq(_counted(now, self.differs)),
            settles.addr.eq(at_outcome), settles.en.eq(learns),
            settles.data.eq(_counted(before, self.outcome.taken ^ self.outcome.usual)),
        ]
        return m


def _counted(count: Value, up: Value) -> Value:
    """A counter of two bits after it has counted up or down."""
    return Mux(up, Mux(count == 3, 3, count + 1), Mux(count == 0, 0, count - 1))[:2]
