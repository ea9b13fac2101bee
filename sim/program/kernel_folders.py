"""Kernels of ``riscv_kernels`` and of users, by name, folder or source, with hints for incomplete ones.

A kernel is a folder with ``kernel.c`` or ``kernel.cl``, and ``host.py``. One of ours is named by its name, a user's
by its path. An OpenCL source of any name is a kernel too, with the ``host.py`` beside it.
"""

from __future__ import annotations

import contextlib
import difflib
import os
from dataclasses import dataclass
from pathlib import Path

from metronome.riscv_kernels.host import KernelError

from ..build.sources import ROOT
from ..machine.settings import near
from ..machine.user_paths import user_path
from .host import Host, load_host
from .kernel_names import KERNELS

__all__ = ["KERNELS", "KERNEL_FILES", "KernelInfo", "host_of", "kernel_source", "kernels", "listing", "require_host"]

_SOURCE, _HOST = "kernel.c", "host.py"
#: The machine's side: one of these.
KERNEL_FILES = (_SOURCE, "kernel.cl")
#: The similarity from which a name counts as a mistyped one.
_ALIKE = 0.8


@dataclass(frozen=True, kw_only=True)
class KernelInfo:
    """One kernel: one of ours, or a user's folder."""

    name: str
    about: str
    #: Element types, the default one first.
    types: tuple[str, ...]
    default_size: int
    max_size: int
    #: The folder of a user's kernel.
    folder: Path | None = None


def _names(folder: Path) -> list[str]:
    """The files in the folder; empty if it cannot be read."""
    with contextlib.suppress(OSError):
        return sorted(each.name for each in folder.iterdir() if each.is_file())
    return []


def _alike(wanted: str, names: list[str]) -> str | None:
    """The name that is ``wanted`` mistyped, such as Host.py."""
    known = {name.lower(): name for name in names}
    found = difflib.get_close_matches(wanted, known, 1, _ALIKE)
    return known[found[0]] if found else None


def _sources(folder: Path) -> list[Path]:
    return [folder / name for name in KERNEL_FILES if os.path.isfile(folder / name)]


def _is_kernel_folder(folder: Path) -> bool:
    """Whether it contains both sides of a kernel."""
    return bool(_sources(folder)) and os.path.isfile(folder / _HOST)


def kernel_source(name: str) -> Path:
    """The source of the kernel of this name or path; its folder has the ``host.py``.

    Raises
    ------
    KernelError
        If there is none.
    """
    if name in KERNELS:
        return ROOT / "riscv_kernels" / name / _SOURCE
    if not name.strip():
        raise KernelError(f"the name of the kernel is empty: use {', '.join(KERNELS)}, or the path of your own")
    path = user_path(name)
    if path.is_dir():
        return _source_in(path, name)
    if path.suffix == ".cl" and path.is_file():
        if not (path.parent / _HOST).is_file():
            raise KernelError(f"{name}: it needs a {_HOST} in its folder, with its arguments and range "
                              "(docs/opencl.md)")
        return path
    if path.exists():
        raise KernelError(f"{name} is not a kernel: name a folder with a kernel.c, or a .c, .cl, .S, .elf or .vxbin "
                          "file")
    if len(path.parts) > 1 or path.suffix:
        raise KernelError(f"{name}: no such file or folder")
    raise KernelError(
        f"unknown kernel {name!r}{near(name, KERNELS)}: use {', '.join(KERNELS)}, or the path of your own"
    )


def _source_in(folder: Path, name: str) -> Path:
    found = _sources(folder)
    if len(found) > 1:
        raise KernelError(f"{name}: the folder has {' and '.join(KERNEL_FILES)}: keep one, or name the one to run")
    if not found:
        raise KernelError(f"{name}: {_lack(folder)}")
    if not (folder / _HOST).is_file():
        require_host(folder, name)
    return found[0]


def _lack(folder: Path) -> str:
    """The reason why this folder, which has no file kernel.c, is not a kernel."""
    if (folder / _SOURCE).is_dir():
        return f"its {_SOURCE} is a folder: it must be a C file"
    if folder.name == _SOURCE:
        return f"it is a folder: {_SOURCE} must be a C file"
    names = _names(folder)
    opencl = [each for each in names if Path(each).suffix.lower() == ".cl"]
    if opencl:
        return f"the folder has no {_SOURCE}: for OpenCL C name the source: metronome run {folder / opencl[0]}"
    sources = [each for each in names if Path(each).suffix.lower() == ".c"]
    other = _alike(_SOURCE, names) or (sources[0] if len(sources) == 1 else None)
    if other is not None:
        alone = "" if Path(other).suffix != ".c" else f", or run it alone: metronome run {folder / other}"
        return f"the folder has no {_SOURCE}, but {other}: rename it to {_SOURCE}{alone}"
    if sources:
        return f"the folder has no {_SOURCE}, but {', '.join(sources[:3])}: rename the one that is the kernel"
    return f"the folder has no {_SOURCE} (metronome new writes a first kernel)"


def require_host(folder: Path, name: str) -> None:
    """For a folder with a kernel but no file ``host.py``: report a file that may be meant as one.

    Raises
    ------
    KernelError
        If there is a folder of that name, or a file with a similar name.
    """
    alone = f"or run {_SOURCE} alone: metronome run {Path(name) / _SOURCE}"
    if (folder / _HOST).is_dir():
        raise KernelError(f"{name}: its {_HOST} is a folder: it must be a Python file")
    other = _alike(_HOST, _names(folder))
    if other is not None:
        raise KernelError(f"{name}: the folder has no {_HOST}, but {other}: rename it to {_HOST}, {alone}")


def host_of(name: str) -> Host:
    """Return the host side of this kernel."""
    folder = kernel_source(name).parent
    return load_host(folder, f"metronome.riscv_kernels.{name}.host" if name in KERNELS else None)


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
        found = [each for each in sorted(folder.iterdir()) if _is_kernel_folder(each)]
        places |= {os.path.join(folder, each.name): each for each in found}
    infos, broken = [], []
    for name, place in places.items():
        try:
            infos.append(_info(name, place))
        except KernelError as error:
            broken.append(f"kernel {name} is broken and left out: {error}")
    return infos, broken


def kernels() -> list[KernelInfo]:
    """All our kernels that :func:`prepare` accepts."""
    return [_info(name) for name in KERNELS]
