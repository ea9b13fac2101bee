"""``metronome build``: an ELF of one's own sources, or of a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metronome.sim.compiling import Compiling

from .backend import Backend, backend_of
from .compiling import CflagsOption, FunctionOption, NoSimtOption, compiling, print_warnings
from .errors import Exit, UsageError
from .options import JsonOption, choose, json_target
from .outputs import STANDARD_OUTPUT, STDOUT, refuse_shared, require_writable, write_file, write_json
from .program import Program, find_program
from .run_options import TYPES, TypeOption

__all__ = ["build"]


def build(
    ctx: typer.Context,
    sources: Annotated[
        list[str], typer.Argument(metavar="FILE.c...|KERNEL", help="C and assembly files, or one kernel or its folder.")
    ],
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="The ELF; by default NAME.elf here.")
    ] = None,
    cflags: CflagsOption = None,
    dtype: TypeOption = None,
    function: FunctionOption = None,
    no_simt: NoSimtOption = False,
    show_simt: Annotated[
        bool, typer.Option("--show-simt", help="Print the code of the sources, with what has been added marked."),
    ] = False,
    json_file: JsonOption = None,
) -> int:
    """Compile C or assembly with the runtime into an ELF for `metronome run`."""
    how = compiling(cflags, function, no_simt)
    if show_simt and (no_simt or json_file == STDOUT):
        raise UsageError(f"--show-simt does not go with {'--no-simt' if no_simt else '--json -'}: leave one out")
    if dtype is not None:
        dtype = choose("--type", dtype, TYPES)
    programs = [find_program(name) for name in sources]
    _check(programs, dtype)
    programs[0].require_opencl(how)
    name = Path(sources[0]).resolve().stem
    file = require_writable(output or f"{name}.elf", "--output")
    target = json_target(json_file)
    outputs = [("--output", file)] + ([("--json", target)] if target is not None else [])
    inputs = [(path.name, path) for program in programs for path in program.files.values()]
    refuse_shared(outputs, [*inputs, STANDARD_OUTPUT])
    backend = backend_of(ctx)
    elf = _built(backend, programs, dtype, how, name)
    content = elf.read_bytes()
    write_file(file, content)
    if json_file is not None:
        write_json(target, {"output": str(file), "bytes": len(content)})
    if show_simt:
        print(elf.with_suffix(".s").read_text("latin-1").strip("\n") or "no C source: nothing is added to assembly")
    if json_file != STDOUT:
        print(f"{output or file.name}: {len(content)} bytes; to run it: metronome run --elf {output or file.name}")
    return Exit.PASSED


def _built(backend: Backend, programs: list[Program], dtype: str | None, how: Compiling, name: str) -> Path:
    """The ELF in the cache."""
    if programs[0].kind == "kernel":
        return backend.build_kernel(programs[0].name, dtype, how, print_warnings)
    paths = [path for program in programs for path in program.files.values()]
    return backend.build_sources(paths, name, how, print_warnings)


def _check(programs: list[Program], dtype: str | None) -> None:
    """Sources alone, or one kernel alone, which is the one that has types."""
    kinds = [program.kind for program in programs]
    if "elf" in kinds:
        raise UsageError(f"{programs[kinds.index('elf')].name} is linked already: name .c and .S files, or a kernel")
    if "kernel" in kinds and len(kinds) > 1:
        raise UsageError(f"{programs[kinds.index('kernel')].name} is a kernel: build it alone, or name .c and .S files")
    if "source" in kinds and dtype is not None:
        raise UsageError("--type is for a kernel with a host.py: a .c file takes --cflags -D...")
