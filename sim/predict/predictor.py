"""Predicts a run: the machine of this folder, a memory model behind its port, the golden model beside it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from metronome.hdl.config import LINE_BYTES, Coordination, FaultCause, SmConfig
from metronome.hdl.isa.ops import Unit
from metronome.hdl.layouts.counters import COUNTERS, StallReason
from metronome.hdl.layouts.waits import LookupWait
from metronome.sim.iss import Fault
from metronome.sim.memory.model import Console, MemoryModel
from metronome.sim.memory.models import create_model
from metronome.sim.memory.stacks import interleave, restore
from metronome.sim.memory.store import SparseMemory
from metronome.sim.runner_types import RunRequest, RunResult, WarpState
from metronome.sim.statistics import REASONS, LineAccesses, LoadLatency, RegionStatistics, WarpCycles

from . import machine, policies
from .code import CodeTable
from .observer import INACTIVE, INSTRUCTION, NOP
from .records import (
    CONFIG,
    CONTROL,
    EVENT,
    FRONT,
    ISSUE,
    ISSUED,
    LSU,
    NONE,
    OBSERVER,
    PORT,
    RING,
    Machine,
)
from .stepping import PLACES, Stepper
from .streams import Streams, record

__all__ = ["Prediction", "predict"]


class _RaceError(Exception):
    """The program's values depend on the order of issue."""

