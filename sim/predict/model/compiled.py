"""How the model is compiled: by numba, to machine code that is kept in the build cache."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import UserProvidedCacheLocator

from ...build.cache import entry, found, locked
from ...build.sources import closure, contents

__all__ = ["as_python", "compiling", "inlined", "is_compiled", "kept", "outer"]

#: A rule of the model: part of whoever uses it, not called from Python. Nothing allocates, so nobody counts references.
inlined = partial(
    numba.njit, _nrt=False, error_model="numpy", forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


def as_python(rule: Any) -> Callable:
    """A rule as it is written, for who asks it outside of the machine: nothing is compiled."""
    function: Callable = rule.py_func
    return function


#: The modules whose functions are kept: what they import is compiled with them, constants as well.
_MODULES = ("sim/predict/model/machine.py", "sim/predict/model/races.py")


class Locator(UserProvidedCacheLocator):
    """Where numba keeps a function: it is named after all sources, wherever they lie and whenever they were copied."""

    def __init__(self, function: Callable, file: str) -> None:
        super().__init__(function, file)
        # Asked for again whenever something is kept.
        self._folder = _folder()

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return ""


def _key() -> str:
    """The hash of these very sources, and of the compiler: numba alone looks at the file of a function."""
    versions = [importlib.metadata.version(package) for package in ("numba", "llvmlite", "numpy")]
    settings = sorted((name, value) for name, value in os.environ.items() if name.startswith("NUMBA_"))
    return hashlib.sha256(repr([versions, settings, contents(closure(_MODULES))]).encode()).hexdigest()[:16]


@functools.cache
def _folder() -> str:
    """Where the code is kept. One that cannot be written is copied: numba may want to add a function to it."""
    name = f"model-{_key()}"

    def make(folder: Path) -> None:
        if (there := found(name)).exists():
            shutil.copytree(there, folder, dirs_exist_ok=True)

    return str(entry(name, make, own=True))


def is_compiled() -> bool:
    """Whether the model's code is kept already; without it the first prediction takes half a minute more."""
    return next(Path(_folder()).glob("machine.advance*.nbc"), None) is not None


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Around the first call of what is kept: of several processes one compiles, and the others wait for it."""
    if is_compiled():
        yield
        return
    folder = Path(_folder())
    with locked(folder.with_name(f"{folder.name}.lock")):
        yield


def _in_cache(function: Callable, **options: Any) -> Callable:
    settings: Any = numba.config
    before = settings.CACHE_DIR, settings.CACHE_LOCATOR_CLASSES
    settings.CACHE_DIR, settings.CACHE_LOCATOR_CLASSES = _folder(), f"{__name__}.{Locator.__name__}"
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        settings.CACHE_DIR, settings.CACHE_LOCATOR_CLASSES = before


#: What Python calls: the machine.
outer = partial(_in_cache, _nrt=False, error_model="numpy")
#: What Python calls and makes arrays.
kept = partial(_in_cache)
