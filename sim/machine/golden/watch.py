"""Who watches a machine that is stepped: what it is told of accesses and of what orders them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .view import View

__all__ = ["Recorder", "Watch"]


class Watch(Protocol):
    """Set as :attr:`sim.machine.golden.state.State.watch`; it changes nothing.

    Instructions that fault tell it nothing but :meth:`before`.
    """

    def before(self, view: View, pc: int, word: int) -> None:
        """The one warp of ``view`` is going to execute the instruction ``word``, or to fault at it."""

    def access(
        self, warp: int, pc: int, lanes: np.ndarray, addresses: np.ndarray, size: int, data: np.ndarray | None
    ) -> None:
        """A load or a store of ``size`` bytes: ``addresses`` (n,) of the active ``lanes`` (n,), ascending.

        ``data`` (n,): what is going to be stored, in the low bytes; None: a load.
        """

    def barrier(self, warps: list[int]) -> None:
        """The ``warps`` go on from a barrier together."""

    def spawn(self, issuer: int, mask: int, warps: list[int]) -> None:
        """A wspawn takes effect: the lanes in ``mask`` of ``issuer``, alone until now, have started ``warps``."""


class Recorder(Protocol):
    """Set as :attr:`.state.State.recorder`: it is told of every operation of a run, and changes nothing."""

    def executed(self, pc: int, warps: int, epoch: int, masks: np.ndarray) -> None:
        """The ``warps`` (a bit mask) have executed the instruction at ``pc``, one after the other, lowest first.

        ``epoch`` grows when a thread mask changes; ``masks`` (warps,) has them all, and may change later.
        """

    def access(self, addresses: np.ndarray, data: np.ndarray | None) -> None:
        """The load or store that is being executed: the addresses of the active lanes, by warp, then by lane.

        ``data``: what a store has for them; it may change later. None: a load.
        """

    def arguments(self, warp: int, first: int, second: int) -> None:
        """Of the bar, wspawn or write of mregion or mpolicy that ``warp`` is executing: what it says."""

    def volatile(self, pc: int) -> None:
        """The instruction at ``pc`` reads what depends on time."""
