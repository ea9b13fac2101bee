"""Interleaved stacks in memory: the bijection of hdl.lib.stacks in Python, for addresses and contents.

Programs, the golden model, results and dumps use only the program's addresses; memory at the SM's port uses the
permuted ones (docs/memory.md, "Stacks").
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metronome.hdl.config import SmConfig

from .store import PAGE_BYTES, SparseMemory

__all__ = ["interleave", "restore", "to_bus", "to_bus_all", "to_program"]


def _exchanged(config: SmConfig, address: int, first: int, second: int) -> int:
    """Move the word at row r, column c of a table of ``first`` columns to row c, column r of one of ``second``."""
    stacks = config.interleaved_stacks
    if address not in stacks:
        return address
    block = 4 * first * second
    start = stacks.start + (address - stacks.start) // block * block
    word, byte = divmod(address - start, 4)
    row, column = divmod(word, first)
    return start + 4 * (column * second + row) + byte


def to_bus(config: SmConfig, address: int) -> int:
    """Return the address in memory of the byte at the program's ``address``."""
    return _exchanged(config, address, config.memory_map.stack_bytes_per_hart // 4, config.threads)


def to_bus_all(config: SmConfig, addresses: np.ndarray) -> np.ndarray:
    """Return :func:`to_bus` of each of ``addresses`` (int64)."""
    places = addresses.astype(np.int64)
    stacks = config.interleaved_stacks
    words = config.memory_map.stack_bytes_per_hart // 4
    offsets = (places - stacks.start) % (4 * words * config.threads)
    rows, columns = np.divmod(offsets >> 2, words)
    moved = places - offsets + 4 * (columns * config.threads + rows) + (offsets & 3)
    return np.where((places >= stacks.start) & (places < stacks.stop), moved, places)


def to_program(config: SmConfig, address: int) -> int:
    """Return the program's address of the byte at ``address`` in memory: the inverse of :func:`to_bus`."""
    return _exchanged(config, address, config.threads, config.memory_map.stack_bytes_per_hart // 4)


def _blocks(config: SmConfig, memory: SparseMemory) -> Iterator[range]:
    """Return the address ranges of the warps' stacks that have been written to."""
    stacks = config.interleaved_stacks
    size = config.threads * config.memory_map.stack_bytes_per_hart
    done = stacks.start
    for page in memory.pages():
        end = min(page + PAGE_BYTES, stacks.stop)
        first = stacks.start + (page - stacks.start) // size * size
        for block in range(max(first, done), end, size):
            done = block + size
            yield range(block, done)


def _transpose(config: SmConfig, memory: SparseMemory, columns: int) -> None:
    """Transpose each written block, whose words form a table of ``columns`` columns."""
    for block in list(_blocks(config, memory)):
        words = np.frombuffer(memory.read(block.start, len(block)), np.uint32)
        memory.write(block.start, words.reshape(-1, columns).T.tobytes())


def interleave(config: SmConfig, memory: SparseMemory) -> None:
    """Convert memory in place from the program's addresses to those of the SM's port; free if no stack is in use."""
    _transpose(config, memory, config.memory_map.stack_bytes_per_hart // 4)


def restore(config: SmConfig, memory: SparseMemory) -> None:
    """Convert memory in place back to the program's addresses: the inverse of :func:`interleave`."""
    _transpose(config, memory, config.threads)
