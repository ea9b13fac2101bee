"""The kernels of ``riscv_kernels``, and what it takes to launch one of them, or any other program.

A :class:`Launch` is everything that has to be in memory before the machine starts, in a fixed order: the program
image, the buffers, the argument block at the user area's start (whose address goes into mscratch).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from metronome.hdl.config import MemoryMap, SmConfig
from metronome.hdl.presets import BASE
from metronome.riscv_kernels.host import KernelError
from metronome.sim.elf import ElfImage, ImageError, load_binary, load_elf
from metronome.sim.memory.store import PAGE_BYTES, SparseMemory
from metronome.sim.toolchain import REPOSITORY, build_elf

__all__ = ["KERNELS", "KernelError", "KernelInfo", "Launch", "build_kernel", "kernels", "load_into", "prepare",
           "prepare_binary", "prepare_elf"]

#: The names, in the order of a listing.
KERNELS = ("vecadd", "saxpy", "sgemm", "psort", "transpose", "psum", "diverge")
_C_TYPES = {"int32": "int32_t", "float32": "float"}


@dataclass(frozen=True, kw_only=True)
class KernelInfo:
    """One kernel of the registry."""

    name: str
    about: str
    #: Element types, the default one first.
    types: tuple[str, ...]
    default_size: int
    max_size: int


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One program with its inputs, ready to be loaded."""

    name: str
    image: ElfImage
    memory_map: MemoryMap
    #: The argument block; empty for a program that takes none.
    arguments: bytes = b""
    #: name -> (address, initial bytes)
    buffers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    #: Mismatches in memory after the run, one line each; empty: passed. A program not from here has no check.
    check: Callable[[SparseMemory], list[str]] = lambda memory: []
    dtype: str | None = None
    size: int | None = None
    seed: int | None = None

    @property
    def entry(self) -> int:
        """Where warp 0 starts."""
        return self.image.entry

    @property
    def argument_address(self) -> int:
        """What mscratch holds at the start."""
        return self.memory_map.user


def _host(name: str) -> ModuleType:
    if name not in KERNELS:
        raise KernelError(f"kernel must be one of {', '.join(KERNELS)}, not {name!r}")
    return importlib.import_module(f"metronome.riscv_kernels.{name}.host")


def kernels() -> list[KernelInfo]:
    """Every kernel that :func:`prepare` knows."""
    found = []
    for name in KERNELS:
        host = _host(name)
        found.append(KernelInfo(
            name=name, about=host.ABOUT, types=host.TYPES, default_size=host.DEFAULT_SIZE, max_size=host.MAX_SIZE
        ))
    return found


def _require_type(name: str, dtype: str) -> None:
    types = _host(name).TYPES
    if dtype not in types:
        raise KernelError(f"type of {name} must be one of {', '.join(types)}, not {dtype!r}")


def build_kernel(name: str, dtype: str = "int32") -> Path:
    """Compile a kernel, or find it in the cache, and return the path of its ELF.

    Raises
    ------
    KernelError
        For an unknown kernel or a type it does not have.
    ToolchainError
        If it does not compile.
    """
    _require_type(name, dtype)
    return build_elf(
        [REPOSITORY / "riscv_kernels" / name / "kernel.c"],
        name=f"{name}_{dtype}",
        defines={"TYPE": _C_TYPES[dtype], "TYPE_IS_FLOAT": int(dtype == "float32")},
    )


def prepare(
    name: str, dtype: str = "int32", size: int | None = None, seed: int = 1, config: SmConfig = BASE
) -> Launch:
    """Build a kernel and make inputs for it.

    Parameters
    ----------
    size
        What it counts is the kernel's (``KernelInfo.about``); None takes the default size.
    config
        The machine it shall run on: psum chooses its block by it. The program itself suits every machine.

    Raises
    ------
    KernelError
        For an unknown kernel, a type it does not have, or a size that it or the machine cannot take.
    ToolchainError
        If it does not compile.
    """
    _require_type(name, dtype)
    host = _host(name)
    size = host.DEFAULT_SIZE if size is None else size
    problem = host.make(dtype, size, seed, config)
    launch = Launch(
        name=name,
        image=load_elf(build_kernel(name, dtype), config.memory_map),
        memory_map=config.memory_map,
        arguments=problem.arguments,
        buffers=problem.buffers,
        check=lambda memory: problem.check(memory.read),
        dtype=dtype,
        size=size,
        seed=seed,
    )
    _require_apart(launch)
    return launch


def _require_apart(launch: Launch) -> None:
    """Raise ImageError if the program covers the argument block or a buffer."""
    places = {"the argument block": (launch.argument_address, launch.arguments)}
    places |= {f"buffer {name!r}": place for name, place in launch.buffers.items()}
    for what, (address, data) in places.items():
        for segment in launch.image.segments:
            if data and address < segment.end and segment.address < address + len(data):
                raise ImageError(
                    f"{launch.image.path}: segment at {segment.address:#010x} covers {what} at {address:#010x}; "
                    f"link it to {launch.memory_map.start:#010x}"
                )


def _foreign(image: ElfImage, arguments_path: str | Path | None, config: SmConfig) -> Launch:
    arguments = b""
    if arguments_path is not None:
        try:
            arguments = Path(arguments_path).read_bytes()
        except OSError as error:
            raise ImageError(f"{arguments_path}: argument block cannot be read: {error.strerror or error}") from None
        room = config.memory_map.start - config.memory_map.user
        if len(arguments) > room:
            raise ImageError(f"{arguments_path}: an argument block of {len(arguments)} bytes is longer than {room}")
    launch = Launch(name=image.path.name, image=image, memory_map=config.memory_map, arguments=arguments)
    _require_apart(launch)
    return launch


def prepare_elf(path: str | Path, arguments_path: str | Path | None = None, config: SmConfig = BASE) -> Launch:
    """A program that was not built here. ``arguments_path`` is a file with its argument block.

    Raises
    ------
    ImageError
        If either file cannot be used.
    """
    return _foreign(load_elf(path, config.memory_map), arguments_path, config)


def prepare_binary(
    path: str | Path, arguments_path: str | Path | None = None, base: int | None = None, config: SmConfig = BASE
) -> Launch:
    """A raw image at ``base`` (default: the start address); else as :func:`prepare_elf`."""
    return _foreign(load_binary(path, base, config.memory_map), arguments_path, config)


def load_into(launch: Launch, memory: SparseMemory) -> None:
    """Write image, buffers and argument block. What a segment only reserves is zero afterwards, in used memory too."""
    pages = memory.pages()
    for segment in launch.image.segments:
        memory.write(segment.address, segment.data)
        _clear(memory, pages, segment.address + len(segment.data), segment.end)
    for address, data in launch.buffers.values():
        memory.write(address, data)
    if launch.arguments:
        memory.write(launch.argument_address, launch.arguments)


def _clear(memory: SparseMemory, pages: list[int], first: int, end: int) -> None:
    """Zero [first, end) where it lies in pages that exist; the others read zero anyway."""
    for page in pages:
        low, high = max(first, page), min(end, page + PAGE_BYTES)
        if low < high:
            memory.write(low, bytes(high - low))
