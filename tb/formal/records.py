"""Named groups of signals that the properties use: ring slots, MSHRs and columns of the counterexample table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Signal, Value

__all__ = ["Column", "Misses", "RingPlace"]


@dataclass(frozen=True)
class RingPlace:
    """One place of the symbolic warp's ring: a slot of its buffer, or the fetch that will fill the slot.

    ``decoded``: the instruction is in the buffer, so ``entry`` is valid; until then only its pc is known. ``after``:
    the pc that was fetched after it.
    """

    nop: Value
    decoded: Value
    pc: Value
    after: Value
    info: Value
    #: None if the contents of the places are not requested.
    entry: Any


@dataclass(frozen=True, kw_only=True)
class Misses:
    """The MSHRs: one bit and one line per MSHR. ``waiting``: the warps that wait for an MSHR.

    ``warp`` (one-hot) requests an MSHR for ``wanted_line`` in this cycle, and is ``granted`` one (one-hot).
    ``answered`` (one-hot): memory answered this MSHR's request in the previous cycle.
    """

    valid: Signal
    sent: Signal
    locked: Signal
    waiting: Signal
    warp: Signal
    wanted_line: Signal
    granted: Signal
    answered: Signal
    lines: list[Signal]


@dataclass(frozen=True)
class Column:
    """A column of the counterexample table: a signal of the harness and the format of its value.

    ``kind``: number, mask (a set of warps), pc (hexadecimal), popped (whether it was a NOP) or ring (the places of a
    warp's ring, the next to issue first: N a NOP, i an instruction; n and f the same in flight). The cell is empty
    while the signal ``when`` is 0.
    """

    title: str
    signal: str
    kind: str = "number"
    when: str = ""
