"""Predicts a run: the machine of sim.predict, a memory model behind its port, the golden model beside it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from metronome.hdl.config import LINE_BYTES, Coordination, SmConfig
from metronome.sim.engines import CannotPredictError
from metronome.sim.memory.model import Console
from metronome.sim.memory.models import create_model
from metronome.sim.memory.stacks import interleave, restore, to_bus
from metronome.sim.memory.store import SparseMemory
from metronome.sim.predict import machine, policies
from metronome.sim.predict.code import CodeTable
from metronome.sim.predict.compiled import compiling
from metronome.sim.predict.records import CODE, CONFIG, NONE, RING, STEP, WARPS
from metronome.sim.runner import job_of
from metronome.sim.runner_types import Job, RunRequest, RunResult, unpack_memory

from . import sums
from .setup import LOG, configured, new_machine
from .stepping import PLACES, Stepper
from .streams import Streams, record

__all__ = ["Prediction", "Recordings", "Watcher", "predict", "prepare", "refuse"]

_NO_LINE = bytes(LINE_BYTES)
_NEVER = (1 << 62) - 1
#: The memory model is looked at after so many cycles at the latest, as in a simulation.
_MOST_CYCLES = 1 << 16
_EVENTS = 1 << 12


class Watcher(Protocol):
    """Who is told what each unit does in every cycle."""

    def begin(self) -> None:
        """The machine starts, perhaps not for the first time: what was told before does not count."""

    def take(self, events: np.ndarray) -> None:
        """The next cycles: EVENT, valid until the call's end."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What was predicted.

    ``result``: as of a run. ``issued``: ISSUED, every issue in order, NOPs included. ``stepped``: why the golden model
    had to go along instruction by instruction; None if each warp's instructions were known before.
    """

    result: RunResult
    issued: np.ndarray
    stepped: str | None


class _OrderMattersError(Exception):
    """What the program does depends on the order of issue."""


class Recordings:
    """Each program's instructions, recorded once for all configurations that share them.

    A program is what is in memory at the start.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple, Streams | str] = {}

    def of(self, config: SmConfig, request: RunRequest, job: Job, memory: SparseMemory) -> Streams | str:
        """As :func:`sim.predict.streams.record`; the last few programs are remembered."""
        digest = hashlib.blake2b()
        for number in sorted(job.pages):
            digest.update(number.to_bytes(8))
            digest.update(job.pages[number])
        key = (
            digest.digest(), job.start_pc, job.arg, request.max_cycles, config.warps, config.threads,
            config.prediction, config.core_id, config.cores, config.memory_map, config.local_bytes,
            config.interleave_stacks,
        )
        if key not in self._kept:
            if len(self._kept) >= 4:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = record(config, memory.copy(), job.start_pc, job.arg, request.max_cycles)
        return self._kept[key]


def prepare() -> None:
    """Load the compiled model, or compile it: half a minute, once for each version of it."""
    one = np.zeros(1, np.int64)
    nobody = np.zeros(WARPS, np.int64)
    nothing = new_machine(
        np.zeros(1, CONFIG), icache=1, dcache=1, code=np.zeros(1, CODE), steps=np.zeros(1, STEP), first=nobody,
        known=nobody, addresses=np.zeros((1, 1), np.uint32), shared=one,
    )
    nothing.port["cycle"] = -1
    with compiling():
        reason = machine.advance(nothing, 0)
    if reason != machine.FINISHED:
        raise RuntimeError("a machine without a warp has not stopped")


