"""Loads the file of a submission, and reports errors in it in one line."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from metronome.hdl.config import SmConfig

from ...machine.policies.base import Policy

__all__ = ["SubmissionError", "guarded", "inspect", "load", "policy_of", "where"]

#: The submission's module name; dataclasses look it up there.
_MODULE = "metronome_submission"
_PACKAGE = "metronome"
#: The parts of Metronome that a submission may import; the rest contains the solution.
_MAY_IMPORT = "metronome.sim.studies.course.scheduler"
_METHODS = ("reset", "pick", "update")


class SubmissionError(Exception):
    """An error in a submission; the text is one line."""


def inspect(path: Path) -> ast.Module:
    """Return the submission's syntax tree without executing any of it.

    Raises
    ------
    SubmissionError
        If it is not Python, or has a forbidden import.
    """
    try:
        tree = ast.parse(path.read_text("utf-8"), str(path))
    except SyntaxError as error:
        raise SubmissionError(f"{path.name}, line {error.lineno}: {error.msg}") from None
    except (OSError, ValueError) as error:
        raise SubmissionError(f"{path.name}: {getattr(error, 'strerror', None) or error}") from None
    _refuse_imports(path, tree)
    return tree


def load(path: Path) -> types.ModuleType:
    """Import the submission as a module. Raises SubmissionError."""
    tree = inspect(path)
    module = types.ModuleType(_MODULE)
    module.__file__ = str(path)
    sys.modules[_MODULE] = module
    guarded(path, lambda: exec(compile(tree, str(path), "exec"), module.__dict__))
    return module


def _refuse_imports(path: Path, tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for name in names:
            if name.split(".")[0] == _PACKAGE and name != _MAY_IMPORT:
                raise SubmissionError(
                    f"{path.name}, line {node.lineno}: it imports {name}: of Metronome it may import {_MAY_IMPORT} only"
                )


def policy_of(path: Path, module: types.ModuleType, name: str, config: SmConfig) -> Policy[Any]:
    """Return the policy that the class ``name`` makes for ``config``. Raises SubmissionError."""
    kind = getattr(module, name, None)
    if not isinstance(kind, type):
        raise SubmissionError(f"{path.name}: there is no class {name}")
    if missing := [method for method in ("of", *_METHODS) if not callable(getattr(kind, method, None))]:
        raise SubmissionError(f"{path.name}: class {name} has no {missing[0]}")
    return guarded(path, lambda: cast(Any, kind).of(config))


def guarded(path: Path, work: Callable[[], Any]) -> Any:
    """Return the result of ``work``; if the submission raises an error, raise SubmissionError with its line."""
    try:
        return work()
    except Exception as error:
        raise SubmissionError(f"{where(path, error)}: {_told(error)}") from None
    except (SystemExit, KeyboardInterrupt, GeneratorExit):
        raise SubmissionError(f"{path.name}: it ends the program") from None


def _told(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def where(path: Path, error: BaseException) -> str:
    """Return the file, line and function of the submission in which ``error`` was raised."""
    found = path.name
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename == str(path):
            place = "" if code.co_name.startswith("<") else f", in {code.co_name}"
            found = f"{path.name}, line {step.tb_lineno}{place}"
        step = step.tb_next
    return found
