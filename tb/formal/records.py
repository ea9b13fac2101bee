"""What the properties refer to, by name: places of a ring, MSHRs, columns of the counterexample's table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Signal, Value

__all__ = ["Column", "Held", "Misses"]


@dataclass(frozen=True)
class Held:
    """What one place of the symbolic warp's ring holds: a slot of its buffer, or the fetch that will fill the slot.

    ``decoded``: it is in the buffer, so ``entry`` counts; before that only its pc is known.
    """

    nop: Value
    decoded: Value
    pc: Value
    step: Value
    info: Value
    #: None where nobody asks what the places say.
    entry: Any


@dataclass(frozen=True, kw_only=True)
class Misses:
    """The MSHRs: one bit an MSHR, a line each; ``waiting``: the warps that wait for an MSHR.

    ``warp`` (one-hot) asks for a register for ``wanted_line`` in this cycle, and is ``granted`` one (one-hot).
    ``answered`` (one-hot): memory answered this register's request in the last cycle.
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
    """A column of the counterexample's table: a signal of the harness and how to write its value.

    ``kind``: number, mask (a set of warps), pc (hexadecimal), popped (whether it was a NOP) or ring (the places of a
    warp's ring, the next to issue first: N a NOP, i an instruction, and in flight n and f). The cell is empty while the
    signal ``when`` is 0.
    """

    title: str
    signal: str
    kind: str = "number"
    when: str = ""