class _Run:
    """One prediction under way; with ``streams`` every warp's instructions are known, else they come one by one."""

    def __init__(self, config: SmConfig, request: RunRequest, job: Job, memory: SparseMemory, console: Console,
                 streams: Streams | None, watcher: Watcher | None) -> None:
        self.config, self.start_pc, self.streams = config, job.start_pc, streams
        self.watcher = watcher
        self.stepper = None if streams else Stepper(config, memory.copy(), job.start_pc, job.arg)
        interleave(config, memory)
        self.model = create_model(
            request.memory, memory, console, latency=request.latency, seed=request.seed,
            options=request.memory_options, tags=1 << config.mem_tag_bits,
        )
        if job.without_argument:
            self.model.unwritten = job.arg // LINE_BYTES
        self.codes = CodeTable(config)
        told: Any = streams or self.stepper
        settings = configured(config, request, ring=0 if streams else PLACES - 1)
        self.machine = new_machine(
            settings, icache=int(settings["icache_sets"][0]) * config.icache_ways,
            dcache=int(settings["dcache_sets"][0]) * config.dcache_ways, code=self.codes.table, steps=told.steps,
            first=told.first, known=told.known, addresses=told.addresses,
            shared=streams.shared if streams else np.zeros(1, np.int64), events=_EVENTS if watcher else 0,
        )
        settings["events"] = watcher is not None
        self.box, self.sums, self.front, self.lsu, self.control, self.issue = (
            part[0] for part in (
                self.machine.port, self.machine.observer, self.machine.front, self.machine.lsu, self.machine.control,
                self.machine.issue,
            )
        )
        self.box["cycle"] = -1
        self.issued: list[np.ndarray] = []
        #: The bytes of each entry of the write buffer, and the line of each request of the I-cache.
        self.entries = [bytearray(LINE_BYTES) for _ in range(config.store_buffer)]
        self.fetched: dict[int, int] = {}
        self.source, self.kind = (int(settings[name][0]) for name in ("source_bit", "kind_bit"))

    def run(self, tell: Callable[[int], None]) -> None:
        """To the end; ``tell`` is called with the cycle once in a while.

        Raises
        ------
        _OrderMattersError
            If the instructions that were known are not those of this schedule.
        """
        self._attend(0)
        while True:
            reason = machine.advance(self.machine, self.start_pc)
            if reason == machine.RACE:
                raise _OrderMattersError
            if self.stepper is not None and self._step(self.stepper, reason):
                continue
            finished = reason == machine.FINISHED
            if finished or self.sums["issues"] == LOG:
                self.issued.append(self.machine.issued[: int(self.sums["issues"])].copy())
                self.sums["issues"] = 0
            if self.watcher is not None and (finished or self.sums["events"] == _EVENTS):
                self.watcher.take(self.machine.events[: int(self.sums["events"])])
                self.sums["events"] = 0
            if finished or reason == machine.SERVE:
                # A cycle that has ended is behind the machine, the one in which it stops is not.
                cycle = int(self.box["cycle"]) - (not finished)
                self._serve(cycle)
                tell(cycle)
            if finished:
                break
        if self.streams is not None and not np.array_equal(self.machine.writers, self.streams.writers):
            raise _OrderMattersError

    def _step(self, stepper: Stepper, reason: int) -> bool:
        """What the golden model has to do with it; whether the machine is in the middle of a cycle."""
        if reason == machine.STEP:
            code = self.machine.code[self.front["selected_code"]]
            stepper.step(int(self.front["selected"]), code, int(self.front["selected_pc"]))
            return True
        if reason == machine.VOLATILE:
            self._poke(stepper)
            return True
        if reason != machine.FINISHED and self.lsu["goes"] and self.lsu["event_store"]:
            self._keep(stepper)
        return False

    def _poke(self, stepper: Stepper) -> None:
        """The instruction in stage X reads what counts time: the golden model gets the machine's value."""
        w = int(self.issue["warp_x"])
        code = self.machine.code[self.issue["code_x"]]
        mcycle = int(self.box["cycle"]) - 1
        value = sums.read_counter(self.sums, int(code["word"]) >> 20, mcycle, int(self.sums["retired"]))
        step = self.machine.steps[int(self.machine.first[w]) + int(self.issue["step_x"]) % PLACES]
        if code["register"] != NONE:
            values = np.full(self.config.threads, value, np.uint32)
            stepper.iss.poke(w, int(code["register"]), int(step["mask"]), values)

    def _keep(self, stepper: Stepper) -> None:
        """The bytes of a store that goes into the write buffer in this cycle."""
        entry, stored = int(self.lsu["entry"]), stepper.stored[int(self.lsu["event_row"])]
        assert stored is not None
        addresses, data, size = stored
        if not self.lsu["joins"]:
            self.entries[entry] = bytearray(LINE_BYTES)
        lanes = int(self.lsu["event_lanes"])
        for lane in range(self.config.threads):
            if lanes >> lane & 1:
                at = to_bus(self.config, int(addresses[lane])) % LINE_BYTES
                self.entries[entry][at : at + size] = int(data[lane]).to_bytes(4, "little")[:size]

    def _serve(self, cycle: int) -> None:
        """Pass on what was requested and what the model completes, as tb/mailbox.py does for the hardware."""
        box, model = self.box, self.model
        for number in range(int(box["taken"]), int(box["given"])):
            at = number % RING
            tag, line, write = int(box["request_tag"][at]), int(box["request_line"][at]), bool(box["request_write"][at])
            data, mask = _NO_LINE, 0
            if write and self.stepper is not None:
                data = bytes(self.entries[tag & self.kind - 1])
                mask = int(box["request_bytes"][at]) & (1 << LINE_BYTES) - 1
            if not tag & self.source:
                self.fetched[tag] = line
            model.request(int(box["request_cycle"][at]), tag, line, write, mask, data)
        box["taken"] = box["given"]
        index = int(box["answers"])
        for due, tag, error, data in model.complete(cycle + model.lookahead):
            at = index % RING
            box["answer_due"][at], box["answer_tag"][at], box["answer_error"][at] = due, tag, error
            if not tag & self.source:
                line = self.fetched[tag]
                unsure = self.streams.unsure.get(line, 0) if self.streams else 0
                box["answer_code"][at] = self.codes.line(line, data, error, unsure)
                if self.codes.table is not self.machine.code:
                    self.machine = self.machine._replace(code=self.codes.table)
            index += 1
        box["answers"] = index
        self._attend(cycle)

    def _attend(self, cycle: int) -> None:
        """When the model has to be looked at again, and what it accepts until then."""
        box, model = self.box, self.model
        due = model.next_due
        box["lookahead"] = min(model.lookahead, model.room)
        box["wake_cycle"] = min(cycle + _MOST_CYCLES, _NEVER if due is None else due - 1)
        box["ready_from"] = model.ready_from


