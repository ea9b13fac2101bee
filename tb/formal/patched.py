"""One replacement in the source of one method or function, for a while: how designs are broken on purpose."""

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
    """The module of ``method`` ("module:Class.method" or "module:function"), who has it, and its name there."""
    module_name, _, path = method.partition(":")
    class_name, _, name = path.rpartition(".")
    module = importlib.import_module(module_name)
    return module, getattr(module, class_name) if class_name else module, name


def _source(owner: Any, name: str) -> str:
    return textwrap.dedent(inspect.getsource(owner.__dict__[name]))


def occurrences(method: str, old: str) -> int:
    """How often the text is in the source of ``method``."""
    _, owner, name = _find(method)
    return _source(owner, name).count(old)


@contextmanager
def patched(name: str, method: str, old: str, new: str) -> Iterator[None]:
    """``old`` becomes ``new`` in ``method``, for the time of the context; ``name`` is for the messages.

    A function is replaced in every module that has imported it, too.

    Raises
    ------
    LookupError
        If ``old`` is not in the method exactly once: the design has changed, and this with it.
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
