"""A readable listing of an assembly file: functions with source lines, and marks on lines that the pass added."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .assembly import ADDED, split_source

__all__ = ["listing"]

_FILE = re.compile(r'^\s*\.file\s+(?P<number>\d+)\s+(?:"(?P<folder>[^"]*)"\s+)?"(?P<name>[^"]*)"')
_PLACE = re.compile(r"\.loc\s+(?P<number>\d+)\s+(?P<line>\d+)")
_LABEL = re.compile(r"^([\w.$]+):")
_DEBUG_LABEL = re.compile(r"^\.L(?:tmp|func_begin|func_end)\d+:")
#: Custom instructions of the machine by their number (isa.md).
_NAMES = {"0": "tmc", "1": "wspawn", "2": "split", "3": "join", "4": "bar", "5": "pred"}
_CUSTOM = re.compile(r"\.insn r (?:0x0B|11), (\d), 0, ")
_COLUMN = 40


def listing(text: str) -> str:
    """Return the instructions and labels of an assembly file, without data and debug directives.

    Each source line precedes the instructions compiled from it. A line that the pass added ends with ``# added``
    and, for a custom instruction of the machine, its name.
    """
    files: dict[str, str] = {}
    for found in filter(None, map(_FILE.match, text.split("\n"))):
        inside = not found["folder"] or found["folder"] == "." or found["name"].startswith("/")
        name = found["name"] if inside else f"{found['folder']}/{found['name']}"
        files[found["number"]] = name.removeprefix("./")
    shown: list[str] = []
    source = split_source(text)
    for function in source.functions:
        shown += ["", f"{function.name}:", *_lines(source.lines[function.start : function.end], files)]
    return "".join(f"{line}\n" for line in shown)


def _lines(lines: list[str], files: dict[str, str]) -> Iterator[str]:
    place = ""
    words = {word for line in lines if not _LABEL.match(line) for word in re.split(r"[\s,()]+", line)}
    for line in map(str.strip, lines):
        if (found := _PLACE.match(line)) and found["line"] != "0":
            before, place = place, f"{files.get(found['number'], '?')}:{found['line']}"
            if place != before:
                yield f"    # {place}"
        elif (found := _LABEL.match(line)) and not _DEBUG_LABEL.match(line):
            if found[1] in words:
                yield f"{found[1]}:"
        elif line.startswith(".insn") or not (line.startswith((".", "#")) or found or not line):
            yield _instruction(line)


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
