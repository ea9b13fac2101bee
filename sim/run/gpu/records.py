"""Records of several SMs."""

from __future__ import annotations

import numpy as np

__all__ = ["by_sm"]

#: Where the number of the SM is in the second word of a record (tb/gpu_top.sv).
_SHIFT = 24


def by_sm(words: np.ndarray, sms: int) -> list[np.ndarray]:
    """Return the records of each SM, in the form of one SM: uint32 (n, words of a record)."""
    numbers = words[:, 1] >> np.uint32(_SHIFT)
    plain = words.copy()
    plain[:, 1] &= np.uint32((1 << _SHIFT) - 1)
    return [plain[numbers == number] for number in range(sms)]
