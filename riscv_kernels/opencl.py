"""What a ``host.py`` beside an OpenCL kernel returns: the kernel's arguments and its range (docs/opencl.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .host import ReadMemory

__all__ = ["Local", "OpenCl"]


@dataclass(frozen=True)
class Local:
    """The argument of a ``__local`` pointer: so many bytes for each work-group."""

    bytes: int


@dataclass(frozen=True, kw_only=True)
class OpenCl:
    """One run of a kernel over a range of work-items, and the check of its output."""

    #: In the kernel's order, or by the names of its parameters. A buffer is the return value of ``Buffers.place``; a
    #: scalar is a number, a vector a sequence of numbers, a struct its bytes; a ``__local`` pointer is a
    #: :class:`Local`.
    arguments: Sequence[object] | Mapping[str, object]
    #: Work-items in one to three dimensions.
    global_size: int | Sequence[int]
    #: Work-items of a work-group in as many dimensions; None: a size that suits the kernel and the machine.
    local_size: int | Sequence[int] | None = None
    #: name -> (address, initial bytes): ``Buffers.placed``.
    buffers: dict[str, tuple[int, bytes]]
    #: Mismatches after the run, one line each; empty: passed.
    check: Callable[[ReadMemory], list[str]]
    #: The kernel; it may be left out where the source has one.
    kernel: str | None = None
    #: Options of the compiler, as for clBuildProgram: ``"-DTILE=4"``.
    options: str = ""
