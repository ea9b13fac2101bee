"""Run programs on a simulated GPU: build cache, simulation process, results."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from metronome.hdl.gpu.config import GpuConfig
from metronome.hdl.layouts.counters import COUNTERS, TOTAL

from ...build.gpu import build_gpu
from ...build.simulator import Build, Progress
from ...program.kernels import Launch
from ..errors import SimulationError
from ..jobs import job_of
from ..process import simulation
from ..runner import ConsoleCallback, Records, with_source
from ..types import RunRequest, Watcher, no_counts, present, unpack_memory
from .records import by_sm, transfers_of
from .types import GpuJob, GpuRunResult

__all__ = ["GpuRefusedError", "run_gpu", "run_many_gpu"]

_TESTBENCH = "metronome.tb.gpu_tb"
#: Counters of time: the SMs count it at once.
_TIMES = ("cycles", TOTAL)
_LONG_RUN_SECONDS = 10


class GpuRefusedError(ValueError):
    """A request that a GPU of several SMs cannot serve; the text is one line."""


def run_gpu(
    gpu: GpuConfig, request: RunRequest, *, on_console: ConsoleCallback | None = None, progress: Progress | None = None,
    watchers: Sequence[Watcher] | None = None, lanes: bool = False,
) -> GpuRunResult:
    """Run one program; see :func:`run_many_gpu`.

    ``lanes``: find the lanes of a fault without ``check``, too, by a second run in lock step. After a long run, of
    which lock step would take minutes, they stay unknown.
    """
    result = run_many_gpu(
        gpu, [request], on_console=on_console, progress=progress, watchers=None if watchers is None else [watchers])[0]
    known = result.fault is None or result.fault_lanes is not None
    if lanes and not known and gpu.sm.probe and result.sim_seconds < _LONG_RUN_SECONDS:
        again = run_gpu(gpu, replace(request, check=True, trace=False), progress=progress)
        if (again.fault_sm, again.fault) == (result.fault_sm, result.fault):
            result.fault_lanes = again.fault_lanes
    return result


def run_many_gpu(
    gpu: GpuConfig, requests: Sequence[RunRequest], *, on_console: ConsoleCallback | None = None,
    progress: Progress | None = None, watchers: Sequence[Sequence[Watcher]] | None = None,
) -> list[GpuRunResult]:
    """Run programs on all SMs of a GPU, with a reset between them; as :func:`sim.run.runner.run_many`.

    ``watchers``: for each request, that of each SM, and perhaps one more, which takes the transfers at the memory port
    (:data:`.records.TRANSFER`) before the SMs take their cycles.

    Raises
    ------
    GpuRefusedError
        If a request asks for waves, or one that ``gpu`` cannot run.
    BuildError, SimulationError
        If the simulation cannot be built, or fails itself.
    """
    receivers: Sequence[Sequence[Watcher]] = watchers or [()] * len(requests)
    jobs = [
        _job_of(gpu, replace(request, trace=True) if watched else request)
        for request, watched in zip(requests, receivers, strict=True)
    ]
    built = build_gpu(gpu, progress=progress)
    report = progress or (lambda step: None)
    report("simulate")
    results: dict[int, GpuRunResult] = {}
    for check in (False, True):
        waiting = [position for position, job in enumerate(jobs) if job.job.check == check]
        while waiting:
            batch = [_Run(at, requests[at], jobs[at], receivers[at]) for at in waiting]
            ended = _process(gpu, batch, built, results, on_console, report)
            built = Build(built.executable)  # its seconds count once
            if ended == 0:
                raise SimulationError("the simulation process ended without a result")
            waiting = waiting[ended:]
    return [results[position] for position in range(len(requests))]


def _job_of(gpu: GpuConfig, request: RunRequest) -> GpuJob:
    waves = request.waves or os.environ.get("METRONOME_WAVES")
    if waves:
        raise GpuRefusedError(f"a waveform is for one SM: leave it out with {gpu.sms} SMs")
    job = job_of(gpu.sm_of(0), request)
    if job.arrival is not None:
        raise ValueError("a run of the hardware cannot set variables when main is entered")
    return GpuJob(gpu=gpu, job=job)


class _Run(NamedTuple):
    """A program to run: its place among the requests, and the watcher of each SM or nothing."""

    position: int
    request: RunRequest
    job: GpuJob
    watchers: Sequence[Watcher]


class _SmRecords:
    """The records of each cycle of one run, for each SM."""

    def __init__(self, gpu: GpuConfig, run: _Run) -> None:
        self._sms = [
            Records(gpu.sm_of(number), keep=run.request.trace, watcher=run.watchers[number] if run.watchers else None)
            for number in range(gpu.sms)
        ]

        self._of_port = run.watchers[gpu.sms :]

    def take(self, content: bytes) -> None:
        from ...build.records import record_words

        words = np.frombuffer(content, np.uint32).reshape(-1, record_words(self._sms[0].config))
        for watcher in self._of_port:
            watcher.take(transfers_of(words, len(self._sms)))
        for sm, mine in zip(self._sms, by_sm(words, len(self._sms)), strict=True):
            sm.take(mine.tobytes())

    def all(self) -> list[np.ndarray] | None:
        kept = [sm.all() for sm in self._sms]
        return None if kept[0] is None else [each for each in kept if each is not None]


def _process(
    gpu: GpuConfig, batch: Sequence[_Run], built: Build, results: dict[int, GpuRunResult],
    on_console: ConsoleCallback | None, report: Callable[[str], None],
) -> int:
    """Run one simulation process, and add the results; return how many programs have ended."""
    #: The records of the running program, by its index.
    records: dict[int, _SmRecords] = {}

    def printed(index: int, text: str) -> None:
        if on_console is not None:
            on_console(batch[index].position, text)

    def recorded(index: int, content: bytes) -> None:
        if index not in records:
            records.clear()
            records[index] = _SmRecords(gpu, batch[index])
        records[index].take(content)

    ended = 0
    with simulation(built.executable, testbench=_TESTBENCH) as process:
        for index, fields, lines in process.programs(
            [each.job for each in batch], report=report, on_console=printed, on_records=recorded,
        ):
            run = batch[index]
            seconds = built if ended == 0 else Build(built.executable)
            results[run.position] = _result(gpu, run.request, fields, lines, seconds)
            if index in records:
                results[run.position].sm_events = records[index].all()
            ended += 1
    return ended


def _result(
    gpu: GpuConfig, request: RunRequest, fields: dict[str, Any], console: list[str], built: Build,
) -> GpuRunResult:
    memory = unpack_memory(gpu.sm_of(0), fields.pop("pages"))
    source = request.launch.image.source_line if isinstance(request.launch, Launch) else lambda pc: None
    counters = fields.pop("sm_counters", [no_counts() for _ in range(gpu.sms)])
    fields["mismatches"] = [with_source(text, source) for text in fields["mismatches"]]
    return GpuRunResult(
        memory=memory, console="".join(console), build_seconds=built.build_seconds,
        elaborate_seconds=built.elaborate_seconds, counters=present(gpu.sm, summed(counters)),
        sm_counters=[present(gpu.sm, each) for each in counters], **fields,
    )


def summed(counters: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The counters of all SMs together: sums, and the largest of those that count time."""
    sums: dict[str, Any] = {}
    for counter in COUNTERS:
        values = [each[counter.name] for each in counters]
        if counter.by_reason:
            sums[counter.name] = {reason: sum(each[reason] for each in values) for reason in values[0]}
        else:
            sums[counter.name] = max(values) if counter.name in _TIMES else sum(values)
    return sums
