"""The request of ``metronome run`` and ``metronome predict``: one program on one machine."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metronome.sim.machine.engines import Engine
from metronome.sim.machine.user_paths import user_path

from ..options.common import json_target
from ..options.compiling import compiling_of, print_warnings
from ..options.dumps import Dump, DumpRequest, parse_dumps
from ..options.gpu import GpuOptions, asked_gpu
from ..options.loads import Load, parse_loads
from ..options.machine import Machine, MachineOptions, machine_of
from ..options.program import Program, ProgramOptions, find_program
from ..options.running import (
    CheckOption,
    InputOptions,
    MemoryOptions,
    check_run_options,
    memory_latency,
    memory_options,
)
from ..options.schemes import SchemeOptions, check_scheme, coordinate
from ..output.outputs import STANDARD_OUTPUT, refuse_shared, waves, write_json
from ..output.profiling import Counted, ProfileOption, print_profile
from ..process.backend import backend_of
from ..process.errors import UsageError
from ..process.progress import Report
from .gpu import GpuOutcome, of_program, refuse_with_sms, separation_note
from .result import Outcome, print_outcome
from .wcet_lines import refusal

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig
    from metronome.hdl.gpu.config import GpuConfig
    from metronome.sim.analysis.access_order.records import Listing
    from metronome.sim.program.kernels import Launch
    from metronome.sim.run.types import RunRequest, RunResult

__all__ = ["MAX_CYCLES", "AskedRun", "RunOptions", "ShownOptions", "SubjectOptions", "WatchOptions", "asked_run"]

#: The default of --max-cycles.
MAX_CYCLES = 10_000_000


@dataclass(frozen=True, kw_only=True)
class SubjectOptions:
    """One program on one machine."""

    program: ProgramOptions
    machine: MachineOptions
    scheme: SchemeOptions
    inputs: InputOptions
    memory: MemoryOptions


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """Checks of a run on the hardware."""

    check: CheckOption = False
    memcheck: Annotated[
        bool | None,
        typer.Option(
            "--memcheck/--no-memcheck", help="Check every memory access (docs/memcheck.md); the default with --check.",
        ),
    ] = None
    strict_races: Annotated[
        bool,
        typer.Option(
            "--strict-races", help="Report warps that store the same value to a word as errors, not notes.",
        ),
    ] = False

    def checks_memory(self, *, several_sms: bool) -> bool:
        """Return whether every access to memory is checked. Programs for several SMs may race on purpose.

        Raises
        ------
        UsageError
            For --strict-races without the checker.
        """
        if self.memcheck is not None:
            checks = self.memcheck
        else:
            checks = self.check and (self.strict_races or not several_sms)
        if self.strict_races and not checks:
            raise UsageError("--strict-races is for the memory checker: add --memcheck")
        return checks


@dataclass(frozen=True, kw_only=True)
class ShownOptions:
    """Outputs of a run besides its counters."""

    dump: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE=FILE",
            help="Write a piece of memory after the run: SYMBOL, SYMBOL:BYTES or ADDR:BYTES. Repeatable.",
        ),
    ] = None
    per_warp: Annotated[bool, typer.Option("--per-warp", help="Also print the cycles of each warp.")] = False
    profile: ProfileOption = False


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run; those that a subcommand does not offer have their defaults."""

    subject: SubjectOptions
    json_file: str | None
    max_cycles: int = MAX_CYCLES
    watch: WatchOptions = WatchOptions()
    shown: ShownOptions = ShownOptions()
    #: None for a command that knows only one SM.
    gpu: GpuOptions | None = None


@dataclass(frozen=True, kw_only=True)
class AskedRun:
    """A run, ready to start, and the handling of its result."""

    machine: Machine
    config: SmConfig
    launch: Launch
    request: RunRequest
    dumps: Sequence[Dump]
    as_json: bool
    target: Path | None
    per_warp: bool
    #: The source of the program's access list, with ordered channels.
    listing: Listing | None = None
    #: The GPU of several SMs; ``config`` is then its SM 0.
    gpu: GpuConfig | None = None

    def outcome(self, result: RunResult, engine: Engine = Engine.RTL) -> Outcome:
        """Return the result together with the request."""
        kind = Outcome if self.gpu is None else functools.partial(GpuOutcome, gpu=self.gpu)
        return kind(
            machine=self.machine, config=self.config, launch=self.launch, request=self.request, result=result,
            engine=engine, dumped=[(dump.address, dump.size) for dump in self.dumps],
        )

    def finish(
        self, result: RunResult, more: Mapping[str, Any] | None = None, *, engine: Engine = Engine.RTL,
        finishes: Sequence[int | None] | None = None, profiled: Counted | None = None,
    ) -> int:
        """Write the requested files whatever the outcome: a dump is most useful after a fault.

        ``more`` is added to the JSON; ``finishes`` is for the table (:func:`scripts.commands.result.print_outcome`);
        ``profiled`` is shown in both.

        Returns the exit status.
        """
        outcome = self.outcome(result, engine)
        for dump in self.dumps:
            dump.write(result.memory)
        summary = None if profiled is None else profiled.summary()
        told = {} if summary is None else {"profile": summary.as_json()}
        if self.as_json:
            write_json(self.target, outcome.as_json() | dict(more or {}) | told)
        print_outcome(
            outcome, table=not self.as_json or self.target is not None, per_warp=self.per_warp, finishes=finishes
        )
        if summary is not None and (not self.as_json or self.target is not None):
            print_profile(summary)
        return outcome.exit_status


