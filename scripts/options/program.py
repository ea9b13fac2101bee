"""The program on the command line: a kernel, a source, an ELF or a raw image, with the options of each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metronome.hdl.config import SmConfig
from metronome.sim.build.origin import note_program
from metronome.sim.machine.user_paths import user_path
from metronome.sim.program.compiler.options import Compiling

from ..process.backend import Backend
from ..process.errors import UsageError
from .common import input_file
from .compiling import CflagsOption, FunctionOption, HintsOption, NoSimtOption, SoftFloatOption, print_warnings
from .loads import Load
from .machine import Machine

if TYPE_CHECKING:
    from metronome.sim.program.kernels import Launch

__all__ = ["ArgumentOption", "Program", "ProgramOptions", "find_program", "long_start"]

ArgumentOption = Annotated[
    str | None, typer.Option("--arg", metavar="FILE", help="The argument block, for programs other than kernels.")
]
#: A size of .bss in bytes that takes the start-up code long to clear.
_MUCH_BSS = 1 << 20
#: The kind of a file, by its suffix.
_KINDS = {".c": "source", ".S": "source", ".elf": "elf", ".vxbin": "vxbin"}


@dataclass(frozen=True, kw_only=True)
class ProgramOptions:
    """The program of ``metronome run``, and how it is compiled."""

    kernel: Annotated[
        str | None,
        typer.Argument(
            metavar="KERNEL", help="A kernel (`metronome kernels`), your folder, or a .c, .cl, .elf or .vxbin file.",
        ),
    ] = None
    function: FunctionOption = None
    elf: Annotated[str | None, typer.Option(metavar="FILE", help="Run a RISC-V ELF file instead of a kernel.")] = None
    binary: Annotated[
        str | None,
        typer.Option(
            "--bin", metavar="FILE", help="Run a raw memory image instead; it is loaded at the start address.",
        ),
    ] = None
    argument: ArgumentOption = None
    load: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDR=FILE", help="Load a file into memory, for programs other than kernels. Repeatable."),
    ] = None
    region: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE", help="The measured part of a program other than a kernel: whole, main or a function.",
        ),
    ] = None
    cflags: CflagsOption = None
    no_simt: NoSimtOption = False
    soft_float: SoftFloatOption = False
    hints: HintsOption = False


@dataclass(frozen=True)
class Program:
    """``kind`` is ``kernel``, ``source``, ``elf``, ``vxbin`` or ``bin``; ``name`` is as given."""

    kind: str
    name: str
    #: Its files, by their names in messages.
    files: dict[str, Path]

    def prepare(
        self, backend: Backend, config: SmConfig, *, dtype: str | None, size: int | None, seed: int,
        argument: str | None, compiling: Compiling, warn: Callable[[str], None] = print_warnings,
    ) -> Launch:
        """Return the program with its inputs; the command's outputs record its digest.

        Raises
        ------
        UsageError
            For an option that this kind of program does not take, and for any error in the program.
        """
        launch = self._prepared(
            backend, config, dtype=dtype, size=size, seed=seed, argument=argument, compiling=compiling, warn=warn
        )
        note_program(launch.name, launch.image.loaded)
        return launch

    def _prepared(
        self, backend: Backend, config: SmConfig, *, dtype: str | None, size: int | None, seed: int,
        argument: str | None, compiling: Compiling, warn: Callable[[str], None],
    ) -> Launch:
        """See :meth:`prepare`."""
        if self.kind == "kernel":
            if argument is not None:
                raise UsageError("--arg is for --elf, --bin and a .c file: a kernel brings its own arguments")
            return backend.prepare(self.name, dtype, size, seed, config, compiling, warn)
        self.require_opencl(compiling)
        for option, value in (("--type", dtype), ("--size", size)):
            if value is not None:
                raise UsageError(f"{option} is for a kernel with a host.py: other programs take --arg FILE")
        block = None if argument is None else input_file("--arg", argument)
        (path,) = self.files.values()
        if self.kind == "source":
            return backend.prepare_source(path, block, config, compiling, warn)
        given = compiling.given()
        if given is not None:
            raise UsageError(f"{given} is for a program that is compiled: a kernel or a .c file")
        prepare = {"elf": backend.prepare_elf, "vxbin": backend.prepare_vxbin, "bin": backend.prepare_binary}[self.kind]
        return prepare(path, block, config)

    def with_memory(self, launch: Launch, machine: Machine, config: SmConfig) -> tuple[Launch, SmConfig]:
        """Return the program and its machine, with Vortex's memory if the program is not built with our runtime.

        Vortex's memory extends to the end of the address space and may hold a stack there; ours ends below local
        memory. A machine with an explicit ``memory_map.end`` keeps it.
        """
        from metronome.sim.program.kernels import with_vortex_memory

        if self.kind not in ("elf", "vxbin", "bin") or machine.names("memory_map.end"):
            return launch, config
        return with_vortex_memory(launch, config)

    def require_opencl(self, compiling: Compiling) -> None:
        """Raise UsageError if there is a --kernel but the program has no host.py that could use it."""
        if compiling.function is not None and self.kind != "kernel":
            raise UsageError("--kernel is for OpenCL C: a .cl file, or a folder with kernel.cl")

    def with_loads(self, launch: Launch, loads: Sequence[Load]) -> Launch:
        """Return ``launch`` with the files of --load in memory.

        Raises
        ------
        UsageError
            For a kernel, for a file outside memory, and for a file that overlaps something.
        """
        from metronome.sim.program.elf import ImageError
        from metronome.sim.program.kernels import with_loads

        if not loads:
            return launch
        if self.kind == "kernel":
            raise UsageError("--load is for programs without a host.py: a kernel brings its own buffers")
        try:
            # Two with the same text are still two, and overlap.
            names = [f"--load {load.text}" + " (again)" * loads[:place].count(load) for place, load in enumerate(loads)]
            places = [(load.address, load.read(launch.memory_map)) for load in loads]
            return with_loads(launch, dict(zip(names, places, strict=True)))
        except ImageError as error:
            raise UsageError(str(error)) from error

    def with_region(self, launch: Launch, region: str | None, config: SmConfig) -> Launch:
        """Return the complete ``launch`` with the measured region that --region requests.

        Raises
        ------
        UsageError
            For a kernel, and for a region that the program does not have or that has no address.
        """
        from metronome.sim.program.elf import ImageError
        from metronome.sim.program.region_stub import with_region

        if region is None:
            return launch
        if self.kind == "kernel":
            raise UsageError("--region is for programs without a host.py: a kernel calls region_begin and region_end")
        try:
            return with_region(launch, region, config)
        except ImageError as error:
            raise UsageError(str(error)) from error


def long_start(launch: Launch, threads: int) -> str | None:
    """Return a warning if the start-up code takes long to clear .bss (riscv_kernels/runtime/crt0.S), or None."""
    from metronome.sim.program.kernels import RUNTIME_SYMBOL

    cleared = sum(segment.size - len(segment.data) for segment in launch.image.segments)
    if cleared < _MUCH_BSS or RUNTIME_SYMBOL not in launch.image.symbols:
        return None
    return (
        f"before main the start-up code clears {cleared} bytes of .bss, {4 * threads} at a time: that alone takes "
        f"{cleared // threads} instructions, all in one warp"
    )


def find_program(kernel: str | None, elf: str | None = None, binary: str | None = None) -> Program:
    """Return the program given as KERNEL, --elf or --bin.

    KERNEL may be a kernel's name, a folder with ``kernel.c`` or ``kernel.cl``, a ``.c``, ``.cl`` or ``.S`` file, or a
    ``.elf`` or ``.vxbin`` file. A ``kernel.c`` with a ``host.py`` beside it stands for their folder.

    Raises
    ------
    UsageError
        If not exactly one was given, or a file cannot be read.
    """
    if sum(source is not None for source in (kernel, elf, binary)) != 1:
        raise UsageError("name one program: KERNEL, or --elf FILE, or --bin FILE (metronome kernels lists the kernels)")
    if elf is not None:
        return Program("elf", elf, {"--elf": input_file("--elf", elf)})
    if binary is not None:
        if Path(binary).suffix == ".vxbin":
            raise UsageError(f"--bin {binary}: a .vxbin file is not a raw image: use metronome run {binary}")
        return Program("bin", binary, {"--bin": input_file("--bin", binary)})
    assert kernel is not None, "one of the three was given"
    if not kernel.strip():
        raise UsageError("KERNEL is empty: name a kernel (metronome kernels lists them), a folder or a file")
    path = user_path(kernel)
    if path.name == "kernel.c" and (path.parent / "host.py").is_file():
        kernel, path = str(path.parent), path.parent
    if path.suffix in _KINDS and not path.is_dir():
        return Program(_KINDS[path.suffix], kernel, {"KERNEL": input_file("KERNEL", kernel)})
    if path.suffix == ".cl" and not path.is_dir():
        source, host = input_file("KERNEL", kernel), path.parent / "host.py"
        return Program("kernel", kernel, {path.name: source} | ({"host.py": host} if host.is_file() else {}))
    sides = {name: path / name for name in ("kernel.c", "kernel.cl", "host.py") if (path / name).is_file()}
    # A name without a folder is one of our kernels, if one has that name.
    if "kernel.c" in sides and "host.py" not in sides and not _is_ours(kernel):
        _require_host(path, kernel)
        return Program("source", kernel, sides)
    return Program("kernel", kernel, {} if _is_ours(kernel) else sides)


def _require_host(folder: Path, name: str) -> None:
    """Raise UsageError if the folder has a file that may be meant as a host.py."""
    from metronome.sim.program.kernel_folders import KernelError, require_host

    try:
        require_host(folder, name)
    except KernelError as error:
        raise UsageError(str(error)) from error


def _is_ours(name: str) -> bool:
    from metronome.sim.program.kernel_names import KERNELS

    return name in KERNELS
