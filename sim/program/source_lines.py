"""Source lines of addresses, from the debug information of an ELF.

It is read by pyelftools, and only if a source line is requested.
"""

from __future__ import annotations

import bisect
import functools
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .inlines import Scope, scopes

__all__ = ["Frame", "SourceLines", "own_frame"]

#: Ours, and Vortex's.
_INTERFACES = ("metronome.h", "vx_intrinsics.h")


class Frame(NamedTuple):
    """A function and the place of a pc in it, ``file:line``. An inlined function has a frame of its own.

    Line 0 is the compiler's own code, which belongs to no line of the source.
    """

    function: str
    line: str


def own_frame(frames: Sequence[Frame]) -> Frame | None:
    """The frame to show for a pc: the innermost that is not in a header of the machine's interface."""
    return next((frame for frame in frames[::-1] if not _is_interface(frame.line)), frames[-1] if frames else None)


class SourceLines:
    """The line table of an ELF, ``content``; without a readable table there are no lines."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def at(self, pc: int) -> str | None:
        """``file:line`` of the instruction at ``pc``, or None.

        For code inlined from a header of the machine's interface, it is the line of the call.
        """
        frame = own_frame(self.frames(pc))
        return None if frame is None or frame.line.endswith(":0") else frame.line

    def frames(self, pc: int) -> tuple[Frame, ...]:
        """The functions that contain the instruction at ``pc``, the outermost first; empty if its line is unknown.

        In code without functions, such as an assembler's, the function is empty.
        """
        rows = self._rows
        position = bisect.bisect_right(rows, pc, key=lambda row: row[0]) - 1
        if position < 0 or pc >= rows[position][1]:
            return ()
        around = sorted(
            ((scope, names) for scope, names in self._scopes if scope.address <= pc < scope.end),
            key=lambda each: each[0].depth,
        )
        calls = [f"{names.get(scope.file, '?')}:{scope.line}" for scope, names in around if scope.depth]
        functions = [scope.function for scope, _ in around] or [""]
        places = [*calls, rows[position][2]]
        return tuple(Frame(function, place) for function, place in zip(functions, places, strict=True))

    @functools.cached_property
    def _rows(self) -> tuple[tuple[int, int, str], ...]:
        """(address, end, file:line), ascending; empty without a line table."""
        if not self._content:
            return ()
        try:
            return tuple(sorted(_line_rows(self._content)))
        except Exception:
            # The debug information is optional: if a third-party parser fails on a broken table
            # (it raises nearly anything), the program itself runs without.
            return ()

    @functools.cached_property
    def _scopes(self) -> tuple[tuple[Scope, Mapping[int, str]], ...]:
        """The functions, each with the names of its files."""
        try:
            return tuple((scope, _file_names(header)) for header, scope in scopes(self._content))
        except Exception:
            return ()  # as above


def _is_interface(line: str) -> bool:
    """Whether ``file:line`` is in a header that wraps the machine's own instructions."""
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
            if state is not None and entry.state.address > state.address:
                yield state.address, entry.state.address, f"{names.get(state.file, '?')}:{state.line}"
            state = None if entry.state.end_sequence else entry.state


def _file_names(header: Mapping[str, Any]) -> dict[int, str]:
    """File number -> path, for a line program of DWARF 2 to 5."""
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
