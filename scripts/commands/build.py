"""``metronome build``: an ELF of user sources or of a kernel, an image, or a machine for many runs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metronome.hdl.config import SmConfig
from metronome.hdl.gpu.config import GpuConfig
from metronome.sim.machine.user_paths import user_path
from metronome.sim.program.compiler.options import Compiling

from ..options.common import JsonOption, given, json_target
from ..options.compiling import (
    CflagsOption,
    FunctionOption,
    HintsOption,
    NoSimtOption,
    SoftFloatOption,
    compiling_of,
    print_warnings,
)
from ..options.gpu import GpuMachineOptions, asked_gpu
from ..options.machine import Machine, machine_of
from ..options.program import Program, find_program
from ..options.running import SeedOption, SizeOption, TypeOption, size_and_seed, type_of
from ..output.outputs import STANDARD_OUTPUT, STDOUT, refuse_shared, require_writable, write_file, write_json
from ..process.backend import Backend, backend_of
from ..process.errors import Exit, UsageError
from .optimising import OptimiseOptions, build_by_profile

if TYPE_CHECKING:
    from metronome.sim.program.kernels import Launch

__all__ = ["build"]

#: Options that only an image depends on.
_OF_IMAGE = ("preset", "warps", "threads", "settings", "config_file", "size", "seed")
#: Options that only a simulation depends on.
_OF_SIMULATION = ("mode", "issue", "fetch", "prediction")
#: Options that do not affect a machine.
_OF_PROGRAM = (
    "output", "image", "cflags", "dtype", "function", "no_simt", "soft_float", "hints", "size", "seed",
    "show_simt",
)


@dataclass(frozen=True)
class _Inputs:
    """The parameters of a kernel's inputs and stacks."""

    #: Of SM 0, if there are several.
    config: SmConfig
    size: int | None
    seed: int


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Input and output files."""

    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE.c...|KERNEL", help="C and assembly files, or one kernel or its folder."),
    ] = None
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE",
            help="The ELF file to write; default: NAME.elf in the current folder, none with --image.",
        ),
    ] = None
    image: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the initial memory of one program, as words for $readmemh."),
    ] = None
    show_simt: Annotated[
        bool, typer.Option("--show-simt", help="Print the generated code, with the added instructions marked."),
    ] = False


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Compiler options."""

    cflags: CflagsOption = None
    dtype: TypeOption = None
    function: FunctionOption = None
    no_simt: NoSimtOption = False
    soft_float: SoftFloatOption = False
    hints: HintsOption = False


def build(
    ctx: typer.Context, *, files: FileOptions, compiled: SourceOptions, machine: GpuMachineOptions,
    many_runs: OptimiseOptions, size: SizeOption = None, seed: SeedOption = 1, json_file: JsonOption = None,
) -> int:
    """Compile C or assembly with the runtime into an ELF for `metronome run`.

    With --image, for a testbench: the program with its inputs, as `metronome run` places them. That depends on the
    machine, --size and --seed; an ELF does not.

    With --optimise, in place of a program: the simulation of a machine. Its runs take a tenth less time; the results
    are the same. Commands that use a machine for long do this by themselves.
    """
    asked, several = _machine(machine, files, many_runs)
    if many_runs.optimise:
        wrong = files.sources[0] if files.sources else given(ctx, _OF_PROGRAM)
        _refuse(wrong, "a program: --optimise builds a machine")
        return build_by_profile(backend_of(ctx), asked, many_runs, json_file)
    _refuse(given(ctx, _OF_SIMULATION), "--optimise: a program is the same for every front end")
    sources = _sources(files)
    how = compiling_of(compiled).for_gpu(several)
    if files.show_simt and (compiled.no_simt or json_file == STDOUT):
        option = "--no-simt" if compiled.no_simt else "--json -"
        raise UsageError(f"--show-simt and {option} cannot be used together: leave one out")
    dtype = type_of(compiled.dtype)
    if files.image is None:
        _refuse(given(ctx, _OF_IMAGE), "--image: an ELF is the same for every machine and size")
    size_and_seed(size, seed)
    inputs = _Inputs(asked.config if several is None else several.sm_of(0), size, seed)
    programs = [find_program(name) for name in sources]
    _check(programs, dtype, files.image)
    programs[0].require_opencl(how)
    name = Path(sources[0]).resolve().stem
    file, image_file, target = _written(files, name, json_file)
    outputs = [("--output", file), ("--image", image_file), ("--json", target)]
    read = [(path.name, path) for program in programs for path in program.files.values()]
    config_file = machine.machine.config_file
    read += [] if config_file is None else [("--config", user_path(config_file))]
    refuse_shared([(option, path) for option, path in outputs if path is not None], [*read, STANDARD_OUTPUT])
    backend = backend_of(ctx)
    document: dict[str, object] = {"output": None, "bytes": None}
    lines = []
    if image_file is None:
        elf = _built(backend, programs, dtype, how, name)
    else:
        launch = programs[0].prepare(
            backend, inputs.config, dtype=dtype, size=inputs.size, seed=inputs.seed, argument=None, compiling=how
        )
        elf = launch.image.path
        document["image"], line = _write_image(launch, inputs.config, image_file)
        lines.append(line)
    if file is not None:
        content = elf.read_bytes()
        write_file(file, content)
        document |= {"output": str(file), "bytes": len(content)}
        shown = files.output or file.name
        lines.append(f"{shown}: {len(content)} bytes; to run it: metronome run --elf {shlex.quote(shown)}")
    if json_file is not None:
        write_json(target, document)
    if files.show_simt:
        print(elf.with_suffix(".s").read_text("latin-1").strip("\n") or "no C source: nothing is added to assembly")
    if json_file != STDOUT:
        print("\n".join(lines))
    return Exit.PASSED


