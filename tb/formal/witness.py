"""Counterexamples: the solver's trace as a table with one row per cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .records import Column

__all__ = ["Counterexample", "make_table", "read_trace"]


@dataclass(frozen=True)
class Counterexample:
    """``violated``: the claims that fail in the last cycle; ``rows``: the cells of every cycle.

    ``reachable``: the first cycle is the one after reset. Otherwise the induction step failed, and the design may never
    reach the first state.
    """

    violated: tuple[str, ...]
    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    reachable: bool

    def as_json(self) -> dict[str, object]:
        """Return the counterexample as JSON data: the cells of a cycle by title."""
        cycles = [dict(zip(self.titles, cells, strict=True)) for cells in self.rows]
        return {"violated": self.violated, "reachable": self.reachable, "cycles": cycles}


def _steps(vcd: str) -> list[dict[str, int]]:
    """Return the values of the top module's own signals in every cycle."""
    names: dict[str, list[str]] = {}
    depth = 0
    cycles: dict[int, dict[str, int]] = {}
    step = 0
    header, _, body = vcd.partition("$enddefinitions")
    for line in header.splitlines():
        words = line.split()
        if words[:1] == ["$scope"]:
            depth += 1
        elif words[:1] == ["$upscope"]:
            depth -= 1
        elif words[:1] == ["$var"] and (depth <= 1):
            names.setdefault(words[3], []).append(words[4])
    values: dict[str, int] = {}
    for line in body.splitlines():
        if line[:1] == "b":
            digits, _, code = line[1:].partition(" ")
            for name in names.get(code, ()):
                if name == "smt_step":
                    cycles.setdefault(step, values)
                    step = int(digits, 2)
                    values = dict(values)
                else:
                    values[name] = int(digits.replace("x", "0"), 2)
            cycles[step] = values
    # The last time stamp only ends the last cycle.
    return [cycles[number] for number in sorted(cycles)][:-1]


def _cell(value: int, kind: str, places: int = 4) -> str:
    if kind == "mask":
        return "{" + ",".join(str(bit) for bit in range(value.bit_length()) if value >> bit & 1) + "}"
    if kind == "pc":
        return f"{value:x}"
    if kind == "popped":
        return "NOP" if value else "instr"
    if kind == "ring":
        return " ".join("fniN"[value >> bit & 3] for bit in range(0, 2 * places, 2))
    return str(value)


def read_trace(vcd: str, claims: Mapping[str, str], columns: Sequence[Column]) -> Counterexample:
    """Return the counterexample in a VCD file of smtbmc: a path from reset."""
    return make_table(_steps(vcd), claims, columns, reachable=True)


def make_table(steps: Sequence[Mapping[str, int]], claims: Mapping[str, str], columns: Sequence[Column], *,
               reachable: bool) -> Counterexample:
    """Build a counterexample from the values of the harness's signals, cycle by cycle."""
    rows = tuple(
        (str(number), *(_show(values, column) for column in columns)) for number, values in enumerate(steps)
    )
    violated = tuple(text for name, text in claims.items() if steps[-1].get(name) == 0)
    return Counterexample(violated, ("cycle", *(column.title for column in columns)), rows, reachable)


def _show(values: Mapping[str, int], column: Column) -> str:
    if column.when and not values.get(column.when):
        return ""
    return _cell(values.get(column.signal, 0), column.kind)
