"""``metronome kernels``: list the available kernels."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from ..options.common import JsonOption, json_target
from ..output.outputs import STDOUT, write_json
from ..output.tables import new_table
from ..process.backend import backend_of
from ..process.errors import Exit
from ..process.terminal import Console

if TYPE_CHECKING:
    from metronome.sim.program.kernels import KernelInfo

__all__ = ["kernels"]


def _sizes(kernel: KernelInfo) -> dict[str, int]:
    """Return the sizes it accepts; the kernel's description gives their meaning and which values between are valid."""
    return {"default": kernel.default_size, "max": kernel.max_size}


def kernels(ctx: typer.Context, json_file: JsonOption = None) -> int:
    """List the kernels of Metronome, and the folders here that have a kernel.c or kernel.cl, and a host.py."""
    target = json_target(json_file)
    found, broken = backend_of(ctx).kernels()
    for line in broken:
        print(f"metronome: {line}", file=sys.stderr)
    if json_file is not None:
        write_json(target, [
            {"name": kernel.name, "types": list(kernel.types), "sizes": _sizes(kernel), "about": kernel.about,
             "folder": None if kernel.folder is None else str(kernel.folder)}
            for kernel in found
        ])
    if json_file != STDOUT:
        table = new_table("kernel", "types", ">size", ">greatest", "about")
        for kernel in found:
            sizes = _sizes(kernel)
            about = kernel.about if kernel.folder is None else f"{kernel.about} (yours)"
            cells = (kernel.name, ", ".join(kernel.types), str(sizes["default"]), str(sizes["max"]), about)
            table.add_row(*map(escape, cells))
        Console().print(table)
    return Exit.PASSED
