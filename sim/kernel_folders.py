"""The kernels of ``riscv_kernels`` and those of users: by name, folder or source.

A kernel is a folder with ``kernel.c`` or ``kernel.cl``, and ``host.py``. One of ours goes by its name, one of a user's
by its path. An OpenCL source of any name is one too, with the ``host.py`` beside it.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from metronome.riscv_kernels.host import KernelError
from metronome.sim.kernel_host import KERNEL_FILES, Host, is_kernel_folder, load_host
from metronome.sim.settings import near
from metronome.sim.toolchain import REPOSITORY

__all__ = ["KERNELS", "KERNEL_FILES", "KernelInfo", "host_of", "kernel_folder", "kernel_source", "kernels", "listing"]

#: The names, in the order of a listing.
KERNELS = ("vecadd", "saxpy", "sgemm", "psort", "transpose", "psum", "diverge")


@dataclass(frozen=True, kw_only=True)
class KernelInfo:
    """One kernel: of ours, or of a user's folder."""

    name: str
    about: str
    #: Element types, the default one first.
    types: tuple[str, ...]
    default_size: int
    max_size: int
    #: Where it lies, if it is a user's.
    folder: Path | None = None


def kernel_folder(name: str) -> Path:
    """The folder of the kernel of this name or path. See :func:`kernel_source`."""
    return kernel_source(name).parent


def kernel_source(name: str) -> Path:
    """The source of the kernel of this name or path.

    Raises
    ------
    KernelError
        If there is none.
    """
    if name in KERNELS:
        return REPOSITORY / "riscv_kernels" / name / "kernel.c"
    path = Path(name).expanduser()
    if path.is_dir():
        found = [path / file for file in KERNEL_FILES if (path / file).is_file()]
        if len(found) == 1:
            return found[0]
        if found:
            raise KernelError(f"{name}: the folder has {' and '.join(KERNEL_FILES)}: name the one to run")
        raise KernelError(f"{name}: the folder has no kernel.c (metronome new writes a kernel to begin with)")
    if path.suffix == ".cl" and path.is_file():
        if (path.parent / "host.py").is_file():
            return path
        raise KernelError(f"{name}: there is no host.py beside it, which says its arguments and range (docs/opencl.md)")
    if path.exists():
        raise KernelError(f"{name} is no kernel: name a folder with a kernel.c, or a .c, .cl, .S, .elf or .vxbin file")
    if len(path.parts) > 1 or path.suffix:
        raise KernelError(f"{name}: no such file or folder")
    raise KernelError(
        f"there is no kernel {name!r}{near(name, KERNELS)}: use {', '.join(KERNELS)}, or the path of your own"
    )


def host_of(name: str) -> Host:
    """The host side of this kernel."""
    return load_host(kernel_folder(name), f"metronome.riscv_kernels.{name}.host" if name in KERNELS else None)


def _info(name: str, folder: Path | None = None) -> KernelInfo:
    host = host_of(name)
    return KernelInfo(
        name=name, about=host.about, types=host.types, default_size=host.default_size, max_size=host.max_size,
        folder=folder,
    )


def listing(folder: Path) -> tuple[list[KernelInfo], list[str]]:
    """Our kernels and those in ``folder``, and a line for each that is broken."""
    places: dict[str, Path | None] = dict.fromkeys(KERNELS)
    with contextlib.suppress(OSError):  # a folder that cannot be read has no kernels
        places |= {os.path.join(folder, each.name): each for each in sorted(folder.iterdir()) if is_kernel_folder(each)}
    found, broken = [], []
    for name, place in places.items():
        try:
            found.append(_info(name, place))
        except KernelError as error:
            broken.append(f"kernel {name} is broken and left out: {error}")
    return found, broken


def kernels() -> list[KernelInfo]:
    """Every kernel of ours that :func:`prepare` knows."""
    return [_info(name) for name in KERNELS]
