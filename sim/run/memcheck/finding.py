"""Findings of the memory checker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["KINDS", "MAX_FINDINGS", "SAME_VALUE", "Finding", "Findings", "Place", "Side"]

#: The most defects that are kept; later ones are not reported.
MAX_FINDINGS = 1000

#: Outside all declared areas; in another lane's stack, or below the end of its own; a decision on
#: uninitialised memory; two warps without a barrier between them.
KINDS = ("outside", "stack", "unwritten", "race")

#: The explanation for a race of two stores that is only a note.
SAME_VALUE = "the same value, no barrier since"

#: (function, source line) of a pc, each None if unknown.
Place = Callable[[int], tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class Side:
    """One access, or the instruction that moved a stack pointer or decided on an undefined value.

    ``verb`` says which: "loads", "stores", "moves"; for a decision, the text up to the value: "branches on".
    """

    warp: int
    lane: int
    pc: int
    cycle: int
    verb: str
    #: The SM, of several; None: there is one.
    sm: int | None = None

    def as_json(self, place: Place) -> dict[str, Any]:
        """Return its fields, with the place of the pc."""
        function, source = place(self.pc)
        return ({} if self.sm is None else {"sm": self.sm}) | {
            "warp": self.warp, "lane": self.lane, "pc": self.pc, "cycle": self.cycle, "access": self.verb,
            "function": function, "source": source,
        }

    def describe(self, what: str, place: Place) -> str:
        """"warp 1, lane 2 stores WHAT, pc 0x80000124 at k.c:12 in work, cycle 300"; of several SMs "SM 0, warp 1"."""
        function, source = place(self.pc)
        where = (f" at {source}" if source else "") + (f" in {function}" if function else "")
        sm = "" if self.sm is None else f"SM {self.sm}, "
        what = f"{self.verb} {what}, pc {self.pc:#010x}{where}, cycle {self.cycle}"
        return f"{sm}warp {self.warp}, lane {self.lane} {what}"


@dataclass(slots=True)
class Finding:
    """One defect: all accesses of one ``kind`` by one instruction (or by one pair, if a second takes part) are one.

    ``side``, ``other``, ``address`` are those of the first, ``count`` is the number of lanes in all. ``what`` describes
    the defect in words. ``other``: the access that races, the instruction that moved the stack pointer too far, or
    the load of the uninitialised value: then ``address`` and ``size`` are those of the load, unless ``side`` stores.
    A ``note`` is reported, but does not fail the run.
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
        """Return its fields, with the function and source line of each side."""
        return {
            "kind": self.kind, "address": self.address, "size": self.size, "what": self.what, "count": self.count,
            "note": self.note,
            **self.side.as_json(place), "other": None if self.other is None else self.other.as_json(place),
        }

    def describe(self, place: Place) -> str:
        """Return one line."""
        bytes_ = f"{self.size} byte{'s' if self.size > 1 else ''} at {self.address:#010x}"
        what = f"sp to {self.address:#010x}" if self.side.verb == "moves" else bytes_
        text = f"{self.kind}: {self.side.describe(what, place)}: {self.what}"
        if self.other is not None:
            text += f" {self.other.describe('sp' if self.other.verb == 'moves' else 'it', place)}"
        return text if self.count == 1 else f"{text} ({self.count} times)"


class Findings:
    """The defects found, in order: one for each kind and pair of instructions; an oversized stack is one defect."""

    def __init__(self) -> None:
        self.all: list[Finding] = []
        self._found: dict[tuple[str, int, int], Finding] = {}

    def add(self, finding: Finding) -> None:
        """Add a defect, or count it if it is known."""
        kind, other = finding.kind + finding.note * " note", finding.other
        key = (kind, -1 if finding.kind == "stack" and other else finding.side.pc, -1 if other is None else other.pc)
        known = self._found.get(key)
        if known is not None:
            known.count += finding.count
        elif len(self.all) < MAX_FINDINGS:
            self._found[key] = finding
            self.all.append(finding)
