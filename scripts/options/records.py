"""Records of options: the command line has a parameter for each field, and a command takes whole records.

A field is declared as typer declares a parameter, ``name: Annotated[type, typer.Option(...)] = default``. The options
appear in the order of the command's parameters and of the fields within each record; a record may hold others.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typer

__all__ = ["PlainCommand", "command"]


def _flat(parameters: Mapping[str, inspect.Parameter]) -> Iterator[inspect.Parameter]:
    """Yield the parameters; each parameter that takes a record is replaced by the record's fields."""
    for each in parameters.values():
        fields = _fields(each.annotation)
        yield from [each.replace(kind=inspect.Parameter.KEYWORD_ONLY)] if fields is None else _flat(fields)


@functools.cache
def _fields(record: Any) -> dict[str, inspect.Parameter] | None:
    """Return the fields of a record as parameters; None if it is not a record."""
    if not dataclasses.is_dataclass(record):
        return None
    types = typing.get_type_hints(record, include_extras=True)
    return {
        field.name: inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, annotation=types[field.name],
            default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
        )
        for field in dataclasses.fields(record)
    }


def _collected(parameters: Mapping[str, inspect.Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for ``parameters``: the values that typer has ``given``, grouped into records as needed."""
    collected = {}
    for name, each in parameters.items():
        fields = _fields(each.annotation)
        collected[name] = given[name] if fields is None else each.annotation(**_collected(fields, given))
    return collected


def command(name: str, function: Callable[..., int], epilog: str) -> typer.core.TyperCommand:
    """Create the subcommand ``name``, which calls ``function`` with records of its options."""
    parameters = inspect.signature(function, eval_str=True).parameters
    flat = list(_flat(parameters))

    @functools.wraps(function)
    def call(**given: Any) -> int:
        return function(**_collected(parameters, given))

    call.__signature__ = inspect.Signature(flat, return_annotation=int)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in flat} | {"return": int}
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    app.command(name, cls=_Command, epilog=epilog)(call)
    made = typer.main.get_command(app)
    assert isinstance(made, _Command), "it is the only one of this app"
    return made


class PlainCommand:
    """Mixin for a command that converts plain values without pydantic."""

    def get_params(self, ctx: typer.Context) -> list[Any]:
        """Return all parameters, including that of the help page."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in parameters:
            if "process_value" not in vars(each):
                _without_pydantic(each)
        return parameters


class _Command(PlainCommand, typer.core.TyperCommand):  # type: ignore[misc]
    """A subcommand."""


def _without_pydantic(parameter: Any) -> None:
    """Convert plain values directly: typer uses pydantic for each value, given or not, and its import is slow.

    Typer still handles invalid values and other types, so their error messages are pydantic's.
    """
    convert, kind = parameter.process_value, parameter.type_descriptor.annotation

    def process(ctx: Any, value: Any) -> Any:
        if parameter.required and value in (None, (), []):
            return convert(ctx, value)
        if parameter.multiple or parameter.nargs == -1:
            if value and kind != list[str]:
                return convert(ctx, value)
            value = list(value or ())
        elif kind is int and isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
            value = int(value)
        elif value is not None and not (kind in (str, int, float, bool) and type(value) is kind):
            return convert(ctx, value)
        return value if parameter.callback is None else parameter.callback(ctx, parameter, value)

    parameter.process_value = process
