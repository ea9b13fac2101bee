"""What the memory checker reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["KINDS", "SAME_VALUE", "Finding", "Place", "Side"]

#: Outside everything declared; in a stack that is not the lane's, or below the end of its own; something decided by
#: what nobody has written; two warps without a barrier between them.
KINDS = ("outside", "stack", "unwritten", "race")

#: What is wrong with a race of two stores that is a note.
SAME_VALUE = "the same value, no barrier since"

#: (function, source line) of a pc, each None if unknown.
Place = Callable[[int], tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class Side:
    """One access, or the instruction that moved a stack pointer or was decided by an undefined value.

    ``verb`` says which: "loads", "stores", "moves"; of a decision, up to the value: "branches on".
    """

    warp: int
    lane: int
    pc: int
    cycle: int
    verb: str

    def as_json(self, place: Place) -> dict[str, Any]:
        """Its fields, with the place of the pc."""
        function, source = place(self.pc)
        return {
            "warp": self.warp, "lane": self.lane, "pc": self.pc, "cycle": self.cycle, "access": self.verb,
            "function": function, "source": source,
        }

    def describe(self, what: str, place: Place) -> str:
        """"warp 1, lane 2 stores WHAT, pc 0x80000124 at k.c:12 in work, cycle 300"."""
        function, source = place(self.pc)
        where = (f" at {source}" if source else "") + (f" in {function}" if function else "")
        return f"warp {self.warp}, lane {self.lane} {self.verb} {what}, pc {self.pc:#010x}{where}, cycle {self.cycle}"


@dataclass(slots=True)
class Finding:
    """One defect: all accesses of one ``kind`` by one instruction (and, if there is one, one other) are one.

    ``side``, ``other``, ``address`` are those of the first, ``count`` says how many lanes did it in all. ``what`` says
    what is wrong, in words. ``other``: the access that races, the instruction that moved the stack pointer too far, or
    the load that has brought what nobody has written: then ``address`` and ``size`` are what it has loaded, unless
    ``side`` stores. A ``note`` is told, and fails no run.
    """

    kind: str
    address: int
    size: int
    side: Side
    what: str
    other: Side | None = None
    count: int = 1
    note: bool = False

    def as_json(self, place: Place) -> dict[str, Any]:
        """Its fields, with function and source line of each side."""
        return {
            "kind": self.kind, "address": self.address, "size": self.size, "what": self.what, "count": self.count,
            "note": self.note,
            **self.side.as_json(place), "other": None if self.other is None else self.other.as_json(place),
        }

    def describe(self, place: Place) -> str:
        """One line."""
        bytes_ = f"{self.size} byte{'s' if self.size > 1 else ''} at {self.address:#010x}"
        what = f"sp to {self.address:#010x}" if self.side.verb == "moves" else bytes_
        text = f"{self.kind}: {self.side.describe(what, place)}: {self.what}"
        if self.other is not None:
            text += f" {self.other.describe('sp' if self.other.verb == 'moves' else 'it', place)}"
        return text if self.count == 1 else f"{text} ({self.count} times)"
