"""``metronome synth``: area, clock rate and critical path of one unit on an FPGA."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table

from metronome.hdl.config import SmConfig

from .errors import Exit, UsageError
from .machine import DEFAULT_PRESET, ConfigOption, Machine, PresetOption, SetOption, ThreadsOption, WarpsOption, machine
from .options import JsonOption, choose, given, json_target, within
from .outputs import STDOUT, refuse_inputs, write_json
from .progress import show_progress
from .schemes import FetchOption, IssueOption, ModeOption, PredictionOption, check_scheme, one_policy
from .tables import new_table

if TYPE_CHECKING:
    from metronome.sim.synth import Part, SynthResult

__all__ = ["synth"]

#: Options of placing and routing.
_OF_ROUTING = ("freq", "seed", "minutes")
_MAX_FREQ, _MAX_MINUTES, _MAX_DEPTH = 10_000, 10_000, 10
#: nextpnr reads the seed as a signed number of 32 bits.
_MAX_SEED = 2**31 - 1
_USUAL_POLICY = "gtlrr"


def synth(
    ctx: typer.Context,
    unit: Annotated[
        str | None, typer.Option(metavar="NAME", help="frontend, select_loop, scheduler, buffers, ..., sm.")
    ] = None,
    preset: PresetOption = DEFAULT_PRESET,
    warps: WarpsOption = None,
    threads: ThreadsOption = None,
    settings: SetOption = None,
    config_file: ConfigOption = None,
    mode: ModeOption = None,
    issue: IssueOption = None,
    fetch: FetchOption = None,
    prediction: PredictionOption = None,
    freq: Annotated[float, typer.Option(metavar="MHZ", help="The clock rate to strive for.")] = 60.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the placement: another one shows the noise.")] = 1,
    minutes: Annotated[float, typer.Option(metavar="N", help="End the placing and routing after so long.")] = 30.0,
    breakdown: Annotated[
        bool, typer.Option("--breakdown", help="The area of every part instead, of --unit or of the whole SM."),
    ] = False,
    depth: Annotated[int, typer.Option(metavar="N", help="Levels of parts in the breakdown.")] = 2,
    json_file: JsonOption = None,
) -> int:
    """Synthesise, place and route one unit for a Lattice ECP5-85 (speed grade 6), and report area and clock rate."""
    from metronome.sim import synth as tools
    from metronome.sim.synth import UNITS, Options, SynthesisError

    if unit is None and not breakdown:
        raise UsageError(f"name a unit with --unit: {', '.join(UNITS)}; or --breakdown")
    if option := given(ctx, _OF_ROUTING if breakdown else ("depth",)):
        what = "a unit that is placed and routed, not for --breakdown" if breakdown else "--breakdown"
        raise UsageError(f"{option} is for {what}")
    unit = choose("--unit", unit or "sm", UNITS)
    within("--depth", depth, 1, _MAX_DEPTH)
    for option, value, most in (("--freq", freq, _MAX_FREQ), ("--minutes", minutes, _MAX_MINUTES)):
        if not 0 < value <= most:
            raise UsageError(f"{option} must be a number above 0 and at most {most}, not {value:g}")
    within("--seed", seed, 1, _MAX_SEED)
    asked = machine(preset, warps, threads, settings, config_file)
    issue = issue or (None if asked.names("policies") else _USUAL_POLICY)
    scheme = check_scheme(asked.config, mode=mode, fetch=fetch, issue=issue, prediction=prediction)
    config = asked.for_chip(one_policy(asked.config, scheme))
    target = json_target(json_file)
    refuse_inputs(target, {"--config": config_file})
    options = Options(freq=freq, seed=seed, minutes=minutes)
    shown: Group | Table
    try:
        with show_progress() as progress:
            if breakdown:
                found = tools.breakdown(unit, config, depth, progress)
                parts = [{"part": part.path, **dataclasses.asdict(part.area)} for part in found]
                document, shown = {"unit": unit, "parts": parts}, _parts(unit, found)
                used: dict[str, object] = {"depth": depth}
            else:
                result = tools.synthesize(unit, config, options, progress)
                document, shown, used = result.as_json(), _clocked(result), dataclasses.asdict(options)
    except SynthesisError as error:
        raise UsageError(str(error)) from error
    if json_file is not None:
        write_json(target, {**document, "config": {**_asked(asked, config), **used}})
    if json_file != STDOUT:
        Console().print(shown, highlight=False)
    return Exit.PASSED


def _asked(asked: Machine, config: SmConfig) -> dict[str, object]:
    return {
        "preset": asked.preset, "set": dict(asked.settings),
        "warps": config.warps, "threads": config.threads, "mode": config.coordination.value,
        "policy": config.policies[0], "fetch": config.fetch_policies[0] if config.fetch_policies else None,
        "prediction": config.prediction.value, "device": "LFE5U-85F",
    }


def _parts(unit: str, found: Sequence[Part]) -> Table:
    """A line a part, indented by its depth, with what is in it and with its share of the unit's LUTs."""
    table = new_table("part", ">LUTs", ">%", ">FFs", ">block RAM", ">DSPs", title=f"{unit}, part by part")
    whole = found[0].area.luts or 1
    for part in found:
        area = part.area
        name = f"{'  ' * part.depth}{part.path.split('.')[-1] or unit}"
        table.add_row(escape(name), str(area.luts), f"{100 * area.luts / whole:.1f}", str(area.ffs), str(area.brams),
                      str(area.dsps))
    return table


def _clocked(result: SynthResult) -> Group:
    """The area and the clock rate on a line, the critical path as a table."""
    line = (
        f"{result.unit}: {result.luts} LUTs, {result.ffs} FFs, {result.brams} block RAMs, {result.dsps} DSPs, "
        f"{result.fmax_mhz} MHz, {result.levels} levels"
    )
    table = new_table(">ns", ">at ns", ">levels", "signal", title="Critical path")
    for step in result.critical_path:
        table.add_row(f"{step.delay_ns:.2f}", f"{step.at_ns:.2f}", str(step.levels), step.signal)
    return Group(line, table)
