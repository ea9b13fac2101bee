"""The parts of a bound by source line, and its worst path, as JSON and as a table."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from ..output.tables import new_table

if TYPE_CHECKING:
    from metronome.sim.analysis.bound.bound import Bound
    from metronome.sim.analysis.code.refusals import RefusedError
    from metronome.sim.program.elf import ElfImage

    from ..process.terminal import Console

__all__ = ["described_lines", "place_in", "print_lines", "refusal"]

#: Lines of the table; the JSON has all.
_MOST = 8
_KINDS = ("instructions", "nops", "waits")


def place_in(image: ElfImage, pc: int) -> str:
    """Return a pc with its function and source line, if they are known."""
    frame = next(iter(image.frames_at(pc)), None)
    if frame is None:
        return f"{pc:#010x}"
    line = "" if frame.line is None else f", {frame.line}"
    return f"{pc:#010x} in {frame.function}{line}"


def refusal(image: ElfImage, error: RefusedError) -> str:
    """Return the refusal with function, source line and pc."""
    if error.pc is None:
        return str(error)
    return f"{error} (at {place_in(image, error.pc)})"


def _lines(image: ElfImage, bound: Bound) -> dict[tuple[str, str], Counter[str]]:
    """Map (source line, function) to its share of the bound, the largest first; unknown lines are empty."""
    lines: dict[tuple[str, str], Counter[str]] = {}
    if bound.by_instruction is None:
        return lines
    for kind in _KINDS:
        for pc, cycles in getattr(bound.by_instruction, kind).items():
            key = image.source_line(pc) or "", image.function_at(pc) or ""
            lines.setdefault(key, Counter())[kind] += cycles
    return dict(sorted(lines.items(), key=lambda each: (-each[1].total(), each[0])))


def described_lines(image: ElfImage, bound: Bound) -> dict[str, Any]:
    """Return ``lines`` and ``worst_path`` of the JSON (docs/wcet.md)."""
    laid = bound.by_instruction
    if laid is None:
        return {}
    branches: dict[int, list[dict[str, Any]]] = {}
    for (pc, following), count in sorted(laid.ways.items()):
        to = {"to": following, "place": place_in(image, following)} if following >= 0 else {"to": None, "place": None}
        branches.setdefault(pc, []).append(to | {"count": count})
    return {
        "lines": {
            "method": laid.method, "bound": laid.cycles,
            "lines": [
                {"line": line or None, "function": function or None, **{kind: cycles[kind] for kind in _KINDS}}
                for (line, function), cycles in _lines(image, bound).items()
            ],
            "rest": dict(laid.rest),
        },
        "worst_path": {
            "branches": [{"pc": pc, "place": place_in(image, pc), "ways": ways} for pc, ways in branches.items()],
            "loops": [
                {"pc": pc, "place": place_in(image, pc), "passes": laid.instructions[pc]}
                for pc in sorted(bound.loops) if pc in laid.instructions
            ],
        },
    }


def print_lines(console: Console, image: ElfImage, bound: Bound) -> None:
    """Print the lines with the largest shares of the bound as a table."""
    lines, laid = _lines(image, bound), bound.by_instruction
    if laid is None or not lines:
        return
    table = new_table("source line", "function", ">cycles", ">issued", ">NOPs", ">waits", title="by source line")
    table.columns[0].no_wrap = True
    shown = list(lines.items())[:_MOST]
    for (line, function), cycles in shown:
        name = "/".join(line.split("/")[-2:])
        table.add_row(escape(name), escape(function), str(cycles.total()), *(str(cycles[kind]) for kind in _KINDS))
    rest = laid.cycles - sum(cycles.total() for _, cycles in shown)
    table.add_row("all else", "", str(rest), "", "", "")
    console.print(table)
