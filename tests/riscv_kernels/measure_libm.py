"""The worst error of every function of math.h, in units of the last place, against the host's double precision.

    python -m tests.riscv_kernels.measure_libm            every 1021st float, in seconds
    python -m tests.riscv_kernels.measure_libm --all      all 2^32 floats, in 20 to 30 minutes

The machine's own sources run on the host. tests/riscv_kernels/test_libm.py shows that the machine gives the same bits.
powf has too many pairs: a sample from each of the ranges below. The exit status is 1 if a function is worse than its
bound.
"""

import argparse
import sys

import numpy as np

from tests.riscv_kernels.libm import host

#: Upper bounds, in ulp; those that math.h states.
BOUNDS = {
    "expf": 0.77, "exp2f": 0.78, "logf": 0.81, "log2f": 1.1, "log10f": 1.27, "powf": 0.85, "sinf": 1.03, "cosf": 1.06,
    "tanf": 1.42, "tanhf": 1.34, "erff": 1.08, "floorf": 0, "ceilf": 0, "truncf": 0, "roundf": 0, "rintf": 0,
}
#: Coprime to 2^32, so that the last bits take every value.
STEP = 1021
#: Around these everything special of powf happens.
CORNERS = np.array([
    0, 1, 2, 0x7FFFFF, 0x800000, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x40000000, 0x40400000, 0x40200000,
    0x42B00000, 0x4AFFFFFD, 0x4AFFFFFF, 0x4B000000, 0x4B7FFFFF, 0x4B800000, 0x4B800001, 0x7F7FFFFF, 0x7F800000,
    0x7FC00000,
], np.uint32)


def bits(values: np.ndarray) -> np.ndarray:
    """Of the nearest float32."""
    return values.astype(np.float32).view(np.uint32)


def pow_pairs(rng: np.random.Generator, count: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Samples of arguments of powf, as uint32 bits."""
    corners = np.concatenate([CORNERS, CORNERS | np.uint32(1 << 31)])
    first, second = np.meshgrid(corners, corners)
    wide = np.exp(rng.uniform(-88, 88, count)).astype(np.float32)
    return {
        "corners": (first.ravel(), second.ravel()),
        "any bits": (rng.integers(0, 1 << 32, count, np.uint32), rng.integers(0, 1 << 32, count, np.uint32)),
        "usual": (bits(np.exp(rng.uniform(-3, 3, count))), bits(rng.uniform(-30, 30, count))),
        "finite results": (bits(wide), bits(rng.uniform(-103, 88.7, count) / np.log(wide.astype(np.float64)))),
        "x near 1": (bits(rng.uniform(0.99, 1.01, count)), bits(rng.uniform(-9000, 9000, count))),
        "negative x, whole y": (bits(-rng.integers(1, 50, count)), bits(rng.integers(-40, 40, count))),
    }


def measure(name: str, *, everything: bool = False, pairs: int = 1 << 20, step: int = STEP) -> tuple[float, str]:
    """The worst error of one function, and at which argument."""
    if name == "powf":
        found = {}
        for kind, (x, y) in pow_pairs(np.random.default_rng(1), pairs).items():
            error, at = host.worst_pow(x, y)
            found[kind] = error, f"{x[at:at + 1].view(np.float32)[0]!s}, {y[at:at + 1].view(np.float32)[0]!s} ({kind})"
        return max(found.values())
    error, word = host.worst(name, 0, 1 << 32, 1) if everything else host.worst(name, 0, (1 << 32) // step, step)
    return error, f"{np.array(word, np.uint32).view(np.float32)!s} ({word:#010x})"


def main() -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="all floats; powf: 20 million pairs of each kind")
    parser.add_argument("--function", action="append", choices=list(BOUNDS), help="only this one (may be repeated)")
    options = parser.parse_args()
    worse = 0
    for name in options.function or BOUNDS:
        error, at = measure(name, everything=options.all, pairs=20_000_000 if options.all else 1 << 20)
        worse += error > BOUNDS[name]
        print(f"{name:7} {error:.4f} ulp at {at}; bound {BOUNDS[name]}", flush=True)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
