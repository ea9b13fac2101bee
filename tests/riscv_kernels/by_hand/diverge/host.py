"""The host side of diverge: the same kernel, with its splits written by hand."""

from metronome.riscv_kernels.diverge.host import ABOUT, DEFAULT_SIZE, MAX_SIZE, TYPES, make

__all__ = ["ABOUT", "DEFAULT_SIZE", "MAX_SIZE", "TYPES", "make"]
