"""Source lines of addresses, from the debug information of an ELF.

It is read by pyelftools, and only when a source line is asked for.
"""

from __future__ import annotations

import bisect
import functools
import io
from collections.abc import Iterator, Mapping
from typing import Any

from .inlines import call_sites

__all__ = ["SourceLines"]

#: Ours, and Vortex's.
_INTERFACES = ("metronome.h", "vx_intrinsics.h")


class SourceLines:
    """The line table of an ELF, ``content``; bytes without one that can be read have no lines."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def at(self, pc: int) -> str | None:
        """``file:line`` of the instruction at ``pc``, or None.

        Of what a header of the machine's interface has inlined it is the line that calls it.
        """
        rows = self._rows
        position = bisect.bisect_right(rows, pc, key=lambda row: row[0]) - 1
        if position < 0 or pc >= rows[position][1]:
            return None
        line = rows[position][2]
        if _is_interface(line):
            calls = sorted((row for row in self._calls if row[0] <= pc < row[1]), key=lambda row: -row[2])
            line = next((row[3] for row in calls if not _is_interface(row[3])), line)
        return line

    @functools.cached_property
    def _rows(self) -> tuple[tuple[int, int, str], ...]:
        """(address, end, file:line), ascending; empty without a line table."""
        if not self._content:
            return ()
        try:
            return tuple(sorted(_line_rows(self._content)))
        except Exception:
            # The debug information is a courtesy: whatever a third-party parser makes of a broken table
            # (it raises nearly anything), the program itself runs without.
            return ()

    @functools.cached_property
    def _calls(self) -> tuple[tuple[int, int, int, str], ...]:
        """(address, end, depth of inlining, file:line of the call)."""
        try:
            return tuple(
                (first, end, depth, f"{_file_names(header).get(file, '?')}:{line}")
                for header, (first, end, depth, file, line) in call_sites(self._content)
            )
        except Exception:
            return ()  # as above


def _is_interface(line: str) -> bool:
    """Whether ``file:line`` is in a header that stands for the machine's own instructions."""
    return line.rpartition(":")[0].rpartition("/")[2] in _INTERFACES


def _line_rows(content: bytes) -> Iterator[tuple[int, int, str]]:
    from elftools.elf.elffile import ELFFile  # here, since few runs ask for a line

    elf = ELFFile(io.BytesIO(content))
    if not elf.has_dwarf_info():
        return
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        names = _file_names(program.header)
        state = None
        for entry in program.get_entries():
            if entry.state is None:
                continue
            if state is not None and entry.state.address > state.address and state.line:
                yield state.address, entry.state.address, f"{names.get(state.file, '?')}:{state.line}"
            state = None if entry.state.end_sequence else entry.state


def _file_names(header: Mapping[str, Any]) -> dict[int, str]:
    """File number -> path, of a line program of DWARF 2 to 5."""
    first = 0 if header["version"] >= 5 else 1
    folders = header["include_directory"]
    names = {}
    for number, entry in enumerate(header["file_entry"], first):
        folder = entry.dir_index - first
        path = entry.name.decode(errors="replace")
        if 0 <= folder < len(folders) and not path.startswith("/"):
            prefix = folders[folder].decode(errors="replace")
            path = path if prefix in ("", ".") else f"{prefix}/{path}"
        names[number] = path.removeprefix("./")
    return names