def _machine(
    options: GpuMachineOptions, files: FileOptions, many_runs: OptimiseOptions,
) -> tuple[Machine, GpuConfig | None]:
    """Return the machine of an image or of --optimise, and the GPU of several SMs."""
    asked = machine_of(options.machine, of_gpu=True, sms=options.gpu.sms)
    several = asked_gpu(asked, asked.config, options.gpu)
    if several is not None and many_runs.optimise:
        raise UsageError(f"sms={several.sms}: --optimise builds machines of one SM: leave it out")
    if several is not None and files.image is None:
        raise UsageError(
            f"sms={several.sms}: no ELF is written for several SMs: add --image, or name the source to metronome run"
        )
    return asked, several


def _refuse(option: str | None, purpose: str) -> None:
    if option is not None:
        raise UsageError(f"{option} is for {purpose}")


def _sources(files: FileOptions) -> list[str]:
    if not files.sources:
        raise UsageError("name C or assembly files, or a kernel; or --optimise, to build a machine for many runs")
    return files.sources


def _written(files: FileOptions, name: str, json_file: str | None) -> tuple[Path | None, Path | None, Path | None]:
    """Return the files of --output, --image and --json after checking them."""
    elf = image = None
    if files.image is None or files.output is not None:
        elf = require_writable(files.output or f"{name}.elf", "--output", ".elf")
    if files.image is not None:
        image = require_writable(files.image, "--image", ".hex", ".mem", ".txt")
    return elf, image, json_target(json_file)


def _write_image(launch: Launch, config: SmConfig, file: Path) -> tuple[dict[str, object], str]:
    """Write the image; return the data for --json and a line of text."""
    from metronome.sim.program.image import image_text

    text = image_text(launch, config).encode()
    write_file(file, text)
    document: dict[str, object] = {
        "file": str(file), "bytes": len(text), "entry": launch.entry, "argument": launch.argument_address,
        "buffers": {name: {"address": place, "bytes": len(data)} for name, (place, data) in launch.buffers.items()},
    }
    places = f"start_pc {launch.entry:#010x}, arg {launch.argument_address:#010x}"
    return document, f"{file.name}: {len(text)} bytes; {places}"


def _built(backend: Backend, programs: list[Program], dtype: str | None, how: Compiling, name: str) -> Path:
    """Build, and return the ELF in the cache."""
    if programs[0].kind == "kernel":
        return backend.build_kernel(programs[0].name, dtype, how, print_warnings)
    paths = [path for program in programs for path in program.files.values()]
    return backend.build_sources(paths, name, how, print_warnings)


def _check(programs: list[Program], dtype: str | None, image: str | None) -> None:
    """Check for sources alone, or one kernel alone (only a kernel has types); an image takes one program."""
    kinds = [program.kind for program in programs]
    if image is not None:
        if len(programs) > 1:
            raise UsageError("--image is for one program: link the sources first, then: metronome build X.elf")
        return
    for kind in ("elf", "vxbin"):
        if kind in kinds:
            raise UsageError(f"{programs[kinds.index(kind)].name} is linked already: name .c and .S files, or a kernel")
    if "kernel" in kinds and len(kinds) > 1:
        raise UsageError(f"{programs[kinds.index('kernel')].name} is a kernel: build it alone, or name .c and .S files")
    if "source" in kinds and dtype is not None:
        raise UsageError("--type is for a kernel with a host.py: a .c file takes --cflags -D...")
