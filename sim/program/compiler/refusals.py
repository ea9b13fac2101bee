"""Messages for failures of the compiler and the linker, preceded by one line that names file, line and reason.

A program may use an operation that the machine has no instruction for. The compiler then calls a function of its own
runtime, which we do not have, and the linker reports a name that the user never wrote: the line explains it.
"""

from __future__ import annotations

import re

__all__ = ["compile_failure", "link_failure"]

_DOUBLE = (
    "not supported: arithmetic in double. The machine has float only: write float, 2.0f instead of 2.0, and sqrtf "
    "instead of sqrt"
)
_ATOMIC = (
    "not supported: atomic operations. The machine has none between warps: use SIMT_ONE_BY_ONE for the lanes of one "
    "warp, and a cell for each warp or block_sum() for several (metronome.h)"
)
_HALF = (
    "not supported: arithmetic in _Float16 and __bf16. The machine has float only: keep them as uint16_t, "
    "compute in float"
)
_COMPLEX = "not supported: multiplication and division of complex numbers. Write them out for real and imaginary part"
_POWER = "not supported: a power with an integer exponent. Use powf(x, (float)n), or multiply in a loop"
_AT_EXIT = "not supported: atexit. A function with __attribute__((destructor)) runs after main"
_HEAP = "not supported: a heap. Use arrays of fixed size, or buffers of the host"
_JUMP = (
    "not supported: return, break, continue or goto out of SIMT_IF, SIMT_WHILE or SIMT_ONE_BY_ONE, since the other "
    "lanes continue. End the block first, or write plain if and while (docs/divergence.md)"
)
_THREAD_LOCAL = (
    "not supported: a thread-local variable. Use an array with an element for each thread, or pass the value"
)
_FRAME = (
    "not supported: an array whose length is no constant, alloca, a variable aligned to more than 16 bytes, or the "
    "frame's address, since there is no frame pointer. Use an array of fixed size"
)

#: Patterns of messages, and their meanings. compiler-rt names double "df", float "sf", 64-bit integers "di".
_MEANINGS = (
    (re.compile(r"undefined symbol: __(\w*df\w*|powidf2)\b"), _DOUBLE),
    (re.compile(r"undefined symbol: (__\w*tf\w*)\b"), _DOUBLE.replace("double", "long double")),
    (re.compile(r"undefined symbol: __(\w*hf\w*|\w*bf\w*)\b"), _HALF),
    (re.compile(r"undefined symbol: __(mul|div)[shdt]c3\b"), _COMPLEX),
    (re.compile(r"undefined symbol: __powisf2\b"), _POWER),
    (re.compile(r"undefined (symbol:|function) '?atexit\b"), _AT_EXIT),
    (re.compile(r"undefined symbol: __(atomic|sync)_\w+|large atomic operation|misaligned atomic operation"), _ATOMIC),
    (re.compile(r"undefined (symbol:|function) '?(malloc|calloc|realloc|free)\b"), _HEAP),
    (re.compile(r"undefined symbol: __emutls_get_address"), _THREAD_LOCAL),
    (re.compile(r"defer statement"), _JUMP),
    (re.compile(r"Frame pointer required, but has been reserved"), _FRAME),
)
#: The most frequent cause of some of the compiler's messages, if it is not obvious to the user.
_HINTS = (
    (re.compile(r"unknown type name 'TYPE'|undeclared identifier 'TYPE'"),
     "TYPE is defined if the host.py next to kernel.c has TYPES"),
    (re.compile(r"unknown type name 'u?int\d+_t'"), '#include "metronome.h" at the top'),
    (re.compile(r"call to undeclared (library )?function '(printf|vprintf|puts)'"), "#include <stdio.h>"),
    (re.compile(r"call to undeclared (library )?function '(mem\w+|str\w+)'"), "#include <string.h>"),
    (re.compile(r"call to undeclared (library )?function '\w+f'"),
     "#include <math.h> declares all functions of the machine"),
    (re.compile(r"'(stdlib|unistd|time|errno|assert|complex|pthread)\.h' file not found"),
     "the machine has no operating system: there is string.h, stdio.h for printf, math.h and stdint.h"),
    (re.compile(r"undeclared identifier 'SIMT_(IF|WHILE)'"), "write its condition in parentheses: SIMT_IF(x < y) {"),
    (re.compile(r"instruction requires the following: 'F'"), "--soft-float compiles for a machine without F"),
    (re.compile(r"register for constraint 'f'"), "with --soft-float there are no float registers, and none for double"),
    (re.compile(r"function definition is not allowed here"),
     "does each block before it have its SIMT_ENDIF or SIMT_ENDWHILE?"),
    (re.compile(r"extraneous closing brace"), "is there one SIMT_ENDIF or SIMT_ENDWHILE too many?"),
)
#: The compiler's place precedes the message, or the error that a note belongs to; the linker's is below it.
_BEFORE = re.compile(r"^([^:\n]+:\d+):\d+: (?:fatal )?error: ")
#: kernel.c:20 (./mine/kernel.c:20): the name alone, then with its folder, unless that is the same.
_PLACE = re.compile(
    r"^>>> (?:referenced by|defined at) (?P<name>.+?:\d+)(?: \((?:\./)?(?P<path>.+:\d+)\)| |$)", re.MULTILINE
)

