"""Predict runs (:mod:`sim.predict.running`), and keep recordings of programs for reuse."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from metronome.hdl.config import LINE_BYTES, Coordination, SmConfig

from ..machine.engines import CannotPredictError
from ..machine.events import WARPS
from ..machine.memory.stacks import restore
from ..machine.memory.store import SparseMemory
from ..machine.policies.base import Policy
from ..machine.policies.files import PolicyFileError, require_inputs, require_python
from ..machine.policies.plain import POLICIES, from_outside
from ..run.jobs import job_of
from ..run.types import Job, RunRequest, RunResult, Watcher, present, unpack_memory
from . import sums
from .model import machine
from .model.compiled import compiling
from .model.records import CODE, CONFIG, STEP
from .running import PredictionRun
from .setup import Executed, new_machine
from .sm_run import OrderMattersError, StoppedError
from .streams import Streams, record

__all__ = ["Prediction", "Recordings", "predict", "prepare", "refuse", "result_of", "smallest"]


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A predicted run.

    ``result``: as for a simulated run. ``issued``: ISSUED, every issue in order, NOPs included. ``stepped``: why the
    golden model had to run in step with the prediction; None if each warp's instructions were known in advance.
    ``asked``: the number of calls of a policy in Python, 0 if the model has a rule for the policy. ``reason``: why it
    was called after the first cycles.
    """

    result: RunResult
    issued: np.ndarray
    stepped: str | None
    asked: int = 0
    reason: str = ""


