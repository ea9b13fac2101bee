"""``metronome sweep``: one kernel on many front ends, a table row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .backend import backend_of
from .errors import Exit
from .options import JsonOption, PresetOption, ThreadsOption, WarpsOption, configure, json_target, listed
from .outputs import write_json
from .progress import Report, show_progress
from .result import Outcome, memory_of, print_outcome
from .run_options import (
    BankHashOption,
    CheckOption,
    LatencyOption,
    MaxCyclesOption,
    MemoryClockOption,
    MemoryOption,
    SeedOption,
    SizeOption,
    TimingOption,
    check_run_options,
    memory_latency,
    memory_options,
)
from .schemes import Scheme, coordinate, schemes

__all__ = ["sweep"]


def _share(part: int | None, cycles: int | None) -> str:
    return "-" if part is None or not cycles else f"{100 * part / cycles:.2f} %"


def _table(outcomes: Sequence[Outcome]) -> Table:
    """A row a run, in 80 columns. IPC counts warp-instructions in a cycle; *rel.* is to the first that passed.

    NOPs, *discr.* (discrepancies) and errors are shares of the cycles.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("mode", "fetch", "issue", "prediction"):
        table.add_column(name, no_wrap=True)
    for name in ("cycles", "IPC", "rel.", "NOPs", "discr.", "errors"):
        table.add_column(name, no_wrap=True, justify="right")
    first: float | None = None
    for outcome in outcomes:
        cycles, counters, config = outcome.cycles, outcome.counters, outcome.config
        row = [config.coordination.value, outcome.request.fetch_policy or "-", outcome.request.policy,
               config.prediction.value]
        if outcome.exit_status != Exit.PASSED or cycles is None:
            table.add_row(*row, "no region" if outcome.exit_status == Exit.PASSED else outcome.exit_status.name.lower())
            continue
        ipc = counters["committed"] / cycles
        first = first or ipc
        table.add_row(
            *row, str(cycles), f"{ipc:.4f}", f"{ipc / first:.3f}", _share(counters["nops"], cycles),
            _share(counters["discrepancies"], cycles), _share(counters["errors"], cycles),
        )
    return table


def sweep(
    ctx: typer.Context,
    kernel: Annotated[str, typer.Argument(metavar="KERNEL", help="A kernel of `metronome kernels`.")],
    preset: PresetOption = "BASE",
    warps: WarpsOption = None,
    threads: ThreadsOption = None,
    mode: Annotated[str, typer.Option(metavar="MODES", help="swas, baseline, vortex; with commas.")] = "baseline,swas",
    issue: Annotated[str, typer.Option(metavar="POLICIES", help="Warp policies, with commas.")] = "lrr,gtlrr,gtlo",
    fetch: Annotated[
        str | None,
        typer.Option(metavar="POLICIES", help="Fetch policies of baseline and vortex; default: lrr, and fixed."),
    ] = None,
    prediction: Annotated[str, typer.Option(metavar="NAMES", help="btfn, not_taken; with commas.")] = "btfn",
    dtype: Annotated[str, typer.Option("--type", metavar="TYPE", help="int32 or float32.")] = "int32",
    size: SizeOption = None,
    seed: SeedOption = 1,
    memory: MemoryOption = "fixed",
    latency: LatencyOption = None,
    timing: TimingOption = None,
    memory_clock: MemoryClockOption = None,
    bank_hash: BankHashOption = None,
    max_cycles: MaxCyclesOption = 10_000_000,
    check: CheckOption = False,
    json_file: JsonOption = None,
) -> int:
    """Run a kernel on every combination of front end, policies and prediction; compare cycles, NOPs, errors."""
    check_run_options(memory=memory, dtype=dtype, size=size, seed=seed, max_cycles=max_cycles)
    cycles = memory_latency(memory, latency)
    options = memory_options(memory, timing, memory_clock, bank_hash)
    asked = list(schemes(
        listed("--mode", mode), [] if fetch is None else listed("--fetch", fetch), listed("--issue", issue),
        listed("--prediction", prediction),
    ))
    base = configure(preset, warps, threads)
    target = json_target(json_file)
    from metronome.sim.runner_types import RunRequest

    backend = backend_of(ctx)
    outcomes = []
    with show_progress() as progress:
        for scheme in asked:
            config = coordinate(base, scheme, asked)
            launch = backend.prepare(kernel, dtype, size, seed, config)
            request = RunRequest(
                launch=launch, policy=scheme.issue, fetch_policy=scheme.fetch, memory=memory, latency=cycles,
                seed=seed, memory_options=options, check=check, memcheck=check, max_cycles=max_cycles,
            )
            name = _title(scheme)
            result = backend.run(config, request, _named(name, progress), lambda line: None)
            outcomes.append(Outcome(preset=preset, config=config, launch=launch, request=request, result=result))
            print_outcome(outcomes[-1], table=False, name=name)
    # The table first: a file that cannot be written after all does not cost the results.
    if json_file is None or target is not None:
        console = Console()
        console.print(f"{kernel} on {preset} ({base.warps} warps x {base.threads} threads), size "
                      f"{outcomes[0].launch.size}, memory {memory_of(outcomes[0].request)}", highlight=False,
                      soft_wrap=True)
        console.print(_table(outcomes))
    if json_file is not None:
        write_json(target, {"kernel": kernel, "runs": [outcome.as_json() for outcome in outcomes]})
    return max(outcome.exit_status for outcome in outcomes)


def _named(name: str, progress: Report) -> Report:
    """Steps with the run's name before them."""
    return lambda step: progress(f"{name}: {step}")


def _title(scheme: Scheme) -> str:
    pair = scheme.issue if scheme.fetch is None else f"{scheme.fetch}-{scheme.issue}"
    return f"{scheme.mode} {pair} {scheme.prediction}"
