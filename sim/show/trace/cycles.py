"""Cycles, with what becomes known only later: which instruction was issued, and where a NOP has come from.

A selection shows its pc, word and lanes in stage X, two cycles later. A NOP stands where a fetch has gone wrong, d = 4
selections of its warp earlier (docs/design.md section 3).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from metronome.hdl.config import Coordination, SmConfig

from ...machine.events import DEPTH, NONE

__all__ = ["Cause", "CycleStream", "Cycles", "Sink"]

#: From a selection to stage X.
_STAGE_X = 2
#: Cycles that are passed on at a time, so that what is written does not depend on how they come.
_CHUNK = 4096


class Cause(enum.IntEnum):
    """Why there is a NOP in an instruction's place."""

    NONE = 0
    #: It was in the buffer when the SM started.
    START = 1
    #: The fetch missed the I-cache.
    MISS = 2
    #: Control flow went elsewhere, or the warp had ended.
    REDIRECT = 3


@dataclass(frozen=True, kw_only=True)
class Cycles:
    """Consecutive cycles; every array has one element a cycle.

    ``events``: EVENT. Of the selection made in each cycle: ``pc`` (NONE: nobody, a NOP, or never executed, because the
    run was over before), ``word`` and ``lanes`` (a mask), which mean nothing without a pc, and ``cause``, a
    :class:`Cause`, of a NOP. ``missed``: the warp whose fetch has missed in the lookup of this cycle and was not
    squashed before, or NONE.
    ``before``: EVENT of the cycle in front of the first; of the run's first it is a cycle in which nothing was.
    """

    events: np.ndarray
    before: np.ndarray
    pc: np.ndarray
    word: np.ndarray
    lanes: np.ndarray
    cause: np.ndarray
    missed: np.ndarray

    def __len__(self) -> int:
        return len(self.events)


class Sink(Protocol):
    """What cycles are written to."""

    def begin(self) -> None:
        """A run starts. What was written of one before does not count."""

    def take(self, cycles: Cycles) -> None:
        """The next cycles."""

    def finish(self) -> None:
        """There are no more."""


def nothing_before(like: np.ndarray) -> np.ndarray:
    """EVENT of a cycle before the start."""
    event = np.zeros(1, like.dtype)
    for name in (
        "fetched", "selected", "turn", "request", "answer", "executed", "port_tag", "port_answer", "osched1", "osched2",
    ):
        event[name] = NONE
    event["cycle"] = -1
    return event


class CycleStream:
    """A watcher (:class:`sim.run.types.Watcher`) that passes :class:`Cycles` on to ``sinks``.

    It passes them on some thousand at a time, always the same ones together, so memory does not grow with the run.
    :meth:`finish` passes on what is left.
    """

    def __init__(self, config: SmConfig, sinks: Sequence[Sink]) -> None:
        self._config, self._sinks = config, sinks
        #: Whether there has been a cycle.
        self.begun = False

    def begin(self) -> None:
        """See :class:`sim.run.types.Watcher`."""
        self._held: list[np.ndarray] = []
        self._before: np.ndarray | None = None
        #: Of each warp's last d selections: whether that fetch missed.
        self._fetches = [np.zeros(0, bool) for _ in range(self._config.warps)]
        self._selections = np.zeros(self._config.warps, np.int64)
        for sink in self._sinks:
            sink.begin()

    def take(self, events: np.ndarray) -> None:
        """See :class:`sim.run.types.Watcher`."""
        self.begun = True
        self._held.append(events.copy())
        if sum(map(len, self._held)) < _CHUNK + _STAGE_X:
            return
        held = np.concatenate(self._held)
        while len(held) >= _CHUNK + _STAGE_X:
            self._pass_on(held, _CHUNK)
            held = held[_CHUNK:]
        self._held = [held.copy()]

    def finish(self) -> None:
        """The run is over, wherever it is: what was held back is passed on, and the sinks are finished."""
        held = np.concatenate(self._held) if self._held else np.zeros(0)
        self._held = []
        while len(held):
            count = min(len(held), _CHUNK)
            self._pass_on(held, count)
            held = held[count:]
        for sink in self._sinks:
            sink.finish()

    def _pass_on(self, events: np.ndarray, count: int) -> None:
        """The first ``count`` of ``events``; those behind them are what they are to become."""
        now, events = events[:count], events[: count + _STAGE_X]
        behind = np.minimum(np.arange(count) + _STAGE_X, len(events) - 1)
        there = np.arange(count) + _STAGE_X < len(events)
        # Field by field: a record is large.
        who, pc, word, lanes = (
            events[name][behind] for name in ("executed", "executed_pc", "executed_word", "executed_mask")
        )
        executed = there & (now["selected"] != NONE) & (now["nop"] == 0) & (who == now["selected"])
        before = nothing_before(events) if self._before is None else self._before
        fetched = np.concatenate([before["fetched"], now["fetched"][:-1]])
        cycles = Cycles(
            events=now, before=before, pc=np.where(executed, pc, NONE),
            word=np.where(executed, word, 0), lanes=np.where(executed, lanes, 0),
            cause=self._causes(events, count), missed=np.where(now["miss"] != 0, fetched, NONE),
        )
        self._before = now[-1:].copy()
        for sink in self._sinks:
            sink.take(cycles)

    def _causes(self, events: np.ndarray, count: int) -> np.ndarray:
        causes = np.zeros(count, np.int64)
        if self._config.coordination is not Coordination.SWAS:
            return causes  # there are no NOPs
        now = events[:count]
        # The lookup of a fetch is in the next cycle, and whose it is is said there.
        missed = np.zeros(count, bool)
        missed[: len(events) - 1] = events["miss"][1 : count + 1] != 0
        for warp in np.unique(now["selected"][now["selected"] != NONE]).tolist():
            at = np.flatnonzero(now["selected"] == warp)
            known = self._fetches[warp]
            fetches = np.concatenate([known, missed[at]])
            number = self._selections[warp] + np.arange(len(at))
            # The selection number k pops what selection k - d has fetched.
            mine = len(known) + np.arange(len(at)) - DEPTH
            miss = (number >= DEPTH) & fetches[np.maximum(mine, 0)]
            cause = np.where(number < DEPTH, Cause.START, np.where(miss, Cause.MISS, Cause.REDIRECT))
            causes[at] = np.where(now["nop"][at] != 0, cause, Cause.NONE)
            self._fetches[warp] = fetches[-DEPTH:]
            self._selections[warp] += len(at)
        return causes
