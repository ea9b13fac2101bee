"""Temporary replacement of text in the source of a method or function, used to break designs on purpose."""

from __future__ import annotations

import importlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["occurrences", "patched"]


def _find(method: str) -> tuple[Any, Any, str]:
    """Return the module of ``method`` ("module:Class.method" or "module:function"), its owner, and its name there."""
    module_name, _, path = method.partition(":")
    class_name, _, name = path.rpartition(".")
    module = importlib.import_module(module_name)
    return module, getattr(module, class_name) if class_name else module, name


def _source(owner: Any, name: str) -> str:
    return textwrap.dedent(inspect.getsource(owner.__dict__[name]))


def occurrences(method: str, old: str) -> int:
    """Return how many times the text occurs in the source of ``method``."""
    _, owner, name = _find(method)
    return _source(owner, name).count(old)


@contextmanager
def patched(name: str, method: str, old: str, new: str) -> Iterator[None]:
    """Replace ``old`` by ``new`` in ``method`` while the context is open; error messages use ``name``.

    A function is also replaced in every module that has imported it.

    Raises
    ------
    LookupError
        If ``old`` does not occur in the method exactly once: the design has changed, so this text must change too.
    """
    module, owner, attribute = _find(method)
    original = owner.__dict__[attribute]
    source = _source(owner, attribute)
    if source.count(old) != 1:
        raise LookupError(f"{name}: {method} has {old!r} {source.count(old)} times")
    scope = dict(vars(module))
    exec(compile(source.replace(old, new), f"{module.__name__} ({name})", "exec"), scope)
    places = [owner]
    if owner is module:
        places += [other for other in sys.modules.values() if other is not module
                   and getattr(other, "__dict__", {}).get(attribute) is original]
    for place in places:
        setattr(place, attribute, scope[attribute])
    try:
        yield
    finally:
        for place in places:
            setattr(place, attribute, original)
