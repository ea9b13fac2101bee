"""Where functions that were inlined have been called from, as an ELF's debug information has it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

__all__ = ["call_sites"]

#: (address, end, depth of inlining from 1 on, number of the file, line): a call in whose place the code stands.
CallSite = tuple[int, int, int, int, int]


def call_sites(content: bytes) -> Iterator[tuple[Any, CallSite]]:
    """Every call that was inlined, with the header of the line table that numbers its file."""
    from elftools.elf.elffile import ELFFile  # here, since few runs ask for a line

    elf = ELFFile(io.BytesIO(content))
    if not elf.has_dwarf_info():
        return
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is not None:
            for site in _inside(dwarf, unit, unit.get_top_DIE(), 0):
                yield program.header, site


def _inside(dwarf: Any, unit: Any, die: Any, depth: int) -> Iterator[CallSite]:
    for child in die.iter_children():
        inlined = child.tag == "DW_TAG_inlined_subroutine"
        if inlined and "DW_AT_call_line" in child.attributes:
            file = child.attributes["DW_AT_call_file"].value
            line = child.attributes["DW_AT_call_line"].value
            for first, end in _ranges(dwarf, unit, child):
                yield first, end, depth + 1, file, line
        yield from _inside(dwarf, unit, child, depth + inlined)


def _ranges(dwarf: Any, unit: Any, die: Any) -> Iterator[tuple[int, int]]:
    """The code of a DIE."""
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
