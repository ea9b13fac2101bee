"""Modules that a ``host.py`` imports from its own folder: kept apart from another kernel's modules of the same names.

Also the files that it reads, on which its inputs and its check depend.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["OwnModules", "own_modules"]

#: The modules of the host sides that are being executed.
_executed: list[OwnModules] = []


class OwnModules(dict[str, ModuleType]):
    """The modules by name, and the files that were opened while they were executed."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: set[str] = set()

    def files(self, host: Path) -> list[Path]:
        """Return ``host``, its modules, the files read so far, and files beside it that its text names.

        Files of Python itself and of installed packages are left out: their versions identify them.
        """
        modules = [host, *(file for module in self.values() if (file := _file(module)) is not None)]
        named = [host.parent / text for file in modules if file.suffix == ".py" for text in _texts(file)]
        usual = [Path(place).resolve() for place in (*sysconfig.get_paths().values(), "/proc", "/sys", "/dev")]
        paths = {path.resolve() for path in [*modules, *map(Path, self.opened), *named] if os.path.isfile(path)}
        return sorted(path for path in paths if path.suffix != ".pyc"
                      and not any(path.is_relative_to(place) for place in usual))


def _texts(source: Path) -> set[str]:
    """The strings in a Python file that can be file names."""
    with contextlib.suppress(OSError, SyntaxError, ValueError):
        nodes = ast.walk(ast.parse(source.read_bytes()))
        texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        return {text for text in texts if 0 < len(text) < 200 and text.isprintable()}
    return set()


@functools.cache
def _watch() -> None:
    """Record files opened for reading from now on; the hook lasts as long as the process."""

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and _executed and not isinstance(arguments[0], int) and not arguments[2] & _WRITES:
            _executed[-1].opened.add(os.path.abspath(os.fsdecode(arguments[0])))

    sys.addaudithook(note)


_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def _file(module: ModuleType) -> Path | None:
    """The module's file, or the folder of a package without one."""
    places = [getattr(module, "__file__", None), *(getattr(module, "__path__", None) or [])]
    return next((Path(place) for place in places if isinstance(place, str)), None)


def _is_own(module: ModuleType, folder: Path, usual: Sequence[str]) -> bool:
    """Whether it lies in ``folder``, or in a place that only host.py's changes of ``sys.path`` lead to."""
    file = _file(module)
    if file is None or module.__name__.partition(".")[0] == "metronome":
        return False
    return file.is_relative_to(folder) or not any(file.is_relative_to(place) for place in usual)


@contextlib.contextmanager
def own_modules(folder: Path, own: OwnModules) -> Iterator[None]:
    """Make the modules ``own`` importable; at the end remove them again, and newly imported ones with them."""
    before, usual = dict(sys.modules), [os.path.abspath(place) for place in sys.path if place]
    _watch()
    sys.modules.update(own)
    _executed.append(own)
    try:
        yield
    finally:
        _executed.pop()
        for name, module in list(sys.modules.items()):
            came = before.get(name) is not module and isinstance(module, ModuleType)
            if came and (name in own or _is_own(module, folder, usual)):
                own[name] = module
                del sys.modules[name]
                if name in before:
                    sys.modules[name] = before[name]