_NO_LINE = bytes(LINE_BYTES)
_NEVER = (1 << 62) - 1
_MOST_CYCLES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What was predicted: ``result`` as of a run, and ``issued`` (ISSUED), every issue in order."""

    result: RunResult
    issued: np.ndarray


def _log2(value: int) -> int:
    return value.bit_length() - 1


def _configured(config: SmConfig, request: RunRequest, *, ring: int) -> np.ndarray:
    """CONFIG of a run."""
    from metronome.hdl.config import LINE_NUMBER_BITS  # noqa: F401

    record = np.zeros(1, CONFIG)
    stacks = config.interleaved_stacks
    dcache_sets = max(1, config.dcache_bytes // LINE_BYTES // config.dcache_ways)
    places = config.memory_map
    values: dict[str, Any] = {
        "warps": config.warps, "threads": config.threads, "policy": policies.NAMES.index(request.policy),
        "max_cycles": request.max_cycles, "barriers": config.barriers, "icache": config.icache_bytes > 0,
        "icache_sets": max(1, config.icache_bytes // LINE_BYTES // config.icache_ways),
        "icache_ways": config.icache_ways, "fetch_requests": config.fetch_requests,
        "dcache": config.dcache_bytes > 0, "dcache_sets": dcache_sets, "dcache_bits": max(1, _log2(dcache_sets)),
        "dcache_ways": config.dcache_ways, "line_requests": config.line_requests,
        "store_buffer": config.store_buffer, "load_parts": config.load_parts, "user_line": places.user // LINE_BYTES,
        "local": places.local, "local_bytes": config.local_bytes,
        "stacks": stacks.start if stacks else 1 << 40, "stacks_end": stacks.stop if stacks else 1 << 40,
        "stack_block": places.stack_bytes_per_hart * config.threads,
        "stack_words": places.stack_bytes_per_hart // 4, "source_bit": 1 << config.mem_tag_bits - 1,
        "kind_bit": 1 << config.lsu_tag_bits - 1, "ring": ring, "traces": 1,
    }
    for name, value in values.items():
        record[name] = value
    latencies = record["latency"][0]
    latencies[:] = NONE
    for unit, latency in {
        Unit.ALU: config.latency_alu, Unit.BRANCH: config.latency_alu, Unit.MUL: config.latency_mul,
        Unit.DIV: config.latency_div, Unit.CSR: config.latency_csr, Unit.SIMT: config.latency_simt,
        Unit.FMA: config.latency_fma, Unit.FCVT: config.latency_fcvt, Unit.FDIV: config.latency_fdiv,
        Unit.FMISC: config.latency_fmisc,
    }.items():
        latencies[unit.value] = latency
    return record


class _Run:
    """One prediction under way."""

    def __init__(self, config: SmConfig, request: RunRequest, memory: SparseMemory, console: Console,
                 start_pc: int, argument: int, streams: Streams | None) -> None:
        self.config, self.request = config, request
        self.start_pc = start_pc
        self.streams = streams
        self.stepper = None if streams else Stepper(config, memory.copy(), start_pc, argument)
        told = streams or self.stepper
        self.memory = memory
        interleave(config, memory)
        self.model = create_model(
            request.memory, memory, console, latency=request.latency, seed=request.seed,
            options=request.memory_options, tags=1 << config.mem_tag_bits,
        )
        self.codes = CodeTable(config)
        record = _configured(config, request, ring=0 if streams else PLACES - 1)
        self.box = np.zeros(1, PORT)
        self.box["cycle"] = -1
        self.sums = np.zeros(1, OBSERVER)
        sets, ways = int(record["icache_sets"][0]), config.icache_ways
        dsets = int(record["dcache_sets"][0])
        self.machine = Machine(
            config=record, front=np.zeros(1, FRONT), issue=np.zeros(1, ISSUE), control=np.zeros(1, CONTROL),
            lsu=np.zeros(1, LSU), port=self.box, observer=self.sums, code=self.codes.table,
            steps=told.steps, first=told.first, known=told.known, addresses=told.addresses,
            shared=streams.shared if streams else np.zeros(1, np.int64),
            writers=np.zeros(4 * len(streams.shared) if streams else 1, np.int64),
            icache_line=np.zeros(sets * ways, np.int64), icache_code=np.zeros(sets * ways, np.int64),
            icache_used=np.zeros(sets * ways, np.int64), dcache_line=np.zeros(dsets * config.dcache_ways, np.int64),
            dcache_used=np.zeros(dsets * config.dcache_ways, np.int64), issued=np.zeros(1 << 16, ISSUED),
            events=np.zeros(0, EVENT),
        )
        self.issued: list[np.ndarray] = []
        #: The bytes of each entry of the write buffer.
        self.entries = [bytearray(LINE_BYTES) for _ in range(config.store_buffer)]
        #: The line of each request of the I-cache, by tag.
        self.fetched: dict[int, int] = {}

    def run(self) -> None:
        self._attend()
        while True:
            reason = machine.advance(self.machine, self.start_pc)
            front, unit = self.machine.front[0], self.machine.lsu[0]
            if reason == machine.STEP:
                code = self.machine.code[front["selected_code"]]
                self.stepper.step(int(front["selected"]), code, int(front["selected_pc"]))
                continue
            if reason == machine.VOLATILE:
                self._poke()
                continue
            if reason == machine.RACE:
                if os.environ.get("PT"): print("race at", hex(front["selected_pc"]), front["selected"], self.box["cycle"])
                raise _RaceError
            if self.machine.config["ring"][0] and unit["goes"] and unit["event_store"] and reason != machine.FINISHED:
                self._keep(unit)
            if self.sums["issues"][0] == len(self.machine.issued) or reason == machine.FINISHED:
                self.issued.append(self.machine.issued[: int(self.sums["issues"][0])].copy())
                self.sums["issues"] = 0
            if reason in (machine.SERVE, machine.FINISHED):
                self._serve()
            if reason == machine.FINISHED:
                return

    def _poke(self) -> None:
        raise NotImplementedError

    def _keep(self, unit: np.void) -> None:
        """The bytes of a store that goes into the write buffer."""
        entry = int(unit["entry"])
        if not unit["joins"]:
            self.entries[entry] = bytearray(LINE_BYTES)
        stored = self.stepper.stored[int(unit["event_row"])]
        assert stored is not None
        addresses, data, size = stored
        lanes = int(unit["event_lanes"])
        for lane in range(self.config.threads):
            if lanes >> lane & 1:
                from metronome.sim.memory.stacks import to_bus

                at = to_bus(self.config, int(addresses[lane])) % LINE_BYTES
                self.entries[entry][at : at + size] = int(data[lane]).to_bytes(4, "little")[:size]

    def _serve(self) -> None:
        box, model = self.box[0], self.model
        cycle = int(box["cycle"]) - (not self.sums["finished"][0])
        source, kind = int(self.machine.config["source_bit"][0]), int(self.machine.config["kind_bit"][0])
        for number in range(int(box["taken"]), int(box["given"])):
            at = number % RING
            tag, line = int(box["request_tag"][at]), int(box["request_line"][at])
            write = bool(box["request_write"][at])
            data = bytes(self.entries[tag & kind - 1]) if write else _NO_LINE
            if not tag & source:
                self.fetched[tag] = line
            mask = int(box["request_bytes"][at]) & (1 << LINE_BYTES) - 1 if self.stepper else 0
            model.request(int(box["request_cycle"][at]), tag, line, write, mask, data)
        box["taken"] = box["given"]
        index = int(box["answers"])
        for due, tag, error, data in model.complete(cycle + model.lookahead):
            at = index % RING
            box["answer_due"][at], box["answer_tag"][at], box["answer_error"][at] = due, tag, error
            if not tag & source:
                line = self.fetched[tag]
                box["answer_code"][at] = self.codes.line(
                    line, data, error, self.streams.unsure.get(line, 0) if self.streams else 0
                )
                if self.codes.table is not self.machine.code:
                    self.machine = self.machine._replace(code=self.codes.table)
            index += 1
        box["answers"] = index
        self._attend(cycle)

    def _attend(self, cycle: int = 0) -> None:
        box, model = self.box[0], self.model
        due = model.next_due
        box["lookahead"] = min(model.lookahead, model.room)
        box["wake_cycle"] = min(cycle + _MOST_CYCLES, _NEVER if due is None else due - 1)
        box["ready_from"] = model.ready_from


def predict(config: SmConfig, request: RunRequest, ways: str = "") -> Prediction:
    """The run of ``request`` on ``config``, computed."""
    from metronome.sim.runner import _job
    from metronome.sim.runner_types import unpack_memory

    if config.coordination is not Coordination.SWAS:
        raise ValueError(f"coordination must be swas, not {config.coordination}")
    job = _job(config, request)
    memory = unpack_memory(config, job.pages)
    lines: list[str] = []
    console = Console(config.memory_map, lines.append)
    started = time.perf_counter()
    streams = None
    if ways != "step":
        streams = record(config, memory.copy(), job.start_pc, job.arg, request.max_cycles)
        if os.environ.get("PT"): print(streams if isinstance(streams,str) else "streams", time.perf_counter()-started)
        if isinstance(streams, str) or config.memory_map.console // LINE_BYTES in streams.stored:
            streams = None
    initial = memory.copy()
    for known in (streams, None) if streams else (None,):
        memory = initial.copy()
        run = _Run(config, request, memory, console, job.start_pc, job.arg, known)
        if job.without_argument:
            run.model.unwritten = job.arg // LINE_BYTES
        try:
            run.run()
            if known and not np.array_equal(run.machine.writers, known.writers):
                d=np.flatnonzero(run.machine.writers!= known.writers)
                if os.environ.get("PT"): print("final", len(d), [hex(known.shared[i//4]*4) for i in d[:20]], run.machine.writers[d[:9]], known.writers[d[:9]])
                raise _RaceError
        except _RaceError:
            if os.environ.get("PT"): print("race")
            continue
        break
    console.flush()
    if known:
        memory = known.memory
    else:
        restore(config, memory)
    seconds = time.perf_counter() - started
    cycle = int(run.box["cycle"][0])
    sums, control = run.sums[0], run.machine.control[0]
    fault = None
    if control["halted"]:
        fault = Fault(FaultCause(int(control["fault_cause"])), int(control["fault_warp"]), int(control["fault_pc"]),
                      int(control["fault_address"]))
    if fault is not None:
        status = "fault"
    else:
        status = "ended" if sums["ended"] else "deadlock" if sums["deadlock"] else "hang"
    result = RunResult(
        status=status, exit_code=memory.read_word(config.memory_map.exit_code), total_cycles=cycle, memory=memory,
        fault=fault, counters=_counters(sums), console="".join(lines),
        memory_statistics=run.model.statistics(cycle), region=_region(config, sums), sim_seconds=seconds,
        argument_missing=run.model.read_unwritten,
    )
    return Prediction(result=result, issued=np.concatenate(run.issued))


def _counters(sums: np.void) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for counter in COUNTERS:
        if counter.by_reason:
            values[counter.name] = {reason.name.lower(): int(sums[counter.name][reason]) for reason in StallReason}
        else:
            # Both oracles see the same sets as the scheduler: in swas a buffer is never empty.
            oracle = counter.name in ("discrepancies", "errors")
            values[counter.name] = 0 if oracle else int(sums[counter.name])
    return values


def _lines(counted: np.ndarray) -> LineAccesses:
    names = ("instructions", "accesses", "uncached", "hits", "merges", "forwards", "misses")
    return LineAccesses(**dict(zip(names, counted.tolist(), strict=True)))


def _region(config: SmConfig, sums: np.void) -> RegionStatistics:
    def warp(states: np.ndarray) -> WarpCycles:
        return WarpCycles(
            instructions=int(states[INSTRUCTION]), nops=int(states[NOP]), not_selected=int(states[0]),
            inactive=int(states[INACTIVE]), stalls={reason: int(states[reason]) for reason in REASONS},
        )

    return RegionStatistics(
        loads=_lines(sums["load_lines"]), stores=_lines(sums["store_lines"]),
        waits={reason: int(sums["waits"][reason]) for reason in LookupWait if reason is not LookupWait.NONE},
        load_latency=LoadLatency(
            total=int(sums["latency_sum"]), maximum=int(sums["latency_maximum"]),
            histogram=tuple(sums["latencies"].tolist()),
        ),
        warps=tuple(warp(sums["states"][w]) for w in range(config.warps)),
    )
