"""Rows of the picture: in each cycle a row has one of a few states, or a number.

There is one row per warp, then the SM, its units, instruction fetch, the load/store unit and the memory port.
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

__all__ = ["WARP_WORDS", "Part", "Track", "Tracks"]

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

    ``group``: rows that belong together. ``most``: the largest possible number, or 0 if it is unknown.
    """

    name: str
    group: str
    words: Sequence[str] = field(default=())
    most: int = 0


@dataclass(frozen=True, kw_only=True)
class Part:
    """Consecutive cycles as rows: ``states``, uint8 of shape (tracks with words, n); ``numbers``, uint16, the others.

    For the selection in each cycle, uint32: ``codes``, its index in :attr:`Tracks.codes` (0: no instruction), and
    ``lanes``, the mask of its threads.
    """

    states: np.ndarray
    numbers: np.ndarray
    codes: np.ndarray
    lanes: np.ndarray

    def __len__(self) -> int:
        return len(self.codes)


class Tracks:
    """The rows of a machine. Make one for each run, because it counts operations in progress."""

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        self.states = (
            *(Track(name=f"warp {warp}", group="warps", words=WARP_WORDS) for warp in range(config.warps)),
            Track(name="SM", group="sm", words=USES), Track(name="units", group="units", words=_UNITS),
            Track(name="fetch", group="fetch", words=_FETCH), Track(name="load/store", group="lsu", words=_LOOKUP),
            Track(name="requests", group="port", words=SOURCES), Track(name="answers", group="port", words=_ANSWERS),
        )
        self.numbers = (
            Track(name="write buffer", group="lsu", most=config.store_buffer),
            Track(name="reads under way", group="port"),
        )
        #: (pc, word) of each issued instruction, by number; the first stands for none.
        self.codes: list[tuple[int, int]] = [(NONE, 0)]
        self._code_numbers: dict[int, int] = {}
        self._units: list[int] = [0]
        self._stores = self._reads = 0

    def of(self, cycles: Cycles) -> Part:
        """Return the rows of the next cycles."""
        events, config = cycles.events, self._config
        count = len(cycles)
        selected = events["selected"]
        use = use_of(cycles) + 1
        states = np.zeros((len(self.states), count), np.uint8)
        known = states_of(events, config.warps).T
        warps = states[: config.warps]
        waits = (known != READY) & (known != INACTIVE)
        warps[:] = np.where(known == READY, _READY_WORD, np.where(waits, _STALLS + known - 1, 0))
        issued = np.flatnonzero(selected != NONE)
        warps[selected[issued], issued] = use[issued]
        sm, units, fetch, lookup, requests, answers = states[config.warps :]
        sm[:] = use
        codes = self._numbers_of(cycles)
        executed = events["executed"] != NONE
        units[executed] = self._units_of(events["executed_word"][executed])
        if config.coordination is not Coordination.SWAS:
            fetch[events["fetched"] != NONE] = 1
        fetch[events["refill"] != 0] = 2
        fetch[cycles.missed != NONE] = 3
        waiting, access = events["wait"] != 0, events["access"] != 0
        lookup[waiting] = len(OUTCOMES) + events["wait"][waiting]
        lookup[access] = 1 + outcomes_of(events[access])
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
        lanes = np.where(cycles.pc != NONE, cycles.lanes, 0).astype(np.uint32)
        return Part(states=states, numbers=np.stack([stores, reads]).astype(np.uint16), codes=codes, lanes=lanes)

    def _numbers_of(self, cycles: Cycles) -> np.ndarray:
        """Return the number of each instruction, and assign numbers to new ones."""
        both = np.where(cycles.pc == NONE, NONE, cycles.pc << 32 | cycles.word)
        values, first, places = np.unique(both, return_index=True, return_inverse=True)
        # In order of first occurrence, so that the result does not depend on how many cycles are taken at a time.
        for value in values[np.argsort(first)].tolist():
            if value != NONE and value not in self._code_numbers:
                self._code_numbers[value] = len(self.codes)
                self.codes.append((value >> 32 & 0xFFFFFFFF, value & 0xFFFFFFFF))
        return np.array([self._code_numbers.get(value, 0) for value in values.tolist()], np.uint32)[places]

    @staticmethod
    def _units_of(words: np.ndarray) -> np.ndarray:
        values, places = np.unique(words, return_inverse=True)
        units = [unit_of(word) for word in values.tolist()]
        return np.array([0 if unit is None else 1 + unit.value for unit in units], np.uint8)[places]
