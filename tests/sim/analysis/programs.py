"""What the tests of the analysis have in common: programs, what they execute, and their bounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metronome.hdl.config import Prediction, SmConfig
from metronome.hdl.presets import TINY
from metronome.sim.analysis.bound.assumptions import UserStatements
from metronome.sim.analysis.bound.bound import Bound, longest_time
from metronome.sim.analysis.code.inputs import Inputs, Range
from metronome.sim.analysis.code.program import AnalyzedProgram
from metronome.sim.analysis.paths.explore import Exploration, explore
from metronome.sim.analysis.paths.facts import Facts
from metronome.sim.machine.golden import EndStatus, Iss
from metronome.sim.program.kernels import Launch
from metronome.sim.run.runner import job_of
from metronome.sim.run.types import RunRequest, unpack_memory
from tests.support.programs import prepared

LIMIT = 2_000_000


class Executions:
    """A clock that counts how often each instruction is executed."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    def copy(self) -> Executions:
        twin = Executions()
        twin.counts = dict(self.counts)
        return twin

    def join(self, other: Any) -> None:
        for pc, count in other.counts.items():
            self.counts[pc] = max(count, self.counts.get(pc, 0))

    def issue(self, pc: int, code: Any, following: int, access: Any) -> None:
        self.counts[pc] = self.counts.get(pc, 0) + 1

    def start(self, pc: int) -> None:
        """Nothing is counted."""

    @staticmethod
    def meet(clocks: Any, active: int | None) -> None:
        """Nothing is counted."""


class _Recorder:
    """How often the golden model executes each instruction, by warp."""

    def __init__(self, warps: int) -> None:
        self.counts: list[dict[int, int]] = [{} for _ in range(warps)]

    def executed(self, pc: int, warps: int, epoch: int, masks: np.ndarray) -> None:
        for warp, counts in enumerate(self.counts):
            if warps >> warp & 1:
                counts[pc] = counts.get(pc, 0) + 1

    def access(self, addresses: np.ndarray, data: np.ndarray | None) -> None:
        """Nothing is counted."""

    def arguments(self, warp: int, first: int, second: int) -> None:
        """Nothing is counted."""

    def volatile(self, pc: int) -> None:
        """Nothing is counted."""


def machine(config: SmConfig, policy: str = "lrr", prediction: str = "btfn") -> SmConfig:
    """``config`` with one policy."""
    return dataclasses.replace(config, policies=(policy,), prediction=Prediction(prediction))


def request_of(launch: Launch, policy: str = "lrr", memory: str = "fixed") -> RunRequest:
    return RunRequest(launch=launch, policy=policy, memory=memory)


def all_paths(
    config: SmConfig, launch: Launch, ranges: Sequence[Range] = (), facts: Facts | None = None
) -> tuple[Exploration, list[dict[int, int]]]:
    """What was explored, and by warp how often each instruction is executed at most."""
    inputs = Inputs(launch, ranges)
    job = job_of(config, request_of(inputs.filled(inputs.own), config.policies[0]))
    memory = unpack_memory(config, job.pages)

    def begin(program: AnalyzedProgram) -> Any:
        return lambda warp: Executions()

    explored = explore(config, memory, job.start_pc, job.arg, inputs, begin, LIMIT, facts)
    return explored, [each.counts if isinstance(each, Executions) else {} for each in explored.clocks]


def one_run(config: SmConfig, launch: Launch) -> list[dict[int, int]]:
    """By warp, how often the golden model executes each instruction."""
    job = job_of(config, request_of(launch, config.policies[0]))
    iss = Iss(config, unpack_memory(config, job.pages))
    iss.launch(job.start_pc, job.arg)
    recorder = iss.recorder = _Recorder(config.warps)
    end = iss.run(LIMIT)
    assert end.status is EndStatus.ENDED
    return recorder.counts


def exceeded(most: list[dict[int, int]], launch: Launch) -> bool:
    """Whether a run executes an instruction more often than was said."""
    counts = one_run(machine(TINY), launch)
    return any(count > most[warp].get(pc, 0) for warp, its in enumerate(counts) for pc, count in its.items())


def bound_of(config: SmConfig, launch: Launch, memory: str = "fixed", *, compose: bool = False, **stated: Any) -> Bound:
    request = request_of(launch, config.policies[0], memory)
    return longest_time(config, request, launch, UserStatements(**stated), compose=compose)


def compiled(folder: Path, text: str, words: int = 16, config: SmConfig = TINY) -> Launch:
    """A program of one source, whose ``inputs`` is a symbol of so many words that may hold anything."""
    launch = prepared(folder, text, config)
    address, size = launch.image.symbols["inputs"]
    assert size == 4 * words
    return dataclasses.replace(launch, loads={"inputs": (address, bytes(size))})
