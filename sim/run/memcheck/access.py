"""One memory access under check."""

from __future__ import annotations

import numpy as np

__all__ = ["Access"]


class Access:
    """One warp's load or store, or the part of it that is still to be checked."""

    __slots__ = ("addresses", "common", "data", "lanes", "pc", "places", "size", "store", "warp")

    def __init__(
        self, warp: int, pc: int, lanes: np.ndarray, addresses: np.ndarray, size: int, data: np.ndarray | None,
        places: np.ndarray | None = None, common: np.ndarray | None = None,
    ) -> None:
        self.warp = warp
        self.pc = pc
        self.lanes = lanes
        self.addresses = addresses
        self.size = size
        #: The data of a store, in the low bytes.
        self.data = data
        self.store = data is not None
        #: Their places in the shadow, once these have been looked up.
        self.places = addresses if places is None else places
        #: The lanes whose addresses other warps may use too; None: all.
        self.common = common

    def where(self, kept: np.ndarray) -> Access:
        """The access restricted to the lanes in ``kept``."""
        if kept.all():
            return self
        return Access(
            self.warp, self.pc, self.lanes[kept], self.addresses[kept], self.size,
            None if self.data is None else self.data[kept], self.places[kept],
            None if self.common is None else self.common[kept],
        )
