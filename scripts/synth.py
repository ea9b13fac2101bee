"""``metronome synth``: area, clock rate and critical path of one unit on an FPGA."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from hdl.config import Coordination, SmConfig
from hdl.policies import POLICIES

from .errors import Exit, UsageError
from .options import JsonOption, PresetOption, ThreadsOption, WarpsOption, choose, configure, json_target, positive
from .outputs import STDOUT, write_json
from .progress import show_progress

if TYPE_CHECKING:
    from sim.synth import Options, SynthResult

__all__ = ["synth"]

#: nextpnr reads the seed as a signed number of 32 bits.
_MAX_SEED = 2**31 - 1


def synth(
    unit: Annotated[str, typer.Option(metavar="NAME", help="frontend, select_loop, scheduler, buffers, ..., sm.")],
    preset: PresetOption = "MID",
    warps: WarpsOption = None,
    threads: ThreadsOption = None,
    policy: Annotated[str, typer.Option(metavar="NAME", help="The one warp policy of the build.")] = "gtlrr",
    mode: Annotated[str, typer.Option(metavar="NAME", help="The scheme: swas, baseline or vortex.")] = "swas",
    fetch: Annotated[
        str | None, typer.Option(metavar="NAME", help="The one fetch policy: baseline (lrr) and vortex (fixed).")
    ] = None,
    freq: Annotated[float, typer.Option(metavar="MHZ", help="The clock rate to strive for.")] = 100.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the placement: another one shows the noise.")] = 1,
    json_file: JsonOption = None,
) -> int:
    """Synthesise, place and route one unit for a Lattice ECP5-85 (speed grade 6), and report area and clock rate."""
    from sim.synth import UNITS, Options, SynthesisError, synthesize

    choose("--unit", unit, UNITS)
    if not (math.isfinite(freq) and freq > 0):
        raise UsageError(f"--freq must be above 0, not {freq:g}")
    positive("--seed", seed)
    if seed > _MAX_SEED:
        raise UsageError(f"--seed must be at most {_MAX_SEED}, not {seed}")
    config = _one_policy(configure(preset, warps, threads), mode, policy, fetch)
    target = json_target(json_file)
    options = Options(freq=freq, seed=seed)
    try:
        with show_progress() as progress:
            result = synthesize(unit, config, options, progress)
    except SynthesisError as error:
        raise UsageError(str(error)) from error
    if json_file is not None:
        write_json(target, {**result.as_json(), "config": _asked(preset, config, options)})
    if json_file != STDOUT:
        _print(result)
    return Exit.PASSED


def _one_policy(config: SmConfig, mode: str, policy: str, fetch: str | None) -> SmConfig:
    """The configuration without straps, probe, assertions and oracles."""
    choose("--mode", mode, tuple(Coordination))
    choose("--policy", policy, tuple(POLICIES))
    if fetch is not None:
        if mode == Coordination.SWAS:
            raise UsageError(f"--fetch {fetch}: swas has one scheduler for fetch and issue: name it with --policy")
        choose("--fetch", fetch, tuple(POLICIES))
    scheme = Coordination(mode)
    usual = {Coordination.SWAS: (), Coordination.BASELINE: ("lrr",), Coordination.VORTEX: ("fixed",)}[scheme]
    return dataclasses.replace(
        config, coordination=scheme, policies=(policy,), fetch_policies=usual if fetch is None else (fetch,),
        probe=False, assertions=False, oracles=False,
    )


def _asked(preset: str, config: SmConfig, options: Options) -> dict[str, object]:
    return {
        "preset": preset, "warps": config.warps, "threads": config.threads, "mode": config.coordination.value,
        "policy": config.policies[0], "fetch": config.fetch_policies[0] if config.fetch_policies else None,
        "device": "LFE5U-85F", **dataclasses.asdict(options),
    }


def _print(result: SynthResult) -> None:
    """The area and the clock rate on a line, the critical path as a table."""
    console = Console()
    console.print(
        f"{result.unit}: {result.luts} LUTs, {result.ffs} FFs, {result.brams} block RAMs, {result.dsps} DSPs, "
        f"{result.fmax_mhz} MHz, {result.levels} levels", highlight=False,
    )
    table = Table("ns", "at ns", "levels", "signal", title="Critical path", title_justify="left")
    for step in result.critical_path:
        table.add_row(f"{step.delay_ns:.2f}", f"{step.at_ns:.2f}", str(step.levels), step.signal)
    console.print(table)
