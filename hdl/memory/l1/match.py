"""The entries of a table that hold the line in the lookup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from ...config import SmConfig

__all__ = ["Matches", "entries_with_line"]


@dataclass(frozen=True)
class Matches:
    """The entries that hold the line in the lookup."""

    same: Signal  # a bit for each entry
    some: Value  # whether there are any
    found: Value  # with a ``lookup_latency`` of 2 those that hold the line that comes; with 1 it is 0


def entries_with_line(
    m: Module, config: SmConfig, lookup: Any, *, lines: Sequence[Value], uncached: Signal, valid: Signal,
    free: Value, makes: Value, ending: Value, ends: Value,
) -> Matches:
    """The ``valid`` entries that hold the line in the lookup; if that is uncached, all with an uncached line.

    Entry n holds ``lines[n]``, which is ``uncached[n]``. If ``makes``, the entry ``free``, one-hot, gets the line in
    the lookup at the end of the cycle, in which its access is completed. If ``ends``, the entry ``ending``, one-hot,
    is free from the next cycle on.

    With a ``lookup_latency`` of 1 the result is combinational. With 2 it is in registers: lines are compared in the
    cycle before the lookup, and entries that change in that cycle, or while the access waits, update it.
    """
    count = len(valid)
    same = Signal(count, name="same")
    if config.lookup_latency == 1:
        equal = Cat(line == lookup.held.part.line for line in lines)
        m.d.comb += same.eq(valid & (equal | (uncached & lookup.uncached.replicate(count))))
        return Matches(same, same.any(), Const(0, count))
    equal = Cat(line == lookup.next_line for line in lines)
    found, some = Signal(count, name="found"), Signal(name="some")
    m.d.comb += found.eq(valid & (equal | (uncached & lookup.next_uncached.replicate(count))))
    # ``comes``, ``makes`` and ``ends`` are late, so each selects among what is known before. A line is completed only
    # if the next access comes.
    m.d.sync += same.eq(
        Mux(makes, Mux(lookup.follows, free, 0), 0) | (Mux(lookup.comes, found, same) & ~Mux(ends, ending, 0)))

    def stay(entries: Value) -> Value:
        return Mux(ends, (entries & ~ending).any(), entries.any())

    m.d.sync += some.eq((makes & lookup.follows) | Mux(lookup.comes, stay(found), stay(same)))
    return Matches(same, some, found)
