"""Kernel testbench: run a list of programs on the simulated SM and report each when it ends.

Started by sim/run/process.py. ``METRONOME_JOBS_FD`` is the file descriptor of a pickled list of
:class:`sim.run.types.Job`. Messages are pickled one after the other to the file descriptor
``METRONOME_RESULTS_FD``: ("console", job, text), ("cycles", job, cycles so far, seconds), ("records", job,
bytes of uint32), ("result", job, fields), ("error", traceback) and, as the last one, ("done",). The testbench stops
after a program that did not end by itself. ``METRONOME_PROFILE`` is the file to which a profiling build writes its
execution counts at the end (tb/profile.cpp).
"""

import ctypes
import os
import pickle
import time
import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol

import cocotb
import numpy as np
from cocotb.triggers import ValueChange

from metronome.hdl.config import LINE_BYTES, FaultCause
from metronome.hdl.layouts.counters import COUNTERS, StallReason
from metronome.hdl.layouts.probe import ASSERTIONS
from metronome.sim.build.records import decode_words, status_layout
from metronome.sim.machine.golden import Fault
from metronome.sim.machine.memory.dram.device import Command
from metronome.sim.machine.memory.model import Console, MemoryModel
from metronome.sim.machine.memory.registry import create_model
from metronome.sim.machine.memory.stacks import interleave, restore
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.run.gpu.lockstep import GpuLockStep
from metronome.sim.run.hanging import hanging_warps
from metronome.sim.run.lockstep import LockStep, Mismatch
from metronome.sim.run.types import Job, WarpState, pack_memory, unpack_memory

from .mailbox import Mailbox
from .statistics import read_statistics

#: How often the number of cycles so far is reported.
TELL_SECONDS = 1.0
_NO_RECORDS, _EVENT_RECORDS, _ALL_RECORDS = range(3)


def counters_of(status: np.void) -> dict[str, Any]:
    """Return all counters by name."""
    values = {counter.name: status["counters"][counter.name].tolist() for counter in COUNTERS}
    for counter in COUNTERS:
        if counter.by_reason:
            values[counter.name] = {reason.name.lower(): values[counter.name][reason] for reason in StallReason}
    return values


def fault_of(status: np.void) -> Fault | None:
    """Return the fault of an SM, if it has one."""
    if not status["fault_valid"]:
        return None
    fault = status["fault"]
    return Fault(FaultCause(int(fault["cause"])), int(fault["warp"]), int(fault["pc"]), int(fault["address"]))


def hang_of(job: Job, memory: SparseMemory, status: np.void, waits: dict[int, str]) -> list[WarpState]:
    """Return the state of each warp of an SM; ``waits``: the golden model's data on waits."""
    config = job.config
    policies = {"issue": config.policies[job.policy]}
    if config.fetch_policies:
        policies["fetch"] = config.fetch_policies[job.fetch_policy]
    return hanging_warps(
        config, memory, active=int(status["active"]), reasons=status["hang"].tolist(), pcs=status["hang_pc"].tolist(),
        starved={stage: (policy, int(status["passed_over"][stage])) for stage, policy in policies.items()},
        deadlock=bool(status["deadlock"]), waits=waits,
    )


def _verdict(job: Job, memory: SparseMemory, status: np.void, waits: dict[int, str]) -> dict[str, Any]:
    """Return the RunResult fields that the SM's final status decides; ``waits``: the golden model's data on waits."""
    raised = int(status["assertions"])
    assertions = [text for bit, text in enumerate(ASSERTIONS) if raised >> bit & 1]
    fault = fault_of(status)
    if assertions:
        name = "assertion"
    elif fault is not None:
        name = "fault"
    else:
        name = "ended" if status["ended"] else "deadlock" if status["deadlock"] else "hang"
    return {
        "status": name, "assertions": assertions, "fault": fault, "counters": counters_of(status),
        "hang": [] if name == "ended" else hang_of(job, memory, status, waits),
    }


#: Sends a message of a job: its kind and content.
Send = Callable[..., None]


class ObservesRecords(Protocol):
    """Takes the records of a program."""

    #: What disagrees, if anything.
    mismatches: list[str]

    def take(self, box: Mailbox) -> None:
        """Take the records that the mailbox has."""


class Observer:
    """Passes the records of one program to the checker and, if every cycle is requested, out of this process."""

    def __init__(self, job: Job, checker: LockStep | GpuLockStep | None, send: Callable[[bytes], None]) -> None:
        self.checker = checker
        self.send = send if job.trace else None
        self.mismatches: list[str] = []
        self.level = _ALL_RECORDS if job.trace else _EVENT_RECORDS if job.check else _NO_RECORDS

    def take(self, box: Mailbox) -> None:
        """See :class:`ObservesRecords`."""
        if not box.records_due:
            return
        words = box.take_records()
        if self.send is not None:
            self.send(words.tobytes())
        if self.checker is not None and not self.mismatches:
            try:
                self.checker.feed_words(words)
            except Mismatch as mismatch:
                self.mismatches.append(str(mismatch))

    def finish(self, memory: Any, faults: Any, verdict: dict[str, Any]) -> None:
        """Compare the final states; ``faults``: the fault of the SM or None, and of several SMs a list of these."""
        if self.checker is None or self.mismatches or verdict["assertions"]:
            return
        try:
            self.checker.finish(memory, faults, verdict["status"] == "ended")
        except Mismatch as mismatch:
            self.mismatches.append(str(mismatch))


