"""Graded cases: kernels on machines, from a TOML file; the two statistics; their reference values, kept as JSON."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.hdl.presets import PRESETS

from ...machine.policies.base import Policy
from ...machine.settings import ConfigError, one_of, replaced
from ...predict.choosing import PickError
from ...predict.predictor import Recordings, predict
from ...program.compiler.elf_cache import ToolchainError
from ...program.kernels import KernelError, Launch, prepare
from ...run.types import Program, RunRequest
from .handover import handover

__all__ = ["CASES", "REFERENCE", "TASKS", "Case", "CaseError", "Kit", "Statistics", "Task", "launch_of", "measure",
           "patience"]

_HERE = Path(__file__).parent
#: The cases that this kit grades, with their reference values.
CASES, REFERENCE = _HERE / "cases.toml", _HERE / "reference.json"
#: The limit for a submission's cycles, as a multiple of the reference.
_PATIENCE = 10
_MOST_CYCLES = 5_000_000


class CaseError(ValueError):
    """The cases or reference values cannot be used; the text is one line."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """``policy``: the solution. ``stands_for``: the class of a submission. ``statistic``: the graded statistic."""

    policy: str
    stands_for: str
    statistic: str


#: Tasks by number.
TASKS = {
    1: Task(policy="gto_dispatch", stands_for="GreedyThenOldest", statistic="NUM_STALL_CYCLES"),
    2: Task(policy="ccws", stands_for="CacheConscious", statistic="MISSES_PER_1000_INSTR"),
}


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """The counts of one run in its measured region; ``total_cycles``: of the whole run."""

    total_cycles: int
    instructions: int
    stall_cycles: int
    misses: int

    def value(self, statistic: str) -> Fraction:
        """Return NUM_STALL_CYCLES or MISSES_PER_1000_INSTR."""
        if statistic == "NUM_STALL_CYCLES":
            return Fraction(self.stall_cycles)
        return Fraction(1000 * self.misses, max(1, self.instructions))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run that is graded. ``kernel``: a name, a folder beside the file, or ``handover``."""

    name: str
    task: int
    kernel: str
    size: int
    seed: int
    preset: str = "MID"
    memory: str = "fixed"
    latency: int = 20
    set: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):
            kind, value = str(each.type).partition("[")[0], getattr(self, each.name)
            if type(value).__name__ != kind:
                raise TypeError(f"case {self.name}: {each.name} must be of type {kind}, not {value!r}")

    def config(self) -> SmConfig:
        """The machine, with the solution's policy. Raises CaseError."""
        try:
            preset = PRESETS[one_of("preset", self.preset, PRESETS)]
            return replaced(preset, {**self.set, "policies": (TASKS[self.task].policy,)})
        except ConfigError as error:
            raise CaseError(f"case {self.name}: {error}") from None


@dataclass(frozen=True, kw_only=True)
class Kit:
    """Cases and their reference values. ``points``: for each task. ``shares``: of a case's points, by its grade."""

    folder: Path
    points: dict[int, Fraction]
    shares: dict[str, Fraction]
    tolerance: Fraction
    cases: tuple[Case, ...]
    reference: dict[str, Statistics]

    @classmethod
    def read(cls, path: Path) -> Kit:
        """Read a file of cases (TOML, without reference values) or one with reference values (JSON).

        Raises
        ------
        CaseError
            With the file's name and the error.
        """
        try:
            text = path.read_text("utf-8")
            read: dict[str, Any] = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
            return cls._of(read, path.parent)
        except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
            reason = getattr(error, "strerror", None) or error
            missing = " is missing" if isinstance(error, KeyError) else ""
            raise CaseError(f"{path}: {reason}{missing}") from None

    @classmethod
    def _of(cls, read: dict[str, Any], folder: Path) -> Kit:
        entries = [dict(entry) for entry in read["case"]]
        reference = {e["name"]: Statistics(**e.pop("reference")) for e in entries if "reference" in e}
        cases = tuple(Case(**entry) for entry in entries)
        if len({case.name for case in cases}) != len(cases):
            raise CaseError("two cases have one name")
        if unknown := {case.task for case in cases} - set(TASKS):
            raise CaseError(f"there is no task {unknown.pop()}")
        return cls(
            folder=folder, cases=cases, reference=reference,
            points={task: Fraction(str(read["points"][str(task)])) for task in TASKS},
            shares={grade: Fraction(str(read["shares"][grade])) for grade in ("exact", "close", "runs")},
            tolerance=Fraction(str(read["tolerance"])),
        )

    def as_json(self) -> dict[str, Any]:
        """The form that :meth:`read` takes."""
        return {
            "points": {str(task): float(points) for task, points in self.points.items()},
            "shares": {grade: float(share) for grade, share in self.shares.items()},
            "tolerance": float(self.tolerance),
            "case": [
                dataclasses.asdict(case) | {"reference": dataclasses.asdict(self.reference[case.name])}
                for case in self.cases
            ],
        }


def launch_of(case: Case, folder: Path) -> Program | Launch:
    """Return the program of a case with its inputs, compiled if necessary. Raises CaseError."""
    config = case.config()
    if case.kernel == "handover":
        try:
            return handover(config, case.size, case.seed)
        except ValueError as error:
            raise CaseError(f"case {case.name}: {error}") from None
    name = str(folder / case.kernel) if "/" in case.kernel else case.kernel
    try:
        return prepare(name, None, case.size, case.seed, config)
    except (KernelError, ToolchainError) as error:
        raise CaseError(f"case {case.name}: {error}") from None


def measure(
    case: Case, folder: Path, policy: Policy[Any] | None = None, *, most_cycles: int = _MOST_CYCLES,
    recordings: Recordings | None = None,
) -> Statistics | None:
    """Return the statistics of a case under ``policy``, by default the solution; None if it does not end in time.

    Raises
    ------
    CaseError
        If the case cannot be run, or the order of issue changes what the kernel executes.
    """
    config = case.config()
    request = RunRequest(
        launch=launch_of(case, folder), policy=TASKS[case.task].policy, memory=case.memory, latency=case.latency,
        seed=case.seed, max_cycles=most_cycles,
    )
    try:
        prediction = predict(config, request, policy=policy, recordings=recordings)
    except PickError:
        raise
    except ValueError as error:
        raise CaseError(f"case {case.name}: {error}") from None
    result = prediction.result
    if result.status == "hang":
        return None
    if result.status != "ended" or prediction.stepped is not None:
        raise CaseError(f"case {case.name}: the kernel is not fit for it: {prediction.stepped or result.status}")
    assert result.region is not None
    return Statistics(
        total_cycles=result.total_cycles, instructions=result.counters["committed"],
        stall_cycles=sum(result.counters["stalls"].values()), misses=result.region.loads.misses,
    )


def patience(reference: Statistics) -> int:
    """Return the maximum number of cycles that a submission may take."""
    return _PATIENCE * reference.total_cycles
