"""The return value of ``host.py`` for an OpenCL kernel: the kernel's arguments and its range (docs/opencl.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .host import ReadMemory

__all__ = ["Local", "OpenCl"]


@dataclass(frozen=True)
class Local:
    """The argument for a ``__local`` pointer: the number of bytes for each work-group."""

    bytes: int


@dataclass(frozen=True, kw_only=True)
class OpenCl:
    """One run of a kernel over a range of work-items, and the check of its output."""

    #: The arguments, in the order of the kernel's parameters or by their names. A buffer is the return value of
    #: ``Buffers.place``, a scalar a number, a vector a sequence of numbers, and a struct its bytes. A ``__local``
    #: pointer is a :class:`Local`.
    arguments: Sequence[object] | Mapping[str, object]
    #: The number of work-items in each of one to three dimensions.
    global_size: int | Sequence[int]
    #: The same for each work-group; None: a size that suits the kernel and the machine.
    local_size: int | Sequence[int] | None = None
    #: name -> (address, initial bytes): ``Buffers.placed``.
    buffers: dict[str, tuple[int, bytes]]
    #: Returns the mismatches after the run, one line each; an empty list means that the kernel passed.
    check: Callable[[ReadMemory], list[str]]
    #: The name of the kernel; not needed if the source has only one.
    kernel: str | None = None
    #: Compiler options, as for clBuildProgram: ``"-DTILE=4"``.
    options: str = ""