def _silent(cycle: int) -> None:
    """Progress that nobody watches."""


def refuse(config: SmConfig, policy: str, *, check: bool = False) -> None:
    """CannotPredictError for a machine or a policy that cannot be predicted, and for a ``check`` of what is not run."""
    if policy not in policies.NAMES:
        raise CannotPredictError(f"{policy} cannot be predicted: sim/predict/policies.py does not have it")
    if config.coordination is not Coordination.SWAS:
        raise CannotPredictError(
            f"only swas can be predicted, not {config.coordination}: what it issues depends on which warps were fetched"
        )
    if check:
        raise CannotPredictError("check and memcheck watch the hardware: a prediction runs none")


def predict(
    config: SmConfig, request: RunRequest, *, recordings: Recordings | None = None,
    on_console: Callable[[str], None] | None = None, tell: Callable[[int], None] = _silent, steps: bool = False,
    watcher: Watcher | None = None,
) -> Prediction:
    """The run of ``request`` on ``config``, computed.

    Parameters
    ----------
    recordings
        Where programs are kept that are predicted more than once.
    on_console
        Called with each line that the program prints, when all is over.
    tell
        Called with the cycle that has been reached, once in a while.
    steps
        Let the golden model go along instruction by instruction, also where that is not needed.
    watcher
        Is told what each unit does in every cycle.

    Raises
    ------
    ValueError
        For a request that ``config`` cannot run; CannotPredictError for what cannot be predicted.
    """
    refuse(config, request.policy, check=request.check or request.memcheck)
    job = job_of(config, request)
    prepare()
    started = time.perf_counter()
    initial = unpack_memory(config, job.pages)
    known: Streams | str = "asked for"
    if not steps:
        known = (recordings or Recordings()).of(config, request, job, initial)
    if isinstance(known, Streams) and config.memory_map.console // LINE_BYTES in known.stored:
        known = "the program prints"
    attempts: list[Streams | None] = [None] if isinstance(known, str) else [known, None]
    stepped = known if isinstance(known, str) else None
    for streams in attempts:
        lines: list[str] = []
        memory = initial.copy()
        console = Console(config.memory_map, lines.append)
        run = _Run(config, request, job, memory, console, streams, watcher)
        try:
            if watcher is not None:
                watcher.begin()
            run.run(tell)
            break
        except _OrderMattersError:
            stepped = "what a load finds depends on the order of issue"
    console.flush()
    if streams is None:
        restore(config, memory)
    else:
        memory = streams.memory.copy()
    for line in lines if on_console else ():
        on_console(line)  # type: ignore[misc]
    return Prediction(
        result=_result(config, request, run, memory, "".join(lines), time.perf_counter() - started),
        issued=np.concatenate(run.issued), stepped=stepped,
    )


def _result(
    config: SmConfig, request: RunRequest, run: _Run, memory: SparseMemory, console: str, seconds: float
) -> RunResult:
    stopped = sums.fault(run.control)
    status = sums.status(run.sums, stopped)
    cycles = int(run.box["cycle"])
    return RunResult(
        status=status, exit_code=memory.read_word(config.memory_map.exit_code), total_cycles=cycles, memory=memory,
        fault=stopped, counters=sums.counters(run.sums), console=console,
        hang=[] if status == "ended" else sums.hang(config, memory, run.sums, run.control, request.policy),
        memory_statistics=run.model.statistics(cycles), region=sums.region(config, run.sums),
        argument_missing=run.model.read_unwritten, sim_seconds=seconds,
    )
