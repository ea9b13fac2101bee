"""The greatest numbers that a run takes."""

__all__ = ["MAX_CYCLES", "MAX_SEED"]

#: The testbench counts cycles in 64 bits, and needs room above the last one.
MAX_CYCLES = 2**62
#: Results are kept with whole numbers of 64 bits.
MAX_SEED = 2**63 - 1
