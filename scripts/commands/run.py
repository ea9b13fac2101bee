"""``metronome run``: one program on the simulated SM."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from metronome.sim.show.trace.formats import WAVEFORMS

from ..options.common import JsonOption
from ..options.compiling import CflagsOption, FunctionOption, NoSimtOption
from ..options.machine import DEFAULT_PRESET, ConfigOption, PresetOption, SetOption, ThreadsOption, WarpsOption
from ..options.program import RegionOption, long_start
from ..options.running import (
    BankHashOption,
    CheckOption,
    LatencyOption,
    MaxCyclesOption,
    MemcheckOption,
    MemoryClockOption,
    MemoryOption,
    SeedOption,
    SizeOption,
    StrictRacesOption,
    TimingOption,
    TypeOption,
)
from ..options.schemes import FetchOption, IssueOption, ModeOption, PredictionOption
from ..output.profiling import Counted, ProfileOption
from ..process.backend import backend_of
from ..process.errors import UsageError
from ..process.progress import show_progress, write_bytes
from .asking import asked_run
from .tracing import FormatOption, TraceFile, TraceOption, about, trace_files, traced
from .waving import check_waveforms, waved

__all__ = ["print_console", "run", "run_traced"]


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
    strict_races: StrictRacesOption = False,
    dump: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE=FILE",
            help="Write a piece of memory after the run: SYMBOL, SYMBOL:BYTES or ADDR:BYTES. Repeatable.",
        ),
    ] = None,
    per_warp: Annotated[bool, typer.Option("--per-warp", help="Also a table of every warp's cycles.")] = False,
    profile: ProfileOption = False,
    trace: TraceOption = None,
    trace_format: FormatOption = None,
    json_file: JsonOption = None,
) -> int:
    """Run a program on the simulated SM, check its result, report cycles and where they went."""
    return run_traced(ctx, locals(), trace_files(trace, "--trace", trace_format), "--trace")


def run_traced(
    ctx: typer.Context, given: Mapping[str, Any], traces: Sequence[TraceFile], option: str,
    window: tuple[int | None, int | None] = (None, None),
) -> int:
    """Run what is ``given`` for the parameters of ``metronome run``; every cycle goes to the files ``traces``.

    ``option``: what names those files; ``window``: the first and the last cycle of a waveform. Returns the exit status.
    """
    waveforms = [file for file in traces if file.kind in WAVEFORMS]
    check_waveforms(waveforms, *window)
    asked = asked_run(
        ctx, given, [(option, file.path) for file in traces],
        before=lambda config: backend_of(ctx).require_tools([config], waves=bool(waveforms)),
    )
    seen = [file for file in traces if file not in waveforms]
    if (seen or given["profile"]) and not asked.config.probe:
        named = option if seen else "--profile"
        raise UsageError(f"{named} shows what the probe sees: leave out --set probe=false")
    note = long_start(asked.launch, asked.config.threads)
    if note is not None:
        print(f"metronome: note: {note}", file=sys.stderr, flush=True)
    counted = Counted(asked.config, asked.launch.image) if given["profile"] else None
    sinks = [] if counted is None else [counted.profile]
    with (
        show_progress() as progress, traced(seen, asked.config, about(asked), sinks) as watcher,
        waved(waveforms, asked.config, *window) as waves,
    ):
        request = dataclasses.replace(asked.request, waves=waves)
        result = backend_of(ctx).run(asked.config, request, progress, print_console, watcher)
    status = asked.finish(result, profiled=counted)
    if waves is not None and waves.first is not None and waves.first >= result.total_cycles:
        print(f"metronome: the waveform is empty: the run has only {result.total_cycles} cycles", file=sys.stderr)
    return status


def print_console(line: str) -> None:
    """A line of the program, its newline included, on standard error: its bytes as they are."""
    write_bytes(line.encode("utf-8", "surrogateescape"))
