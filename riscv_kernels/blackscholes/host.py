"""Host side of blackscholes: prices of options."""

from __future__ import annotations

import math
import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare_close, require_size

ABOUT = "Black-Scholes prices of size European options, by one group"
TYPES = ("float32",)
DEFAULT_SIZE = 16
MAX_SIZE = 1 << 18
#: For table I of Crouzet 2024: 13 options per thread on PAPER.
PAPER_SIZE = 13312
#: Interest a year without risk, and how much prices vary in a year.
RATE, VOLATILITY = np.float32(0.02), np.float32(0.3)
#: How far a price may be off. It is the difference of two amounts of up to 100, the highest strike, each multiplied by
#: a probability. The roundings of logarithm, d1 and exponentials all reach it: eight of 2^-24.
TOLERANCE = 100 * 8 * 2.0**-24
_POLYNOMIAL = (0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429)


def _normal(d: np.ndarray) -> np.ndarray:
    """The kernel's approximation, in double: so only what rounding does is left to the tolerance."""
    k = 1 / (1 + 0.2316419 * np.abs(d))
    polynomial = sum(factor * k ** (place + 1) for place, factor in enumerate(_POLYNOMIAL))
    tail = np.exp(-d * d / 2) / math.sqrt(2 * math.pi) * polynomial
    return np.where(d > 0, 1 - tail, tail)


def reference(price: np.ndarray, strike: np.ndarray, years: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(call, put), computed in double."""
    price, strike, years = (each.astype(np.float64) for each in (price, strike, years))
    rate, volatility = float(RATE), float(VOLATILITY)
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + volatility**2 / 2) * years) / spread
    below1, below2 = _normal(d1), _normal(d1 - spread)
    discounted = strike * np.exp(-rate * years)
    call = price * below1 - discounted * below2
    put = discounted * (1 - below2) - price * (1 - below1)
    return call.astype(np.float32), put.astype(np.float32)


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """``size`` options in the ranges of the SDK's example. Raises KernelError for a size out of range."""
    require_size("blackscholes", size, MAX_SIZE)
    rng = np.random.default_rng(seed)
    price, strike, years = (
        rng.uniform(low, high, size).astype(np.float32) for low, high in ((5, 30), (1, 100), (0.25, 10))
    )
    call, put = reference(price, strike, years)
    buffers = Buffers(config)
    addresses = (
        buffers.place("price", price), buffers.place("strike", strike), buffers.place("years", years),
        buffers.place_output("call", size), buffers.place_output("put", size),
    )
    return Problem(
        arguments=struct.pack("<I2f5I", size, RATE, VOLATILITY, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare_close(read, "call", addresses[3], call, 0, TOLERANCE)
        + compare_close(read, "put", addresses[4], put, 0, TOLERANCE),
    )
