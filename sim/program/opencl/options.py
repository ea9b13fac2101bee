"""Compiler options for an OpenCL source: the user's macros do not affect the built-in header."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from ...build.cache import entry
from ..compiler.options import WITH_VALUE

__all__ = ["macros_file", "split_macros"]

#: Macros that this project defines itself, and that its headers may test.
_OURS = ("-DMETRONOME_", "-DMEMORY_")


def split_macros(flags: Sequence[str]) -> tuple[list[str], list[str]]:
    """The preprocessor lines equivalent to ``-D`` and ``-U`` in ``flags``, and the other flags."""
    lines: list[str] = []
    others: list[str] = []
    words = iter(flags)
    for word in words:
        if word.startswith(_OURS):
            others.append(word)
        elif word.startswith(("-D", "-U")):
            text = word[2:] or next(words, "")
            # As the compiler does: without a value it is 1, and text after a line's end is ignored.
            name, equals, value = text.partition("=")
            lines.append(f"#define {name} {value if equals else 1}" if word[1] == "D" else f"#undef {name}")
            lines[-1] = lines[-1].split("\n")[0]
        elif word in WITH_VALUE:
            others += [word, next(words, "")]
        elif word == "-cl-opt-disable":  # clang would take it for the optimisation level if there is no other
            others.append("-O0")
        else:
            others.append(word)
    return lines, others


def macros_file(lines: Sequence[str]) -> Path:
    """A header with these lines, in the cache; messages attribute them to the command line."""
    text = "\n".join(['# 1 "<command line>"', *lines, ""])

    def make(folder: Path) -> None:
        (folder / "options.h").write_text(text, "utf-8", "surrogateescape")

    key = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return entry(f"kernels/{key}", make, lambda target: (target / "options.h").exists()) / "options.h"