#: An error about a whole function has the column of its name in the source's line, which follows.
_NAME = re.compile(r"^[^:\n]+:\d+:(\d+): error: Frame pointer")
_SHOWN = re.compile(r"^ *\d+ \| ")


def _linked(place: re.Match[str]) -> str:
    """The place in the compiler's form."""
    return place["path"] or place["name"]


def _function(line: str, following: str) -> str:
    """``in function: `` for an error about a whole function."""
    column, shown = _NAME.match(line), _SHOWN.match(following)
    if column is None or shown is None:
        return ""
    name = re.match(r"\w+", following[shown.end() + int(column[1]) - 1 :])
    return f"in {name[0]}: " if name else ""


def _unsupported(message: str) -> list[str]:
    """One line for each unsupported operation in the message, with its first place."""
    places: dict[str, str] = {}
    lines = message.splitlines()
    error = None
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        error = _BEFORE.match(line) or error
        for pattern, meaning in _MEANINGS:
            if pattern.search(line):
                behind = _PLACE.match(following)
                place = _linked(behind) if behind else error and error[1]
                places.setdefault(meaning, (f"{place}: " if place else "") + _function(line, following))
    return [place + meaning for meaning, place in places.items()]


#: clang: my.c:3:5: error: ... One of our names for an unsupported feature explains itself (opencl/refused.h).
_ERROR = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: "
    r"(?:'__metronome_no_\w+' is unavailable: )?(?P<what>.*)$",
    re.MULTILINE,
)
#: Without a place: a flag that clang does not know, or a message of the linker.
_PLAIN = re.compile(r"^(?:[\w.-]+: )?(?:fatal )?error: (?P<what>.*)$", re.MULTILINE)


def _count(number: int, who: str) -> str:
    return f"({number} error{'' if number == 1 else 's'}: the {who}'s lines follow)"


def compile_failure(source: str, said: str) -> str:
    """The text of a refusal to compile ``source``."""
    found = list(_ERROR.finditer(said))
    if any(error["what"] == "expected '}'" for error in found):
        # After a SIMT_IF that is not closed, every return leaves it.
        found = [error for error in found if "defer statement" not in error["what"]]
    elif meanings := _unsupported(said):
        return "\n".join([*meanings, said])
    if found:
        first = found[0]
        hint = next((f" ({hint})" for pattern, hint in _HINTS if pattern.search(first["what"])), "")
        return f"{first['file']}:{first['line']}: {first['what']}{hint} {_count(len(found), 'compiler')}\n{said}"
    plain = _PLAIN.search(said)
    what = plain["what"] if plain else "the compiler failed"
    return f"{source} cannot be compiled: {what} (--cflags passes your own flags)\n{said}"


def link_failure(name: str, said: str) -> str:
    """The text of a refusal to link the ELF ``name``."""
    if meanings := _unsupported(said):
        return "\n".join([*meanings, said])
    found = list(_PLAIN.finditer(said))
    if not found:
        return f"{name} cannot be linked: the linker's lines follow\n{said}"
    what, many = found[0]["what"], _count(len(found), "linker")
    if what == "undefined symbol: main":
        return f"{name} cannot be linked: no source has a function main() {many}\n{said}"
    end = found[1].start() if len(found) > 1 else len(said)
    place = _PLACE.search(said, found[0].end(), end)
    if place:
        return f"{_linked(place)}: {what} {many}\n{said}"
    return f"{name} cannot be linked: {what} {many}\n{said}"
