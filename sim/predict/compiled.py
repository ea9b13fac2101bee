"""How the model is compiled: numba, to machine code that is kept."""

from __future__ import annotations

from functools import partial

import numba

__all__ = ["njit"]

#: Nothing here allocates, so nobody counts references: that alone is a factor of several.
njit = partial(numba.njit, _nrt=False, error_model="numpy", forceinline=True)
