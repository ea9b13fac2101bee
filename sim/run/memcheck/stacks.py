"""The stacks of all lanes: owners of addresses, and stack pointers."""

from __future__ import annotations

import numpy as np

from metronome.hdl.config import SmConfig

from .finding import Side

__all__ = ["Moved", "Stacks"]

#: Bytes: the farthest that a variable-length array may move a stack pointer.
_NEAR = 1 << 20
#: (first, end): the bytes of a stack that are released.
Freed = tuple[int, int]
#: A stack pointer that has left its stack: position in the lanes, value, end of the stack.
Moved = tuple[int, int, int]


class Stacks:
    """The stacks of isa.md, growing down by hart; arrays are indexed by hart of this core, or of all ``sms``.

    A hart has a stack pointer once x2 has pointed into its stack, whose upper end counts. ``shared``: the harts
    that have started other harts with wspawn, which may use the data on their stacks.
    """

    def __init__(self, config: SmConfig, sms: int = 1) -> None:
        memory_map = config.memory_map
        self._each = memory_map.stack_bytes_per_hart
        self._threads = config.threads
        self._own = np.arange(config.harts * sms) + (config.harts * config.core_id if sms == 1 else 0)
        self.top = memory_map.stack_top
        self.bottom = self.top - self._each * config.harts * config.cores
        #: Stack pointers; 0: none. While one is below its own stack's lower end, the last one above it.
        self._pointers = np.zeros(config.harts * sms, np.int64)
        self._shared = np.zeros(config.harts * sms, bool)
        self.overflows: dict[int, tuple[Side, int]] = {}

    def ends(self, harts: np.ndarray) -> np.ndarray:
        """Return the lowest address of each hart's stack."""
        return self.top - self._each * (self._own[harts] + 1)

    def share(self, warp: int, mask: int) -> None:
        """The lanes in ``mask`` start other warps."""
        first = warp * self._threads
        for lane in range(self._threads):
            self._shared[first + lane] |= bool(mask >> lane & 1)

    def move(self, harts: np.ndarray, values: np.ndarray, relative: bool) -> tuple[list[Freed], Moved | None]:
        """Set x2 of ``harts`` to ``values`` (int64), ``relative`` to its old value or not.

        Returns the freed bytes, and the first pointer that now leaves its stack at the lower end. A move that is not
        relative overflows only if it stays near: a program may use x2 for another purpose, or have a stack elsewhere.
        """
        ends, old = self.ends(harts), self._pointers[harts]
        inside = (values >= ends) & (values <= ends + self._each)
        up = inside & (old != 0) & (values > old)
        freed = list(zip(old[up].tolist(), values[up].tolist(), strict=True))
        over = ~inside & (old != 0) & (values < ends) & (relative | (values > ends - _NEAR))
        kept = inside | over
        self._pointers[harts] = np.where(over, old, np.where(kept, values, 0))
        if self.overflows:
            for hart in harts[~over].tolist():
                self.overflows.pop(hart, None)
        new = over.copy()
        for position in np.flatnonzero(over).tolist():
            record = self.overflows.get(int(harts[position]))
            if record is not None:
                self.overflows[int(harts[position])] = (record[0], int(values[position]))
                new[position] = False
        if not new.any():
            return freed, None
        first = int(new.argmax())
        return freed, (first, int(values[first]), int(ends[first]))

    def overflow(self, harts: np.ndarray, values: np.ndarray, side: Side) -> None:
        """Note that ``side`` moved those of ``harts`` whose new x2, ``values``, is below their stack."""
        for hart, value, end in zip(harts.tolist(), values.tolist(), self.ends(harts).tolist(), strict=True):
            if self._pointers[hart] and value < end and hart not in self.overflows:
                self.overflows[hart] = (side, value)

    def below(self, harts: np.ndarray, addresses: np.ndarray) -> np.ndarray:
        """Return which accesses of lanes with an overflown stack go to memory that it covers beyond its end."""
        found = np.zeros(len(harts), bool)
        ends = self.ends(harts).tolist()
        for position, hart in enumerate(harts.tolist()):
            record = self.overflows.get(hart)
            found[position] = record is not None and record[1] <= int(addresses[position]) < ends[position]
        return found

    def judge(self, harts: np.ndarray, addresses: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Judge accesses by ``harts`` at ``addresses``: (forbidden, usable by other warps, owner of the stack).

        The owner is a hart of all cores; it is meaningless outside the stacks, where nothing is forbidden.
        """
        stack = (addresses >= self.bottom) & (addresses < self.top)
        owner = (self.top - 1 - addresses.astype(np.int64)) // self._each
        mine = owner - self._own[0]
        known = stack & (mine >= 0) & (mine < len(self._own))
        index = np.where(known, mine, 0)
        pointer, shared = self._pointers[index], self._shared[index] & known
        foreign = stack & (owner != self._own[harts])
        lives = shared & (addresses >= pointer)
        # If neither hart has a stack pointer, the program uses this memory for another purpose.
        used = (pointer != 0) | (self._pointers[harts] != 0)
        forbidden = foreign & ~lives & used
        return forbidden, ~stack | shared | ~used, owner
