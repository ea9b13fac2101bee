"""``metronome run``: one program on the simulated SM."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metronome.hdl.config import SmConfig

from .backend import Backend, backend_of
from .dumps import Dump, DumpRequest, parse_dumps
from .errors import UsageError
from .options import (
    JsonOption,
    PresetOption,
    ThreadsOption,
    WarpsOption,
    configure,
    input_file,
    json_target,
)
from .outputs import STANDARD_OUTPUT, refuse_shared, write_json
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
    check_run_options,
    memory_latency,
    memory_options,
)
from .schemes import check_scheme, coordinate

if TYPE_CHECKING:
    from metronome.sim.kernel import Launch

__all__ = ["run"]


def _refuse_shared(target: Path | None, dumps: list[DumpRequest], inputs: dict[str, str | None]) -> None:
    """Refuse an output that is an input or another output; the table or the JSON is on standard output in any case."""
    outputs = [] if target is None else [("--json", target)]
    outputs += [(f"--dump {request.text}", request.file) for request in dumps]
    files = [(option, Path(name).expanduser()) for option, name in inputs.items() if name]
    refuse_shared(outputs, [STANDARD_OUTPUT, *files])


def _prepare(
    backend: Backend, config: SmConfig, kernel: str | None, elf: str | None, binary: str | None,
    argument: str | None, dtype: str | None, size: int | None, seed: int,
) -> Launch:
    """The program of the one of KERNEL, --elf and --bin that was given."""
    if sum(source is not None for source in (kernel, elf, binary)) != 1:
        raise UsageError("name one program: KERNEL, or --elf FILE, or --bin FILE (metronome kernels lists the kernels)")
    if kernel is not None:
        if argument is not None:
            raise UsageError("--arg is for --elf and --bin: a kernel brings its own arguments")
        return backend.prepare(kernel, dtype or "int32", size, seed, config)
    for option, value in (("--type", dtype), ("--size", size)):
        if value is not None:
            raise UsageError(f"{option} is for a kernel: --elf and --bin take their arguments from --arg FILE")
    block = None if argument is None else input_file("--arg", argument)
    if elf is not None:
        return backend.prepare_elf(input_file("--elf", elf), block, config)
    assert binary is not None, "one of the three was given"
    return backend.prepare_binary(input_file("--bin", binary), block, config)


def run(
    ctx: typer.Context,
    kernel: Annotated[str | None, typer.Argument(metavar="[KERNEL]", help="A kernel of `metronome kernels`.")] = None,
    elf: Annotated[str | None, typer.Option(metavar="FILE", help="A RISC-V ELF to run instead.")] = None,
    binary: Annotated[
        str | None, typer.Option("--bin", metavar="FILE", help="A raw image to run instead, at the start address.")
    ] = None,
    argument: Annotated[
        str | None, typer.Option("--arg", metavar="FILE", help="The argument block for --elf and --bin.")
    ] = None,
    preset: PresetOption = "BASE",
    warps: WarpsOption = None,
    threads: ThreadsOption = None,
    mode: Annotated[str, typer.Option(metavar="MODE", help="swas, baseline or vortex.")] = "swas",
    issue: Annotated[str, typer.Option(metavar="POLICY", help="The warp policy (docs/policies.md).")] = "lrr",
    fetch: Annotated[str | None, typer.Option(metavar="POLICY", help="For baseline (lrr) and vortex (fixed).")] = None,
    prediction: Annotated[str, typer.Option(metavar="NAME", help="btfn; not_taken as in Crouzet 2024.")] = "btfn",
    dtype: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="int32 or float32.")] = None,
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
        typer.Option(metavar="SYMBOL|ADDR:BYTES=FILE", help="Write a piece of memory after the run. Repeatable."),
    ] = None,
    per_warp: Annotated[bool, typer.Option("--per-warp", help="Also a table of every warp's cycles.")] = False,
    json_file: JsonOption = None,
) -> int:
    """Run a program on the simulated SM, check its result, report cycles and where they went."""
    scheme = check_scheme(mode, fetch, issue, prediction)
    check_run_options(memory=memory, dtype=dtype, size=size, seed=seed, max_cycles=max_cycles)
    cycles = memory_latency(memory, latency)
    options = memory_options(memory, timing, memory_clock, bank_hash)
    config = coordinate(configure(preset, warps, threads), scheme)
    target = json_target(json_file)
    dump_requests = parse_dumps(dump or [])
    _refuse_shared(target, dump_requests, {"--elf": elf, "--bin": binary, "--arg": argument})

    backend = backend_of(ctx)
    launch = _prepare(backend, config, kernel, elf, binary, argument, dtype, size, seed)
    symbols = {**launch.image.symbols, **{name: (place, len(data)) for name, (place, data) in launch.buffers.items()}}
    dumps = [request.resolve(symbols, config.memory_map) for request in dump_requests]
    from metronome.sim.runner_types import RunRequest

    request = RunRequest(
        launch=launch, policy=scheme.issue, fetch_policy=scheme.fetch, memory=memory, latency=cycles, seed=seed,
        memory_options=options, check=check, memcheck=check if memcheck is None else memcheck,
        max_cycles=max_cycles,
    )
    with show_progress() as progress:
        result = backend.run(config, request, progress, _print_console)
    outcome = Outcome(preset=preset, config=config, launch=launch, request=request, result=result)
    return _finish(outcome, dumps, json_file is not None, target, per_warp)


def _print_console(line: str) -> None:
    """A line of the program, its newline included, on standard error: the progress display lets it pass."""
    sys.stderr.write(line)
    sys.stderr.flush()


def _finish(outcome: Outcome, dumps: list[Dump], as_json: bool, target: Path | None, per_warp: bool) -> int:
    """Write what was asked for, whatever the outcome: a dump is most wanted after a fault."""
    for dump in dumps:
        dump.write(outcome.result.memory)
    if as_json:
        write_json(target, outcome.as_json())
    print_outcome(outcome, table=not as_json or target is not None, per_warp=per_warp)
    return outcome.exit_status
