"""Local memory: the scratchpad of the core."""

from __future__ import annotations

import numpy as np

__all__ = ["LocalMemory"]

_SHIFTS = {1: 0, 2: 1, 4: 2}


class LocalMemory:
    """The scratchpad: ``data`` is uint8 of shape (local_bytes,), at ``base`` in the address space."""

    def __init__(self, base: int, size: int) -> None:
        self.base = base
        self.end = base + size
        self.data = np.zeros(size, np.uint8)
        self._flat: dict[int, np.ndarray] = {
            1: self.data, 2: self.data.view(np.uint16), 4: self.data.view(np.uint32),
        }  # fmt: skip

    def gather(self, addrs: np.ndarray, size: int) -> np.ndarray:
        """Read as :meth:`sim.machine.memory.store.SparseMemory.gather` does, at addresses in local memory."""
        return self._flat[size].take((addrs - np.uint32(self.base)) >> _SHIFTS[size]).astype(np.uint32, copy=False)

    def read(self, addr: int, size: int) -> int:
        """Read as :meth:`sim.machine.memory.store.SparseMemory.read_number` does, at an address in local memory."""
        return self._flat[size].item((addr - self.base) >> _SHIFTS[size])

    def scatter(self, addrs: np.ndarray, data: np.ndarray, size: int) -> None:
        """Write as :meth:`sim.machine.memory.store.SparseMemory.scatter` does, at addresses in local memory."""
        flat = self._flat[size]
        flat[(addrs - np.uint32(self.base)) >> _SHIFTS[size]] = data.astype(flat.dtype, copy=False)
