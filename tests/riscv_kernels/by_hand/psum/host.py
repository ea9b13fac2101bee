"""The host side of psum: the same kernel, with its splits written by hand."""

from metronome.riscv_kernels.psum.host import ABOUT, DEFAULT_SIZE, MAX_SIZE, TYPES, make

__all__ = ["ABOUT", "DEFAULT_SIZE", "MAX_SIZE", "TYPES", "make"]
