"""Upper limits of the parameters of a run."""

__all__ = ["MAX_CYCLES", "MAX_SEED"]

#: The testbench counts cycles in 64 bits, and needs headroom above the last one.
MAX_CYCLES = 2**62
#: Results are stored with 64-bit integers.
MAX_SEED = 2**63 - 1
