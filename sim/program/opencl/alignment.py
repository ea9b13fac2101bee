"""Private objects of wide vectors: aligned like the stack, since there is no frame pointer."""

from __future__ import annotations

import re

__all__ = ["STACK_ALIGN", "on_the_stack"]

#: The alignment of the stack pointer in the calling convention.
STACK_ALIGN = 16
_ALIGN = re.compile(r"\balign (\d+)\b")


def on_the_stack(text: str) -> str:
    """Return LLVM IR in which no object within a function relies on a larger alignment than the stack's.

    OpenCL aligns a float8 to 32 bytes. No instruction of the machine needs more than 4, and no other code uses the
    address of a private object. Objects outside functions keep their alignment.
    """
    return "\n".join(
        line if line.startswith("@") else _ALIGN.sub(lambda found: f"align {min(int(found[1]), STACK_ALIGN)}", line)
        for line in text.split("\n")
    )
