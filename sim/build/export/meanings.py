"""Meanings of the ports of a component and the fields of its layouts: the comments beside them in the source of hdl.

A comment after an entry of a dictionary describes that entry, as do lines that begin with ``#:`` above it. Other lines
above it describe it and all entries that follow, up to the next comment. An entry without a comment inherits that of
its parent: the first paragraph of the docstring of the function that makes the layout.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

__all__ = ["meaning_of", "plain", "port_meanings"]

#: The modules with the functions that make layouts and signatures.
_HARDWARE = "metronome.hdl."
#: Members of every stream (amaranth.lib.stream), whatever it carries.
_STREAM = {
    "valid": "the fields with the same prefix are valid; stays 1 until a clock edge at which ready is also 1",
    "ready": "the transfer happens at a clock edge at which valid is also 1",
}


def plain(text: str) -> str:
    """A comment or docstring without its markup, on one line: ``:class:`hdl.config.Fault``` is Fault."""
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"\1", text)
    return " ".join(text.replace("``", "").split())


class _Source:
    """The text of a function: its tree and its comments."""

    def __init__(self, owner: Callable[..., Any]) -> None:
        text = textwrap.dedent(inspect.getsource(owner))
        self.tree = ast.parse(text)
        #: Line -> comment, with its mark; and whether the line has nothing else.
        self.comments: dict[int, tuple[str, bool]] = {}
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                self.comments[token.start[0]] = token.string, not token.line[: token.start[1]].strip()

    def behind(self, line: int) -> str | None:
        """The comment at the end of the line."""
        comment, alone = self.comments.get(line, ("", True))
        return None if alone or comment.startswith("# type:") else comment.lstrip("#: ")

    def above(self, line: int) -> tuple[str, bool] | None:
        """The comment lines directly above, and whether they describe only the one entry below."""
        first = line
        while self.comments.get(first - 1, ("", False))[1]:
            first -= 1
        if first == line:
            return None
        lines = [self.comments[number][0] for number in range(first, line)]
        return " ".join(each.lstrip("#: ") for each in lines), lines[0].startswith("#:")


class _Reader:
    """Reads one function, and the functions of hdl that it calls."""

    def __init__(self, function: FunctionType) -> None:
        self._source = _Source(function)
        self._globals = function.__globals__
        self.found: dict[str, str] = {}
        for node in self._source.tree.body[0].body:  # type: ignore[attr-defined]  # one function
            self._statement(node)

    def _statement(self, node: ast.AST) -> None:
        """Read every dictionary of a statement, and ``members["name"] = ...``."""
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            self._entries([(node.targets[0].slice, node.value)], "")
        elif isinstance(node, ast.Dict):
            self._entries(list(zip(node.keys, node.values, strict=True)), "")
        else:
            for child in ast.iter_child_nodes(node):
                self._statement(child)

    def _entries(self, entries: list[tuple[ast.expr | None, ast.expr]], prefix: str) -> None:
        group = None
        for key, value in entries:
            if key is None:
                self._inside(value, prefix)
                continue
            if not isinstance(key, ast.Constant):
                continue
            above = self._source.above(key.lineno)
            if above is not None:
                group = None if above[1] else above[0]
            # An entry with a layout of its own no longer belongs to the group.
            shared = None if self._layouts(value) else group
            text = self._source.behind(value.end_lineno or value.lineno) or (above and above[0]) or shared
            name = f"{prefix}{key.value!s}"
            if text:
                self.found[name] = plain(text)
            self._inside(value, f"{name}.")

    def _inside(self, value: ast.AST, prefix: str) -> None:
        """Read the fields of an entry: those of a dictionary in it, and of layouts made by the functions it calls."""
        if isinstance(value, ast.Dict):
            self._entries(list(zip(value.keys, value.values, strict=True)), prefix)
            return
        if isinstance(value, ast.DictComp) and isinstance(value.key, ast.JoinedStr):
            # Equal parts by number: f"sm_{i}" is sm_* below.
            parts = [str(each.value) if isinstance(each, ast.Constant) else "*" for each in value.key.values]
            self._inside(value.value, f"{prefix}{''.join(parts)}.")
            return
        if isinstance(value, ast.Call):
            for function in self._layouts(value, deep=False):
                self._called(function, prefix)
                return
            if ast.unparse(value.func) == "stream.Signature":
                self.found |= {f"{prefix}{name}": text for name, text in _STREAM.items()}
                prefix += "payload."
        for child in ast.iter_child_nodes(value):
            self._inside(child, prefix)

    def _layouts(self, value: ast.AST, deep: bool = True) -> list[FunctionType]:
        """The functions of hdl that ``value`` calls, anywhere in it if ``deep``."""
        nodes = ast.walk(value) if deep else [value]
        called = [self._globals.get(ast.unparse(node.func)) for node in nodes if isinstance(node, ast.Call)]
        return [each for each in called if isinstance(each, FunctionType) and each.__module__.startswith(_HARDWARE)]

    def _called(self, function: FunctionType, prefix: str) -> None:
        about = plain((inspect.getdoc(function) or "").split("\n\n")[0])
        # The comment at the call is more specific than the function's docstring, which is about any use.
        self.found.setdefault(prefix.removesuffix("."), about)
        self.found |= {f"{prefix}{name}": text for name, text in _Reader(function).found.items()}


def port_meanings(component: type) -> dict[str, str]:
    """Path -> meaning of the ports of a component of hdl, and of their fields: ``mem.req.payload.line``."""
    constructor = component.__init__  # type: ignore[misc]  # of the class itself
    assert isinstance(constructor, FunctionType), f"{component} has no constructor of its own"
    # Ports that a table makes: the table has their meanings.
    more: dict[str, str] = getattr(component, "meanings", dict)()
    return _Reader(constructor).found | more


def meaning_of(path: tuple[str, ...], meanings: dict[str, str]) -> str | None:
    """The meaning of the path, or else of its closest ancestor."""

    def candidates() -> Iterator[str]:
        for length in range(len(path), 0, -1):
            name = ".".join(path[:length])
            yield from (name, re.sub(r"(?<=_)\d+(?=\.|$)", "*", name))

    return next((meanings[name] for name in candidates() if name in meanings), None)
