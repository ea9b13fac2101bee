"""The file of a submission before any of it is executed: whether it is Python, and its imports."""

from __future__ import annotations

import ast
from pathlib import Path

from .imports import forbidden

__all__ = ["SubmissionError", "inspect"]


class SubmissionError(Exception):
    """An error in a submission; the text is one line."""


def inspect(path: Path) -> None:
    """Read the file without executing any of it.

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
    except (RecursionError, MemoryError):
        raise SubmissionError(f"{path.name}: it is nested too deeply") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [forbidden(alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = tuple(alias.name for alias in node.names)
            found = [forbidden("." * node.level + (node.module or ""), parts)]
        else:
            continue
        for text in filter(None, found):
            raise SubmissionError(f"{path.name}, line {node.lineno}: {text}")
