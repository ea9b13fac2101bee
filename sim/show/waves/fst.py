"""FST, the compact format of GTKWave and Surfer, with the names of enumerations in the source.

It is written with GTKWave's own library (pylibfst), because Verilator's writer needs headers that may be missing.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from .vcd import Vcd

__all__ = ["Enumerations", "FstError", "enumerations_of", "write_fst"]

#: By signal name: the name of the enumeration, and the bits and name of each member.
Enumerations = Mapping[str, tuple[str, Sequence[tuple[str, str]]]]

_BASE = re.compile(r'\(\* enum_base_type = "(\w+)" \*\)')
_VALUE = re.compile(r'\(\* enum_value_([01]+) = "(\w+)" \*\)')
_WIRE = re.compile(r"(?:wire|reg)(?: \[[\d:]+\])? (?:\\(\S+) |(\w+))")


class FstError(Exception):
    """FST cannot be written on this computer."""


def enumerations_of(verilog: str) -> Enumerations:
    """Return the signals that are enumerations in the Amaranth source, as marked in the Verilog made from it.

    A name that has different enumerations in different modules is omitted.
    """
    found: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {}
    unclear: set[str] = set()
    base, values = "", list[tuple[str, str]]()
    for line in verilog.splitlines():
        if match := _BASE.search(line):
            base, values = match[1], []
        elif match := _VALUE.search(line):
            values.append((match[1], match[2]))
        elif base and (match := _WIRE.search(line)):
            name = match[1] or match[2]
            enumeration = base, tuple(values)
            if found.setdefault(name, enumeration) != enumeration:
                unclear.add(name)
            base = ""
    return {name: each for name, each in found.items() if name not in unclear}


def write_fst(source: IO[bytes], path: Path, enumerations: Enumerations) -> None:
    """Write the VCD ``source`` as FST.

    Raises
    ------
    FstError
        If pylibfst is missing.
    OSError
        If ``path`` cannot be written.
    """
    try:
        from pylibfst import ffi, lib
    except ImportError:
        raise FstError("FST needs the package pylibfst: pip install pylibfst, or write a .vcd file") from None
    context = lib.fstWriterCreate(str(path).encode(), 1)
    if context == ffi.NULL:
        raise OSError(0, "the library of FST cannot write it")
    try:
        lib.fstWriterSetPackType(context, lib.FST_WR_PT_LZ4)
        vcd = Vcd(source)
        lib.fstWriterSetTimescaleFromString(context, vcd.timescale.encode())
        lib.fstWriterSetVersion(context, b"Metronome")
        handles, widths = _declare(vcd, context, enumerations, ffi, lib)
        emit, tick = lib.fstWriterEmitValueChange, lib.fstWriterEmitTimeChange
        for time, code, bits in vcd.changes():
            if time is not None:
                tick(context, time)
            else:
                emit(context, handles[code], bits.rjust(widths[code], b"0"))
        if lib.fstWriterGetFseekFailed(context):
            raise OSError(0, "the library of FST cannot write it")
    finally:
        lib.fstWriterClose(context)
    reader = lib.fstReaderOpen(str(path).encode())
    if reader == ffi.NULL:
        # The library does not report data that it could not write.
        raise OSError(errno.ENOSPC, "the file is incomplete: is the disk full?")
    lib.fstReaderClose(reader)


def _declare(
    vcd: Vcd, context: Any, enumerations: Enumerations, ffi: Any, lib: Any
) -> tuple[dict[bytes, int], dict[bytes, int]]:
    """Declare scopes and signals; return the handle and width for each code."""
    handles: dict[bytes, int] = {}
    widths: dict[bytes, int] = {}
    tables: dict[tuple[str, Any], int] = {}
    scope: tuple[str, ...] = ()
    for variable in vcd.variables:
        common = 0
        while common < min(len(scope), len(variable.scope)) and scope[common] == variable.scope[common]:
            common += 1
        for _ in scope[common:]:
            lib.fstWriterSetUpscope(context)
        for name in variable.scope[common:]:
            lib.fstWriterSetScope(context, lib.FST_ST_VCD_MODULE, name.encode(), ffi.NULL)
        scope = variable.scope
        known = enumerations.get(variable.name)
        if known is not None and len(known[1][0][0]) == variable.width:
            if known not in tables:
                tables[known] = _table(context, known, ffi, lib)
            lib.fstWriterEmitEnumTableRef(context, tables[known])
        shown = f"{variable.name} {variable.bits}".strip().encode()
        handle = lib.fstWriterCreateVar(
            context, lib.FST_VT_VCD_WIRE, lib.FST_VD_IMPLICIT, variable.width, shown, handles.get(variable.code, 0)
        )
        handles.setdefault(variable.code, handle)
        widths[variable.code] = variable.width
    for _ in scope:
        lib.fstWriterSetUpscope(context)
    return handles, widths


def _table(context: Any, known: tuple[str, Sequence[tuple[str, str]]], ffi: Any, lib: Any) -> int:
    name, members = known
    kept = [[ffi.new("char[]", part.encode()) for part in (label, bits)] for bits, label in members]
    literals, values = (ffi.new("const char *[]", [each[place] for each in kept]) for place in (0, 1))
    return lib.fstWriterCreateEnumTable(context, name.encode(), len(members), len(members[0][0]), literals, values)
