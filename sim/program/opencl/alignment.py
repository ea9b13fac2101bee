"""Private objects of wide vectors: aligned as the stack is, since there is no frame pointer."""

from __future__ import annotations

import re

__all__ = ["STACK_ALIGN", "on_the_stack"]

#: What the calling convention keeps the stack pointer at.
STACK_ALIGN = 16
_ALIGN = re.compile(r"\balign (\d+)\b")


def on_the_stack(text: str) -> str:
    """LLVM's intermediate language in which nothing within a function counts on a larger alignment than the stack's.

    OpenCL aligns a float8 to 32 bytes. No instruction of the machine needs more than 4, and the address of a private
    object is nobody's business. Objects outside functions keep their alignment.
    """
    return "\n".join(
        line if line.startswith("@") else _ALIGN.sub(lambda found: f"align {min(int(found[1]), STACK_ALIGN)}", line)
        for line in text.split("\n")
    )
