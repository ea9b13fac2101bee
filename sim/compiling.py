"""How a program is compiled: what a user can say of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

__all__ = ["AS_USUAL", "Compiling", "split_flags"]


@dataclass(frozen=True)
class Compiling:
    """How a program is compiled."""

    #: The user's flags, after ours.
    flags: tuple[str, ...] = ()
    #: Which kernel of an OpenCL source.
    function: str | None = None
    #: Make branches right on which lanes disagree.
    simt: bool = True

    def given(self) -> str | None:
        """An option that has been given, if there is one: what is not compiled takes none."""
        if self.flags:
            return "--cflags"
        return None if self.simt else "--no-simt"


#: Without options.
AS_USUAL = Compiling()


def split_flags(text: str) -> tuple[str, ...]:
    """The flags in ``text``, split as a shell does. Raises ValueError for a quotation mark without its second one."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"{error}: quote the flags as for a shell") from None
