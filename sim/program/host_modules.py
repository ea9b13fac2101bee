"""The modules that a ``host.py`` imports from beside it: another's of the same names are not mistaken for them.

And the files that it reads, on which its inputs and its check depend.
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

#: Of the host sides that are executed now.
_executed: list[OwnModules] = []


class OwnModules(dict[str, ModuleType]):
    """The modules by their names, and the files that were opened while they were executed."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: set[str] = set()

    def files(self, host: Path) -> list[Path]:
        """``host``, its modules, the files that were read so far, and those beside it that its text names.

        Those of Python itself and of installed packages are left out: their versions say what they are.
        """
        modules = [host, *(file for module in self.values() if (file := _file(module)) is not None)]
        named = [host.parent / text for file in modules if file.suffix == ".py" for text in _texts(file)]
        usual = [Path(place).resolve() for place in (*sysconfig.get_paths().values(), "/proc", "/sys", "/dev")]
        paths = {path.resolve() for path in [*modules, *map(Path, self.opened), *named] if os.path.isfile(path)}
        return sorted(path for path in paths if path.suffix != ".pyc"
                      and not any(path.is_relative_to(place) for place in usual))


def _texts(source: Path) -> set[str]:
    """The texts in a Python file that can be the names of files."""
    with contextlib.suppress(OSError, SyntaxError, ValueError):
        nodes = ast.walk(ast.parse(source.read_bytes()))
        texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        return {text for text in texts if 0 < len(text) < 200 and text.isprintable()}
    return set()


@functools.cache
def _watch() -> None:
    """Note what is opened to be read, from now on; a hook stays as long as the process."""

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and _executed and not isinstance(arguments[0], int) and not arguments[2] & _WRITES:
            _executed[-1].opened.add(os.path.abspath(os.fsdecode(arguments[0])))

    sys.addaudithook(note)


_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def _file(module: ModuleType) -> Path | None:
    """Its file, or its folder if it is a package without one."""
    places = [getattr(module, "__file__", None), *(getattr(module, "__path__", None) or [])]
    return next((Path(place) for place in places if isinstance(place, str)), None)


def _is_own(module: ModuleType, folder: Path, usual: Sequence[str]) -> bool:
    """Whether it lies in ``folder``, or where only a ``sys.path`` that host.py has changed leads to."""
    file = _file(module)
    if file is None or module.__name__.partition(".")[0] == "metronome":
        return False
    return file.is_relative_to(folder) or not any(file.is_relative_to(place) for place in usual)


@contextlib.contextmanager
def own_modules(folder: Path, own: OwnModules) -> Iterator[None]:
    """Put the modules ``own`` where ``import`` finds them; at the end take them away again, with those that came."""
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
