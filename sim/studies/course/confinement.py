"""Confines a process to the execution of a submission: an audit hook refuses whatever reaches out of it.

The hook refuses every audited event of Python but a few harmless ones, so that the way in which a file is opened or a
module is imported does not matter. It cannot be removed. This module also makes the modules that a submission may not
import unreachable by name, so that most attempts end in one clear line. It does not protect against code that attacks
the interpreter itself.
"""

from __future__ import annotations

import _imp
import builtins
import sys
from collections.abc import Mapping, Sequence
from types import CodeType, FrameType
from typing import Any, NoReturn

from .imports import ALLOWED, forbidden

__all__ = ["confine", "place"]

#: Modules that the allowed ones, or the interpreter, import when they are used.
_WITHIN = frozenset({"_collections_abc", "builtins", "copyreg", "unicodedata", "warnings", "weakref"})
#: Modules that stay in ``sys.modules``: also those whose names begin like this. A configuration is not secret.
_STAY = ("metronome.hdl", "encodings", "codecs")


class _RefusedError(Exception):
    """Something that a submission may not do; the text is one line."""


def confine(path: str) -> list[str]:
    """Confine this process to the submission ``path``, for ever; return the list that gets a line for each refusal."""
    refused: list[str] = []
    real_import = builtins.__import__

    def refuse(text: str) -> NoReturn:
        refused.append(f"{_caller(path)}: {text}")
        raise _RefusedError(text)

    def guarded_import(
        name: str, globals: Mapping[str, Any] | None = None, locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (), level: int = 0,
    ) -> Any:
        text = forbidden("." * level + name, tuple(fromlist or ()))
        if text is not None and name not in _WITHIN:
            refuse(text)
        return real_import(name, globals, locals, fromlist or (), level)

    class Finder:
        """Finds no module."""

        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> NoReturn:
            refuse(forbidden(name) or f"it loads {name} again")

    def no_module(*arguments: Any) -> NoReturn:
        refuse("it loads a module of the interpreter")

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        # Uses only constants, so a submission that changes variables of this module still gets an exception.
        if event in {
            "array.__new__", "builtins.id", "code.__new__", "compile", "exec", "function.__new__", "object.__delattr__",
            "object.__getattr__", "sys._getframe", "sys._getframemodulename", "sys.unraisablehook",
        } or (event == "object.__setattr__" and arguments[1] not in {"__code__", "__closure__"}):
            return
        refuse(_told(event, arguments))
        raise _RefusedError

    _forget()
    _imp.create_builtin = _imp.create_dynamic = no_module
    sys.path_hooks.clear()
    sys.path_importer_cache.clear()
    sys.meta_path[:] = [Finder]
    builtins.__import__ = guarded_import
    sys.warnoptions.clear()
    sys.addaudithook(hook)
    return refused


def place(name: str, code: CodeType, line: int) -> str:
    """Describe a line of the file ``name``, with its function."""
    return f"{name}, line {line}" + ("" if code.co_name.startswith("<") else f", in {code.co_name}")


def _forget() -> None:
    """Remove the modules that a submission may not import from ``sys.modules`` and from their packages."""
    parents = {name[:at] for name in ALLOWED for at, sign in enumerate(name) if sign == "."}
    for name in list(sys.modules):
        if name in ALLOWED | _WITHIN | parents or name.startswith(_STAY):
            continue
        package, _, leaf = name.rpartition(".")
        if package in parents and hasattr(sys.modules[package], leaf):
            delattr(sys.modules[package], leaf)
        del sys.modules[name]


def _told(event: str, arguments: tuple[Any, ...]) -> str:
    if event == "import":
        return forbidden(str(arguments[0])) or f"it loads {arguments[0]} again"
    if event == "open":
        return f"it opens {arguments[0]!r}: a submission opens no file"
    return f"it uses {event}: a submission may not"


def _caller(path: str) -> str:
    """The line of the submission that is being executed."""
    name = path.rpartition("/")[2]
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == path:
            return place(name, frame.f_code, frame.f_lineno)
        frame = frame.f_back
    return name
