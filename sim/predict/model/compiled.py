"""Compile the model with numba, to machine code that is kept in the build cache."""

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

__all__ = ["ONE_SM", "SEVERAL_SMS", "as_python", "compiling", "inlined", "is_compiled", "kept", "outer"]

#: Decorator for a rule of the model, which is inlined into its callers and cannot be called from Python. Rules do not
#: allocate, so references are not counted.
inlined = partial(
    numba.njit, _nrt=False, error_model="numpy", forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


def as_python(rule: Any) -> Callable:
    """Return a rule as the uncompiled Python function, for use outside the machine.

    The rule may call no other rule: compiled rules cannot be called from Python.
    """
    function: Callable = rule.py_func
    return function


#: The modules whose functions are kept: everything that they import, including constants, is compiled into them.
_MODULES = ("sim/predict/model/machine.py", "sim/predict/model/gpu.py", "sim/predict/model/races.py")


#: The functions that compute cycles, as their files are named.
ONE_SM, SEVERAL_SMS = "machine.advance", "gpu.advance_gpu"


class Locator(UserProvidedCacheLocator):
    """Locates numba's cache of a function: its name depends on the contents of all sources, not on path or time."""

    def __init__(self, function: Callable, file: str) -> None:
        super().__init__(function, file)
        # Numba calls get_cache_path every time it saves a function.
        self._folder = _folder()

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return ""


def _key() -> str:
    """Return a hash of all sources and of the compiler; numba itself checks only the file of the function."""
    versions = [importlib.metadata.version(package) for package in ("numba", "llvmlite", "numpy")]
    settings = sorted((name, value) for name, value in os.environ.items() if name.startswith("NUMBA_"))
    return hashlib.sha256(repr([versions, settings, contents(closure(_MODULES))]).encode()).hexdigest()[:16]


@functools.cache
def _folder() -> str:
    """Return the folder of the code. A read-only one is copied, because numba may add functions to it."""
    name = f"model-{_key()}"

    def make(folder: Path) -> None:
        if (there := found(name)).exists():
            shutil.copytree(there, folder, dirs_exist_ok=True)

    return str(entry(name, make, own=True))


def is_compiled(function: str = ONE_SM) -> bool:
    """Whether the model's code is in the cache; if not, the first prediction takes a minute longer."""
    return next(Path(_folder()).glob(f"{function}-*.nbc"), None) is not None


@contextlib.contextmanager
def compiling(function: str = ONE_SM) -> Iterator[None]:
    """Guard the first call of a cached function: one process compiles it while the others wait."""
    if is_compiled(function):
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


#: Decorator for a function that Python calls: the machine.
outer = partial(_in_cache, _nrt=False, error_model="numpy")
#: Decorator for a function that Python calls and that allocates arrays.
kept = partial(_in_cache)
