"""The arguments of the functions, checked against their annotations."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import math
import operator
import os
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from metronome.sim.machine.settings import near

from ..process.errors import UsageError

__all__ = ["checked"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _MismatchError(Exception):
    """The value is not of the type."""


def checked(function: _Function) -> _Function:
    """Check the arguments of ``function`` against its annotations, and pass them on as values of these types.

    A numpy integer becomes an int, and a numpy Boolean a bool. An argument of another type raises
    :class:`UsageError`. An unknown keyword raises TypeError, with a similar name if there is one.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*positional: Any, **keywords: Any) -> Any:
        kinds = _kinds_of(function)
        for name in keywords:
            if name not in kinds:
                raise TypeError(f"{function.__name__}: unexpected keyword argument {name!r}{near(name, kinds)}")
        bound = signature.bind(*positional, **keywords)
        for name, value in bound.arguments.items():
            if name in kinds:
                bound.arguments[name] = _value_of(name, value, kinds[name])
        further = next((each.name for each in signature.parameters.values() if each.kind == each.VAR_KEYWORD), None)
        if further in bound.arguments:
            given = bound.arguments[further]
            bound.arguments[further] = {name: _value_of(name, value, kinds[name]) for name, value in given.items()}
        return function(*bound.args, **bound.kwargs)

    return typing.cast(_Function, call)


@functools.cache
def _kinds_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the type of each argument; those of an unpacked TypedDict are arguments, too."""
    kinds: dict[str, Any] = {}
    scope = getattr(function, "__globals__", {})
    for parameter in inspect.signature(function).parameters.values():
        if parameter.annotation is parameter.empty:
            continue
        kind = eval(parameter.annotation, scope) if isinstance(parameter.annotation, str) else parameter.annotation
        if typing.get_origin(kind) is typing.Unpack:
            kinds |= typing.get_type_hints(*typing.get_args(kind))
        else:
            kinds[parameter.name] = kind
    return kinds


def _value_of(name: str, value: Any, kind: Any) -> Any:
    try:
        return _converted(name, value, kind)
    except _MismatchError:
        raise UsageError(f"{name} must be {_described(kind)}, not {_shown(value)}") from None


def _converted(name: str, value: Any, kind: Any) -> Any:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if origin in (types.UnionType, typing.Union):
        return _one_of(name, value, parts)
    if origin is typing.Literal and isinstance(value, str) and value in parts:
        return value
    if origin is collections.abc.Mapping and isinstance(value, Mapping):
        key, item = parts
        return {_value_of(f"a name in {name}" if key is str else f"an address in {name}", each, key):
                _value_of(f"{name}[{each!r}]", value[each], item) for each in value}
    if origin is tuple and isinstance(value, Sequence) and not isinstance(value, str) and len(value) == len(parts):
        return tuple(_converted(name, each, part) for each, part in zip(value, parts, strict=True))
    if origin in (None, os.PathLike):
        return _plain(value, origin or kind)
    raise _MismatchError


def _one_of(name: str, value: Any, kinds: Sequence[Any]) -> Any:
    for kind in kinds:
        try:
            return _converted(name, value, kind)
        except _MismatchError:
            continue
    raise _MismatchError


def _plain(value: Any, kind: type) -> Any:
    """Return ``value`` as one of ``kind``, a class. A bool is not a number."""
    if kind is bool and isinstance(value, np.bool_):
        return bool(value)
    if kind in (int, float):
        if isinstance(value, bool | np.bool_ | np.ndarray):
            raise _MismatchError
        if kind is float and isinstance(value, float | np.floating) and math.isfinite(value):
            return float(value)
        try:
            return operator.index(value)
        except TypeError:
            raise _MismatchError from None
    if not isinstance(value, kind) or (isinstance(value, os.PathLike) and not isinstance(os.fspath(value), str)):
        raise _MismatchError
    return value


_WORDS = {int: "an integer", float: "a number", bool: "True or False", str: "text", os.PathLike: "a path",
          types.NoneType: "None"}


def _described(kind: Any) -> str:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        words = [_described(part) for part in parts]
        return " or ".join([", ".join(words[:-1]), words[-1]])
    if origin is typing.Literal:
        return " or ".join(parts)
    if origin is collections.abc.Mapping:
        return "a dict"
    if origin is tuple:
        return f"a tuple of {len(parts)} {'integers' if parts[0] is int else 'numbers'}"
    return _WORDS.get(origin or kind) or f"an {kind.__name__}"


def _shown(value: Any) -> str:
    """Return ``value`` on one line of bounded length."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
