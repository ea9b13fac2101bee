"""Symbols of a program whose names mean something else in assembly.

A function may be called ``a0`` or ``größe``. The assembler accepts definitions of both, but it refuses a call of
the second, and a reader takes the first for a register. They are therefore renamed while the text is processed.
"""

from __future__ import annotations

import re

__all__ = ["as_named", "for_the_assembler", "plain_names"]

_COUNTED = {"x": 32, "f": 32, "t": 7, "s": 12, "a": 8, "ft": 12, "fs": 12, "fa": 8}
_REGISTER = "|".join([
    "zero|ra|sp|gp|tp|fp|pc", *(f"{letters}{number}" for letters, count in _COUNTED.items() for number in range(count)),
])
_PREFIX = "__metronome_symbol_"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_ODD = rf"(?:(?:{_REGISTER})(?![\w.$])|{_QUOTED})"
#: The places where a word is a symbol in clang's output.
_PLACES = re.compile(rf"(?P<before>^|%\w+\(|^\s*(?:call|tail)\s+)(?P<name>{_ODD})(?P<after>:?)")
_ANY = re.compile(rf"^{_ODD}:|^\s*(?:call|tail|\.globl)\s+{_ODD}|%\w+\({_ODD}", re.MULTILINE)
_DIRECTIVE = re.compile(r"^\s*\.(?!insn\b)\w+|^\s*[\w.$]+ = ")
#: Directives with strings, registers, or words of their own.
_TEXTS = re.compile(r"^\s*\.(asciz|ascii|string|base64|file|section|pushsection|ident|attribute|loc|cfi_\w+|option)\b")
_WORD = re.compile(rf"(?<![\w.$@\"]){_ODD}")
_RENAMED = re.compile(rf"{_PREFIX}([0-9a-f]+)\b")
#: Labels that the pass makes begin with the function's name.
_SHOWN = re.compile(rf"{_PREFIX}([0-9a-f]+)(?![0-9a-f])")
#: Directives about a symbol itself: they accept only its own name.
_ABOUT = re.compile(
    rf"^\s*\.(?:globl|global|weak|local|hidden|protected|type|size|comm|lcomm|set)\s+{_PREFIX}|^{_PREFIX}[0-9a-f]+:"
)


def _renamed(name: str) -> str:
    return _PREFIX + name.strip('"').encode("latin-1").hex()


def plain_names(text: str) -> str:
    """The assembly, read as latin-1, in which every symbol is a word that is not a register's name."""
    if not _ANY.search(text):
        return text
    lines = text.split("\n")
    inline = False
    for number, line in enumerate(lines):
        stripped = line.strip()
        inline = stripped == "#APP" or (inline and stripped != "#NO_APP")
        if inline or _TEXTS.match(line):
            continue
        code, comment = _parted(line)
        if _DIRECTIVE.match(code):
            code = _WORD.sub(lambda found: _renamed(found[0]), code)
        else:
            code = _PLACES.sub(_symbol, code)
        lines[number] = code + comment
    return "\n".join(lines)


def _parted(line: str) -> tuple[str, str]:
    """Split a line into code and comment. A # within quotes does not begin a comment."""
    found = re.match(rf"(?:[^#\"]|{_QUOTED})*", line)
    assert found is not None, "it matches at least the empty string"
    return found[0], line[found.end() :]


def _symbol(found: re.Match[str]) -> str:
    if found["before"] == "" and not found["after"]:
        return found[0]  # at the beginning of a line, and not a label
    return f"{found['before']}{_renamed(found['name'])}{found['after']}"


def _own(found: re.Match[str]) -> str:
    return f'"{bytes.fromhex(found[1]).decode("latin-1")}"'


def for_the_assembler(text: str) -> str:
    """The text of :func:`plain_names` with the symbols' own names where they are defined, and aliases elsewhere."""
    names = sorted(set(_RENAMED.findall(text)))
    if not names:
        return text
    lines = [
        _RENAMED.sub(_own, line, count=1) if _ABOUT.match(line) else line
        for line in re.sub(rf"^({_PREFIX}\w+) = ", r"\t.set\t\1, ", text, flags=re.MULTILINE).split("\n")
    ]
    aliases = [f'\t.set\t{_PREFIX}{name}, "{bytes.fromhex(name).decode("latin-1")}"' for name in names]
    return "\n".join([*aliases, *lines])


def as_named(text: str) -> str:
    """Restore the user's names in a listing, or in a message about the text, also in latin-1."""
    return _SHOWN.sub(lambda found: bytes.fromhex(found[1]).decode("latin-1"), text)
