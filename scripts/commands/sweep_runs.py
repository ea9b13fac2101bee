"""The runs that ``metronome sweep`` makes for a kernel."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from metronome.sim.machine.engines import Engine
from metronome.sim.program.compiler.options import Compiling

from ..options.common import listed
from ..options.compiling import CflagsOption, FunctionOption, HintsOption, NoSimtOption, SoftFloatOption, compiling_of
from ..options.gpu import GpuOptions, SweepGpuOptions, asked_gpu
from ..options.machine import Machine, SweepMachineOptions, axes, machines
from ..options.program import Program, find_program
from ..options.running import (
    CheckOption,
    EngineOption,
    InputOptions,
    MaxCyclesOption,
    MemoryOptions,
    check_run_options,
    engine_of,
    memory_latency,
    memory_options,
)
from ..options.schemes import POLICY_NAMES, Scheme, coordinate, listed_policies, require_effects, schemes
from ..output.outputs import refuse_inputs, waves
from ..process.errors import UsageError

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig
    from metronome.hdl.gpu.config import GpuConfig
    from metronome.sim.run.types import RunRequest

__all__ = ["KernelRun", "KernelRuns", "SweepOptions"]


@dataclass(frozen=True, kw_only=True)
class SweepSchemeOptions:
    """The front ends to compare."""

    mode: Annotated[
        str | None, typer.Option(metavar="MODES", help="swas, baseline, vortex; with commas. Default: baseline,swas.")
    ] = None
    issue: Annotated[
        str | None,
        typer.Option(
            "--issue", "--policy", metavar="POLICIES",
            help=f"Warp policies, with commas: {POLICY_NAMES}; or FILE.py:CLASS.",
        ),
    ] = None
    fetch: Annotated[
        str | None,
        typer.Option(metavar="POLICIES", help="Fetch policies of baseline and vortex; default: lrr, and fixed."),
    ] = None
    prediction: Annotated[
        str | None, typer.Option(metavar="NAMES", help="btfn (default), not_taken, private; with commas.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class EachOptions:
    """Settings of each run."""

    max_cycles: MaxCyclesOption = 10_000_000
    function: FunctionOption = None
    cflags: CflagsOption = None
    no_simt: NoSimtOption = False
    soft_float: SoftFloatOption = False
    hints: HintsOption = False
    check: CheckOption = False
    engine: EngineOption = None
    schedulers: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Numbers of schedulers: of 1, 2, 4; with commas.")
    ] = None
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Compare each run with its forecast (docs/predict.md).")
    ] = False


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """The runs of one kernel."""

    machine: SweepMachineOptions
    gpu: SweepGpuOptions
    scheme: SweepSchemeOptions
    inputs: InputOptions
    memory: MemoryOptions
    each: EachOptions


class KernelRun(NamedTuple):
    """One run: its machine, front end and configuration, and the GPU of several SMs (``config``: its SM 0)."""

    machine: Machine
    scheme: Scheme
    config: SmConfig
    gpu: GpuConfig | None

    def compiled(self, how: Compiling) -> Compiling:
        """Return how its program is compiled."""
        return how.for_gpu(self.gpu)


@dataclass(frozen=True, kw_only=True)
class KernelRuns:
    """Runs of one program, and their common settings."""

    program: Program
    runs: Sequence[KernelRun]
    #: The fields of the machine that are varied.
    varied: Sequence[str]
    compiled: Compiling
    dtype: str | None
    size: int | None
    engine: Engine
    #: The request of each run, without its program and policies.
    common: RunRequest

    @classmethod
    def of(cls, kernel: str, options: SweepOptions, target: Path | None) -> KernelRuns:
        """Return the runs that the options describe. ``target``: the file of --json.

        Raises
        ------
        UsageError
            For anything that cannot be run.
        """
        each, inputs = options.each, options.inputs
        memory, dtype = check_run_options(inputs, options.memory, each.max_cycles)
        cycles = memory_latency(memory, options.memory.latency)
        of_memory = memory_options(memory, options.memory)
        of_machine = options.machine
        if each.schedulers is not None:
            settings = [*(of_machine.settings or ()), f"schedulers={each.schedulers}"]
            of_machine = dataclasses.replace(of_machine, settings=settings)
        numbers = options.gpu.numbers()
        varied, engine = axes(of_machine.settings), engine_of(each.engine)
        made = machines(of_machine, of_gpu=True, sms=max(numbers, default=None))
        varied += ["sms"] * (len(numbers) > 1)
        asked = [(machine, _schemes(machine, varied, options.scheme, engine)) for machine in made]
        if each.forecast:
            _check_forecast([machine.config for machine, _ in asked], engine)
        runs = [_run(machine, scheme, alike, options.gpu, number)
                for machine, alike in asked for number in numbers or (None,) for scheme in alike]
        if each.forecast and any(run.gpu for run in runs):
            raise UsageError("--forecast is for one SM: leave it out with several")
        # A field that is varied may have an effect in some runs only.
        require_effects(asked[0][0], [run.config for run in runs])
        compiled = compiling_of(each)
        program = find_program(kernel)
        refuse_inputs(target, {"--config": options.machine.config_file, **program.files}, waves())
        from metronome.sim.run.types import RunRequest

        common: Any = RunRequest(
            launch=_NONE, policy="", memory=memory, latency=cycles, seed=inputs.seed, memory_options=of_memory,
            check=each.check, memcheck=each.check, max_cycles=each.max_cycles, trace=each.forecast,
        )
        return cls(
            program=program, varied=varied, compiled=compiled, dtype=dtype, size=inputs.size, engine=engine,
            common=common, runs=runs,
        )

    def request(self, launch: Any, run: KernelRun) -> RunRequest:
        """Return the request of one run."""
        # As of metronome run: with several SMs --check does not turn the memory checker on.
        memcheck = self.common.memcheck and run.gpu is None
        return dataclasses.replace(
            self.common, launch=launch, policy=run.scheme.issue, fetch_policy=run.scheme.fetch, memcheck=memcheck)


#: Placeholder until a program is prepared.
_NONE: Any = None


def _schemes(machine: Machine, varied: Sequence[str], asked: SweepSchemeOptions, engine: Engine) -> list[Scheme]:
    """Return the front ends to compare on one machine.

    Without lists these are the paper's two, if the engine supports both, with the machine's policies. If fields are
    varied, they are the machine's coordination and its first policy. Fields that the user has set are used as set.
    """
    config = machine.config
    both = ["baseline", "swas"] if engine is Engine.RTL else ["swas"]
    own = [config.coordination.value] if varied or machine.names("coordination") else both
    policies = list(config.policies[:1] if varied and not machine.names("policies") else config.policies)
    return list(schemes(
        config, own if asked.mode is None else listed("--mode", asked.mode),
        [] if asked.fetch is None else listed_policies("--fetch", asked.fetch),
        policies if asked.issue is None else listed_policies("--issue", asked.issue),
        [config.prediction.value] if asked.prediction is None else listed("--prediction", asked.prediction),
    ))


def _run(
    machine: Machine, scheme: Scheme, alike: Sequence[Scheme], options: SweepGpuOptions, sms: int | None
) -> KernelRun:
    """Return one run; ``sms`` of --sms, None without this option."""
    config = coordinate(machine.config, scheme, alike)
    if sms is not None:
        machine = dataclasses.replace(machine, settings={**machine.settings, "sms": str(sms)})
    gpu = asked_gpu(machine, config, GpuOptions(**vars(options)) if sms is None else options.of(sms))
    return KernelRun(machine, scheme, config if gpu is None else gpu.sm_of(0), gpu)


def _check_forecast(configs: Sequence[SmConfig], engine: Engine) -> None:
    """Raise UsageError if there is no hardware run or no probe to compare a forecast with."""
    if engine is not Engine.RTL:
        raise UsageError("--forecast needs a run on the hardware: leave out --engine")
    if not all(config.probe for config in configs):
        raise UsageError("--forecast needs the probe: leave out --set probe=false")
