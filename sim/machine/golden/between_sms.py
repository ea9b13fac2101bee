"""Barriers between the SMs of a GPU (isa.md, "Barriers between SMs")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from metronome.hdl.config import SmConfig

from .records import Wait

__all__ = ["BetweenSms", "SmState"]


class SmState(Protocol):
    """The part of :class:`sim.machine.golden.state.State` that barriers use."""

    config: SmConfig
    active: list[bool]
    waiting: list[Wait | None]
    released: list[int]

    def wait(self, warp: int, after: int, reason: Wait) -> None:
        """Let the warp wait."""

    def release(self, warp: int) -> None:
        """End the wait of a warp."""


class BetweenSms:
    """The barriers that all SMs of a GPU share; each SM's model has this object as its ``between_sms``.

    ``released`` is called with the SMs that a complete barrier releases.
    """

    def __init__(self, released: Callable[[list[SmState]], None] = lambda states: None) -> None:
        self._released = released
        #: By SM, those whose active warps all wait: the barrier and the count of the last warp that arrived.
        self._there: dict[SmState, tuple[int, int]] = {}
        #: By SM, what the last warp that arrived asked for.
        self._asked: dict[SmState, tuple[int, int]] = {}

    def arrive(self, state: SmState, warp: int, after: int, barrier: int, count: int) -> dict[int, int] | int:
        """Let a warp wait, and release all SMs that are there if the barrier is complete.

        Returns what an instruction returns: no next pc for a warp that waits.
        """
        state.wait(warp, after, Wait(barrier=barrier, count=count, between_sms=True))
        self._asked[state] = barrier, count
        self.check(state)
        if state.waiting[warp] is not None:
            return {}
        # It did not wait: the instruction gives its next pc itself.
        state.released.remove(warp)
        return after

    def check(self, state: SmState) -> None:
        """Note whether the SM is at a barrier: all its active warps wait there."""
        waits = [state.waiting[warp] for warp in range(state.config.warps) if state.active[warp]]
        if not waits or not all(wait is not None and wait.between_sms for wait in waits):
            return
        self._there[state] = self._asked[state]
        barrier = self._asked[state][0]
        here = [other for other, (where, _) in self._there.items() if where == barrier]
        if any(self._there[other][1] != len(here) for other in here):
            return
        for other in here:
            del self._there[other]
            for warp, wait in enumerate(other.waiting):
                if wait is not None and wait.between_sms:
                    other.release(warp)
        self._released(here)
