"""Where a kernel lies: the names of ours, and the folders of users, with hints at what a folder that is none lacks."""

from __future__ import annotations

import contextlib
import difflib
import os
from pathlib import Path

from metronome.riscv_kernels.host import KernelError

from .settings import near
from .toolchain import REPOSITORY

__all__ = ["KERNELS", "is_kernel_folder", "kernel_folder", "require_host"]

#: The names, in the order of a listing.
KERNELS = ("vecadd", "saxpy", "sgemm", "psort", "transpose", "psum", "diverge")
_SOURCE, _HOST = "kernel.c", "host.py"
#: A name that is at least so much like another is taken for a mistyped one.
_ALIKE = 0.8


def _names(folder: Path) -> list[str]:
    """The files in the folder; none if it cannot be read."""
    with contextlib.suppress(OSError):
        return sorted(each.name for each in folder.iterdir() if each.is_file())
    return []


def _alike(wanted: str, names: list[str]) -> str | None:
    """The one of the names that is ``wanted`` mistyped, such as Host.py."""
    known = {name.lower(): name for name in names}
    found = difflib.get_close_matches(wanted, known, 1, _ALIKE)
    return known[found[0]] if found else None


def is_kernel_folder(folder: Path) -> bool:
    """Whether it holds both sides of a kernel."""
    return all(os.path.isfile(folder / name) for name in (_SOURCE, _HOST))


def kernel_folder(name: str) -> Path:
    """The folder of the kernel of this name or path.

    Raises
    ------
    KernelError
        If there is none.
    """
    if name in KERNELS:
        return REPOSITORY / "riscv_kernels" / name
    if not name.strip():
        raise KernelError(f"the name of the kernel is empty: use {', '.join(KERNELS)}, or the path of your own")
    path = Path(name).expanduser()
    if path.is_dir():
        if (path / _SOURCE).is_file():
            if not (path / _HOST).is_file():
                require_host(path, name)
            return path
        raise KernelError(f"{name}: {_lack(path)}")
    if path.exists():
        raise KernelError(f"{name} is no kernel: name a folder with a kernel.c, or a .c, .S, .elf or .vxbin file")
    if len(path.parts) > 1 or path.suffix:
        raise KernelError(f"{name}: no such file or folder")
    raise KernelError(
        f"there is no kernel {name!r}{near(name, KERNELS)}: use {', '.join(KERNELS)}, or the path of your own"
    )


def _lack(folder: Path) -> str:
    """Why this folder, which has no file kernel.c, is no kernel."""
    if (folder / _SOURCE).is_dir():
        return f"its {_SOURCE} is a folder: it must be a C file"
    if folder.name == _SOURCE:
        return f"it is a folder: {_SOURCE} must be a C file"
    names = _names(folder)
    sources = [each for each in names if Path(each).suffix.lower() == ".c"]
    other = _alike(_SOURCE, names) or (sources[0] if len(sources) == 1 else None)
    if other is not None:
        alone = "" if Path(other).suffix != ".c" else f", or run it alone: metronome run {folder / other}"
        return f"the folder has no {_SOURCE}, but {other}: rename it to {_SOURCE}{alone}"
    if sources:
        return f"the folder has no {_SOURCE}, but {', '.join(sources[:3])}: rename the one that is the kernel"
    return f"the folder has no {_SOURCE} (metronome new writes a kernel to begin with)"


def require_host(folder: Path, name: str) -> None:
    """For a folder with ``kernel.c`` that has no file ``host.py``: refuse what may be meant for one.

    Raises
    ------
    KernelError
        If there is a folder of that name, or a file whose name is like it.
    """
    alone = f"or run {_SOURCE} alone: metronome run {Path(name) / _SOURCE}"
    if (folder / _HOST).is_dir():
        raise KernelError(f"{name}: its {_HOST} is a folder: it must be a Python file")
    other = _alike(_HOST, _names(folder))
    if other is not None:
        raise KernelError(f"{name}: the folder has no {_HOST}, but {other}: rename it to {_HOST}, {alone}")
