"""How the model is compiled: by numba, to machine code that is kept in the build cache."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numba

from metronome.sim.cache import cache_folder, hold, locked, used

__all__ = ["as_python", "compiling", "inlined", "is_compiled", "kept", "outer"]

#: A rule of the model: part of whoever uses it, not called from Python. Nothing allocates, so nobody counts references.
inlined = partial(
    numba.njit, _nrt=False, error_model="numpy", forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


def as_python(rule: Any) -> Callable:
    """A rule as it is written, for who asks it outside of the machine: nothing is compiled."""
    function: Callable = rule.py_func
    return function


@functools.cache
def _folder() -> str:
    """Where the code of these very sources is kept: numba alone looks at the file of a function, not at its callees."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    folder = cache_folder() / f"model-{digest.hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    hold(folder)
    used(folder)
    return str(folder)


def is_compiled() -> bool:
    """Whether the model's code is kept already; without it the first prediction takes half a minute more."""
    return next(Path(_folder()).rglob("machine.advance*.nbc"), None) is not None


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
    before, settings.CACHE_DIR = settings.CACHE_DIR, _folder()
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        settings.CACHE_DIR = before


#: What Python calls: the machine.
outer = partial(_in_cache, _nrt=False, error_model="numpy")
#: What Python calls and makes arrays.
kept = partial(_in_cache)
