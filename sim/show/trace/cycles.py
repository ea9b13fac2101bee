"""Cycles, with facts that are known only later: the instruction that was issued, and the cause of a NOP.

A selection shows its pc, word and lanes in stage X, two cycles later. A NOP replaces an instruction whose fetch
failed d = 4 selections of its warp earlier (docs/design.md section 3). With several schedulers each partition of the
SM has cycles of its own.
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

#: Cycles passed on at a time, so that the output does not depend on how the cycles arrive.
_CHUNK = 4096


class Cause(enum.IntEnum):
    """Why a NOP takes the place of an instruction."""

    NONE = 0
    #: It was in the buffer when the SM started.
    START = 1
    #: The fetch missed the I-cache.
    MISS = 2
    #: Control flow went elsewhere, or the warp had ended.
    REDIRECT = 3


@dataclass(frozen=True, kw_only=True)
class Cycles:
    """Consecutive cycles of a partition; every array has one element per cycle.

    ``warps``: the numbers of the partition's warps.
    ``events``: EVENT. Events of what the whole SM shares, such as the memory port, are the same in all partitions.
    For the selection in each cycle: ``pc`` (NONE: no warp, a NOP, or never executed, because the run was over before),
    ``word`` and ``lanes`` (a mask), which are meaningless without a pc, and ``cause``, the :class:`Cause` of a NOP.
    ``missed``: the warp whose fetch missed in the lookup of this cycle and was not squashed before, or NONE.
    ``before``: EVENT of the cycle before the first one; for the first cycle of the run, a cycle without any event.
    """

    warps: range
    events: np.ndarray
    before: np.ndarray
    pc: np.ndarray
    word: np.ndarray
    lanes: np.ndarray
    cause: np.ndarray
    missed: np.ndarray

    def __len__(self) -> int:
        return len(self.events)

    @property
    def partition(self) -> int:
        """The number of the partition."""
        return self.warps.start


class Sink(Protocol):
    """A receiver of cycles."""

    def begin(self) -> None:
        """Start a run and discard the output of any previous run."""

    def take(self, partitions: Sequence[Cycles]) -> None:
        """Take the next cycles: for each partition its own, as many as for the others."""

    def finish(self) -> None:
        """End the run: no more cycles follow."""


def nothing_before(like: np.ndarray) -> np.ndarray:
    """Return the EVENT of a cycle before the start."""
    event = np.zeros(1, like.dtype)
    for name in (
        "fetched", "selected", "turn", "request", "answer", "executed", "port_tag", "port_answer", "osched1", "osched2",
    ):
        event[name] = NONE
    event["cycle"] = -1
    return event


class CycleStream:
    """A watcher (:class:`sim.run.types.Watcher`) that passes :class:`Cycles` on to ``sinks``.

    It passes them on in fixed groups of some thousand cycles, so memory does not grow with the length of the run.
    :meth:`finish` passes on the rest.
    """

    def __init__(self, config: SmConfig, sinks: Sequence[Sink]) -> None:
        self._config, self._sinks = config, sinks
        self._to_execute = config.issue_latency
        #: For each partition, the numbers of its warps.
        self._warps = [range(first, config.warps, config.schedulers) for first in range(config.schedulers)]
        #: Whether at least one cycle has been taken.
        self.begun = False

    def begin(self) -> None:
        """See :class:`sim.run.types.Watcher`."""
        self._held: list[np.ndarray] = []
        #: For each partition, its last event passed on.
        self._before: list[np.ndarray] | None = None
        #: For each warp, whether the fetch in each of its last d selections missed.
        self._fetches = [np.zeros(0, bool) for _ in range(self._config.warps)]
        self._selections = np.zeros(self._config.warps, np.int64)
        for sink in self._sinks:
            sink.begin()

    def take(self, events: np.ndarray) -> None:
        """See :class:`sim.run.types.Watcher`."""
        self.begun = True
        self._held.append(self._by_cycle(events.copy()))
        if sum(map(len, self._held)) < _CHUNK + self._to_execute:
            return
        held = np.concatenate(self._held)
        while len(held) >= _CHUNK + self._to_execute:
            self._pass_on(held, _CHUNK)
            held = held[_CHUNK:]
        self._held = [held.copy()]

    def finish(self) -> None:
        """End the run at any point: pass on the cycles that were held back, and finish the sinks."""
        held = np.concatenate(self._held) if self._held else np.zeros((0, len(self._warps)))
        self._held = []
        while len(held):
            count = min(len(held), _CHUNK)
            self._pass_on(held, count)
            held = held[count:]
        for sink in self._sinks:
            sink.finish()

    def _by_cycle(self, events: np.ndarray) -> np.ndarray:
        """Return the events as rows of one cycle, with a column for each partition."""
        return events.reshape(-1, len(self._warps))

    def _pass_on(self, events: np.ndarray, count: int) -> None:
        """Pass on the first ``count`` rows of ``events``; the others supply what becomes known later."""
        before = self._before or [nothing_before(events) for _ in self._warps]
        partitions = [
            self._cycles_of(warps, events[:, warps.start], before[warps.start], count) for warps in self._warps
        ]
        self._before = [cycles.events[-1:].copy() for cycles in partitions]
        for sink in self._sinks:
            sink.take(partitions)

    def _cycles_of(self, warps: range, events: np.ndarray, before: np.ndarray, count: int) -> Cycles:
        """Return the first ``count`` cycles of a partition, from its ``events``."""
        now, events = events[:count], events[: count + self._to_execute]
        behind = np.minimum(np.arange(count) + self._to_execute, len(events) - 1)
        there = np.arange(count) + self._to_execute < len(events)
        # Field by field: a record is large.
        who, pc, word, lanes = (
            events[name][behind] for name in ("executed", "executed_pc", "executed_word", "executed_mask")
        )
        executed = there & (now["selected"] != NONE) & (now["nop"] == 0) & (who == now["selected"])
        fetched = np.concatenate([before["fetched"], now["fetched"][:-1]])
        return Cycles(
            warps=warps, events=now, before=before, pc=np.where(executed, pc, NONE),
            word=np.where(executed, word, 0), lanes=np.where(executed, lanes, 0),
            cause=self._causes(events, count), missed=np.where(now["miss"] != 0, fetched, NONE),
        )

    def _causes(self, events: np.ndarray, count: int) -> np.ndarray:
        causes = np.zeros(count, np.int64)
        if self._config.coordination is not Coordination.SWAS:
            return causes  # there are no NOPs
        now = events[:count]
        # A fetch looks up the I-cache one cycle later, and only that cycle's record names the warp.
        missed = np.zeros(count, bool)
        missed[: len(events) - 1] = events["miss"][1 : count + 1] != 0
        for warp in np.unique(now["selected"][now["selected"] != NONE]).tolist():
            at = np.flatnonzero(now["selected"] == warp)
            known = self._fetches[warp]
            fetches = np.concatenate([known, missed[at]])
            number = self._selections[warp] + np.arange(len(at))
            # Selection k pops the result of the fetch in selection k - d.
            mine = len(known) + np.arange(len(at)) - DEPTH
            miss = (number >= DEPTH) & fetches[np.maximum(mine, 0)]
            cause = np.where(number < DEPTH, Cause.START, np.where(miss, Cause.MISS, Cause.REDIRECT))
            causes[at] = np.where(now["nop"][at] != 0, cause, Cause.NONE)
            self._fetches[warp] = fetches[-DEPTH:]
            self._selections[warp] += len(at)
        return causes
