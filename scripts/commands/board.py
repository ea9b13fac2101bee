"""``metronome board``: a bitstream of the SM for a board, and kernels on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from metronome.sim.machine.limits import MAX_CYCLES

from ..options.common import JsonOption, given, json_target, listed, within
from ..options.compiling import CflagsOption, FunctionOption, HintsOption, NoSimtOption, SoftFloatOption, compiling_of
from ..options.machine import ChipMachineOptions, Machine, PresetOption, machine_of
from ..options.program import ArgumentOption, find_program
from ..options.running import InputOptions, MaxCyclesOption, size_and_seed, type_of
from ..options.schemes import Scheme, SchemeOptions, check_scheme, coordinate, require_hardware
from ..output.export_folder import require_folder
from ..output.outputs import refuse_inputs
from ..process.backend import backend_of
from ..process.errors import UsageError
from .board_work import SIMULATED, Bitstreams, BoardWork, Runs

if TYPE_CHECKING:
    from metronome.sim.fpga.board.design import BoardDesign

__all__ = ["board"]

_OF_OUTPUT, _OF_PORT = ("seeds", "minutes"), ("max_cycles",)
_OF_KERNEL = ("dtype", "size", "seed", "function", "cflags", "no_simt", "soft_float", "hints", "elf", "argument")
_MAX_MINUTES, _MAX_PLACEMENT = 10_000, 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class ProgramOptions:
    """The program to run and its compiler options."""

    kernel: Annotated[
        str | None, typer.Argument(metavar="KERNEL", help="The program, as for metronome run, or its image.")
    ] = None
    function: FunctionOption = None
    elf: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Run a RISC-V ELF file instead of a kernel."),
    ] = None
    argument: ArgumentOption = None
    cflags: CflagsOption = None
    no_simt: NoSimtOption = False
    soft_float: SoftFloatOption = False
    hints: HintsOption = False


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """Run something, or write a bitstream."""

    port: Annotated[
        str | None,
        typer.Option(metavar="PORT", help="Run KERNEL on this serial port; rtl or netlist: on a simulated board."),
    ] = None
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="DIR", help="Write the bitstream and its companion files.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class BoardMachineOptions(ChipMachineOptions):
    """The SM on the board."""

    preset: PresetOption = "ULX3S"


@dataclass(frozen=True, kw_only=True)
class BoardInputOptions(InputOptions):
    """Selection of a kernel's inputs, and its time limit."""

    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The seed of the inputs.")] = 1
    max_cycles: MaxCyclesOption = 10_000_000


@dataclass(frozen=True, kw_only=True)
class DesignOptions:
    """The parts of the chip besides the SM, and their placement."""

    baud: Annotated[
        int | None,
        typer.Option(metavar="N", help="Baud rate of the serial line; default 1000000 (--port rtl: 8 cycles a bit)."),
    ] = None
    buffers: Annotated[str, typer.Option(metavar="BYTES", help="On-chip memory for buffers.")] = "64K"
    program: Annotated[str, typer.Option(metavar="BYTES", help="On-chip memory for the program.")] = "32K"
    seeds: Annotated[
        str, typer.Option(metavar="N,N,..", help="Placement seeds, tried until one meets the clock rate.")
    ] = "1"
    minutes: Annotated[
        float,
        typer.Option(metavar="N", help="Stop placing and routing from one seed after this time."),
    ] = 180.0


def board(
    ctx: typer.Context, *, program: ProgramOptions, task: TaskOptions, machine: BoardMachineOptions,
    scheme: SchemeOptions, inputs: BoardInputOptions, chip: DesignOptions, json_file: JsonOption = None,
) -> int:
    """Write a bitstream for the board ULX3S, or run a program on it through its serial port and check the result.

    It was never tried on a real board. With --port rtl or netlist the board is simulated: its source, or the cells of
    its bitstream.
    """
    _check(ctx, task, program.kernel or program.elf)
    asked = machine_of(machine)
    policies = check_scheme(asked, scheme)
    design = _design(asked, policies, chip, task.port)
    how = compiling_of(program)
    found = None if program.kernel is None and program.elf is None else find_program(program.kernel, program.elf)
    target = json_target(json_file)
    read = {"--config": machine.config_file, "--arg": program.argument}
    refuse_inputs(target, read | ({} if found is None else {name: str(path) for name, path in found.files.items()}))
    folder = None if task.output is None else require_folder(task.output, Bitstreams.kind)
    if folder is not None and target is not None and target.is_relative_to(folder):
        raise UsageError(f"--json: {target.name} is in the folder of --output, which is replaced whole")
    backend = backend_of(ctx)
    launch = None
    if found is not None:
        dtype = type_of(inputs.dtype)
        size_and_seed(inputs.size, inputs.seed)
        launch = found.prepare(
            backend, design.config, dtype=dtype, size=inputs.size, seed=inputs.seed, argument=program.argument,
            compiling=how,
        )
    work = BoardWork(asked, policies, design, json_file, target)
    if folder is not None:
        return Bitstreams(work, folder).write(_places(chip.seeds), _minutes(chip.minutes), launch)
    assert task.port is not None and launch is not None, "one of the two was asked for"
    within("--max-cycles", inputs.max_cycles, 1, MAX_CYCLES)
    return Runs(work, task.port).run(launch, inputs.seed, inputs.max_cycles)


def _check(ctx: typer.Context, task: TaskOptions, program: str | None) -> None:
    """Check that exactly one task is requested, without options of the other."""
    if (task.port is None) == (task.output is None):
        raise UsageError("choose: --output DIR writes a bitstream, and KERNEL with --port PORT runs on a board")
    if task.port is not None and program is None:
        raise UsageError("--port: name a program: KERNEL, or --elf FILE (metronome kernels lists the kernels)")
    rules: list[tuple[tuple[str, ...], str]]
    rules = [(_OF_OUTPUT, "--output")] if task.port is not None else [(_OF_PORT, "--port")]
    if program is None:
        rules.append((_OF_KERNEL, "a program: KERNEL, or --elf FILE"))
    for names, what in rules:
        if option := given(ctx, names):
            raise UsageError(f"{option} is for {what}")


def _design(asked: Machine, scheme: Scheme, chip: DesignOptions, port: str | None) -> BoardDesign:
    """Return the requested design, or that of the connected board."""
    from metronome.sim.fpga.board.design import SIMULATED_BAUD, DesignError, design_of

    config = asked.for_chip(coordinate(asked.config, scheme))
    require_hardware(config)
    try:
        return design_of(
            config, baud=SIMULATED_BAUD if chip.baud is None and port == SIMULATED[0] else chip.baud,
            buffers=chip.buffers, program=chip.program, label=lambda name: f"--{name}",
        )
    except DesignError as error:
        raise UsageError(str(error)) from None


def _places(seeds: str) -> list[int]:
    texts = listed("--seeds", seeds)
    for text in texts:
        if not text.isdecimal():
            raise UsageError(f"--seeds: {text!r} is no whole number above 0: write 1,2,3")
        within("--seeds", int(text), 1, _MAX_PLACEMENT)
    return [int(text) for text in texts]


def _minutes(minutes: float) -> float:
    if not 0 < minutes <= _MAX_MINUTES:
        raise UsageError(f"--minutes must be a number above 0 and at most {_MAX_MINUTES}, not {minutes:g}")
    return minutes
