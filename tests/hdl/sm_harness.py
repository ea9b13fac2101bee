"""The whole SM under a program of the test's own: the traced simulation, one process a configuration, every cycle."""

import atexit
import functools
import os
import pickle
import subprocess
import tempfile
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from metronome.hdl.config import FaultCause, SmConfig
from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.layouts.probe import ASSERTIONS
from metronome.sim.build.processes import start
from metronome.sim.build.records import decode_records, decode_words, status_layout
from metronome.sim.build.simulator import build
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.assembler.asm import Program, tmc, wspawn
from metronome.sim.run.process import environment
from metronome.sim.run.types import pack_memory, unpack_memory
from tests.hdl.sm_memory import LINE, Between, Latencies, Latency, Request
from tests.hdl.sm_process import TAIL, Job
from tests.hdl.sm_records import Cycle, Fault, Issued, Run

__all__ = ["LINE", "START", "USER", "Between", "Cycle", "Fault", "Issued", "Latencies", "Request", "Run", "finish",
           "run_program", "spawn"]

START = 0x8000_0000
USER = 0x0001_0000


class _Simulation:
    """A simulation process that runs program after program; it ends when this process closes its pipe, or ends."""

    def __init__(self, config: SmConfig) -> None:
        self._log = tempfile.TemporaryFile()
        executable = build(config).executable
        jobs_read, jobs_write = os.pipe()
        results_read, results_write = os.pipe()
        self._jobs: IO[bytes] = os.fdopen(jobs_write, "wb")
        self._results: IO[bytes] = os.fdopen(results_read, "rb")
        self._process = start(
            [str(executable)],
            env=environment("tests.hdl.sm_process", os.devnull) | {
                "METRONOME_JOBS_FD": str(jobs_read), "METRONOME_RESULTS_FD": str(results_write),
            },
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT, pass_fds=[jobs_read, results_write],
        )
        os.close(jobs_read)
        os.close(results_write)
        self._send(config)
        atexit.register(self.close)

    def _send(self, what: object) -> None:
        pickle.dump(what, self._jobs, pickle.HIGHEST_PROTOCOL)
        self._jobs.flush()

    def run(self, job: Job) -> dict[str, Any]:
        """What :meth:`tests.hdl.sm_process._Simulation.run` returns."""
        try:
            self._send(job)
            return pickle.load(self._results)
        except (EOFError, OSError) as error:
            self._process.wait()
            self._log.seek(0)
            text = self._log.read().decode(errors="replace")
            raise RuntimeError(f"the simulation died with status {self._process.returncode}:\n{text}") from error

    def close(self) -> None:
        """End the process."""
        for pipe in (self._jobs, self._results, self._log):
            pipe.close()
        self._process.wait()


@functools.cache
def _simulation(config: SmConfig) -> _Simulation:
    return _Simulation(config)


