"""The Python files of the tree that a file depends on, for cache keys (:mod:`sim.build.cache`)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["ROOT", "closure", "contents"]

#: The folder of hdl, sim, tb and the others: the root of a checkout, else that of the installed package.
ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = "metronome"
#: Imports that are never executed, and all others: the module, and the names that may be modules in it.
_NEVER = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)+", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from (\.*)([\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
_PLAIN = re.compile(rf"^[ \t]*import {_PACKAGE}\.([\w.]+)", re.MULTILINE)


def closure(names: Iterable[str]) -> tuple[str, ...]:
    """These files of the tree (``sim/run/runner.py``) and all that they import, directly or not, in any function."""
    waiting, found = list(names), set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _imports(name)
    return tuple(sorted(found))


def contents(names: Iterable[str]) -> list[tuple[str, bytes]]:
    """The files with their contents."""
    return [(name, (ROOT / name).read_bytes()) for name in names]


@functools.cache
def _imports(name: str) -> tuple[str, ...]:
    text = _NEVER.sub("", (ROOT / name).read_text("utf-8"))
    found = [each for dots, module, names in _FROM.findall(text) for each in _from(name, len(dots), module, names)]
    found += [each for module in _PLAIN.findall(text) for each in _files(module.replace(".", "/"))]
    return tuple(found)


def _from(name: str, dots: int, module: str, names: str) -> Iterator[str]:
    if dots:
        folder = Path(name).parents[dots - 1].as_posix()
    elif module.partition(".")[0] == _PACKAGE:
        folder, module = ".", module.partition(".")[2]
    else:
        return
    path = "/".join(part for part in (folder, *module.split(".")) if part not in (".", ""))
    yield from _files(path)
    for each in re.findall(r"\w+", re.sub(r"#.*| as \w+", "", names)):
        yield from _files(f"{path}/{each}" if path else each)


@functools.cache
def _files(path: str) -> tuple[str, ...]:
    """The module at this path, and the packages around it, whose own modules are executed as well."""
    around = _files(path.rpartition("/")[0]) if "/" in path else ()
    here = [name for name in (f"{path}/__init__.py", f"{path}.py") if (ROOT / name).is_file()]
    return (*around, *here)
