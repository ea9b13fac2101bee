"""Turns: which partition may use what several share, in each cycle."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..lib.component import Component
from ..lib.lru import lru_bits, lru_oldest, lru_touch
from ..lib.onehot import encode

__all__ = ["Turns"]


class Turns(Component):
    """For each group of shared units, the partition that may select an instruction for one of them in a cycle.

    From the launch on, partitions take fixed turns, one cycle each. After every ``period`` turns, one has two: with a
    policy of fixed slots, a warp could otherwise have all of its slots in turns of others, and never issue a load.

    With ``computed`` turns, the turn of the next cycle goes to a partition that ``asks`` for it: to the one whose last
    chance in this group is the longest ago. A partition has had its chance if it had the turn and an instruction that
    could be selected, whether its policy took it or not. If none asks, the turn goes to the next partition. After
    every ``period`` cycles it stays for a cycle.

    All outputs come from registers. Reset: undefined until the launch.

    ``partitions``: their number, a power of two. ``phases``: for each group, the partition that has its first turn.
    """

    def __init__(self, *, partitions: int, phases: Sequence[int], period: int, computed: bool) -> None:
        self._partitions, self._phases, self._period, self._computed = partitions, phases, period, computed
        of_groups = data.ArrayLayout(len(phases), partitions)
        inputs: dict[str, wiring.Member] = {}
        if computed:
            inputs["asks"] = In(of_groups)  # in t: by partition, the groups whose turn in t+1 it asks for
            inputs["chances"] = In(of_groups)  # in t: by partition, the groups in which it has its chance
        super().__init__({
            **inputs,
            "start": In(1),  # launch, one cycle: the turns begin in the next one
            "fixed": Out(range(partitions)),  # in t: the partition that has the fixed turn of phase 0
            "turn": Out(data.ArrayLayout(range(partitions), len(phases))),  # in t: the partition that has each turn
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number = Signal(range(self._period))
        last = number == self._period - 1
        m.d.sync += [
            self.fixed.eq(Mux(self.start, 0, Mux(last, self.fixed, self.fixed + 1))),
            number.eq(Mux(self.start | last, 0, number + 1)),
        ]
        for group, phase in enumerate(self._phases):
            if not self._computed:
                m.d.comb += self.turn[group].eq(self.fixed + phase)
                continue
            order = Signal(lru_bits(self._partitions), name=f"order_{group}")
            chance, asking = (Cat(each[group] for each in masks) for masks in (self.chances, self.asks))
            later = lru_touch(order, chance, self._partitions)
            first = encode(lru_oldest(later, asking, self._partitions))
            following = Mux(last, self.turn[group], Mux(asking.any(), first, (self.turn[group] + 1)[:len(first)]))
            m.d.sync += [
                order.eq(Mux(self.start, 0, later)), self.turn[group].eq(Mux(self.start, phase, following)),
            ]
        return m
