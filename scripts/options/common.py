"""Shared option types, and the checks of names, numbers and files."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from metronome.sim.machine.settings import ConfigError, one_of
from metronome.sim.machine.user_paths import user_path

from ..output.outputs import STDOUT, require_writable
from ..process.errors import UsageError

__all__ = ["JsonOption", "choose", "given", "input_file", "json_target", "listed", "positive", "within"]

JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE", help="Write the result as JSON; - is standard output, which then has nothing else.",
    ),
]


def choose(option: str, value: str, built: Collection[str]) -> str:
    """Return the entry of ``built`` that ``value`` names, in upper or lower case.

    Raises
    ------
    UsageError
        For any other value, with the most similar name, and for a blank one.
    """
    if not value.strip():
        raise UsageError(f"{option}: the name is empty: write one of {', '.join(built)}")
    try:
        return one_of(option, value, built)
    except ConfigError as error:
        raise UsageError(str(error)) from None


def listed(option: str, text: str) -> list[str]:
    """Return the names of a comma-separated list, without duplicates.

    Raises
    ------
    UsageError
        For an empty name.
    """
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise UsageError(f"{option}: an empty name in {text!r}: write one or more, separated by commas")
    return list(dict.fromkeys(names))


def given(ctx: typer.Context, names: Collection[str]) -> str | None:
    """Return the first option on the command line among those with these parameters' names."""
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not None and source.name == "COMMANDLINE":
            return parameter.opts[0]
    return None


def positive(option: str, value: int | None) -> None:
    """Refuse a number below 1. None (option not given) passes."""
    if value is not None and value < 1:
        raise UsageError(f"{option} must be at least 1, not {value}")


def within(option: str, value: int, first: int, last: int | None = None) -> None:
    """Refuse a number below ``first`` or above ``last``."""
    if value < first:
        raise UsageError(f"{option} must be at least {first}, not {value}")
    if last is not None and value > last:
        raise UsageError(f"{option} must be at most {last}, not {value}")


def input_file(option: str, name: str) -> Path:
    """Return the path of an input file: an existing, readable regular file, since a device may never end."""
    if not name:
        raise UsageError(f"{option}: the name of the file is empty")
    path = user_path(name)
    try:
        if path.exists() and not path.is_file():
            raise OSError(0, "it is a folder" if path.is_dir() else "it is not a regular file")
        with path.open("rb"):
            return path
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{option}: cannot read {name!r}: {reason}") from None


def json_target(name: str | None) -> Path | None:
    """Return the file of --json after checking that it is writable; None for standard output or without --json."""
    return None if name is None or name == STDOUT else require_writable(name, "--json", ".json", ".txt", ".log")
