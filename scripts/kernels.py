"""``metronome kernels``: what there is to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from .backend import backend_of
from .errors import Exit
from .options import JsonOption, json_target
from .outputs import write_json

if TYPE_CHECKING:
    from metronome.sim.kernel import KernelInfo

__all__ = ["kernels"]


def _sizes(kernel: KernelInfo) -> dict[str, int]:
    """The sizes it takes; what they count, and whether all between are taken, is in its description."""
    return {"default": kernel.default_size, "max": kernel.max_size}


def kernels(ctx: typer.Context, json_file: JsonOption = None) -> int:
    """List the kernels: their types, the sizes they take, what they do."""
    target = json_target(json_file)
    found = backend_of(ctx).kernels()
    if json_file is not None:
        write_json(target, [
            {"name": kernel.name, "types": list(kernel.types), "sizes": _sizes(kernel), "about": kernel.about}
            for kernel in found
        ])
        return Exit.PASSED
    table = Table("kernel", "types", "default size", "greatest size", "about")
    for kernel in found:
        sizes = _sizes(kernel)
        table.add_row(kernel.name, ", ".join(kernel.types), str(sizes["default"]), str(sizes["max"]), kernel.about)
    Console().print(table)
    return Exit.PASSED
