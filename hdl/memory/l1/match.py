"""The entries of a table that hold the line in the lookup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from ...config import SmConfig

__all__ = ["entries_with_line"]


def entries_with_line(
    m: Module, config: SmConfig, lookup: Any, *, lines: Sequence[Value], uncached: Signal, valid: Signal,
    made: Value, ended: Value, following: Signal | None = None,
) -> Signal:
    """The ``valid`` entries that hold the line in the lookup; if that is uncached, all with an uncached line.

    Entry n holds ``lines[n]``, which is ``uncached[n]``. ``made``, one-hot or 0, gets the line in the lookup at the end
    of the cycle, in which its access is completed; the entries ``ended`` are free from the next cycle on.

    ``following``: if given, it is driven with the result of the next cycle.

    With a ``lookup_latency`` of 1 the result is combinational. With 2 it is a register: lines are compared in the cycle
    before the lookup, and entries that change in that cycle, or while the access waits, update it.
    """
    count = len(valid)
    same = Signal(count, name="same")
    if config.lookup_latency == 1:
        equal = Cat(line == lookup.held.part.line for line in lines)
        m.d.comb += same.eq(valid & (equal | (uncached & lookup.uncached.replicate(count))))
        return same
    equal = Cat(line == lookup.next_line for line in lines)
    found = Signal(count, name="found")
    next_same = Signal(count, name="next_same") if following is None else following
    m.d.comb += [
        found.eq(valid & (equal | (uncached & lookup.next_uncached.replicate(count)))),
        next_same.eq(Mux(lookup.comes, found | Mux(lookup.follows, made, 0), same) & ~ended),
    ]
    m.d.sync += same.eq(next_same)
    return same
