"""What plain.h has, in Python."""

import numpy as np

__all__ = ["F", "Random", "bits", "mixed", "signed"]

F = np.float32


class Random:
    """``draw`` of plain.h."""

    def __init__(self, state):
        self.state = state & 0xFFFF_FFFF

    def __call__(self):
        self.state = (self.state * 1664525 + 1013904223) & 0xFFFF_FFFF
        return self.state >> 16


def bits(x):
    """A float as a word."""
    return int(F(x).view(np.uint32))


def mixed(values):
    """Three words of a list: each takes every third value."""
    words = [0, 0, 0]
    for place, value in enumerate(values):
        words[place % 3] = words[place % 3] * 101 + value
    return words


def signed(word):
    """A word as a number with sign."""
    return (word & 0xFFFF_FFFF) - ((word & 0x8000_0000) << 1)
