"""How the model is compiled: by numba, to machine code that is kept (docs/predict.md)."""

from __future__ import annotations

from functools import partial

import numba

__all__ = ["inlined", "outer"]

#: A rule of the model: part of whoever uses it, not called from Python. Nothing allocates, so nobody counts references.
inlined = partial(
    numba.njit, _nrt=False, error_model="numpy", forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
#: What Python calls.
outer = partial(numba.njit, _nrt=False, error_model="numpy", cache=True)
