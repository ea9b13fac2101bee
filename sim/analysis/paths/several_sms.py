"""All paths of the program on each SM of a GPU, from one barrier between the SMs to the next.

Between two barriers, an SM sees what the others have stored before the first. A word that one SM stores to while
another accesses it is a race: it is unknown from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from metronome.hdl.config import SmConfig

from ...machine.memory.store import SparseMemory
from ...run.types import Job, unpack_memory
from ..code.inputs import Inputs
from ..code.program import AnalyzedProgram
from ..code.reads import RangeReads
from ..code.refusals import RefusedError
from .explore import ClockMaker, Exploration, Explorer, Known
from .facts import Facts

__all__ = ["explore_sms"]


def explore_sms(
    configs: Sequence[SmConfig], job: Job, inputs: Inputs, begin: Callable[[int], ClockMaker], limit: int,
    facts: Facts | None = None, restart: Callable[[], None] = lambda: None,
) -> list[Exploration]:
    """Explore every path of the program of ``job`` on each SM, as :func:`.explore.explore` does.

    ``begin`` returns the function that begins to count a part of an SM's run; ``restart``: called before the
    exploration begins again.

    Each part of a result ends at a fence or at a barrier between SMs; the barriers have the same places on all SMs.

    Raises
    ------
    RefusedError
        If the program cannot be analysed, with the reason.
    """
    memory = unpack_memory(configs[0], job.pages)
    races: set[int] = set()
    while True:
        before = len(races)
        explored = _explored(configs, memory, job, inputs, begin, limit, races, facts)
        if len(races) == before:
            return explored
        restart()


def _explored(
    configs: Sequence[SmConfig], memory: SparseMemory, job: Job, inputs: Inputs, begin: Callable[[int], ClockMaker],
    limit: int, races: set[int], facts: Facts | None,
) -> list[Exploration]:
    """Explore with these ``races``, and add those that are found."""
    known = Known(AnalyzedProgram(memory, learns=configs[0].learns), races, facts, RangeReads(inputs.ranges))
    sms = [
        Explorer(config, memory.copy(), job.arg, begin(number), limit, known) for number, config in enumerate(configs)
    ]
    for sm in sms:
        sm.memory.log = []
        sm.assume(inputs)
        sm.launch(job.start_pc)
    while True:
        for sm in sms:
            sm.advance()
        _exchange(configs[0], sms, races)
        if not _meet(sms):
            return [sm.end() for sm in sms]


def _meet(sms: Sequence[Explorer]) -> bool:
    """Let all SMs continue after a barrier; return False if all have ended."""
    arrivals = {sm.arrival for sm in sms}
    if arrivals == {None}:
        return False
    place = next(sm.place for sm in sms if sm.arrival is not None)
    if None in arrivals:
        raise RefusedError("deadlock: some SMs have ended, and others wait for them at a barrier", place)
    if len(arrivals) > 1:
        raise RefusedError("SMs wait at different barriers: a bound needs all SMs to meet at the same one", place)
    (arrival,) = arrivals
    if arrival is not None and arrival.count != len(sms):
        raise RefusedError(
            f"a barrier between SMs waits for {arrival.count} of {len(sms)}: which SMs meet depends on timing", place)
    for sm in sms:
        sm.meet()
    return True


def _exchange(config: SmConfig, sms: Sequence[Explorer], races: set[int]) -> None:
    """Let each SM see what the others have stored since the last barrier, and find races between SMs."""
    stores, loads = [], []
    for sm in sms:
        assert sm.memory.log is not None
        stores.append(_words(config, [words for words, store in sm.memory.log if store]))
        loads.append(_words(config, [words for words, store in sm.memory.log if not store]))
        sm.memory.log.clear()
    for number, stored in enumerate(stores):
        for other, sm in enumerate(sms):
            if other != number and len(stored):
                races.update(np.intersect1d(stored, np.concatenate([stores[other], loads[other]])).tolist())
                sm.memory.take(sms[number].memory, stored)


def _words(config: SmConfig, accesses: Sequence[np.ndarray]) -> np.ndarray:
    """Join the words of ``accesses`` in the memory that SMs share: not local memory, devices, or registers."""
    words = np.unique(np.concatenate([np.zeros(0, np.uint32), *accesses]))
    local = config.memory_map.local
    return words[(words >= config.memory_map.user) & ((words < local) | (words >= local + config.local_bytes))]
