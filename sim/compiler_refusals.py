"""What the compiler and the linker say when they fail, with one line before it that names file, line and reason."""

from __future__ import annotations

import re

__all__ = ["compile_failure", "link_failure"]

#: clang: my.c:3:5: error: ...
_ERROR = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<what>.*)$", re.MULTILINE)
#: Without a place: a flag that clang does not know, or what the linker says.
_PLAIN = re.compile(r"^(?:[\w.-]+: )?(?:fatal )?error: (?P<what>.*)$", re.MULTILINE)
#: The linker names the place of its error below it.
_PLACE = re.compile(r"^>>> (?:referenced by|defined at) (?P<place>.+?:\d+)(?: |$)", re.MULTILINE)


def _count(number: int, who: str) -> str:
    return f"({number} error{'' if number == 1 else 's'}: the {who}'s lines follow)"


def compile_failure(source: str, said: str) -> str:
    """The text of a refusal to compile ``source``."""
    found = list(_ERROR.finditer(said))
    if found:
        first = found[0]
        return f"{first['file']}:{first['line']}: {first['what']} {_count(len(found), 'compiler')}\n{said}"
    plain = _PLAIN.search(said)
    what = plain["what"] if plain else "the compiler failed"
    return f"{source} cannot be compiled: {what} (flags of your own: --cflags)\n{said}"


def link_failure(name: str, said: str) -> str:
    """The text of a refusal to link the ELF ``name``."""
    found = list(_PLAIN.finditer(said))
    if not found:
        return f"{name} cannot be linked: the linker's lines follow\n{said}"
    what, many = found[0]["what"], _count(len(found), "linker")
    if what == "undefined symbol: main":
        return f"{name} cannot be linked: no source has a function main() {many}\n{said}"
    end = found[1].start() if len(found) > 1 else len(said)
    place = _PLACE.search(said, found[0].end(), end)
    if place:
        return f"{place['place']}: {what} {many}\n{said}"
    return f"{name} cannot be linked: {what} {many}\n{said}"
