"""Run programs on the simulated SM: build cache, simulation process, results."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig

from ..build.by_profile import note_seconds
from ..build.simulator import Build, BuildError, Progress, build
from ..program.kernels import Launch
from .jobs import job_of
from .partitions import parts_of
from .probe_events import EVENT_PARTS, events_of
from .process import Simulation, simulation
from .profiling import when_it_pays
from .types import (
    Job,
    ResultCallback,
    RunRequest,
    RunResult,
    SimulationError,
    WarpState,
    Watcher,
    Waves,
    present,
    unpack_memory,
)

__all__ = ["BuildError", "Records", "RunRequest", "RunResult", "SimulationError", "WarpState", "run", "run_many"]

#: Called with the position of a request and a line (with its newline) that its program printed.
ConsoleCallback = Callable[[int, str], None]


def _silent(step: str) -> None:
    """Ignore progress."""


def with_source(report: str, source: Callable[[int], str | None]) -> str:
    """Return the lock-step report with the source line after each pc that has one."""

    def place(match: re.Match[str]) -> str:
        line = source(int(match[1], 16))
        return match[0] if line is None else f"{match[0]} ({line})"

    return re.sub(r"\bpc (0x[0-9a-f]{8})\b", place, report)


def _result(
    config: SmConfig, request: RunRequest, fields: dict[str, Any], console: list[str],
    events: np.ndarray | None, built: Build,
) -> RunResult:
    memory = unpack_memory(config, fields.pop("pages"))
    source = request.launch.image.source_line if isinstance(request.launch, Launch) else lambda pc: None
    if "counters" in fields:
        fields["counters"] = present(config, fields["counters"])
    fields["mismatches"] = [with_source(text, source) for text in fields["mismatches"]]
    return RunResult(
        memory=memory, console="".join(console), build_seconds=built.build_seconds,
        elaborate_seconds=built.elaborate_seconds, events=events, **fields,
    )


class Records:
    """The records of each cycle of one run, as they arrive: kept if ``keep``, and passed to ``watcher``."""

    def __init__(self, config: SmConfig, *, keep: bool, watcher: Watcher | None) -> None:
        self.config, self._watcher = config, watcher
        self._kept: list[np.ndarray] | None = [] if keep else None
        #: The last record received: it is not yet known whether another follows.
        self._last: np.ndarray | None = None
        if watcher is not None:
            watcher.begin()

    def take(self, content: bytes) -> None:
        """Take consecutive records."""
        # Imported here, as it imports the hardware language: most runs have no records.
        from ..build.records import decode_records, record_words

        words = np.frombuffer(content, np.uint32).reshape(-1, record_words(self.config))
        parts = None if self._kept is not None else parts_of(self.config, EVENT_PARTS)
        records = decode_records(self.config, words, parts)
        if self._kept is not None:
            self._kept.append(records)
        if self._watcher is not None:
            whole = records if self._last is None else np.concatenate([self._last, records])
            self._watcher.take(events_of(self.config, whole[:-1]))
            self._last = whole[-1:].copy()

    def all(self) -> np.ndarray | None:
        """All records; None if they were not kept."""
        if self._kept is None:
            return None
        return np.concatenate(self._kept)


def _process(
    config: SmConfig, process: Simulation, batch: Sequence[tuple[int, Job, bool, Watcher | None]],
    on_console: ConsoleCallback | None, report: Progress,
) -> Iterator[tuple[int, dict[str, Any], list[str], np.ndarray | None]]:
    """One simulation process: position, fields, printed text, and the events (if kept) of each program that ends.

    ``batch``: position, job, whether its events are kept, and its watcher.
    """
    #: Of the program that runs.
    records: dict[int, Records] = {}

    def begun(index: int) -> Records:
        if index not in records:
            _, _, keep, watcher = batch[index]
            records.clear()
            records[index] = Records(config, keep=keep, watcher=watcher)
        return records[index]

    def printed(index: int, text: str) -> None:
        if on_console is not None:
            on_console(batch[index][0], text)

    for index, fields, lines in process.programs(
        [job for _, job, _, _ in batch], report=report, on_console=printed,
        on_records=lambda index, content: begun(index).take(content),
    ):
        yield batch[index][0], fields, lines, begun(index).all()


def run(
    config: SmConfig, request: RunRequest, *, on_console: ConsoleCallback | None = None,
    progress: Progress | None = None, verilog: str | None = None, watcher: Watcher | None = None,
    begun: Simulation | None = None, by_profile: bool = True,
) -> RunResult:
    """Run one program; see :func:`run_many`."""
    watchers = None if watcher is None else [watcher]
    return run_many(
        config, [request], on_console=on_console, progress=progress, verilog=verilog, watchers=watchers, begun=begun,
        by_profile=by_profile,
    )[0]


def _begun(
    begun: Simulation | None, executable: Path, waves: Waves | None
) -> contextlib.AbstractContextManager[Simulation]:
    """Return a process that waits for jobs."""
    if begun is not None and waves is None and begun.waiting == executable:
        return contextlib.nullcontext(begun)
    return simulation(executable, waves)


def _waves_asked(requests: Sequence[RunRequest]) -> Waves | None:
    """Return the waveform to dump.

    Raises
    ------
    ValueError
        If a request among several asks for one.
    BuildError
        For a file that cannot be written.
    """
    asked = [request.waves for request in requests if request.waves is not None]
    if not asked:
        return _waves_of_environment()
    if len(requests) > 1:
        raise ValueError("waves is for a single run, not for one of several")
    return asked[0]


def _waves_of_environment() -> Waves | None:
    """The file that METRONOME_WAVES names, created here: the simulation gives no error if it cannot write it."""
    name = os.environ.get("METRONOME_WAVES")
    if not name:
        return None
    path = Path(name).absolute()
    try:
        path.open("ab").close()  # the file of an earlier run stays until the simulation starts
    except OSError as error:
        raise BuildError(f"METRONOME_WAVES: cannot write {name}: {error.strerror}: name another file") from None
    if not path.is_file():
        raise BuildError(f"METRONOME_WAVES: {name} is not a regular file: name another one")
    return Waves(path=path)


def run_many(
    config: SmConfig, requests: Sequence[RunRequest], *, on_result: ResultCallback | None = None,
    on_console: ConsoleCallback | None = None, progress: Progress | None = None, verilog: str | None = None,
    watchers: Sequence[Watcher | None] | None = None, begun: Simulation | None = None, by_profile: bool = True,
) -> list[RunResult]:
    """Run programs, as many as possible in one simulation process, with a reset between them.

    A process continues only after a program that ended by itself. It runs either checked or unchecked programs, since
    registers and local memory survive a reset (and start as 0 in a new process).

    Parameters
    ----------
    on_result
        Called with the position of a request and its result, as soon as it is available.
    on_console
        Called with the position of a request and a line that its program printed, as soon as it arrives.
    progress
        Called at the start of each long step, and with the step and its state in parentheses while programs run.
    verilog
        A ``metronome_sm`` in place of the SM (:func:`sim.build.simulator.build`).
    watchers
        For each request, the watcher that receives every cycle as it arrives, or None. A watcher needs a probe.
    begun
        A process that waits for its jobs (:func:`sim.run.process.begin`): used first, if it is of this simulation.
    by_profile
        Whether a profile-guided simulation may be used, and built if that pays off. Not for measuring: after a
        change of the sources the usual build runs again.

    Returns
    -------
    The results, in the order of the requests.

    Raises
    ------
    ValueError
        For a request that ``config`` cannot run, or if one of several asks for waves.
    BuildError, SimulationError
        If the simulation cannot be built (or METRONOME_WAVES be written), or fails itself.
    """
    receivers: Sequence[Watcher | None] = watchers or [None] * len(requests)
    jobs = [
        job_of(config, request if watcher is None else replace(request, trace=True))
        for request, watcher in zip(requests, receivers, strict=True)
    ]
    if any(job.arrival is not None for job in jobs):
        raise ValueError("a run of the hardware cannot set variables when main is entered")
    waves = _waves_asked(requests)
    report = progress or _silent
    built = build(config, verilog=verilog, waves=waves is not None, progress=progress, by_profile=by_profile)
    if verilog is None and waves is None and by_profile:
        built = when_it_pays(config, built, progress)
    report("simulate")
    results: dict[int, RunResult] = {}
    for check in (False, True):
        waiting = [position for position, job in enumerate(jobs) if job.check == check]
        while waiting:
            ended = 0
            batch = [(position, jobs[position], requests[position].trace, receivers[position]) for position in waiting]
            with _begun(begun, built.executable, waves) as process:
                for position, content, lines, events in _process(config, process, batch, on_console, report):
                    results[position] = _result(config, requests[position], content, lines, events, built)
                    built = Build(built.executable)  # its seconds count once
                    ended += 1
                    if on_result is not None:
                        on_result(position, results[position])
            if ended == 0:
                raise SimulationError("the simulation process ended without a result")
            waiting = waiting[ended:]
    if verilog is None and waves is None:
        note_seconds(built.executable, sum(result.sim_seconds - result.python_seconds for result in results.values()))
    return [results[position] for position in range(len(jobs))]
