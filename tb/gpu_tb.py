"""Kernel testbench of a GPU: run a list of programs and report each when it ends.

Started as tb/kernel_tb.py, with a pickled list of :class:`sim.run.gpu.types.GpuJob`; its messages are the same. In the
records, the highest byte of the cycle is the number of the SM.
"""

import ctypes
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import cocotb
import numpy as np
from amaranth.lib import data
from cocotb.triggers import ValueChange

from metronome.hdl.config import LINE_BYTES
from metronome.hdl.gpu.config import MOST_SMS, GpuConfig
from metronome.hdl.gpu.l2.cache import l2_counters_layout
from metronome.hdl.layouts.probe import ASSERTIONS
from metronome.sim.build.records import decode_words, status_layout
from metronome.sim.machine.golden import Fault
from metronome.sim.machine.memory.model import Console
from metronome.sim.machine.memory.registry import create_model
from metronome.sim.machine.memory.sm_slots import SmSlots
from metronome.sim.machine.memory.stacks import interleave, restore
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.run.gpu.lockstep import GpuLockStep
from metronome.sim.run.gpu.types import GpuJob
from metronome.sim.run.lane_words import in_words, lanes_of
from metronome.sim.run.types import WarpState, pack_memory, unpack_memory

from .kernel_tb import Observer, Send, counters_of, fault_of, hang_of, run_list, serve
from .mailbox import Mailbox

_STATUS_WORDS, _MOST_WARPS = 512, 64


def _rows(name: str, words_each: int) -> np.ndarray:
    """The array of tb/gpu_status.cpp of this name: a row for each SM."""
    program = ctypes.CDLL(None)
    address, size = getattr(program, f"gpu_{name}_address"), getattr(program, f"gpu_{name}_bytes")
    address.restype, size.restype = ctypes.c_void_p, ctypes.c_uint64
    words = ctypes.c_uint32 * (MOST_SMS * words_each)
    if size() != ctypes.sizeof(words):
        raise RuntimeError(f"tb/gpu_tb.py and tb/gpu_status.cpp disagree about the size of the {name}")
    return np.array(words.from_address(address()), np.uint32).reshape(MOST_SMS, words_each)


