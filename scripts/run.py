"""``metronome run``: one program on the simulated SM."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.file_proxy import FileProxy

from .backend import backend_of
from .compiling import CflagsOption, FunctionOption, NoSimtOption, compiling
from .dumps import Dump, DumpRequest, parse_dumps
from .errors import UsageError
from .loads import parse_loads
from .machine import DEFAULT_PRESET, ConfigOption, PresetOption, SetOption, ThreadsOption, WarpsOption, machine
from .options import JsonOption, json_target
from .outputs import STANDARD_OUTPUT, refuse_shared, waves, write_json
from .program import RegionOption, find_program
from .progress import show_progress
from .result import Outcome, print_outcome
from .run_options import (
    BankHashOption,
    CheckOption,
    LatencyOption,
    MaxCyclesOption,
    MemcheckOption,
    MemoryClockOption,
    MemoryOption,
    SeedOption,
    SizeOption,
    TimingOption,
    TypeOption,
    check_run_options,
    memory_latency,
    memory_options,
)
from .schemes import FetchOption, IssueOption, ModeOption, PredictionOption, check_scheme, coordinate

__all__ = ["print_console", "run"]


def _refuse_shared(target: Path | None, dumps: list[DumpRequest], inputs: dict[str, Path]) -> None:
    """Refuse an output that is an input or another output; the table or the JSON is on standard output in any case."""
    outputs = [] if target is None else [("--json", target)]
    outputs += [(f"--dump {request.text}", request.file) for request in dumps]
    refuse_shared([*outputs, *waves()], [STANDARD_OUTPUT, *inputs.items()])


def run(
    ctx: typer.Context,
    kernel: Annotated[
        str | None,
        typer.Argument(
            metavar="KERNEL", help="A kernel of `metronome kernels`, your folder, .c, .cl, .elf or .vxbin file.",
        ),
    ] = None,
    function: FunctionOption = None,
    elf: Annotated[str | None, typer.Option(metavar="FILE", help="A RISC-V ELF to run instead.")] = None,
    binary: Annotated[
        str | None, typer.Option("--bin", metavar="FILE", help="A raw image to run instead, at the start address.")
    ] = None,
    argument: Annotated[
        str | None, typer.Option("--arg", metavar="FILE", help="The argument block of a program that is no kernel.")
    ] = None,
    load: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDR=FILE", help="Place a file in memory, for a program that is no kernel. Repeatable.",
        ),
    ] = None,
    region: RegionOption = None,
    cflags: CflagsOption = None,
    no_simt: NoSimtOption = False,
    preset: PresetOption = DEFAULT_PRESET,
    warps: WarpsOption = None,
    threads: ThreadsOption = None,
    settings: SetOption = None,
    config_file: ConfigOption = None,
    mode: ModeOption = None,
    issue: IssueOption = None,
    fetch: FetchOption = None,
    prediction: PredictionOption = None,
    dtype: TypeOption = None,
    size: SizeOption = None,
    seed: SeedOption = 1,
    memory: MemoryOption = "fixed",
    latency: LatencyOption = None,
    timing: TimingOption = None,
    memory_clock: MemoryClockOption = None,
    bank_hash: BankHashOption = None,
    max_cycles: MaxCyclesOption = 10_000_000,
    check: CheckOption = False,
    memcheck: MemcheckOption = None,
    dump: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE=FILE",
            help="Write a piece of memory after the run: SYMBOL, SYMBOL:BYTES or ADDR:BYTES. Repeatable.",
        ),
    ] = None,
    per_warp: Annotated[bool, typer.Option("--per-warp", help="Also a table of every warp's cycles.")] = False,
    json_file: JsonOption = None,
) -> int:
    """Run a program on the simulated SM, check its result, report cycles and where they went."""
    memory, dtype = check_run_options(memory=memory, dtype=dtype, size=size, seed=seed, max_cycles=max_cycles)
    cycles = memory_latency(memory, latency)
    options = memory_options(memory, timing, memory_clock, bank_hash)
    asked = machine(preset, warps, threads, settings, config_file)
    scheme = check_scheme(asked.config, mode=mode, fetch=fetch, issue=issue, prediction=prediction)
    config = coordinate(asked.config, scheme)
    if check and not config.probe:
        raise UsageError("--check compares what the probe shows: leave out --set probe=false")
    how = compiling(cflags, function, no_simt)
    program = find_program(kernel, elf, binary)
    target = json_target(json_file)
    dump_requests = parse_dumps(dump or [])
    loads = parse_loads(load or [])
    inputs = {"--arg": argument, "--config": config_file, **{f"--load {each.text}": str(each.file) for each in loads}}
    _refuse_shared(target, dump_requests, program.files | {
        option: Path(name).expanduser() for option, name in inputs.items() if name
    })

    backend = backend_of(ctx)
    launch = program.prepare(backend, config, dtype=dtype, size=size, seed=seed, argument=argument, compiling=how)
    launch = program.with_region(program.with_loads(launch, loads), region, config)
    symbols = {**launch.image.symbols, **{name: (place, len(data)) for name, (place, data) in launch.buffers.items()}}
    dumps = [request.resolve(symbols, config.memory_map, launch.buffers) for request in dump_requests]
    from metronome.sim.runner_types import RunRequest

    request = RunRequest(
        launch=launch, policy=scheme.issue, fetch_policy=scheme.fetch, memory=memory, latency=cycles, seed=seed,
        memory_options=options, check=check, memcheck=check if memcheck is None else memcheck,
        max_cycles=max_cycles,
    )
    with show_progress() as progress:
        result = backend.run(config, request, progress, print_console)
    outcome = Outcome(machine=asked, config=config, launch=launch, request=request, result=result)
    return _finish(outcome, dumps, json_file is not None, target, per_warp)


def print_console(line: str) -> None:
    """A line of the program, its newline included, on standard error: its bytes as they are.

    The progress display lets only text pass: on a terminal a byte that is not UTF-8 is a replacement character.
    """
    data = line.encode("utf-8", "surrogateescape")
    if isinstance(sys.stderr, FileProxy):
        sys.stderr.write(data.decode("utf-8", "replace"))
    else:
        sys.stderr.flush()
        sys.stderr.buffer.write(data)
    sys.stderr.flush()


def _finish(outcome: Outcome, dumps: list[Dump], as_json: bool, target: Path | None, per_warp: bool) -> int:
    """Write what was asked for, whatever the outcome: a dump is most wanted after a fault."""
    for dump in dumps:
        dump.write(outcome.result.memory)
    if as_json:
        write_json(target, outcome.as_json())
    print_outcome(outcome, table=not as_json or target is not None, per_warp=per_warp)
    return outcome.exit_status
