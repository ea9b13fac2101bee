"""The modules that a ``host.py`` imports from beside it: another's of the same names are not mistaken for them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

__all__ = ["own_modules"]


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
def own_modules(folder: Path, own: dict[str, ModuleType]) -> Iterator[None]:
    """Put the modules ``own`` where ``import`` finds them; at the end take them away again, with those that came."""
    before, usual = dict(sys.modules), [os.path.abspath(place) for place in sys.path if place]
    sys.modules.update(own)
    try:
        yield
    finally:
        for name, module in list(sys.modules.items()):
            came = before.get(name) is not module and isinstance(module, ModuleType)
            if came and (name in own or _is_own(module, folder, usual)):
                own[name] = module
                del sys.modules[name]
                if name in before:
                    sys.modules[name] = before[name]
