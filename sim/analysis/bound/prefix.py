"""The common beginning of all runs, up to the first instruction whose effect on time depends on the inputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from metronome.hdl.config import LINE_BYTES, SmConfig
from metronome.hdl.isa.ops import Unit

from ...machine.events import NONE
from ...predict.model.records import QUEUE
from ...predict.predictor import predict
from ...run.types import RunRequest
from ..code.decoding import decode

__all__ = ["NOTHING", "Prefix", "common_prefix"]


@dataclass(frozen=True)
class Prefix:
    """The first ``cycles`` of every run, for all inputs.

    - ``executed``: by warp, the number of instructions issued. ``code``: their lines. ``data``: the cached lines that
      loads requested. All of these lines have been requested by the end of the prefix.
    - ``accesses``, ``loads``: the most accesses, and loads among them, that may not have left the lookup at the end, if
      none is to local memory.
    - ``requests``: the requests of the load/store unit that wait for memory at the end.
    """

    cycles: int = 0
    accesses: int = 0
    loads: int = 0
    requests: int = 0
    executed: tuple[int, ...] = ()
    code: frozenset[int] = frozenset()
    data: frozenset[int] = frozenset()


#: Opcode and funct3 of fence.i.
_FENCE_I = 0x100F
#: Cycles from stage X, in which an access joins the queue, to its lookup without delay (memory.md).
_QUEUE_TO_LOOKUP = 2
#: The prefix if the beginning is unknown.
NOTHING = Prefix()


class _PrefixWatcher:
    """A watcher (:class:`sim.run.types.Watcher`) of a run until an instruction of ``places`` executes."""

    def __init__(self, config: SmConfig, places: Iterable[int]) -> None:
        self._config, self._places = config, np.array(sorted(places), np.int64)
        self.begin()

    def begin(self) -> None:
        """See :class:`sim.run.types.Watcher`."""
        self._end: int | None = None
        self._executed = np.zeros(self._config.warps, np.int64)
        self._code: set[int] = set()
        self._data: set[int] = set()
        self._requests = 0
        #: The accesses that may wait, and the loads among them; those that entered stage X in each of the last cycles.
        self._waiting = np.zeros(2, np.int64)
        self._came = np.zeros((_QUEUE_TO_LOOKUP, 2), np.int64)
        self._flushed = False

    def take(self, events: np.ndarray) -> None:
        """See :class:`sim.run.types.Watcher`."""
        if self._end is not None:
            return
        runs = events["executed"] != NONE
        found = runs & np.isin(events["executed_pc"].astype(np.int64) & 0xFFFF_FFFF, self._places)
        if found.any():
            first = int(np.flatnonzero(found)[0])
            self._end = int(events["cycle"][first]) - self._config.issue_latency
            events, runs = events[:first], runs[:first]
        self._executed += np.bincount(events["executed"][runs], minlength=self._config.warps)
        self._follow_accesses(events, runs)
        # Lines fetched before a fence.i are not in the I-cache, though they may be executed after it.
        self._flushed |= bool((runs & (events["executed_word"] & 0x707F == _FENCE_I)).any())
        lines = (events["executed_pc"][runs].astype(np.int64) & 0xFFFF_FFFF) // LINE_BYTES
        self._code.update(np.unique(lines).tolist())
        loads = (events["access"] != 0) & (events["store"] == 0) & (events["uncached"] == 0)
        # A load that the write buffer answers makes no request.
        loads &= events["forward"] == 0
        # Lookups in the last cycles belong to loads issued before the end.
        self._data.update(np.unique(events["line"][loads]).tolist())

    def _follow_accesses(self, events: np.ndarray, runs: np.ndarray) -> None:
        """Count accesses that may not have left the lookup, and requests without an answer."""
        answered_at_once = (events["store"] == 0) & ((events["hit"] != 0) | (events["forward"] != 0))
        made = (events["access"] != 0) & (events["merge"] == 0) & ~answered_at_once
        source = 1 << self._config.mem_tag_bits - 1
        answered = (events["port_answer"] != NONE) & (events["port_answer"] & source != 0)
        self._requests += int(made.sum()) - int(answered.sum())
        access = np.zeros((len(events), 2), np.int64)
        words = events["executed_word"][runs]
        kinds = {word: _access(word) for word in np.unique(words).tolist()}
        access[runs] = np.array([kinds[word] for word in words.tolist()], np.int64).reshape(-1, 2)
        # If the lookup is empty, the queue holds only accesses of the last cycles.
        empty = np.flatnonzero((events["access"] == 0) & (events["wait"] == 0))
        came = np.concatenate([self._came, access])
        if len(empty):
            self._waiting = came[int(empty[-1]):].sum(axis=0)
        else:
            self._waiting = self._waiting + access.sum(axis=0)
        self._came = came[-_QUEUE_TO_LOOKUP:]

    def prefix(self) -> Prefix:
        """Return the prefix that was seen."""
        if self._end is None:
            return NOTHING
        return Prefix(
            cycles=self._end, executed=tuple(self._executed.tolist()),
            code=frozenset() if self._flushed else frozenset(self._code), data=frozenset(self._data),
            accesses=min(int(self._waiting[0]), QUEUE + 1), loads=min(int(self._waiting[1]), QUEUE + 1),
            requests=self._requests,
        )


def _access(word: int) -> tuple[bool, bool]:
    """Return whether a word is a load or store, and whether it is a load."""
    decoded = decode(word & 0xFFFF_FFFF)
    if decoded is None or decoded.unit is not Unit.LSU:
        return False, False
    return True, not decoded.store


def common_prefix(config: SmConfig, request: RunRequest, places: Iterable[int]) -> Prefix:
    """Return the common beginning of all runs, from a prediction of one of them.

    ``places``: the pcs of all instructions in that run whose effect on time depends on the inputs
    (:func:`sim.analysis.code.dependence.dependences`). Until the first of them issues, every run executes the same
    instructions at the same addresses, and no latency depends on data. The prefix is empty if loads may depend on the
    order of the warps.
    """
    begin = _PrefixWatcher(config, places)
    prediction = predict(config, request, watcher=begin)
    return NOTHING if prediction.stepped is not None else begin.prefix()
