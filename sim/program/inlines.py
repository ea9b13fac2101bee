"""Functions in an ELF's debug information: their code, and the calls that were inlined."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, NamedTuple

from .names import readable

__all__ = ["Scope", "scopes"]

#: Attributes by which one DIE refers to another for the same function: the end of the chain has the name.
_ORIGINS = ("DW_AT_abstract_origin", "DW_AT_specification")


class Scope(NamedTuple):
    """Code of a function, from ``address`` to ``end``.

    ``depth``: 0, or the depth to which it was inlined; then ``file`` (its number) and ``line`` are those of the call
    that the code replaces, else 0.
    """

    address: int
    end: int
    depth: int
    function: str
    file: int
    line: int


def scopes(content: bytes) -> Iterator[tuple[Any, Scope]]:
    """Every function and every inlined call, with the header of the line table that numbers its file."""
    from elftools.elf.elffile import ELFFile  # here, since few runs ask for a line

    elf = ELFFile(io.BytesIO(content))
    if not elf.has_dwarf_info():
        return
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is not None:
            for scope in _inside(dwarf, unit, unit.get_top_DIE(), 0):
                yield program.header, scope


def _inside(dwarf: Any, unit: Any, die: Any, depth: int) -> Iterator[Scope]:
    for child in die.iter_children():
        inlined = child.tag == "DW_TAG_inlined_subroutine"
        if inlined or child.tag == "DW_TAG_subprogram":
            call = [child.attributes.get(f"DW_AT_call_{part}") for part in ("file", "line")]
            file, line = (0 if part is None else part.value for part in call)
            for first, end in _ranges(dwarf, unit, child):
                yield Scope(first, end, depth + inlined, _function(child), file, line)
        yield from _inside(dwarf, unit, child, depth + inlined)


def _function(die: Any) -> str:
    """The name of the function as its author wrote it, with types for C++."""
    while True:
        for attribute in ("DW_AT_linkage_name", "DW_AT_name"):
            if attribute in die.attributes:
                return readable(die.attributes[attribute].value.decode(errors="replace"))
        origin = next((origin for origin in _ORIGINS if origin in die.attributes), None)
        if origin is None:
            return "?"
        die = die.get_DIE_from_attribute(origin)


def _ranges(dwarf: Any, unit: Any, die: Any) -> Iterator[tuple[int, int]]:
    """The address ranges of a DIE."""
    attributes = die.attributes
    if "DW_AT_low_pc" in attributes:
        first, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        yield first, high.value if high.form == "DW_FORM_addr" else first + high.value
    elif "DW_AT_ranges" in attributes:
        base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        base_address = 0 if base is None else base.value
        for entry in dwarf.range_lists().get_range_list_at_offset(attributes["DW_AT_ranges"].value, cu=unit):
            if hasattr(entry, "base_address"):
                base_address = entry.base_address
            elif getattr(entry, "is_absolute", False):
                yield entry.begin_offset, entry.end_offset
            else:
                yield base_address + entry.begin_offset, base_address + entry.end_offset
