"""Observers of the golden model: of accesses and synchronisation in single steps, and of the operations of a run."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .view import View

__all__ = ["Recorder", "Watch"]


class Watch(Protocol):
    """Observer of single steps, set as :attr:`sim.machine.golden.state.State.watch`; it changes nothing.

    For an instruction that faults, only :meth:`before` is called.
    """

    def before(self, view: View, pc: int, word: int) -> None:
        """Called before the one warp of ``view`` executes the instruction ``word`` or faults."""

    def access(
        self, warp: int, pc: int, lanes: np.ndarray, addresses: np.ndarray, size: int, data: np.ndarray | None
    ) -> None:
        """Called for a load or store of ``size`` bytes: ``addresses`` (n,) of the active ``lanes`` (n,), ascending.

        ``data`` (n,): the data about to be stored, in the low bytes; None for a load.
        """

    def barrier(self, warps: list[int]) -> None:
        """Called when a barrier releases the ``warps`` together."""

    def spawn(self, issuer: int, mask: int, warps: list[int]) -> None:
        """Called after a wspawn: the lanes in ``mask`` of ``issuer``, the only active warp, have started ``warps``."""


class Recorder(Protocol):
    """Observer of every operation of a run, set as :attr:`.state.State.recorder`; it changes nothing."""

    def executed(self, pc: int, warps: int, epoch: int, masks: np.ndarray) -> None:
        """Called after the ``warps`` (a bit mask) executed the instruction at ``pc``, one by one, lowest first.

        ``epoch`` grows when a thread mask changes; ``masks`` (warps,) holds all masks, and may change later.
        """

    def access(self, addresses: np.ndarray, data: np.ndarray | None) -> None:
        """Called for each load or store with the addresses of the active lanes, by warp, then by lane.

        ``data``: the data of a store, which may change later; None for a load.
        """

    def arguments(self, warp: int, first: int, second: int) -> None:
        """Called with the operands of a bar, wspawn or write of mregion or mpolicy that ``warp`` is executing."""

    def volatile(self, pc: int) -> None:
        """Called if the instruction at ``pc`` reads a value that depends on time."""
