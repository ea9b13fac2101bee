"""The options of what is compiled, for the subcommands that compile."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from .errors import UsageError

__all__ = ["AS_USUAL", "CflagsOption", "Compiling", "FunctionOption", "NoSimtOption", "compiling", "print_warnings"]

CflagsOption = Annotated[
    str | None,
    typer.Option("--cflags", metavar="FLAGS", help="Flags for the compiler, after ours: --cflags '-O3 -DN=4'."),
]
FunctionOption = Annotated[
    str | None, typer.Option("--kernel", metavar="NAME", help="Which kernel of an OpenCL source (docs/opencl.md)."),
]
NoSimtOption = Annotated[
    bool, typer.Option("--no-simt", help="Leave branches on which lanes disagree as they are (docs/divergence.md)."),
]


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


def compiling(cflags: str | None, function: str | None, no_simt: bool) -> Compiling:
    """What the options say; flags are split as a shell does.

    Raises
    ------
    UsageError
        For a quotation mark without its second one.
    """
    try:
        return Compiling(tuple(shlex.split(cflags or "")), function, not no_simt)
    except ValueError as error:
        raise UsageError(f"--cflags {cflags}: {error}: quote the flags as for a shell") from None


def print_warnings(text: str) -> None:
    """The compiler's warnings, on standard error."""
    sys.stderr.write(text)
    sys.stderr.flush()
