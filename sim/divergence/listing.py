"""The code of an assembly file for people: functions with source lines, and what the pass has added marked as such."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .assembly import ADDED

__all__ = ["listing"]

_FUNCTION = re.compile(r"^\s*\.type\s+([\w.$]+),@function")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+(?:"(?P<folder>[^"]*)"\s+)?"(?P<name>[^"]*)"')
_PLACE = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")
_LABEL = re.compile(r"^([\w.$]+):")
_DEBUG_LABEL = re.compile(r"^\.L(?:tmp|func_begin|func_end)\d+:")
#: Custom instructions of the machine by their number (isa.md), and which operands count.
_NAMES = {"0": "tmc", "1": "wspawn", "2": "split", "3": "join", "4": "bar", "5": "pred"}
_CUSTOM = re.compile(r"\.insn r (?:0x0B|11), (\d), 0, ")
_COLUMN = 40


def listing(text: str) -> str:
    """The instructions and labels of an assembly file, without data and what is for the debugger.

    The source line stands before the instructions that come of it. A line that the pass has added ends with ``# added``
    and, for an instruction of the machine's own, its name.
    """
    return "".join(f"{line}\n" for line in _lines(text))


def _lines(text: str) -> Iterator[str]:
    names: set[str] = set()
    files: dict[str, str] = {}
    inside, place = False, ""
    for line in text.split("\n"):
        if found := _FUNCTION.match(line):
            names.add(found[1])
        elif found := _FILE.match(line):
            folder, name = found["folder"] or "", found["name"]
            files[found[1]] = name if folder in ("", ".") or name.startswith("/") else f"{folder}/{name}"
        elif _DEBUG_LABEL.match(line):
            inside = inside and "func_end" not in line
        elif found := _LABEL.match(line):
            if found[1] in names:
                inside, place = True, ""
                yield ""
            if inside:
                yield f"{found[1]}:"
        elif inside and (found := _PLACE.match(line)):
            new = f"{files.get(found[1], '?')}:{found[2]}"
            if new != place and found[2] != "0":
                place = new
                yield f"    # {place}"
        elif inside and line.strip() and (not line.strip().startswith((".", "#")) or line.strip().startswith(".insn")):
            yield _instruction(line.strip())


def _instruction(line: str) -> str:
    code, _, comment = line.partition("#")
    notes = []
    if comment.strip() == ADDED:
        notes.append("added")
    if found := _CUSTOM.match(line):
        notes.append(_NAMES.get(found[1], "?"))
    op, _, operands = code.strip().partition("\t")
    shown = f"        {op} {operands}".rstrip()
    return f"{shown:{_COLUMN}}# {': '.join(notes)}" if notes else shown
