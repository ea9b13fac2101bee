"""The counters' values in a memory, with recent increments in small registers beside it."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..layouts.counters import COUNTER_BITS
from ..lib.block_memory import block_memory, registered_read
from ..lib.component import Component
from ..lib.onehot import one_hot

__all__ = ["CounterMemory"]


class CounterMemory(Component):
    """One counter of 48 bits for each of ``widths``, read one at a time.

    Each has a few bits of its own, which count. The memory's words take turns: every len(widths) cycles, the count in a
    counter's bits is added to its word, and the bits start again. Steps come late in their cycle, so they pass a
    register first. A value is the word plus its bits plus that register, exact in every cycle. Reset: all 0.

    Parameters
    ----------
    widths
        The bits of each counter's step.
    """

    def __init__(self, widths: Sequence[int]) -> None:
        self._widths = list(widths)
        count = len(self._widths)
        super().__init__({
            "clear": In(1),  # all counters are 0 in the next cycle
            **{f"step{number}": In(width) for number, width in enumerate(self._widths)},  # added in this cycle
            "index": In(range(max(2, count))),  # which counter is read
            "value": Out(COUNTER_BITS),  # combinational: the count before this cycle
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = len(self._widths)
        turn, after = Signal(range(max(2, count))), Signal(range(max(2, count)))
        begun, sum_now = Signal(count), Signal(COUNTER_BITS)
        steps = Array(self._registered(m, number) for number in range(count))
        lows = Array(self._lows(m, turn, steps))
        # The turns' words are known a cycle ahead, so they have a memory of their own, in a block.
        m.submodules.ours = ours = block_memory(shape=COUNTER_BITS, depth=count)
        m.submodules.read = theirs = Memory(shape=COUNTER_BITS, depth=count, init=[])
        word, read = registered_read(m, ours, address=after, enable=1, name="word"), theirs.read_port(domain="comb")
        m.d.comb += [
            after.eq(Mux(turn == count - 1, 0, turn + 1)),
            sum_now.eq(Mux(begun.bit_select(turn, 1), word, 0) + lows[turn]),
            read.addr.eq(self.index),
        ]
        for port in (ours.write_port(), theirs.write_port()):
            m.d.comb += [port.addr.eq(turn), port.data.eq(sum_now), port.en.eq(1)]
        m.d.sync += [turn.eq(after), begun.eq(Mux(self.clear, 0, begun | one_hot(turn, count)))]
        recent = lows[self.index] + steps[self.index]
        m.d.comb += self.value.eq(Mux(begun.bit_select(self.index, 1), read.data, 0) + recent)
        return m

    def _registered(self, m: Module, number: int) -> Signal:
        """A counter's step of the cycle before; 0 if the counters have been cleared since."""
        step = Signal(self._widths[number], name=f"late{number}")
        m.d.sync += step.eq(Mux(self.clear, 0, getattr(self, f"step{number}")))
        return step

    def _lows(self, m: Module, turn: Signal, steps: Sequence[Value]) -> list[Signal]:
        """Each counter's increments since its last turn."""
        lows = []
        for number, (width, step) in enumerate(zip(self._widths, steps, strict=True)):
            low = Signal(range(len(self._widths) * ((1 << width) - 1) + 1), name=f"low{number}")
            before = Mux(turn == number, 0, low)
            # Bit by bit for a step of one bit: a few LUTs fewer than the carries of a sum.
            m.d.sync += low.eq(before + step if width > 1 else before ^ Cat(
                step & before[:bit].all() for bit in range(len(low))
            ))
            with m.If(self.clear):
                m.d.sync += low.eq(0)
            lows.append(low)
        return lows
