"""Types of a program's variables, from the debug information of its ELF."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["ElementType", "element_types"]

_WRAPPERS = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_atomic_type",
             "DW_TAG_restrict_type")
#: DW_OP_addr, DW_OP_addrx and DW_OP_plus_uconst.
_ADDRESS, _ADDRESS_INDEX, _PLUS = 0x03, 0xA1, 0x23
#: DW_ATE_boolean, float, signed, signed_char, unsigned, unsigned_char, UTF.
_ENCODINGS = {2: "unsigned", 4: "float", 5: "signed", 6: "signed", 7: "unsigned", 8: "unsigned", 16: "unsigned"}


@dataclass(frozen=True)
class ElementType:
    """A variable's type, or that of the elements of an array of any dimension.

    ``kind``: ``signed``, ``unsigned``, ``float``, or ``other`` for a structure, a complex number and the like.
    ``bytes``: of one element. ``name``: for messages. ``fixed``: the reason ("static" or "const") why the compiler may
    use the variable's initial value instead of reading it, everywhere or in some places; "" if it must read it.
    """

    kind: str
    bytes: int
    name: str
    fixed: str = ""


def element_types(content: bytes) -> dict[int, ElementType]:
    """The type of each variable, by address; empty without readable debug information."""
    from elftools.elf.elffile import ELFFile  # here, since few commands ask for a type

    found: dict[int, ElementType] = {}
    try:
        elf = ELFFile(io.BytesIO(content))
        if not elf.has_dwarf_info():
            return {}
        dwarf = elf.get_dwarf_info()
        for unit in dwarf.iter_CUs():
            for die in unit.iter_DIEs():
                if die.tag == "DW_TAG_variable" and "DW_AT_location" in die.attributes:
                    address, whole = _address(dwarf, unit, die.attributes["DW_AT_location"])
                    made = None if address is None else _type(die)
                    if address is not None and made is not None:
                        found[address] = made if whole else ElementType("other", made.bytes, made.name, "static")
    except Exception:
        # Debug information of other compilers may be anything, and a third-party parser raises nearly anything:
        # without it, a variable is treated as 32-bit words, like one without a type.
        return {}
    return found


def _address(dwarf: Any, unit: Any, location: Any) -> tuple[int | None, bool]:
    """The address of a variable, and whether it is there as declared: not a part of it, or a flag in its place."""
    if location.form != "DW_FORM_exprloc" or not location.value:
        return None, False
    bytes_of = iter(location.value)
    operation = next(bytes_of)
    if operation == _ADDRESS:
        address = int.from_bytes(bytes([next(bytes_of) for _ in range(4)]), "little")
    elif operation == _ADDRESS_INDEX:
        address = dwarf.get_addr(unit, _number(bytes_of))
    else:
        return None, False
    following = next(bytes_of, None)
    if following == _PLUS:
        address = int(address) + _number(bytes_of)
        following = next(bytes_of, None)
    return int(address), following is None


def _number(bytes_of: Iterator[int]) -> int:
    """An unsigned LEB128."""
    number = shift = 0
    for byte in bytes_of:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return number


def _type(die: Any) -> ElementType | None:
    variable, seen = die, set()
    while True:
        if "DW_AT_type" not in die.attributes:
            origin = next((name for name in ("DW_AT_specification", "DW_AT_abstract_origin") if name in die.attributes),
                          None)
            if origin is None:
                return None
            variable = die = die.get_DIE_from_attribute(origin)
            continue
        die = die.get_DIE_from_attribute("DW_AT_type")
        seen.add(die.tag)
        if die.tag in _WRAPPERS or die.tag == "DW_TAG_array_type":
            continue
        fixed = "" if "DW_TAG_volatile_type" in seen else "const" if "DW_TAG_const_type" in seen else "static"
        if fixed == "static" and "DW_AT_external" in variable.attributes:
            # Other files of the program may store to it before main reads it.
            fixed = ""
        return _element(die, fixed)


def _element(die: Any, fixed: str) -> ElementType:
    attributes = die.attributes
    size = attributes["DW_AT_byte_size"].value if "DW_AT_byte_size" in attributes else 4
    name = attributes["DW_AT_name"].value.decode(errors="replace") if "DW_AT_name" in attributes else "a structure"
    if die.tag == "DW_TAG_base_type":
        return ElementType(_ENCODINGS.get(attributes["DW_AT_encoding"].value, "other"), size, name, fixed)
    if die.tag == "DW_TAG_enumeration_type":
        kind = "unsigned" if "DW_AT_type" not in attributes else _kind_of(die)
        return ElementType(kind, size, f"enum {name}", fixed)
    if die.tag == "DW_TAG_pointer_type":
        return ElementType("unsigned", 4, "a pointer", fixed)
    return ElementType("other", size, name, fixed)


def _kind_of(die: Any) -> str:
    """The kind of the integer that holds an enumeration."""
    made = _type(die)
    return "unsigned" if made is None else made.kind
