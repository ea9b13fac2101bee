"""Each program of this folder with what it computes: index to at most four words."""

import numpy as np

from tests.riscv_kernels.plain import data, floats, texts, whole_numbers

__all__ = ["PROGRAMS", "expected"]

PROGRAMS = {**whole_numbers.REFERENCES, **data.REFERENCES, **texts.REFERENCES, **floats.REFERENCES}


def expected(name, threads):
    """What a program leaves: a row of four words a thread."""
    rows = np.zeros((threads, 4), np.uint32)
    with np.errstate(all="ignore"):
        for index, row in enumerate(rows):
            words = PROGRAMS[name](index)
            row[: len(words)] = [int(word) & 0xFFFF_FFFF for word in words]
    return rows
