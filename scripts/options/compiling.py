"""Compiler options of the subcommands that compile."""

from __future__ import annotations

import sys
from typing import Annotated, Protocol

import typer

from metronome.sim.program.compiler.options import Compiling, split_flags

from ..process.errors import UsageError

__all__ = [
    "CflagsOption", "FunctionOption", "HintsOption", "NoSimtOption", "SoftFloatOption", "compiling_of",
    "print_warnings",
]

CflagsOption = Annotated[
    str | None,
    typer.Option("--cflags", metavar="FLAGS", help="More compiler flags: --cflags '-O3 -DN=4'."),
]
FunctionOption = Annotated[
    str | None,
    typer.Option("--kernel", metavar="NAME", help="The kernel function of an OpenCL source (docs/opencl.md)."),
]
NoSimtOption = Annotated[
    bool, typer.Option("--no-simt", help="Do not transform divergent branches (docs/divergence.md)."),
]
SoftFloatOption = Annotated[
    bool, typer.Option("--soft-float", help="Compute floats with integers, for a machine without FPU (docs/isa.md)."),
]

HintsOption = Annotated[
    bool, typer.Option("--hints", help="Mark branches that btfn mostly predicts wrong (docs/prediction.md)."),
]


class _Compiled(Protocol):
    """The options above, as a subcommand has them."""

    @property
    def cflags(self) -> str | None: ...
    @property
    def function(self) -> str | None: ...
    @property
    def no_simt(self) -> bool: ...
    @property
    def soft_float(self) -> bool: ...
    @property
    def hints(self) -> bool: ...


def compiling_of(options: _Compiled) -> Compiling:
    """Return the compiler options; flags are split as in a shell.

    Raises
    ------
    UsageError
        For an unbalanced quotation mark.
    """
    try:
        flags = split_flags(options.cflags or "")
    except ValueError as error:
        raise UsageError(f"--cflags {options.cflags}: {error}") from None
    return Compiling(flags, options.function, not options.no_simt, options.soft_float, options.hints)


def print_warnings(text: str) -> None:
    """Print the compiler's warnings on standard error."""
    sys.stderr.write(text)
    sys.stderr.flush()
