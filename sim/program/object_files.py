"""Start-up requirements of an object file, from its sections."""

from __future__ import annotations

from pathlib import Path

__all__ = ["runs_around_main"]

#: Sections with the addresses of functions; a suffix after a point in their names is a priority.
_AROUND_MAIN = (".preinit_array", ".init_array", ".fini_array")


def runs_around_main(path: Path) -> bool:
    """Whether functions of the object file run before main or after it: constructors, destructors."""
    from elftools.elf.elffile import ELFFile  # here, since a program from the cache is not examined

    with path.open("rb") as file:
        names = [section.name for section in ELFFile(file).iter_sections()]
    return any(name == each or name.startswith(f"{each}.") for name in names for each in _AROUND_MAIN)
