"""``metronome synth``: area, clock rate and critical path of one unit on an FPGA."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from metronome.hdl.config import SmConfig
from metronome.hdl.gpu.config import GpuConfig
from metronome.sim.machine.gpu_settings import gpu_values
from metronome.sim.machine.policies.files import files_of

from ..options.common import JsonOption, choose, given, json_target, listed, within
from ..options.gpu import ChipGpuOptions, asked_gpu
from ..options.machine import Machine, machine_of, one_scheduler
from ..options.schemes import chip_of
from ..output.outputs import refuse_inputs, require_writable
from ..process.errors import UsageError
from .synth_price import price as show_price
from .synth_targets import DeviceOptions, as_json, targets_of
from .synth_work import Work

if TYPE_CHECKING:
    from metronome.sim.fpga.synth import Options, Target
    from metronome.sim.fpga.synth.committed import UnitRow

__all__ = ["synth"]

#: Options of placing and routing.
_OF_ROUTING = ("freq", "seed", "seeds", "minutes", "placer", "router")
#: Options of one unit, which the table of --price does not have.
_ONE_UNIT = ("unit", "preset", "warps", "threads", "settings", "config_file", "pipeline", "mode", "issue", "fetch",
             "prediction", "sms", "interconnect", "slot_cycles", "breakdown", "depth", "cells", "compare", "log",
             "seed")
_MAX_FREQ, _MAX_MINUTES, _MAX_DEPTH = 10_000, 10_000, 10
#: nextpnr reads the seed as a signed number of 32 bits.
_MAX_SEED = 2**31 - 1
_PRICE_SEEDS = "1,2,3"


@dataclass(frozen=True, kw_only=True)
class RoutingOptions(DeviceOptions):
    """The FPGA, and options of placing and routing a unit on it."""

    freq: Annotated[
        float, typer.Option(metavar="MHZ", help="The target clock rate; if given, missing it is an error.")
    ] = 60.0
    seed: Annotated[int, typer.Option(metavar="N", help="The placement seed; other seeds show the noise.")] = 1
    seeds: Annotated[
        str | None, typer.Option(metavar="N,N,..", help="Place and route from each seed; the fastest result counts.")
    ] = None
    minutes: Annotated[
        float, typer.Option(metavar="N", help="Stop placing and routing from one seed after this time.")
    ] = 30.0
    placer: Annotated[
        str, typer.Option("--placer", metavar="NAME", help="heap (default), or static for a large design.")
    ] = "heap"
    router: Annotated[
        str, typer.Option("--router", metavar="NAME", help="Of ECP5: router1 (default), or router2.")
    ] = "router1"


@dataclass(frozen=True, kw_only=True)
class FigureOptions:
    """The requested figures of a unit."""

    area: Annotated[bool, typer.Option("--area", help="Synthesise only; no clock rate.")] = False
    cells: Annotated[bool, typer.Option("--cells", help="Also report gates and memory bits.")] = False
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Compare with the committed figures; growth is an error."),
    ] = False
    breakdown: Annotated[
        bool, typer.Option("--breakdown", help="Report the area of every submodule of --unit, or of the whole SM."),
    ] = False
    depth: Annotated[int, typer.Option(metavar="N", help="Depth of the breakdown, in levels of submodules.")] = 2


@dataclass(frozen=True, kw_only=True)
class PriceOptions:
    """The table of all front ends."""

    price: Annotated[
        bool,
        typer.Option(
            "--price",
            help=("Tabulate all front ends by number of warps, and whole SMs. Takes hours; continues after an "
                  "interruption."),
        ),
    ] = False
    only: Annotated[
        str | None,
        typer.Option(metavar="NAME,..", help="Rows of --price, as a pattern: '*-8-swas-*'."),
    ] = None
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="NAME", help="Output files of --price: NAME.md, .csv, .json, .svg."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Output files."""

    log: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the output of yosys and nextpnr to this file."),
    ] = None
    json_file: JsonOption = None


def synth(
    ctx: typer.Context, *,
    unit: Annotated[
        str | None, typer.Option(metavar="NAME", help="frontend, select_loop, scheduler, buffers, ..., sm.")
    ] = None,
    chip: ChipGpuOptions, routing: RoutingOptions, figures: FigureOptions, table: PriceOptions, files: FileOptions,
) -> int:
    """Synthesise, place and route one unit for an FPGA (default: Lattice ECP5-85), and report area and clock rate."""
    from metronome.sim.fpga.synth import UNITS

    _check_options(ctx, unit, figures, price=table.price)
    targets = targets_of(ctx, routing, figures, price=table.price)
    if unit is None and not figures.breakdown and not table.price:
        raise UsageError(f"name a unit with --unit: {', '.join(UNITS)}; or --breakdown; or --price")
    unit = choose("--unit", "sm" if unit is None else unit, UNITS)
    within("--depth", figures.depth, 1, _MAX_DEPTH)
    seeds = _seeds(routing.seed, routing.seeds or (_PRICE_SEEDS if table.price else None))
    placed = [] if figures.area or figures.breakdown else targets
    options = [one for target in placed for one in _routing(routing, seeds, target)]
    target = json_target(files.json_file)
    if table.price:
        return show_price(targets, options, table.only, table.output, files.json_file, target)
    asked = machine_of(chip.machine, of_gpu=True, sms=chip.gpu.sms)
    config = chip_of(asked, chip.scheme)
    several = asked_gpu(asked, config, chip.gpu)
    if unit == "order":
        one_scheduler(config, "--unit order")
    needs = UNITS[unit].needs
    if not table.price and needs and not getattr(config, needs):
        raise UsageError(f"--unit {unit}: this machine does not have it ({needs}={getattr(config, needs)})")
    if several is not None:
        _refuse_with_sms(several, unit, figures)
    log_path = None if files.log is None else require_writable(files.log, "--log", ".log", ".txt")
    refuse_inputs(target, {"--config": chip.machine.config_file}, [("--log", log_path)] if log_path else [])
    told = _asked(asked, config) | ({} if several is None else gpu_values(several)) | as_json(targets[0])
    work = Work(unit, several or config, files.json_file, target, log_path, told, targets[0])
    if figures.breakdown:
        return work.break_down(figures.depth, figures.cells)
    striven = routing.freq if given(ctx, ("freq",)) else None
    return work.measure(options, figures.cells, _committed(unit, config) if figures.compare else None, striven)