class Recordings:
    """Instructions of each program, recorded once for all configurations that share them.

    A program is identified by the contents of memory at the start.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple, Streams | str] = {}

    def of(self, config: SmConfig, request: RunRequest, job: Job, memory: SparseMemory) -> Streams | str:
        """Return :func:`sim.predict.streams.record` of the program; the last few programs are remembered."""
        digest = hashlib.blake2b()
        for number in sorted(job.pages):
            digest.update(number.to_bytes(8))
            digest.update(job.pages[number])
        key = (
            digest.digest(), job.start_pc, job.arg, job.arrival, request.max_cycles, config.warps, config.threads,
            config.prediction, config.ordered, config.policy_csr, config.core_id, config.cores,
            config.memory_map, config.local_bytes, config.interleave_stacks,
        )
        if key not in self._kept:
            if len(self._kept) >= 4:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = record(config, memory.copy(), job, request.max_cycles)
        return self._kept[key]


def smallest() -> np.ndarray:
    """Return the CONFIG of a machine without a warp, to compile the model."""
    settings = np.zeros(2, CONFIG)
    for name in ("schedulers", "icache_sets", "icache_ways", "dcache_sets", "dcache_ways"):
        settings[name] = 1
    return settings


def prepare() -> None:
    """Load the compiled model, or compile it, which takes a minute once for each version of the model."""
    nobody = np.zeros(WARPS, np.int64)
    nothing = new_machine(
        smallest(), Executed(np.zeros(1, STEP), nobody, nobody, np.zeros((1, 1), np.uint32)),
        code=np.zeros(1, CODE), shared=np.zeros(1, np.int64),
    )
    nothing.port["cycle"] = -1
    with compiling():
        reason = machine.advance(nothing, 0)
    if reason != machine.FINISHED:
        raise RuntimeError("a machine without a warp has not stopped")


def _silent(cycle: int) -> None:
    """Ignore progress reports."""


def refuse(config: SmConfig, policy: str, *, check: bool = False) -> None:
    """Raise CannotPredictError for a machine, policy or ``check`` that a prediction does not support."""
    try:
        require_python(policy)
        require_inputs(config)
    except PolicyFileError as error:
        raise CannotPredictError(str(error)) from None
    if policy not in POLICIES:
        raise CannotPredictError(f"{policy} cannot be predicted: sim/machine/policies does not have it")
    if from_outside(policy):
        raise CannotPredictError(f"{policy} cannot be predicted: it was replaced by a policy from outside Metronome")
    if config.coordination is not Coordination.SWAS:
        raise CannotPredictError(
            f"only swas can be predicted, not {config.coordination}: its issue order depends on the warps that were "
            "fetched"
        )
    if check:
        raise CannotPredictError("check and memcheck watch the hardware: a prediction runs none")


def predict(
    config: SmConfig, request: RunRequest, *, recordings: Recordings | None = None,
    on_console: Callable[[str], None] | None = None, tell: Callable[[int], None] = _silent, steps: bool = False,
    watcher: Watcher | None = None, policy: Policy[Any] | None = None,
) -> Prediction:
    """Predict the run of ``request`` on ``config``.

    Parameters
    ----------
    recordings
        Cache for programs that are predicted more than once.
    on_console
        Called at the end with each line that the program printed.
    tell
        Called from time to time with the current cycle.
    steps
        Run the golden model in step with the prediction, instruction by instruction, even if that is not needed.
    watcher
        Receives the events of every cycle.
    policy
        A policy in Python that chooses in every cycle in place of the one that the request names. The named policy must
        still be in ``config``, and the machine keeps the hardware for it, such as victim tags. If it has an attribute
        ``keeps`` that is true, it is called only once for each state and inputs it reads. By default, if the model
        has no rule for the named policy, its class in ``sim.machine.policies`` is used, which takes longer.

    Raises
    ------
    ValueError
        If ``config`` cannot run the request. The subclass CannotPredictError: if the run cannot be predicted.
    """
    refuse(config, request.policy, check=request.check or request.memcheck)
    job = job_of(config, request)
    prepare()
    started = time.perf_counter()
    initial = unpack_memory(config, job.pages)
    known: Streams | str = "requested"
    if not steps:
        known = (recordings or Recordings()).of(config, request, job, initial)
    if isinstance(known, Streams) and config.memory_map.console // LINE_BYTES in known.stored:
        known = "the program prints"
    attempts: list[Streams | None] = [None] if isinstance(known, str) else [known, None]
    stepped = known if isinstance(known, str) else None
    for streams in attempts:
        memory = initial.copy()
        run = PredictionRun(config, request, job, memory, streams, watcher, policy=policy)
        try:
            if watcher is not None:
                watcher.begin()
            run.run(tell)
            break
        except OrderMattersError as error:
            if streams is not None and streams.lists.any():
                raise CannotPredictError(f"{error}, and a list of accesses changes that order") from None
            stepped = str(error)
        except StoppedError:
            stepped = "the list of accesses is wrong"
    if streams is None:
        restore(config, memory)
    else:
        memory = streams.memory.copy()
    for line in run.memory.console_text() if on_console else ():
        on_console(line)  # type: ignore[misc]
    return Prediction(
        result=result_of(config, request, run, memory, time.perf_counter() - started),
        issued=np.concatenate(run.issued), stepped=stepped,
        asked=run.chooser.asked if run.chooser else 0, reason=run.chooser.reason if run.chooser else "",
    )


def result_of(
    config: SmConfig, request: RunRequest, run: PredictionRun, memory: SparseMemory, seconds: float
) -> RunResult:
    """Return the result of a finished run in the form of a hardware run; ``memory`` is the final memory."""
    stopped = sums.fault(run.whole)
    status = sums.status(run.sums, stopped)
    cycles = int(run.box["cycle"])
    return RunResult(
        status=status, exit_code=memory.read_word(config.memory_map.exit_code), total_cycles=cycles, memory=memory,
        fault=stopped, counters=present(config, sums.counters(run.sums)), console="".join(run.memory.console_text()),
        hang=[] if status == "ended" else sums.hang(config, memory, run.sums, run.whole, request.policy),
        memory_statistics=run.memory.model.statistics(cycles), region=sums.region(config, run.sums),
        argument_missing=run.memory.model.read_unwritten, sim_seconds=seconds,
    )
