"""Turns: which partition may use what several share, in each cycle."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
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
    chance in this group is the longest ago. A partition has had its chance when it was ``ready`` to use its turn, even
    if its policy chose another warp. If none asks, the turn goes to the next partition. After every ``period`` cycles
    it stays for a cycle, which counts as no chance.

    All outputs depend on registers only. Reset: undefined until the launch.

    ``partitions``: their number, a power of two. ``phases``: for each group, the partition that has its first turn.
    """

    def __init__(self, *, partitions: int, phases: Sequence[int], period: int, computed: bool) -> None:
        self._partitions, self._phases, self._period, self._computed = partitions, phases, period, computed
        of_groups = data.ArrayLayout(len(phases), partitions)
        inputs: dict[str, wiring.Member] = {}
        if computed:
            inputs["asks"] = In(of_groups)  # in t: by partition, the groups whose turn in t+1 it asks for
            inputs["ready"] = In(of_groups)  # in t: the groups in which it has the turn, and an instruction is ready
        super().__init__({
            **inputs,
            "start": In(1),  # launch, one cycle: the turns begin in the next one
            "number": Out(range(period)),  # in t: the turns since one partition last had two
            "fixed": Out(range(partitions)),  # in t: the partition that has the fixed turn of phase 0
            "following": Out(range(partitions)),  # in t: the one that has it in t+1
            "turn": Out(data.ArrayLayout(range(partitions), len(phases))),  # in t: the partition that has each turn
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        last = self.number == self._period - 1
        m.d.comb += self.following.eq(Mux(last, self.fixed, self.fixed + 1))
        m.d.sync += [
            self.fixed.eq(Mux(self.start, 0, self.following)),
            self.number.eq(Mux(self.start | last, 0, self.number + 1)),
        ]
        for group, phase in enumerate(self._phases):
            if self._computed:
                self._compute(m, group, phase, last)
            else:
                m.d.comb += self.turn[group].eq(self.fixed + phase)
        return m

    def _compute(self, m: Module, group: int, phase: int, last: Value) -> None:
        """Compute the turn of a group; ``last``: it stays for a cycle."""
        ways, turn = self._partitions, self.turn[group]
        order = Signal(lru_bits(ways), name=f"order_{group}")
        asks, ready = (Cat(mask[group] for mask in masks) for masks in (self.asks, self.ready))
        later = lru_touch(order, ready, ways)
        oldest = encode(lru_oldest(later, asks, ways))
        following = Signal(range(ways), name=f"following_{group}")
        m.d.comb += following.eq(Mux(asks.any(), oldest, turn + 1))
        with m.If(self.start):
            m.d.sync += [order.eq(0), turn.eq(phase)]
        # The cycle in which all turns stay shifts those that follow. If it counted as a chance, a policy of fixed slots
        # could miss its turns for ever.
        with m.Elif(~last):
            m.d.sync += [order.eq(later), turn.eq(following)]
