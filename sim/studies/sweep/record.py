"""One run of an experiment: everything that determines its result, as plain data that another process can receive."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.hdl.gpu.config import GpuConfig

from ...analysis.access_order.ordered import ordered_launch
from ...analysis.access_order.records import Listing
from ...analysis.code.refusals import RefusedError
from ...build.origin import note_program
from ...build.verilating import versions
from ...build.verilog import Design, model_digest, outside, sources_digest
from ...machine.engines import Engine
from ...machine.gpu_settings import gpu_changes, gpu_values
from ...machine.memory.registry import MemoryOptions
from ...machine.policies.files import require_same
from ...machine.policies.hardware import require_hardware
from ...program.compiler.options import AS_USUAL, Compiling
from ...program.elf import ImageError
from ...program.kernels import KernelError, Launch, prepare
from ...run.outcome import described
from ...run.types import RunRequest

__all__ = ["Run"]

#: Options that appear in a title only if they do not have the usual value.
_OPTIONS = ("cflags", "function", "no_simt", "soft_float", "hints", "seed", "latency", "timing", "memory_clock",
            "bank_hash", "max_cycles", "check", "memcheck", "engine", "forecast", "progress")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """A kernel with its inputs, a machine with its front end, a memory.

    ``config`` may have more policies than ``issue`` (and ``fetch``): runs that differ only in these share a build.
    The other fields are options of ``metronome run``.
    """

    kernel: str
    config: SmConfig
    issue: str
    #: The GPU of several SMs, whose SM 0 is ``config``; None for one SM.
    gpu: GpuConfig | None = None
    #: The kernel's path, relative to the command's working folder; None: ``kernel`` identifies it.
    place: str | None = None
    compiling: Compiling = AS_USUAL
    dtype: str | None = None
    size: int | None = None
    seed: int = 1
    preset: str = "BASE"
    file: str | None = None
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fetch: str | None = None
    memory: str = "fixed"
    latency: int = 20
    memory_options: MemoryOptions = dataclasses.field(default_factory=MemoryOptions)
    max_cycles: int = 10_000_000
    check: bool = False
    memcheck: bool = False
    engine: Engine = Engine.RTL
    #: Whether the run's schedule is forecast (:mod:`sim.predict.forecast`) and compared.
    forecast: bool = False
    #: Whether the row has the progress of each warp over time (:mod:`sim.studies.sweep.progress`).
    progress: bool = False
    #: Policies from files, by name: the path of each, for another process (:func:`.policies.files.require_same`).
    policy_files: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def sms(self) -> int:
        """The number of SMs."""
        return 1 if self.gpu is None else self.gpu.sms

    @property
    def hardware(self) -> SmConfig | GpuConfig:
        """The configuration of the simulated machine."""
        return self.config if self.gpu is None else self.gpu

    def prepare(self) -> Launch:
        """Build the kernel and return it with its inputs; raises as :meth:`with_listing`."""
        return self.with_listing()[0]

    def with_listing(self) -> tuple[Launch, Listing | None]:
        """Build the kernel; return it with its inputs and, with ordered channels, the source of its list of accesses.

        Raises
        ------
        KernelError, ToolchainError
            As :func:`sim.program.kernels.prepare`. With ordered channels also KernelError if there is no list of
            accesses.
        """
        launch = prepare(
            self.place or self.kernel, self.dtype, self.size, self.seed, self.config, self.compiling,
            warn=lambda text: None,
        )
        try:
            return ordered_launch(self.config, self.request(launch), launch)
        except (RefusedError, ImageError) as error:
            raise KernelError(f"{self.kernel}: channels=ordered needs a list of its accesses: {error}") from None

    def request(self, launch: Launch | None) -> RunRequest:
        """Return the request for the simulation; without a launch, it can only be described."""
        return RunRequest(
            launch=launch,  # type: ignore[arg-type]  # None is never run, only described
            policy=self.issue, fetch_policy=self.fetch, memory=self.memory,
            latency=self.latency, seed=self.seed, memory_options=self.memory_options, check=self.check,
            memcheck=self.memcheck, max_cycles=self.max_cycles, trace=self.forecast,
        )

    @functools.cached_property
    def described(self) -> dict[str, Any]:
        """Return ``config`` of the JSON of ``metronome run``, and the settings that only a sweep has."""
        asked = self.config, self.request(None), self.compiling, self.dtype, self.size, self.engine
        of_gpu = {} if self.gpu is None else gpu_values(self.gpu)
        return {"forecast": self.forecast, "progress": self.progress} | described(self, *asked) | of_gpu

    @functools.cached_property
    def title(self) -> str:
        """The title: ``psort int32 1024, BASE, baseline lrr-gtlrr not_taken, dram``, and any unusual options."""
        pair = self.issue if self.fetch is None else f"{self.fetch}-{self.issue}"
        of_gpu = {} if self.gpu is None else gpu_changes(self.gpu)
        settings = [f"{name}={value}" for name, value in (*self.settings.items(), *of_gpu.items())]
        machine = ", ".join([self.preset, *([self.file] if self.file else []), *settings])
        what = " ".join(str(part) for part in (self.kernel, self.dtype, self.size) if part is not None)
        usual = Run(kernel="", config=self.config, issue="", memory=self.memory).described
        options = [
            name if value is True else f"{name}={value}" for name, value in self.described.items()
            if name in _OPTIONS and name != "policy_files" and value is not None and value != usual[name]
        ]
        return ", ".join([
            what, machine, f"{self.config.coordination} {pair} {self.config.prediction}", self.memory, *options,
        ])

    def key(self) -> str:
        """A key that two runs share if and only if they must give the same result.

        It changes with the kernel, its inputs, its check, the tools, and the sources of the hardware and of everything
        else that runs it; for predicted or forecast runs also with the sources of the model. Policies in a build that
        only other runs use do not count.
        """
        # The name of a policy from a file identifies the file's content, wherever the file is.
        left_out = ("policies", "fetch_policies", "policy_files")
        asked = {name: value for name, value in self.described.items() if name not in left_out}
        launch = self.prepare()
        name = " ".join(filter(None, (launch.name, self.dtype)))
        note_program(name, launch.image.loaded)
        what = [self.kernel, asked, _content(launch), versions()]
        sources = [sources_digest()] + [model_digest()] * (self.forecast or self.engine is Engine.PREDICT)
        if outside(self.config):
            sources.append(Design(self.config).digest())
        return hashlib.sha256(json.dumps([what, *sources], sort_keys=True).encode()).hexdigest()[:24]

    def load_policies(self) -> None:
        """Load the policies that come from files, in another process. Raises PolicyFileError."""
        require_same(self.policy_files)

    def refuse(self) -> None:
        """Raise CannotPredictError or PolicyFileError for a run that its engine cannot execute."""
        if self.engine is Engine.PREDICT:
            from ...predict.predictor import refuse

            refuse(self.config, self.issue, check=self.check or self.memcheck)
            return
        require_hardware(self.config)


def _content(launch: Launch) -> str:
    """The initial content of memory, and the code that makes the inputs and checks the result."""
    host = [(path.name, path.read_bytes()) for path in launch.host_files()]
    memory = [launch.image.loaded, launch.entry, launch.arguments, sorted(launch.buffers.items())]
    what = [*memory, sorted(launch.loads.items()), host]
    return hashlib.sha256(repr(what).encode()).hexdigest()
