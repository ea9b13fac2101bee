"""Records of several SMs."""

from __future__ import annotations

import numpy as np

__all__ = ["TRANSFER", "by_sm", "transfers_of"]

#: Where the number of the SM is in the second word of a record (tb/gpu_top.sv).
_SHIFT = 24
_NUMBER = np.uint32((1 << _SHIFT) - 1)
#: A cycle of the memory port in which memory accepts a request or an answer of it is accepted. ``tag`` and ``line``,
#: the number of a line, are those of the request.
TRANSFER = np.dtype([
    ("cycle", np.int64), ("request", bool), ("answer", bool), ("write", bool), ("error", bool), ("tag", np.int64),
    ("line", np.int64), ("answer_tag", np.int64),
])


def by_sm(words: np.ndarray, sms: int) -> list[np.ndarray]:
    """Return the records of each SM, in the form of one SM: uint32 (n, words of a record)."""
    numbers = words[:, 1] >> np.uint32(_SHIFT)
    plain = words.copy()
    plain[:, 1] &= _NUMBER
    return [plain[numbers == number] for number in range(sms)]


def transfers_of(words: np.ndarray, sms: int) -> np.ndarray:
    """Return the transfers at the memory port among the records, TRANSFER of shape (n,)."""
    mine = words[words[:, 1] >> np.uint32(_SHIFT) == sms].astype(np.int64)
    transfers = np.zeros(len(mine), TRANSFER)
    transfers["cycle"] = mine[:, 0] | (mine[:, 1] & int(_NUMBER)) << 32
    for bit, name in enumerate(("request", "answer", "write", "error")):
        transfers[name] = mine[:, 2] >> bit & 1
    transfers["tag"], transfers["line"], transfers["answer_tag"] = mine[:, 3], mine[:, 4], mine[:, 5]
    return transfers
