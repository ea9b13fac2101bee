"""Flip-flops around a unit, so that it can be placed and timed on its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from amaranth.hdl import Cat, Elaboratable, Module, Signal, Value
from amaranth.lib import wiring

__all__ = ["CORE", "INNER", "RAMS", "Registered"]

#: The submodule whose boundary synthesis keeps, and the unit in it; ports that nothing reads do not cross it.
INNER = "unit"
CORE = "core"
#: The module of the unit's block RAMs while the rest is mapped.
RAMS = "rams"
#: Bits that one level of the output tree combines into one: a LUT4 and its flip-flop.
_FOLD = 4


class Registered(Elaboratable):
    """A unit with a flip-flop at every port bit, and four pins: ``clk``, ``rst``, ``scan_in``, ``scan_out``.

    The input bits form one shift register fed by ``scan_in``: each input comes directly from its own flip-flop,
    whose value no tool can know. Every output bit is captured in its own flip-flop in every cycle; a tree of
    exclusive ors, each followed by a flip-flop, folds them into ``scan_out``, so nothing can be removed and no path of
    the tree is longer than one LUT. A reported path therefore begins and ends at a flip-flop, in the unit or at
    its edge: combinational inputs and outputs are timed as if a neighbour's register were right next to them.

    Parameters
    ----------
    unit : wiring.Component
        The unit to be measured.
    open_ports : collection of str
        Outputs that nothing reads: logic that only they need is removed, as in an SM that does not read them.
    """

    def __init__(self, unit: wiring.Component, open_ports: Collection[str] = ()) -> None:
        self._unit = unit
        self._open = frozenset(open_ports)
        self.scan_in = Signal()
        self.scan_out = Signal()

    def _ports(self) -> Iterator[tuple[wiring.Flow, Value]]:
        for path, member, value in self._unit.signature.flatten(self._unit):
            if path[0] not in self._open:
                yield member.flow, Value.cast(value)

    def elaborate(self, platform: object) -> Module:
        """Make the unit, the shift register and the tree."""
        m = Module()
        m.submodules[INNER] = inner = Module()
        inner.submodules[CORE] = self._unit
        inputs = [value for flow, value in self._ports() if flow is wiring.In]
        outputs = [value for flow, value in self._ports() if flow is wiring.Out]
        chain = Signal(sum(map(len, inputs)), name="chain", reset_less=True)
        m.d.sync += chain.eq(Cat(self.scan_in, chain))
        m.d.comb += Cat(inputs).eq(chain)
        level = Signal(sum(map(len, outputs)), name="captured", reset_less=True)
        m.d.sync += level.eq(Cat(outputs))
        while len(level) > 1:
            folded = Signal(-(-len(level) // _FOLD), name=f"folded_{len(level)}", reset_less=True)
            m.d.sync += folded.eq(Cat(level[n : n + _FOLD].xor() for n in range(0, len(level), _FOLD)))
            level = folded
        # Without inputs the shift register is empty; without outputs the tree is empty.
        m.d.comb += self.scan_out.eq(level ^ (chain[-1] if len(chain) else 0))
        return m
