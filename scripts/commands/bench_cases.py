"""The measurements of ``metronome bench``: the request, and its programs."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metronome.sim.machine.engines import Engine
from metronome.sim.machine.memory.names import DRAM_MODELS

from ..options.machine import Machine
from ..process.backend import Backend
from ..process.errors import Exit
from .result import Outcome

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig
    from metronome.sim.program.kernels import Launch
    from metronome.sim.run.types import RunRequest, RunResult

__all__ = ["SIZES", "Asked", "Case", "Kind", "RunFailed", "prepare_cases"]

#: Elements to sort, side of a matrix: enough cycles to make the start of the simulation negligible.
SIZES = {
    "psort": {"TINY": 256, "BASE": 512, "MID": 512, "PAPER": 1024, "ULX3S": 256},
    "sgemm": {"TINY": 16, "BASE": 24, "MID": 32, "PAPER": 64, "ULX3S": 16},
}


class Kind(enum.StrEnum):
    """The three kinds of measurement."""

    SIMULATION = enum.auto()
    PREDICTION = enum.auto()
    TRACE = enum.auto()


class RunFailed(Exception):
    """A run that did not pass, so its speed is meaningless."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.exit_status)
        self.outcome = outcome


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The measurement that the command line requests.

    ``machines`` are by preset. ``memories`` has the latency of each memory model: several for ``PREDICTION``, else one.
    """

    kind: Kind
    machines: Mapping[str, Machine]
    config_file: str | None
    kernel: str
    repeat: int
    memories: Mapping[str, int]
    cold: bool
    #: The units to synthesise, and the configuration for it by preset.
    units: Sequence[str] = ()
    chips: Mapping[str, SmConfig] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        """The size of the kernel by preset."""
        return {name: SIZES[self.kernel][name] for name in self.machines}

    def conditions(self) -> dict[str, Any]:
        """Return the JSON fields that describe the measurement. Figures are comparable only if these are equal."""
        memory, latency = next(iter(self.memories.items()))
        if self.kind is Kind.PREDICTION:
            memories: dict[str, Any] = {"memories": dict(self.memories)}
        else:
            memories = {"memory": memory, "latency": None if memory in DRAM_MODELS else latency}
        return {
            "measured": str(self.kind), "set": dict(next(iter(self.machines.values())).settings),
            "config_file": self.config_file, "kernel": self.kernel, "sizes": self.sizes, "repeat": self.repeat,
            **memories, "cold": self.cold, **self._of_units(),
        }

    def _of_units(self) -> dict[str, Any]:
        if not self.units:
            return {}
        from metronome.sim.fpga.synth import versions

        return {"synth": list(self.units), "tools": versions()}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One program on one machine with one memory."""

    machine: Machine
    launch: Launch
    request: RunRequest

    @property
    def name(self) -> str:
        """The preset."""
        return self.machine.preset

    def outcome(self, result: RunResult, engine: Engine = Engine.RTL) -> Outcome:
        """Return a finished run of this case."""
        return Outcome(machine=self.machine, config=self.machine.config, launch=self.launch, request=self.request,
                       result=result, engine=engine)

    def require_passed(self, result: RunResult) -> None:
        """Raise :class:`RunFailed` unless the run has passed."""
        outcome = self.outcome(result)
        if outcome.exit_status != Exit.PASSED:
            raise RunFailed(outcome)


def prepare_cases(backend: Backend, asked: Asked) -> list[Case]:
    """Prepare every run. Bad requests are refused here, before anything is measured."""
    from metronome.sim.run.types import RunRequest

    backend.require_tools([machine.config for machine in asked.machines.values()])
    cases = []
    for name, machine in asked.machines.items():
        config = machine.config
        launch = backend.prepare(asked.kernel, None, asked.sizes[name], 1, config)
        for memory, latency in asked.memories.items():
            request = RunRequest(
                launch=launch, policy=config.policies[0], memory=memory, latency=latency,
                fetch_policy=config.fetch_policies[0] if config.fetch_policies else None,
            )
            if asked.kind is Kind.PREDICTION:
                backend.refuse_prediction(config, request)
            cases.append(Case(machine=machine, launch=launch, request=request))
    return cases