def asked_run(
    ctx: typer.Context | None, options: RunOptions, outputs: Sequence[tuple[str, Path]] = (), *, with_list: bool = True,
    before: Callable[[SmConfig], None] = lambda config: None, machine: Machine | None = None,
    warn: Report = print_warnings, of_gpu: Callable[[GpuConfig], None] | None = None,
) -> AskedRun:
    """Check the options, and prepare the program.

    ``outputs``: further output files, by their option. ``with_list``: with ordered channels the program gets its list
    of accesses. ``before``: called with the machine before anything is compiled. ``machine`` replaces the one of the
    options. ``warn``: called with the compiler's warnings, and notes. ``of_gpu``: called with the GPU of several SMs,
    and checks the outputs; without it, these are for one SM.

    Raises
    ------
    UsageError
        For anything that cannot be run.
    """
    subject, watch = options.subject, options.watch
    inputs, named = subject.inputs, subject.program
    memory, dtype = check_run_options(inputs, subject.memory, options.max_cycles)
    cycles = memory_latency(memory, subject.memory.latency)
    of_memory = memory_options(memory, subject.memory)
    asked = machine or machine_of(
        subject.machine, of_gpu=options.gpu is not None, sms=None if options.gpu is None else options.gpu.sms)
    scheme = check_scheme(asked, subject.scheme)
    config = coordinate(asked.config, scheme)
    gpu = None if options.gpu is None else asked_gpu(asked, config, options.gpu)
    if gpu is not None:
        config = gpu.sm_of(0)
    if watch.check and not config.probe:
        raise UsageError("--check needs the probe: leave out --set probe=false")
    memcheck = watch.checks_memory(several_sms=gpu is not None)
    how = compiling_of(named).for_gpu(gpu)
    program = find_program(named.kernel, named.elf, named.binary)
    files = _Files.of(options, program)
    # The table or the JSON is always on standard output.
    refuse_shared([*files.written, *outputs, *waves()], [STANDARD_OUTPUT, *files.read])

    if gpu is None:
        before(config)
    else:
        if of_gpu is not None:
            of_gpu(gpu)
        refused = [option for option, _ in outputs if of_gpu is None]
        refuse_with_sms(gpu, dict.fromkeys(refused, True) | {
            "--per-warp": options.shown.per_warp, "--profile": options.shown.profile and of_gpu is None,
        })
    launch = program.prepare(
        backend_of(ctx), config, dtype=dtype, size=inputs.size, seed=inputs.seed, argument=named.argument,
        compiling=how, warn=warn,
    )
    launch, config = program.with_memory(launch, asked, config)
    if gpu is not None:
        gpu = of_program(gpu, launch, config.memory_map)
        if (note := separation_note(gpu, memory)) is not None:
            warn(note)
    launch = program.with_region(program.with_loads(launch, files.loads), named.region, config)
    symbols = {**launch.image.symbols, **{name: (place, len(data)) for name, (place, data) in launch.buffers.items()}}
    dumps = [request.resolve(symbols, config.memory_map, launch.buffers) for request in files.dumps]
    from metronome.sim.run.types import RunRequest

    # Programs for several SMs may race on purpose: there --check alone does not turn it on.
    request = RunRequest(
        launch=launch, policy=scheme.issue, fetch_policy=scheme.fetch, memory=memory, latency=cycles,
        seed=inputs.seed, memory_options=of_memory, check=watch.check,
        memcheck=memcheck, strict_races=watch.strict_races, max_cycles=options.max_cycles,
    )
    listing = None
    if config.ordered and with_list:
        launch, listing = _ordered(config, request, launch)
        request = dataclasses.replace(request, launch=launch)
    return AskedRun(
        machine=asked, config=config, launch=launch, request=request, dumps=dumps,
        as_json=options.json_file is not None, target=files.target, per_warp=options.shown.per_warp, listing=listing,
        gpu=gpu,
    )


@dataclass(frozen=True, kw_only=True)
class _Files:
    """The files that a command line reads and writes, by their option."""

    target: Path | None
    dumps: Sequence[DumpRequest]
    loads: Sequence[Load]
    read: Sequence[tuple[str, Path]]
    written: Sequence[tuple[str, Path]]

    @classmethod
    def of(cls, options: RunOptions, program: Program) -> _Files:
        """Return the files of the options after checking them."""
        named = options.subject.program
        target = json_target(options.json_file)
        dumps, loads = parse_dumps(options.shown.dump or []), parse_loads(named.load or [])
        inputs = {
            "--arg": named.argument, "--config": options.subject.machine.config_file,
            **{f"--load {each.text}": str(each.file) for each in loads},
        }
        read = program.files | {option: user_path(name) for option, name in inputs.items() if name}
        written = [] if target is None else [("--json", target)]
        written += [(f"--dump {request.text}", request.file) for request in dumps]
        return cls(target=target, dumps=dumps, loads=loads, read=list(read.items()), written=written)


def _ordered(config: SmConfig, request: RunRequest, launch: Launch) -> tuple[Launch, Listing | None]:
    """Return ``launch`` (of ``request``) with its list of accesses, and the listing from which the list is made.

    Raises
    ------
    UsageError
        If there is no list, or no place for it.
    """
    from metronome.sim.analysis.access_order.ordered import ordered_launch
    from metronome.sim.analysis.code.refusals import RefusedError
    from metronome.sim.program.elf import ImageError

    try:
        return ordered_launch(config, request, launch)
    except RefusedError as error:
        raise UsageError(
            f"{launch.name}: channels=ordered needs a list of its accesses, and there is none:"
            f" {refusal(launch.image, error)}"
        ) from None
    except ImageError as error:
        raise UsageError(str(error)) from None
