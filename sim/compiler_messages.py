"""What a compiler's or linker's message means on this machine, where the message itself does not say it.

A program may use what the machine has no instruction for. The compiler then calls a function of its own runtime, which
we do not have, and the linker reports a name that the user never wrote.
"""

from __future__ import annotations

import re

__all__ = ["explain"]

_DOUBLE = (
    "not supported: arithmetic in double. The machine has float only: write float, 2.0f in place of 2.0, and sqrtf in "
    "place of sqrt"
)
_ATOMIC = (
    "not supported: atomic operations. The machine has none between warps: use SIMT_ONE_BY_ONE for the lanes of one "
    "warp, and a cell for each warp or block_sum() for several (metronome.h)"
)
_HEAP = "not supported: a heap. Take arrays of fixed size, or buffers of the host"
_LONG_FLOAT = "not supported: conversion between float and 64-bit integers. Convert through int32_t or uint32_t"
_JUMP = (
    "not supported: return, break, continue or goto out of SIMT_IF or SIMT_WHILE, since the other lanes go on. End the "
    "block first, or put what decides into the condition (metronome.h)"
)

#: Patterns of messages, and what they mean. compiler-rt names double "df", float "sf", 64-bit integers "di".
_MEANINGS = (
    (re.compile(r"undefined symbol: __(\w*df\w*|powidf2)\b"), _DOUBLE),
    (re.compile(r"undefined symbol: (__\w*tf\w*)\b"), _DOUBLE.replace("double", "long double")),
    (re.compile(r"undefined symbol: __(fix(uns)?sfdi|float(un)?disf)\b"), _LONG_FLOAT),
    (re.compile(r"undefined symbol: __(atomic|sync)_\w+|large atomic operation|misaligned atomic operation"), _ATOMIC),
    (re.compile(r"undefined (symbol:|function) '?(malloc|calloc|realloc|free)\b"), _HEAP),
    (re.compile(r"defer statement"), _JUMP),
)
#: The compiler's place is before the message, or before the error that a note belongs to; the linker's is behind it.
_BEFORE = re.compile(r"^(\S+:\d+):\d+: (?:fatal )?error: ")
_BEHIND = re.compile(r">>> referenced by (\S+:\d+)")


def explain(message: str) -> str:
    """The message, after one line for each thing in it that the machine does not support, with the first place."""
    places: dict[str, str] = {}
    lines = message.splitlines()
    error = None
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        error = _BEFORE.match(line) or error
        for pattern, meaning in _MEANINGS:
            if pattern.search(line):
                place = _BEHIND.match(following) or error
                places.setdefault(meaning, f"{place[1]}: " if place else "")
    return "\n".join([*(place + meaning for meaning, place in places.items()), message])
