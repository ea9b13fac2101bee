"""Who watches a machine that is stepped: what it is told of accesses and of what orders them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

__all__ = ["Watch"]


class Watch(Protocol):
    """Set as :attr:`sim.iss.state.State.watch`; it changes nothing. Instructions that fault tell it nothing."""

    def access(self, warp: int, pc: int, lanes: np.ndarray, addresses: np.ndarray, size: int, store: bool) -> None:
        """A load or a ``store`` of ``size`` bytes: ``addresses`` (n,) of the active ``lanes`` (n,), ascending."""

    def barrier(self, warps: list[int]) -> None:
        """The ``warps`` go on from a barrier together."""

    def spawn(self, issuer: int, mask: int, warps: list[int]) -> None:
        """A wspawn takes effect: the lanes in ``mask`` of ``issuer``, alone until now, have started ``warps``."""