def _refuse_with_sms(gpu: GpuConfig, unit: str, figures: FigureOptions) -> None:
    """Refuse what several SMs do not have: units within an SM, and committed figures."""
    from metronome.sim.fpga.synth import UNITS

    if UNITS[unit].of_gpu is None:
        whole = ", ".join(name for name, entry in UNITS.items() if entry.of_gpu is not None)
        raise UsageError(f"sms={gpu.sms}: --unit {unit} is a part of one SM: leave it out, or name one of {whole}")
    if figures.compare:
        raise UsageError(f"sms={gpu.sms}: --compare has figures of one SM only: leave it out")


def _check_options(ctx: typer.Context, unit: str | None, figures: FigureOptions, *, price: bool) -> None:
    """Refuse options that belong to another mode of the command and would have no effect here."""
    rules: list[tuple[tuple[str, ...], str]]
    rules = [(_ONE_UNIT, "one unit, not for --price")] if price else [(("only", "output"), "--price")]
    placed = "a unit that is placed and routed"
    if figures.breakdown:
        rules.append(((*_OF_ROUTING, "area", "compare"), f"{placed}, not for --breakdown"))
    else:
        rules.append((("depth",), "--breakdown"))
        rules.append((_OF_ROUTING if figures.area else (), f"{placed}, not for --area"))
    for names, reason in rules:
        if option := given(ctx, names):
            raise UsageError(f"{option} is for {reason}")
    if given(ctx, ("seed",)) and given(ctx, ("seeds",)):
        raise UsageError("--seed and --seeds: give one of them")


def _seeds(seed: int, seeds: str | None) -> list[int]:
    texts = [str(seed)] if seeds is None else listed("--seeds", seeds)
    option = "--seed" if seeds is None else "--seeds"
    for text in texts:
        if not text.isdecimal():
            raise UsageError(f"{option}: {text!r} is no whole number above 0: write 1,2,3")
        within(option, int(text), 1, _MAX_SEED)
    return list(dict.fromkeys(map(int, texts)))


def _routing(asked: RoutingOptions, seeds: Iterable[int], target: Target) -> list[Options]:
    from metronome.sim.fpga.synth import options_for
    from metronome.sim.fpga.synth.flow import PLACERS, ROUTERS

    placer, way = choose("--placer", asked.placer, PLACERS), choose("--router", asked.router, ROUTERS)
    for option, value, most in (("--freq", asked.freq, _MAX_FREQ), ("--minutes", asked.minutes, _MAX_MINUTES)):
        if not 0 < value <= most:
            raise UsageError(f"{option} must be a number above 0 and at most {most}, not {value:g}")
    router = target.family.router
    if router is None:
        return []
    if placer not in router.placers:
        raise UsageError(f"--placer {placer}: {router.name} has only {', '.join(router.placers)}")
    if way != ROUTERS[0] and target.family.name != "ecp5":
        raise UsageError(f"--router {way}: {router.name} chooses its router itself")
    return [options_for(target, freq=asked.freq, seed=seed, minutes=asked.minutes, placer=placer, router=way)
            for seed in seeds]


def _committed(unit: str, config: SmConfig) -> UnitRow:
    from metronome.sim.fpga.synth.committed import FIGURES, committed_row, other_pipeline

    row = committed_row(unit, config)
    if row is None:
        other = other_pipeline(unit, config)
        where = "docs/fpga.md lists them" if other is None else f"it has those of --pipeline {other}"
        raise UsageError(f"--compare: {FIGURES.name} has no figures of {unit} in this machine: {where}")
    return row


def _asked(asked: Machine, config: SmConfig) -> dict[str, object]:
    return {
        "preset": asked.preset, "pipeline": asked.pipeline, "set": dict(asked.settings),
        "warps": config.warps, "threads": config.threads, "mode": config.coordination.value,
        "policy": config.policies[0], "fetch": config.fetch_policies[0] if config.fetch_policies else None,
        "policy_files": files_of((*config.policies, *config.fetch_policies)),
        "prediction": config.prediction.value,
    }
