"""Whether a policy depends on its state and inputs alone: states in a form that can be compared, and data elsewhere."""

from __future__ import annotations

import dataclasses
import enum
import pickle
import sys
from collections.abc import Iterable, Mapping
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
    kind: Any = type(state)
    # A subclass may compare as it likes, and have attributes that change.
    if state is None or kind in (bool, int, str):
        return kind, state
    if kind is float:  # -0.0 equals 0.0
        return kind, state.hex()
    if isinstance(state, enum.Enum):
        return kind, state._name_, plain_data(state._value_)
    if kind.__module__ == "numpy" and hasattr(state, "tobytes") and not hasattr(state, "__setitem__"):
        return kind, state.tobytes()
    parts = map(plain_data, _parts(state))
    return kind, frozenset(parts) if kind is frozenset else tuple(parts)


def _parts(state: Any) -> Iterable[Any]:
    """The elements of a tuple or frozen set, or the fields of a frozen dataclass; TypeError for anything else."""
    kind: Any = type(state)
    if kind is frozenset or kind is tuple or (isinstance(state, tuple) and not hasattr(state, "__dict__")):
        return tuple.__iter__(state) if isinstance(state, tuple) else state
    parameters: Any = getattr(kind, "__dataclass_params__", None)
    if parameters is not None and parameters.frozen and dataclasses.is_dataclass(state):
        fields = [field.name for field in dataclasses.fields(state)]
        if set(getattr(state, "__dict__", ())) <= set(fields):
            return [getattr(state, name) for name in fields]
    raise TypeError(f"its state contains a {kind.__name__}, which may change")


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
