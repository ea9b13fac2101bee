"""Runs programs on the simulated SM: build cache, simulation process, results."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from metronome.hdl.config import SmConfig

from .build import Build, BuildError, Progress, build
from .kernel import Launch, load_into
from .memcheck import declared
from .memory.models import MEMORY_MODELS
from .memory.store import SparseMemory
from .runner_process import messages
from .runner_types import (
    Job,
    ResultCallback,
    RunRequest,
    RunResult,
    SimulationError,
    WarpState,
    pack_memory,
    unpack_memory,
)

__all__ = ["BuildError", "RunRequest", "RunResult", "SimulationError", "WarpState", "job_of", "run", "run_many"]

#: Called with the position of a request and a line (with its newline) that its program has printed.
ConsoleCallback = Callable[[int, str], None]


def _silent(step: str) -> None:
    """Progress that nobody watches."""


def _check_fetch_policy(config: SmConfig, name: str | None) -> None:
    """ValueError for a fetch policy that this build does not have, or for none where one is needed."""
    if not config.fetch_policies and name is not None:
        raise ValueError(f"fetch_policy must be None, not {name!r}: swas has one scheduler for fetch and issue")
    if config.fetch_policies and name not in config.fetch_policies:
        raise ValueError(f"fetch_policy must be one of {', '.join(config.fetch_policies)}, not {name!r}")


def job_of(config: SmConfig, request: RunRequest) -> Job:
    """The request as plain data; ValueError for what this configuration cannot run."""
    if request.policy not in config.policies:
        raise ValueError(f"policy must be one of {', '.join(config.policies)}, not {request.policy!r}")
    _check_fetch_policy(config, request.fetch_policy)
    if request.memory not in MEMORY_MODELS:
        raise ValueError(f"memory must be one of {', '.join(MEMORY_MODELS)}, not {request.memory!r}")
    if request.latency < 1:
        raise ValueError(f"latency must be at least 1, not {request.latency!r}")
    if request.seed < 0:
        raise ValueError(f"seed must be at least 0, not {request.seed!r}")
    if request.max_cycles < 1:
        raise ValueError(f"max_cycles must be at least 1, not {request.max_cycles!r}")
    if (request.check or request.memcheck or request.trace) and not config.probe:
        raise ValueError("check, memcheck and trace need a configuration with probe")
    if request.memcheck and not isinstance(request.launch, Launch):
        raise ValueError("memcheck needs a Launch, which says what memory the program has")
    memory = SparseMemory(config.memory_map)
    if isinstance(request.launch, Launch):
        load_into(request.launch, memory)
    else:
        request.launch.load_into(memory)
    return Job(
        config=config, pages=pack_memory(memory), start_pc=request.launch.entry, arg=request.launch.argument_address,
        policy=config.policies.index(request.policy),
        fetch_policy=config.fetch_policies.index(request.fetch_policy) if request.fetch_policy else 0,
        memory=request.memory, latency=request.latency, memory_options=request.memory_options,
        seed=request.seed, check=request.check or request.memcheck, trace=request.trace,
        max_cycles=request.max_cycles,
        memcheck=declared(request.launch, config) if request.memcheck and isinstance(request.launch, Launch) else None,
        without_argument=isinstance(request.launch, Launch) and request.launch.without_argument,
    )


def _with_source(report: str, source: Callable[[int], str | None]) -> str:
    """The lock-step report with the source line behind each pc that has one."""

    def place(match: re.Match[str]) -> str:
        line = source(int(match[1], 16))
        return match[0] if line is None else f"{match[0]} ({line})"

    return re.sub(r"\bpc (0x[0-9a-f]{8})\b", place, report)


def _result(
    config: SmConfig, request: RunRequest, fields: dict[str, Any], console: list[str], built: Build
) -> RunResult:
    memory = unpack_memory(config, fields.pop("pages"))
    source = request.launch.image.source_line if isinstance(request.launch, Launch) else lambda pc: None
    fields["mismatches"] = [_with_source(text, source) for text in fields["mismatches"]]
    return RunResult(
        memory=memory, console="".join(console), build_seconds=built.build_seconds,
        elaborate_seconds=built.elaborate_seconds, **fields,
    )


def run(
    config: SmConfig, request: RunRequest, *, on_console: ConsoleCallback | None = None,
    progress: Progress | None = None, verilog: str | None = None,
) -> RunResult:
    """Run one program; see :func:`run_many`."""
    return run_many(config, [request], on_console=on_console, progress=progress, verilog=verilog)[0]


def _waves_file() -> Path | None:
    """The file that METRONOME_WAVES asks for, made here: the simulation itself says nothing if it cannot write it."""
    name = os.environ.get("METRONOME_WAVES")
    if not name:
        return None
    path = Path(name).absolute()
    try:
        path.open("ab").close()  # what an earlier run has written stays until the simulation starts
    except OSError as error:
        raise BuildError(f"METRONOME_WAVES: cannot write {name}: {error.strerror}: name another file") from None
    if not path.is_file():
        raise BuildError(f"METRONOME_WAVES: {name} is no ordinary file: name another one")
    return path


def run_many(
    config: SmConfig, requests: Sequence[RunRequest], *, on_result: ResultCallback | None = None,
    on_console: ConsoleCallback | None = None, progress: Progress | None = None, verilog: str | None = None,
) -> list[RunResult]:
    """Run programs, as many as possible in one simulation process, with a reset between them.

    A process goes on only after a program that ended by itself, and runs either checked or unchecked programs, since
    registers and local memory survive a reset (and start as 0 in a new process).

    Parameters
    ----------
    on_result
        Called with the position of a request and its result, as soon as it is there.
    on_console
        Called with the position of a request and a line that its program has printed, as soon as it is there.
    progress
        Called at the start of each long step, and with the step and its state in parentheses while programs run.
    verilog
        A ``metronome_sm`` in place of the SM (:func:`sim.build.build`).

    Returns
    -------
    The results, in the order of the requests.

    Raises
    ------
    ValueError
        For a request that ``config`` cannot run.
    BuildError, SimulationError
        If the simulation cannot be built (or METRONOME_WAVES be written), or goes wrong itself.
    """
    jobs = [job_of(config, request) for request in requests]
    waves = _waves_file()
    built = build(config, verilog=verilog, waves=waves is not None, progress=progress)
    report = progress or _silent
    report("simulate")
    results: dict[int, RunResult] = {}
    for check in (False, True):
        waiting = [position for position, job in enumerate(jobs) if job.check == check]
        while waiting:
            ended = 0
            lines: list[str] = []
            batch = [jobs[position] for position in waiting]
            for kind, index, content, *more in messages(built.executable, batch, waves):
                position = waiting[index]
                if kind == "cycles":
                    report(f"simulate ({content} cycles, {content / more[0]:.0f} cycles/s)")
                    continue
                if kind == "console":
                    lines.append(content)
                    if on_console is not None:
                        on_console(position, content)
                    continue
                results[position] = _result(config, requests[position], content, lines, built)
                lines = []
                built = Build(built.executable)  # its seconds count once
                ended = index + 1
                if on_result is not None:
                    on_result(position, results[position])
            if ended == 0:
                raise SimulationError("the simulation process ended without a result")
            waiting = waiting[ended:]
    return [results[position] for position in range(len(jobs))]
