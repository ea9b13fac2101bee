"""Rows of the picture: in each cycle a row has one of a few states, or a number.

There is one row per warp, then the SM, its units, instruction fetch, the load/store unit and the memory port. With
several schedulers each partition has an issue slot, units and a fetch of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from metronome.hdl.config import Coordination, SmConfig
from metronome.hdl.isa.ops import Unit
from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.layouts.waits import LookupWait

from ...machine.events import NONE
from ...program.assembler.disassembly import unit_of
from .cycles import Cycles
from .profile import USES, use_of
from .rows import INACTIVE, OUTCOMES, READY, SOURCES, outcomes_of, sources_of, states_of

__all__ = ["WARP_WORDS", "Part", "Track", "Tracks", "name_of"]

#: The activity of a warp in a cycle: issue (or a NOP), wait, or wait for its turn.
WARP_WORDS = (*USES, "ready")
_READY_WORD = len(WARP_WORDS)
_STALLS = 1 + USES.index(StallReason(1).name.lower())
_UNITS = tuple(unit.name.lower() for unit in Unit)
_FETCH = ("fetch", "refill", "miss")
_ANSWERS = (*SOURCES, *(f"{source}_error" for source in SOURCES))
_LOOKUP = (*OUTCOMES, *(f"wait_{wait.name.lower()}" for wait in LookupWait if wait))


@dataclass(frozen=True, kw_only=True)
class Track:
    """A row. With ``words``, a cycle has none of them (0) or one by its number from 1; without ``words``, a number.

    ``group``: rows that belong together. ``most``: the largest possible number, or 0 if it is unknown. ``partition``:
    the one to which the row belongs, or None if all share it, or if there is one scheduler.
    """

    name: str
    group: str
    words: Sequence[str] = field(default=())
    most: int = 0
    partition: int | None = None


def name_of(track: Track) -> str:
    """Return the name of a row that no other row has."""
    return track.name if track.partition is None else f"{track.name} of partition {track.partition}"


@dataclass(frozen=True, kw_only=True)
class Part:
    """Consecutive cycles as rows: ``states``, uint8 of shape (tracks with words, n); ``numbers``, uint16, the others.

    For the selection of each partition in each cycle, uint32 of shape (partitions, n): ``codes``, its index in
    :attr:`Tracks.codes` (0: no instruction), and ``lanes``, the mask of its threads.
    """

    states: np.ndarray
    numbers: np.ndarray
    codes: np.ndarray
    lanes: np.ndarray

    def __len__(self) -> int:
        return self.codes.shape[1]


class Tracks:
    """The rows of a machine. Make one for each run, because it counts operations in progress.

    ``port``: whether the events have the transfers at the memory port. Those of an SM of a GPU do not.
    """

    def __init__(self, config: SmConfig, *, port: bool = True) -> None:
        self._config, self._has_port = config, port
        of_port = (Track(name="requests", group="port", words=SOURCES),
                   Track(name="answers", group="port", words=_ANSWERS))
        self.states = (
            *(Track(name=f"warp {warp}", group="warps", words=WARP_WORDS) for warp in range(config.warps)),
            *(
                Track(name=name, group=group, words=words, partition=partition)
                for partition in (range(config.schedulers) if config.schedulers > 1 else [None])
                for name, group, words in (
                    ("SM" if partition is None else "issue slot", "sm", USES), ("units", "units", _UNITS),
                    ("fetch", "fetch", _FETCH),
                )
            ),
            Track(name="load/store", group="lsu", words=_LOOKUP),
            *(of_port if port else ()),
        )
        # Both are counted from requests to answers.
        self.numbers = (
            Track(name="write buffer", group="lsu", most=config.store_buffer),
            Track(name="reads under way", group="port"),
        ) if port else ()
        #: For each partition, the row of its scheduler; those of its units and fetch follow.
        self.slots = [place for place, track in enumerate(self.states) if track.group == "sm"]
        #: (pc, word) of each issued instruction, by number; the first stands for none.
        self.codes: list[tuple[int, int]] = [(NONE, 0)]
        self._code_numbers: dict[int, int] = {}
        self._units: list[int] = [0]
        self._stores = self._reads = 0

    def of(self, partitions: Sequence[Cycles]) -> Part:
        """Return the rows of the next cycles."""
        states = np.zeros((len(self.states), len(partitions[0])), np.uint8)
        for cycles, slot in zip(partitions, self.slots, strict=True):
            states[slot] = use_of(cycles) + 1
            self._warps(cycles, states[slot], states)
            self._partition(cycles, *states[slot + 1 : slot + 3])
        shared = partitions[0].events
        self._lookup(shared, states[len(self.states) - (3 if self._has_port else 1)])
        numbers = np.zeros((0, len(states[0])), np.uint16)
        if self._has_port:
            numbers = self._port(shared, *states[-2:])
        lanes = np.array([np.where(each.pc != NONE, each.lanes, 0) for each in partitions]).astype(np.uint32)
        return Part(states=states, numbers=numbers, codes=self._numbers_of(partitions), lanes=lanes)

    def _warps(self, cycles: Cycles, slot: np.ndarray, states: np.ndarray) -> None:
        """Fill in the rows of the partition's warps; ``slot``: that of its scheduler."""
        selected = cycles.events["selected"]
        known = states_of(cycles.events, cycles.warps).T
        waits = (known != READY) & (known != INACTIVE)
        states[cycles.partition : self._config.warps : cycles.warps.step] = np.where(
            known == READY, _READY_WORD, np.where(waits, _STALLS + known - 1, 0)
        )
        issued = np.flatnonzero(selected != NONE)
        states[selected[issued], issued] = slot[issued]

    def _partition(self, cycles: Cycles, units: np.ndarray, fetch: np.ndarray) -> None:
        """Fill in the rows of the partition's units and fetch."""
        events = cycles.events
        executed = events["executed"] != NONE
        units[executed] = self._units_of(events["executed_word"][executed])
        if self._config.coordination is not Coordination.SWAS:
            fetch[events["fetched"] != NONE] = 1
        fetch[events["refill"] != 0] = 2
        fetch[cycles.missed != NONE] = 3

    def _lookup(self, events: np.ndarray, lookup: np.ndarray) -> None:
        """Fill in the row of the load/store unit."""
        waiting, access = events["wait"] != 0, events["access"] != 0
        lookup[waiting] = len(OUTCOMES) + events["wait"][waiting]
        lookup[access] = 1 + outcomes_of(events[access])

    def _port(self, events: np.ndarray, requests: np.ndarray, answers: np.ndarray) -> np.ndarray:
        """Fill in the rows of the memory port; return the numbers."""
        config, access = self._config, events["access"] != 0
        request, answer = events["port_tag"] != NONE, events["port_answer"] != NONE
        asks, comes = sources_of(config, events["port_tag"]), sources_of(config, events["port_answer"])
        requests[request] = 1 + asks[request]
        answers[answer] = 1 + comes[answer] + len(SOURCES) * (events["port_error"][answer] != 0)
        write = SOURCES.index("data_write")
        # A store that joins an entry of the write buffer takes no new one.
        takes = access & (events["store"] != 0) & (events["merge"] == 0)
        stores = self._stores + np.cumsum(takes.astype(np.int64) - (answer & (comes == write)))
        reads = self._reads + np.cumsum((request & (asks != write)).astype(np.int64) - (answer & (comes != write)))
        self._stores, self._reads = int(stores[-1]), int(reads[-1])
        return np.stack([stores, reads]).astype(np.uint16)

    def _numbers_of(self, partitions: Sequence[Cycles]) -> np.ndarray:
        """Return the number of each instruction, and assign numbers to new ones."""
        both = np.array([np.where(each.pc == NONE, NONE, each.pc << 32 | each.word) for each in partitions])
        values, first, places = np.unique(both.T, return_index=True, return_inverse=True)
        # In order of first occurrence, so that the result does not depend on how many cycles are taken at a time.
        for value in values[np.argsort(first)].tolist():
            if value != NONE and value not in self._code_numbers:
                self._code_numbers[value] = len(self.codes)
                self.codes.append((value >> 32 & 0xFFFFFFFF, value & 0xFFFFFFFF))
        numbers = np.array([self._code_numbers.get(value, 0) for value in values.tolist()], np.uint32)
        return numbers[places.reshape(both.T.shape)].T

    @staticmethod
    def _units_of(words: np.ndarray) -> np.ndarray:
        values, places = np.unique(words, return_inverse=True)
        units = [unit_of(word) for word in values.tolist()]
        return np.array([0 if unit is None else 1 + unit.value for unit in units], np.uint8)[places]
