"""Record each warp's instructions on a GPU: they do not depend on the schedule unless warps or SMs race."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metronome.hdl.gpu.config import GpuConfig

from ...machine.events import NONE
from ...machine.golden import EndStatus
from ...machine.golden.between_sms import SmState
from ...machine.golden.gpu import GpuIss
from ...machine.golden.machine import Iss
from ...machine.memory.store import SparseMemory
from ...run.types import Job
from ..model import races
from ..stores import Stores
from ..streams import SLICE, Recorder, Recording, Streams

__all__ = ["GpuStreams", "record_gpu"]


@dataclass(frozen=True)
class GpuStreams:
    """The streams of each SM. ``steps`` and ``addresses`` of all of them are in one array, SM by SM."""

    sms: tuple[Streams, ...]
    steps: np.ndarray
    addresses: np.ndarray

    @property
    def unsure(self) -> dict[int, int]:
        """See :class:`sim.predict.streams.Streams`. A word is sure if the code of one SM is near it."""
        lines = set.intersection(*(set(each.unsure) for each in self.sms))
        return {line: functools.reduce(operator.and_, (each.unsure[line] for each in self.sms)) for line in lines}


class _SmRecorder(Recorder):
    """Also records which accesses are between which barriers of the SMs."""

    def __init__(self, state: Iss) -> None:
        super().__init__(state)
        #: The number of accesses before each barrier between the SMs.
        self.cuts: list[int] = []


class _Barriers:
    """Tells the recorders of barriers between SMs."""

    def __init__(self) -> None:
        self.recorders: dict[SmState, _SmRecorder] = {}
        self.partial = False

    def released(self, states: list[SmState]) -> None:
        self.partial = self.partial or len(states) != len(self.recorders)
        for state in states:
            recorder = self.recorders[state]
            recorder.cuts.append(len(recorder.accesses))


def record_gpu(gpu: GpuConfig, memory: SparseMemory, job: Job, limit: int) -> GpuStreams | str:
    """Return the streams of the program of ``job``, or the reason why there are none; changes ``memory``."""
    code_memory = memory.copy()
    golden = GpuIss(gpu.configs, memory)
    barriers = _Barriers()
    golden.launch(job.start_pc, job.arg, released=barriers.released)
    recorders = []
    for sm in golden.sms:
        sm.recorder = recorder = barriers.recorders[sm] = _SmRecorder(sm)
        recorders.append(recorder)
    reason = _run(golden, recorders, limit)
    if reason is None and barriers.partial:
        reason = "a barrier between SMs is not one of all SMs"
    if reason is None and any(recorder.reads_time for recorder in recorders):
        reason = "the program reads a counter"
    if reason is not None:
        return reason
    recordings = [Recording(*each, code_memory) for each in zip(gpu.configs, recorders, strict=True)]
    addresses = np.concatenate([recorder.stored() for recorder in recorders])
    for recording in recordings:
        if reason := recording.reason(addresses):
            return reason
    for recording in recordings:
        recording.sort()
    words, stored = zip(*(recording.shared_words() for recording in recordings), strict=True)
    if _race(gpu, recorders, recordings, stored):
        return "SMs race"
    return _joined(recordings, memory, words, stored)


def _run(golden: GpuIss, recorders: Sequence[_SmRecorder], limit: int) -> str | None:
    """Run to the end; return why the run does not end by itself, or None."""
    while True:
        end = golden.run(min(limit, SLICE))
        limit -= end.executed
        if end.status is EndStatus.ENDED:
            return None
        if end.status is not EndStatus.LIMIT or limit <= 0:
            return f"the golden model alone does not end: {end.status}"
        if all(recorder.spins() for recorder in recorders):
            return "every remaining warp jumps to itself"


def _race(
    gpu: GpuConfig, recorders: Sequence[_SmRecorder], recordings: Sequence[Recording], stored: Sequence[np.ndarray],
) -> bool:
    """Whether two SMs access a byte between the same two barriers, and at least one stores to it.

    ``stored``: the words that each SM stores to.
    """
    local, local_end = gpu.sm.memory_map.local >> 2, gpu.sm.memory_map.local + gpu.sm.local_bytes >> 2
    outside = [each[(each < local) | (each >= local_end)] for each in stored]
    table = races.table_of(np.unique(np.concatenate(outside)))
    accesses = [np.concatenate(each.accesses) if each.accesses else np.zeros(0, np.uint32) for each in recorders]
    owners = np.full(len(table), -1, np.int64)
    for number, addresses in enumerate(accesses):
        races.note_accesses(table, owners, addresses, number)
    parts: list[tuple[np.ndarray, ...]] = []
    for number, (recorder, recording) in enumerate(zip(recorders, recordings, strict=True)):
        addresses = accesses[number]
        marks = np.zeros(len(addresses), bool)
        races.mark_shared(table, owners, addresses, marks)
        at = np.flatnonzero(marks)
        # The operation of each of these accesses.
        ends = np.cumsum(np.array([len(each) for each in recorder.accesses], np.int64))
        operations = np.searchsorted(ends, at, side="right")
        sizes, stores = recording.of_accesses()
        epochs = np.searchsorted(np.array(recorder.cuts, np.int64), operations, side="right")
        parts.append((
            epochs, addresses[at], sizes[operations], stores[operations], np.full(len(at), number),
        ))
    columns = [np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    capacity = 1 << 12
    while (found := races.between_sms(*(column[order] for column in columns), capacity)) == NONE:
        capacity *= 4
    return bool(found)


def _joined(
    recordings: Sequence[Recording], memory: SparseMemory, words: Sequence[np.ndarray], stored: Sequence[np.ndarray],
) -> GpuStreams:
    """Return the streams of all SMs. They number the same shared words."""
    shared = races.table_of(np.unique(np.concatenate([each[each >= 0] for each in words])))
    stores = Stores.joined([recording.stores() for recording in recordings])
    all_stored = np.unique(np.concatenate(stored))
    sms, rows, behind = [], 0, 0
    for recording in recordings:
        streams = recording.finish(memory, shared, all_stored, stores, behind=behind)
        steps = streams.steps
        steps["row"][steps["row"] >= 0] += rows
        streams.first[:] += behind
        rows, behind = rows + len(streams.addresses), behind + len(steps)
        sms.append(streams)
    return GpuStreams(
        tuple(sms), np.concatenate([each.steps for each in sms]), np.concatenate([each.addresses for each in sms]))
