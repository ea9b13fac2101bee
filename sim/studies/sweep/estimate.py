"""A rough estimate of a sweep's duration, from the golden model's instruction count and speeds measured once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from metronome.hdl.gpu.config import Dispatch

from ...build.gpu import is_built_gpu
from ...build.simulator import is_built
from ...machine.engines import Engine
from ...machine.golden import Iss
from ...machine.golden.gpu import GpuIss
from ...machine.memory.store import SparseMemory
from ...program.kernels import load_into
from .pools import Task
from .record import Run

__all__ = ["Estimate", "estimate"]

#: Seconds per cycle and per build: for the smallest machine, and per lane of each warp (docs/performance.md).
_CYCLE_SECONDS, _CYCLE_SECONDS_A_LANE = 2.8e-6, 5.8e-9
_BUILD_SECONDS, _BUILD_SECONDS_A_LANE = 18.0, 0.07
#: Approximate cycles per instruction; seconds to start a simulation.
_CYCLES_AN_INSTRUCTION, _START_SECONDS = 2.5, 2.0
#: Seconds per prediction and per predicted cycle; the machine makes little difference.
_PREDICTED_SECONDS, _PREDICTED_CYCLE_SECONDS = 0.3, 1e-6


@dataclasses.dataclass(frozen=True)
class Estimate:
    """``builds``: simulations that are not in the cache; ``seconds``: for all tasks on that many workers."""

    builds: int
    seconds: float


def _without_unit(run: Run) -> Run:
    """Return the run without a dispatch unit, which the golden model does not have: the work is the same."""
    if run.gpu is None or run.gpu.dispatch is Dispatch.NONE:
        return run
    gpu = dataclasses.replace(run.gpu, dispatch=Dispatch.NONE)
    return dataclasses.replace(run, gpu=gpu, compiling=run.compiling.for_gpu(gpu))


def _instructions(task: Task) -> int:
    """Count the instructions of one run on the golden model, of all SMs together."""
    run = _without_unit(task.run)
    memory = SparseMemory(run.config.memory_map)
    launch = run.prepare()
    load_into(launch, memory)
    iss = Iss(run.config, memory) if run.gpu is None else GpuIss(run.gpu.configs, memory)
    iss.launch(launch.entry, launch.argument_address)
    # An SM issues at most one instruction per cycle, so a run cannot execute more than this.
    return iss.run(run.max_cycles * run.sms).executed


def estimate(tasks: Sequence[Task], workers: int) -> Estimate:
    """Estimate the duration of tasks. Runs that differ only in front end, policy or memory are counted once."""
    counted: dict[Any, int] = {}
    seconds = 0.0
    for task in tasks:
        run, config, sms = task.run, task.run.config, task.run.sms
        lanes = config.warps * config.threads
        what = (run.kernel, run.max_cycles, run.compiling, run.dtype, run.size, run.seed, config.warps,
                config.threads, config.memory_map, sms)
        if what not in counted:
            counted[what] = _instructions(task)
        # Those of all SMs: each cycle of an SM takes as long as one of an SM alone.
        cycles = min(_CYCLES_AN_INSTRUCTION * counted[what], run.max_cycles * sms)
        if run.engine is Engine.PREDICT:
            seconds += _PREDICTED_SECONDS + cycles * _PREDICTED_CYCLE_SECONDS
        else:
            seconds += _START_SECONDS + cycles * (_CYCLE_SECONDS + _CYCLE_SECONDS_A_LANE * lanes)
    builds = {task.run.hardware: task.run for task in tasks if task.run.engine is Engine.RTL}
    missing = [run for run in builds.values()
               if not (is_built(run.config) if run.gpu is None else is_built_gpu(run.gpu))]
    for run in missing:
        seconds += _BUILD_SECONDS + _BUILD_SECONDS_A_LANE * run.config.warps * run.config.threads * run.sms
    return Estimate(len(missing), seconds / workers)