def _plain(values: np.ndarray) -> list:
    """A structured array as plain Python values, a dict a row: much faster than asking numpy for each."""
    if values.dtype.names is None:
        return values.tolist()
    columns = [_plain(values[name]) for name in values.dtype.names]
    return [dict(zip(values.dtype.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _lanes(config: SmConfig, mask: int, values: Sequence[Any]) -> dict[int, Any]:
    return {lane: values[lane] for lane in range(config.threads) if mask >> lane & 1}


def _cycles(config: SmConfig, events: np.ndarray, last_busy: int, answers: dict[int, tuple[int, int]]) -> list[Cycle]:
    """The records of a run as the tests ask for them."""
    found = []
    for number, row in enumerate(_plain(events[["front", "issue", "wb", "control", "store", "sm"]])):
        front, control, issue, store = row["front"], row["control"], row["issue"], row["store"]
        resolution, written = control["resolution"], row["wb"]["value"]
        stored = list(zip(store["address"], store["data"], strict=True))
        found.append(Cycle(
            number=number, select=front["select_warp"] if front["select_valid"] else None,
            nop=bool(front["select_valid"] and front["select_nop"]), stall=row["sm"]["stall"],
            miss=front["miss_warp"] if front["miss"] else None,
            missed_line=front["miss_line"] * LINE if front["missed"] else None,
            refill=front["refill_line"] * LINE if front["refill"] else None,
            resolve=resolution["warp"] if resolution["valid"] else None,
            redirect=bool(resolution["valid"] and resolution["redirect"]), release=control["release"],
            turn=front["turn"],
            eligible=front["eligible"], active=control["active"], activate=control["activation"]["warps"],
            issue=Issued(issue["warp"], issue["pc"], issue["instruction"], issue["mask"]) if issue["valid"] else None,
            write=(written["warp"], written["rd"], _lanes(config, written["mask"], written["data"]))
            if row["wb"]["valid"] else None,
            store=(store["warp"], store["pc"], _lanes(config, store["mask"], stored)) if store["valid"] else None,
            reasons=tuple(row["sm"]["reason"]), busy=1 <= number <= last_busy, fault=bool(row["sm"]["halt"]),
            answer=answers.get(number - 1),
        ))
    return found


def _run(config: SmConfig, policy: str, done: dict[str, Any]) -> Run:
    """The run from what the simulation has sent, which has had no failed assertion and was busy without a break."""
    layout = status_layout(config)
    status = decode_words(done["status"][None, : (layout.size + 31) // 32], layout)[0]
    raised = int(status["assertions"])
    assert raised == 0, [text for bit, text in enumerate(ASSERTIONS) if raised >> bit & 1]
    # The counters are registers, which the last cycle does not reach any more.
    events = decode_records(config, done["records"])[:-1]
    last = len(events) - 1
    assert events["cycle"].tolist() == list(range(last + 1)), "a cycle was not recorded"
    ended = bool(status["ended"])
    last_busy = last - TAIL if ended else last
    counters = {name: status["counters"][name].tolist() for name in status["counters"].dtype.names}
    # The hardware counts the cycles with busy; the simulation has ended behind the first TAIL cycles without.
    busy = counters["total_cycles"]
    assert busy == last_busy, f"busy in {busy} cycles is not one interval from cycle 1 on: {last_busy}"
    counters["stalls"] = {reason: counters["stalls"][reason] for reason in StallReason}
    fault = status["fault"]
    return Run(
        config, _cycles(config, events, last_busy, done["answers"]), counters, unpack_memory(config, done["pages"]),
        policy,
        Fault(FaultCause(int(fault["cause"])), *(int(fault[name]) for name in ("warp", "pc", "address")))
        if status["fault_valid"] else None,
        ended, done["requests"],
    )


def run_program(config: SmConfig, program: Program, *, latency: Latency = 4, max_cycles: int = 2000,
                policy: str = "lrr", memory: SparseMemory | None = None, argument: int = USER,
                may_hang: bool = False) -> Run:
    """Runs ``program`` from :data:`START` on an SM fresh from reset, and checks the hardware assertions.

    ``latency`` (cycles from a request to its response, at least 1) may depend on the request. All registers are 0 at
    the start. Fails if the program has not ended after ``max_cycles``, unless ``may_hang``.
    """
    store = SparseMemory() if memory is None else memory
    store.write(START, program.assemble())
    job = Job(pack_memory(store), START, argument, config.policies.index(policy), latency, max_cycles)
    run = _run(config, policy, _simulation(config).run(job))
    assert run.ended or may_hang, f"still busy after {max_cycles} cycles; reasons {run.cycles[-1].reasons}"
    return run


def finish(program: Program) -> None:
    """Ends the warp: li x31, 0; tmc x31."""
    program.li(31, 0)
    program.add(tmc(31))


def spawn(program: Program, warps: int, label: str) -> None:
    """Starts warps 1..warps-1 at ``label``; uses x29 and x30."""
    program.li(29, warps)
    program.la(30, label)
    program.add(wspawn(29, 30))
