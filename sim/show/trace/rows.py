"""Events as rows, sorted by cycle, and within a cycle by kind and warp. The same run always gives the same rows.

docs/looking.md explains the kinds.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

import numpy as np

from metronome.hdl.config import Coordination, SmConfig
from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.layouts.waits import LookupWait

from ...machine.events import NONE
from .cycles import Cause, Cycles

__all__ = ["DETAILS", "INACTIVE", "OUTCOMES", "READY", "ROW", "SOURCES", "Kind", "Rows", "outcomes_of", "sources_of",
           "states_of"]


class Kind(enum.IntEnum):
    """The kinds of rows, in their order within a cycle."""

    REGION_BEGIN = 0
    REGION_END = 1
    START = 2
    REFILL = 3
    ANSWER = 4
    RESOLVE = 5
    TURN = 6
    STATE = 7
    ISSUE = 8
    NOP = 9
    STALL = 10
    FETCH = 11
    MISS = 12
    REQUEST = 13
    LOOKUP = 14
    WAIT = 15
    FILL = 16
    WRITE = 17
    HALT = 18


#: A row; NONE: the value does not apply. ``detail`` is an index into :data:`DETAILS`, ``lanes`` a mask, ``line`` the
#: number of a line of memory. ``partition``: that of the warp, of the stall or of the I-cache. ``sm``: of several.
ROW = np.dtype([
    ("cycle", np.int64), ("kind", np.int8), ("warp", np.int8), ("pc", np.int64), ("word", np.int64),
    ("lanes", np.int64), ("line", np.int64), ("tag", np.int16), ("register", np.int8), ("detail", np.int8),
    ("partition", np.int8), ("sm", np.int8),
])

#: The optional fields of a row.
_VALUES = ("warp", "pc", "word", "lanes", "line", "tag", "register", "detail", "partition", "sm")

_REASONS = tuple(reason.name.lower() for reason in StallReason if reason)
_CAUSES = tuple(cause.name.lower() for cause in Cause if cause)
#: Senders of requests to memory.
SOURCES = ("code_read", "data_read", "data_write")
_OUTCOMES = ("hit", "merge", "forward", "uncached", "miss")
#: Outcomes of an access to a line.
OUTCOMES = tuple(f"{way}_{outcome}" for way in ("load", "store") for outcome in _OUTCOMES)
_WAITS = tuple(f"wait_{wait.name.lower()}" for wait in LookupWait if wait)
#: All values of ``detail``, each once, because a Parquet dictionary must have no duplicates: why a warp or the SM waits
#: (by :class:`StallReason`), other states of a warp, the cause of a NOP, ...
DETAILS = (
    *_REASONS, "ready", "inactive", *_CAUSES, "taken", "not_taken", *SOURCES, *(f"{each}_error" for each in SOURCES),
    *OUTCOMES, *_WAITS, "wait_over", "part", "last",
)
#: The state of a warp as a number: a :class:`StallReason`, or one of these.
READY, INACTIVE = len(_REASONS) + 1, len(_REASONS) + 2
#: Where groups begin in DETAILS.
_CAUSE = len(_REASONS) + 2
_TAKEN = _CAUSE + len(_CAUSES)
_NOT_TAKEN = _TAKEN + 1
_SOURCE = _NOT_TAKEN + 1
_OUTCOME = _SOURCE + 2 * len(SOURCES)
_WAIT = _OUTCOME + len(OUTCOMES)
_WAIT_OVER = _WAIT + len(_WAITS)
_PART, _LAST = _WAIT_OVER + 1, _WAIT_OVER + 2


def states_of(events: np.ndarray, warps: range) -> np.ndarray:
    """Return the state of each of ``warps`` in each cycle, int8 of shape (n, warps): StallReason, READY or INACTIVE.

    READY: the warp is eligible, selected or not.
    """
    active = (events["active"][:, None] >> np.array(warps) & 1 != 0) & (events["halt"] == 0)[:, None]
    reasons = events["reason"][:, warps.start : warps.stop : warps.step].astype(np.int8)
    return np.where(active, np.where(reasons == 0, np.int8(READY), reasons), np.int8(INACTIVE))


def sources_of(config: SmConfig, tags: np.ndarray) -> np.ndarray:
    """Return the senders of the requests with these tags, as indices into :data:`SOURCES`."""
    code, read = 1 << config.mem_tag_bits - 1, 1 << config.l1_tag_bits - 1
    # The list of accesses is read with loads.
    loads = (tags & read == 0) | (tags & _list_bit(config) != 0)
    return np.where(tags & code == 0, 0, np.where(loads, 1, 2))


def _list_bit(config: SmConfig) -> int:
    return 1 << config.lsu_tag_bits - 1 if config.ordered else 0


def outcomes_of(events: np.ndarray) -> np.ndarray:
    """Return the outcomes of the accesses in these cycles, as indices into :data:`OUTCOMES`."""
    outcome = np.full(len(events), _OUTCOMES.index("miss"))
    for name in ("uncached", "forward", "merge", "hit"):
        outcome[events[name] != 0] = _OUTCOMES.index(name)
    return outcome + len(_OUTCOMES) * events["store"]


class Rows:
    """Makes the rows of consecutive cycles."""

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        self._source, self._kind = 1 << config.mem_tag_bits - 1, 1 << config.l1_tag_bits - 1
        self._list = _list_bit(config)

    def of(self, partitions: Sequence[Cycles]) -> np.ndarray:
        """Return the sorted rows (ROW) of these cycles: without a warp, in the order of the partitions."""
        shared = partitions[0].events
        parts = self._shared(shared, np.concatenate([partitions[0].before, shared[:-1]]))
        for cycles in partitions:
            before = np.concatenate([cycles.before, cycles.events[:-1]])
            parts += [*self._control(cycles), *self._schedule(cycles, before), *self._own_memory(cycles)]
        rows = np.concatenate(parts)
        of_warps = rows["warp"] != NONE
        rows["partition"][of_warps] = rows["warp"][of_warps] % len(partitions)
        # A stable sort.
        return rows[np.lexsort((rows["warp"], rows["kind"], rows["cycle"]))]

    @staticmethod
    def _rows(events: np.ndarray, at: np.ndarray, kind: Kind, **values: np.ndarray | int) -> np.ndarray:
        rows = np.zeros(len(at), ROW)
        rows["cycle"], rows["kind"] = events["cycle"][at], kind
        for name in _VALUES:
            rows[name] = values.get(name, NONE)
        return rows

    def _shared(self, events: np.ndarray, before: np.ndarray) -> list[np.ndarray]:
        """Return the rows of what all partitions share, from the events of one of them."""
        region, halt = events["region"] - before["region"], events["halt"] - before["halt"]
        return [
            self._rows(events, np.flatnonzero(region > 0), Kind.REGION_BEGIN),
            self._rows(events, np.flatnonzero(region < 0), Kind.REGION_END),
            self._rows(events, np.flatnonzero(halt > 0), Kind.HALT),
            *self._memory(events, before),
        ]

    def _control(self, cycles: Cycles) -> list[np.ndarray]:
        events = cycles.events
        at_start, started = np.nonzero(events["activates"][:, None] >> np.arange(self._config.warps) & 1)
        at_resolve, at_turn = np.flatnonzero(events["resolves"]), np.flatnonzero(events["turn"] != NONE)
        return [
            self._rows(events, at_start, Kind.START, warp=started),
            self._rows(
                events, at_resolve, Kind.RESOLVE, warp=events["resolved_warp"][at_resolve],
                detail=np.where(events["redirects"][at_resolve] != 0, _TAKEN, _NOT_TAKEN),
            ),
            self._rows(events, at_turn, Kind.TURN, warp=events["turn"][at_turn]),
        ]

    def _schedule(self, cycles: Cycles, before: np.ndarray) -> list[np.ndarray]:
        events, warps = cycles.events, cycles.warps
        states = states_of(events, warps)
        at_state, changed = np.nonzero(states != np.concatenate([states_of(cycles.before, warps), states[:-1]]))
        selected = events["selected"]
        at_issue = np.flatnonzero((selected != NONE) & (events["nop"] == 0))
        at_nop = np.flatnonzero((selected != NONE) & (events["nop"] != 0))
        at_stall = np.flatnonzero((events["stall"] != 0) & (events["stall"] != before["stall"]))
        at_miss = np.flatnonzero(cycles.missed != NONE)
        executed = cycles.pc[at_issue] != NONE
        found = [
            self._rows(
                events, at_state, Kind.STATE, warp=np.array(warps)[changed], detail=states[at_state, changed] - 1
            ),
            self._rows(
                events, at_issue, Kind.ISSUE, warp=selected[at_issue], pc=cycles.pc[at_issue],
                word=np.where(executed, cycles.word[at_issue], NONE),
                lanes=np.where(executed, cycles.lanes[at_issue], NONE),
            ),
            self._rows(events, at_nop, Kind.NOP, warp=selected[at_nop], detail=_CAUSE + cycles.cause[at_nop] - 1),
            self._rows(
                events, at_stall, Kind.STALL, detail=events["stall"][at_stall] - 1, partition=cycles.partition
            ),
            self._rows(events, at_miss, Kind.MISS, warp=cycles.missed[at_miss]),
        ]
        if self._config.coordination is not Coordination.SWAS:
            at_fetch = np.flatnonzero(events["fetched"] != NONE)
            found.append(self._rows(events, at_fetch, Kind.FETCH, warp=events["fetched"][at_fetch]))
        return found

    def _own_memory(self, cycles: Cycles) -> list[np.ndarray]:
        """Return the rows of the partition's I-cache and registers."""
        events = cycles.events
        at_refill, at_write = np.flatnonzero(events["refill"]), np.flatnonzero(events["written"])
        return [
            self._rows(
                events, at_refill, Kind.REFILL, line=events["refill_line"][at_refill], partition=cycles.partition
            ),
            self._rows(
                events, at_write, Kind.WRITE, warp=events["written_warp"][at_write],
                register=events["written_register"][at_write],
                detail=np.where(events["written_last"][at_write] != 0, _LAST, _PART),
            ),
        ]

    def _memory(self, events: np.ndarray, before: np.ndarray) -> list[np.ndarray]:
        """Return the rows of the load/store unit and of the memory port."""
        at_request, at_answer = (np.flatnonzero(events[name] != NONE) for name in ("port_tag", "port_answer"))
        at_lookup, at_fill = np.flatnonzero(events["access"]), np.flatnonzero(events["fill"])
        at_wait = np.flatnonzero(events["wait"] != before["wait"])
        wait = events["wait"][at_wait]
        request, answer = events["port_tag"][at_request], events["port_answer"][at_answer]
        failed = len(SOURCES) * (events["port_error"][at_answer] != 0)
        return [
            self._rows(
                events, at_answer, Kind.ANSWER, tag=self._number(answer), partition=self._partition(answer),
                detail=_SOURCE + sources_of(self._config, answer) + failed,
            ),
            self._rows(
                events, at_request, Kind.REQUEST, tag=self._number(request), partition=self._partition(request),
                line=events["port_line"][at_request], detail=_SOURCE + sources_of(self._config, request),
            ),
            self._rows(
                events, at_lookup, Kind.LOOKUP, warp=events["access_warp"][at_lookup], line=events["line"][at_lookup],
                detail=_OUTCOME + outcomes_of(events[at_lookup]),
            ),
            self._rows(events, at_wait, Kind.WAIT, detail=np.where(wait != 0, _WAIT + wait - 1, _WAIT_OVER)),
            self._rows(events, at_fill, Kind.FILL, line=events["fill_line"][at_fill]),
        ]

    def _partition(self, tags: np.ndarray) -> np.ndarray:
        """Return the partition whose I-cache made each request; NONE for the load/store unit."""
        return np.where(tags & self._source == 0, tags & self._config.schedulers - 1, NONE)

    def _number(self, tags: np.ndarray) -> np.ndarray:
        """Return tags without their sender bits."""
        of_list = (tags & self._source != 0) & (tags & self._list != 0)
        above = np.where(of_list, self._list, self._kind)
        return tags & np.where(tags & self._source == 0, self._source, above) - 1