async def _run(
    dut: Any, box: Mailbox, job: Job, checker: LockStep | None, console: Console, tell: Callable[[int, float], None],
    send_records: Callable[[bytes], None],
) -> dict[str, Any]:
    """Run one program; return the fields of its RunResult. ``tell`` is called now and then with cycles and seconds."""
    memory = unpack_memory(job.config, job.pages)
    memcheck = None
    if checker is not None:
        memcheck = checker.launch(
            memory.copy(), job.start_pc, job.arg, job.memcheck, strict_races=job.strict_races
        )
    interleave(job.config, memory)
    commands: list[Command] | None = [] if job.memory_options.commands else None
    model = create_model(
        job.memory, memory, console, latency=job.latency, seed=job.seed, options=job.memory_options,
        tags=1 << job.config.mem_tag_bits, observer=None if commands is None else commands.append,
    )
    if job.without_argument:
        model.unwritten = job.arg // LINE_BYTES
    observer = Observer(job, checker, send_records)
    changed = ValueChange(dut.wake)
    box.launch(
        model, start_pc=job.start_pc, arg=job.arg, policy=job.policy, fetch_policy=job.fetch_policy,
        max_cycles=job.max_cycles, record_level=observer.level
    )
    seconds = await serve(changed, box, model, observer, tell)
    console.flush()
    restore(job.config, memory)
    fields = {"status": "mismatch", "total_cycles": box.cycle}
    if box.finished:
        layout = status_layout(job.config)
        status = decode_words(box.status[None, : (layout.size + 31) // 32], layout)[0]
        fields |= _verdict(job, memory, status, {} if checker is None else checker.waits())
        observer.finish(memory, fields["fault"], fields)
        if observer.mismatches:
            fields["status"] = "mismatch"
    return fields | {
        "exit_code": memory.read_word(job.config.memory_map.exit_code), "pages": pack_memory(memory),
        "mismatches": observer.mismatches, "checked": checker is not None,
        "argument_missing": model.read_unwritten,
        "memcheck": None if memcheck is None else memcheck.findings,
        "leftovers": [] if memcheck is None else memcheck.leftovers(), "sim_seconds": seconds,
        "python_seconds": min(seconds, box.python_seconds), "memory_statistics": model.statistics(box.cycle),
        "memory_commands": commands, "region": read_statistics(job.config),
    }


async def serve(
    changed: ValueChange, box: Mailbox, model: MemoryModel, observer: ObservesRecords,
    tell: Callable[[int, float], None],
) -> float:
    """Serve memory until the program has finished or an instruction disagrees; return the seconds.

    ``tell`` is called now and then with cycles and seconds so far.
    """
    started = reported = time.perf_counter()
    while not box.finished and not observer.mismatches:
        await changed
        box.serve(model)
        observer.take(box)
        now = time.perf_counter()
        if now > reported + TELL_SECONDS:
            reported = now
            tell(box.cycle, now - started)
    return time.perf_counter() - started


async def run_list(begin: Callable[[Any], Callable[[Any, Send], Awaitable[dict[str, Any]]]]) -> None:
    """Run the programs of the job list one after the other, up to the first that does not end by itself.

    ``begin`` gets the first job, and returns the function that runs each of them; that function sends messages of its
    job by their kinds.
    """
    with os.fdopen(int(os.environ["METRONOME_RESULTS_FD"]), "wb") as out:
        with os.fdopen(int(os.environ["METRONOME_JOBS_FD"]), "rb") as source:
            jobs: list[Any] = pickle.load(source)

        def send(*message: object) -> None:
            pickle.dump(message, out, pickle.HIGHEST_PROTOCOL)
            out.flush()

        try:
            run = begin(jobs[0])
            for index, job in enumerate(jobs):
                fields = await run(job, lambda kind, *content, of=index: send(kind, of, *content))
                send("result", index, fields)
                if fields["status"] != "ended":
                    break
        except Exception:
            send("error", traceback.format_exc())
        send("done")


@cocotb.test()
async def run_jobs(dut: Any) -> None:
    """Run the programs of the job list one after the other."""

    def begin(first: Job) -> Callable[[Job, Send], Awaitable[dict[str, Any]]]:
        box = Mailbox(first.config)
        checker = LockStep(first.config) if first.check else None

        async def run(job: Job, send: Send) -> dict[str, Any]:
            console = Console(job.config.memory_map, partial(send, "console"))
            return await _run(dut, box, job, checker, console, partial(send, "cycles"), partial(send, "records"))

        return run

    await run_list(begin)
    if "METRONOME_WAVES" not in os.environ:
        # Skip the shutdown of cocotb and Verilator, a fifth of a short run, unless a file has to be closed.
        if path := os.environ.get("METRONOME_PROFILE"):
            ctypes.CDLL(None).profile_write(path.encode())
        os._exit(0)