def _statuses(gpu: GpuConfig) -> list[np.void]:
    """The status of each SM."""
    layout = status_layout(gpu.sm_of(0))
    return list(decode_words(_rows("status", _STATUS_WORDS)[: gpu.sms, : (layout.size + 31) // 32], layout))


def _hang(
    job: GpuJob, memory: SparseMemory, statuses: list[np.void], checker: GpuLockStep | None
) -> list[list[WarpState]]:
    """The state of each warp of each SM."""
    masks = _rows("masks", _MOST_WARPS)
    return [
        [replace(warp, lanes=in_words(lanes_of(int(masks[number, warp.warp])))) if masks[number, warp.warp] else warp
         for warp in hang_of(job.job, memory, status, {} if checker is None else checker.waits(number))]
        for number, status in enumerate(statuses)
    ]


def _l2_counters(dut: Any, gpu: GpuConfig) -> dict[str, int] | None:
    """The counters of the L2, or the sums of its parts; None without one."""
    if not gpu.l2_parts:
        return None
    layout = data.ArrayLayout(l2_counters_layout(), gpu.l2_parts)
    counted: Any = layout.from_bits(dut.l2_counted.value.to_unsigned())
    return {name: sum(counted[part][name] for part in range(gpu.l2_parts)) for name, _ in l2_counters_layout()}


def _verdict(
    job: GpuJob, memory: SparseMemory, checker: GpuLockStep | None
) -> tuple[dict[str, Any], list[Fault | None]]:
    """Return the GpuRunResult fields that the final statuses decide, and the fault of each SM or None."""
    statuses = _statuses(job.gpu)
    faults = [fault_of(status) for status in statuses]
    assertions = [
        f"SM {number}: {text}" for number, status in enumerate(statuses)
        for bit, text in enumerate(ASSERTIONS) if int(status["assertions"]) >> bit & 1
    ]
    first, fault = next(((number, fault) for number, fault in enumerate(faults) if fault is not None), (0, None))
    if assertions:
        name = "assertion"
    elif fault is not None:
        name = "fault"
    else:
        name = "ended" if statuses[0]["ended"] else "deadlock" if statuses[0]["deadlock"] else "hang"
    counters = [counters_of(status) for status in statuses]
    return {
        "status": name, "assertions": assertions, "fault_sm": None if fault is None else first, "fault": fault,
        "fault_lanes": None if fault is None or checker is None else checker.fault_lanes(first, fault),
        "sm_counters": counters, "sm_hang": [] if name == "ended" else _hang(job, memory, statuses, checker),
    }, faults


async def _run(
    dut: Any, box: Mailbox, job: GpuJob, checker: GpuLockStep | None, console: Console,
    tell: Callable[[int, float], None], send_records: Callable[[bytes], None],
) -> dict[str, Any]:
    """Run one program; return the fields of its GpuRunResult. ``tell`` is called with cycles and seconds so far."""
    asked = job.job
    memory = unpack_memory(asked.config, asked.pages)
    memcheck = None
    if checker is not None:
        memcheck = checker.launch(
            memory.copy(), asked.start_pc, asked.arg, asked.memcheck, strict_races=asked.strict_races)
    interleave(asked.config, memory)
    model = create_model(
        asked.memory, memory, console, latency=asked.latency, seed=asked.seed, options=asked.memory_options,
        tags=1 << job.gpu.mem_tag_bits, sms=SmSlots.of(job.gpu),
    )
    if asked.without_argument:
        model.unwritten = asked.arg // LINE_BYTES
    observer = Observer(asked, checker, send_records)
    changed = ValueChange(dut.wake)
    box.launch(
        model, start_pc=asked.start_pc, arg=asked.arg, policy=asked.policy, fetch_policy=asked.fetch_policy,
        max_cycles=asked.max_cycles, record_level=observer.level,
    )
    seconds = await serve(changed, box, model, observer, tell)
    console.flush()
    restore(asked.config, memory)
    fields: dict[str, Any] = {"status": "mismatch", "total_cycles": box.cycle}
    if box.finished:
        verdict, faults = _verdict(job, memory, checker)
        fields |= verdict | {"l2": _l2_counters(dut, job.gpu)}
        observer.finish(memory, faults, verdict)
        if observer.mismatches:
            fields["status"] = "mismatch"
    return fields | {
        "exit_code": memory.read_word(asked.config.memory_map.exit_code), "pages": pack_memory(memory),
        "mismatches": observer.mismatches, "checked": checker is not None, "argument_missing": model.read_unwritten,
        "sim_seconds": seconds, "python_seconds": min(seconds, box.python_seconds),
        "memory_statistics": model.statistics(box.cycle),
        "memcheck": None if memcheck is None else memcheck.findings,
        "leftovers": [] if memcheck is None else memcheck.leftovers(),
    }


@cocotb.test()
async def run_gpu_jobs(dut: Any) -> None:
    """Run the programs of the job list one after the other."""

    def begin(first: GpuJob) -> Callable[[GpuJob, Send], Awaitable[dict[str, Any]]]:
        box = Mailbox(first.gpu.sm_of(0), records_a_cycle=first.gpu.sms + 1)
        checker = GpuLockStep(first.gpu) if first.job.check else None

        async def run(job: GpuJob, send: Send) -> dict[str, Any]:
            console = Console(job.job.config.memory_map, partial(send, "console"))
            return await _run(dut, box, job, checker, console, partial(send, "cycles"), partial(send, "records"))

        return run

    await run_list(begin)
    # As in tb/kernel_tb.py.
    os._exit(0)
