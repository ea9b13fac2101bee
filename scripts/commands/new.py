"""``metronome new``: a kernel of one's own to begin with."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from metronome.riscv_kernels import skeleton

from ..process.errors import Exit, UsageError

__all__ = ["new"]

_FILES = ("kernel.c", "host.py")


def new(name: Annotated[str, typer.Argument(metavar="NAME", help="The folder to make.")]) -> int:
    """Write a folder with a kernel that passes: kernel.c for the machine, host.py for its inputs and its check."""
    from metronome.sim.program.kernel_folders import KERNELS

    folder = Path(name).expanduser()
    if name in KERNELS:
        raise UsageError(f"{name} is a kernel of Metronome: take another name")
    if not name or folder.name.startswith("-") or "\0" in name:
        raise UsageError(f"NAME: {name!r} is no name of a folder")
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{name} is there already: take another name")
    source = Path(skeleton.__file__).parent
    try:
        # Both files or nothing.
        with tempfile.TemporaryDirectory(prefix=".metronome-new-", dir=folder.parent) as made:
            for file in _FILES:
                shutil.copyfile(source / file, Path(made) / file)
            whole = Path(made) / "whole"
            whole.mkdir()
            for file in _FILES:
                (Path(made) / file).rename(whole / file)
            whole.rename(folder)
    except OSError as error:
        raise UsageError(f"cannot make {name}: {error.strerror}") from None
    shown = name if len(folder.parts) > 1 or name != folder.name else f"./{name}"
    print(f"{name}/kernel.c and {name}/host.py are there. Run them: metronome run {shlex.quote(shown)} --check")
    return Exit.PASSED
