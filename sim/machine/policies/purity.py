"""Whether a policy depends on its state and inputs alone: states in a form that can be compared, and data elsewhere."""

from __future__ import annotations

import dataclasses
import pickle
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from .base import Policy

__all__ = ["MODULE", "held_by", "held_by_class", "plain_data"]

#: How the names of the modules begin that files with policies become.
MODULE = "metronome_policy_"


def plain_data(state: Any) -> Any:
    """A state as nested tuples: a number, text, None, and tuples, frozen sets and frozen dataclasses of these.

    TypeError for any other: it could change after it was compared, or be equal to one that is not the same.
    """
    if state is None or isinstance(state, bool | int | str):
        return type(state).__name__, state
    if isinstance(state, float):  # -0.0 equals 0.0
        return type(state).__name__, state.hex()
    if isinstance(state, _numpy_scalars()):
        scalar: Any = state
        return type(state).__name__, scalar.tobytes()
    if isinstance(state, tuple):
        return type(state).__name__, *map(plain_data, state)
    if type(state) is frozenset:
        return "frozenset", frozenset(map(plain_data, state))
    parameters: Any = getattr(type(state), "__dataclass_params__", None)
    if parameters is not None and parameters.frozen and dataclasses.is_dataclass(state):
        values = (getattr(state, field.name) for field in dataclasses.fields(state))
        return type(state).__name__, *map(plain_data, values)
    raise TypeError(f"its state contains a {type(state).__name__}, which may change")


def _numpy_scalars() -> tuple[type, ...]:
    """The types of numpy's scalars, if numpy has been imported: the process of a submission has not."""
    numpy = sys.modules.get("numpy")
    return () if numpy is None else (numpy.number, numpy.bool_)


def held_by(policy: Policy[Any]) -> dict[str, bytes]:
    """The attributes of a policy, of its class, and the global variables of its file, by their names."""
    found = held_by_class(type(policy))
    found.update(_pickled("self.", vars(policy)))
    return found


def held_by_class(policy: type[Policy[Any]]) -> dict[str, bytes]:
    """The attributes of a class and its base classes from files, and the global variables of its file."""
    found: dict[str, bytes] = {}
    for each in policy.__mro__:
        if each.__module__.startswith(MODULE):
            found.update(_pickled(f"{each.__name__}.", vars(each)))
    module = sys.modules.get(policy.__module__)
    return found if module is None else found | _pickled("", vars(module))


def _pickled(prefix: str, values: Mapping[str, Any]) -> dict[str, bytes]:
    """Data among the values, as bytes."""
    found = {}
    for name, value in list(values.items()):
        if name.startswith("__") or name == "_abc_impl" or callable(value) or isinstance(value, ModuleType):
            continue
        try:
            found[f"{prefix}{name}"] = pickle.dumps(value)
        except Exception:  # no data: a property, a lock
            continue
    return found
