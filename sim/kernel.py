"""The kernels of ``riscv_kernels`` and those of users, and what it takes to launch one of them, or any other program.

A kernel is a folder with ``kernel.c`` and ``host.py``. One of ours goes by its name, one of a user's by its path.

A :class:`Launch` is everything that has to be in memory before the machine starts, in a fixed order: the program
image, the buffers, the argument block at the user area's start (whose address goes into mscratch).
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metronome.hdl.config import LINE_BYTES, MemoryMap, SmConfig
from metronome.hdl.presets import BASE
from metronome.riscv_kernels.host import KernelError, require_size
from metronome.sim.elf import ElfImage, ImageError, load_binary, load_elf, load_vxbin
from metronome.sim.kernel_folders import KERNELS, is_kernel_folder, kernel_folder
from metronome.sim.kernel_host import C_TYPES, Host, HostError, load_host, shown
from metronome.sim.memory.store import PAGE_BYTES, SparseMemory
from metronome.sim.toolchain import build_elf

__all__ = ["KERNELS", "HostError", "KernelError", "KernelInfo", "Launch", "build_kernel", "kernels", "listing",
           "load_into", "prepare", "prepare_binary", "prepare_elf", "prepare_source", "prepare_vxbin", "with_loads"]

#: Called with the compiler's warnings.
Warn = Callable[[str], None]


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
    #: name -> (address, bytes): what else is in memory. Unlike the buffers it does not say that this is all there is.
    loads: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    #: Mismatches in memory after the run, one line each; empty: passed. A program not from here has no check.
    check: Callable[[SparseMemory], list[str]] = lambda memory: []
    dtype: str | None = None
    size: int | None = None
    seed: int | None = None
    #: What --region has opened the measured region around, if it has.
    region: str | None = None

    @property
    def entry(self) -> int:
        """Where warp 0 starts."""
        return self.image.entry

    @property
    def argument_address(self) -> int:
        """What mscratch holds at the start."""
        return self.memory_map.user

    @property
    def without_argument(self) -> bool:
        """Whether nothing is loaded into the line of memory in which the argument block would begin."""
        first = self.argument_address // LINE_BYTES * LINE_BYTES
        places = [(self.argument_address, self.argument_address + len(self.arguments))]
        places += [(segment.address, segment.end) for segment in self.image.segments]
        places += [(address, address + len(data)) for address, data in (self.buffers | self.loads).values()]
        return all(low >= high or high <= first or first + LINE_BYTES <= low for low, high in places)


def _host(name: str) -> Host:
    return load_host(kernel_folder(name), f"metronome.riscv_kernels.{name}.host" if name in KERNELS else None)


def _info(name: str, folder: Path | None = None) -> KernelInfo:
    host = _host(name)
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


def _type(name: str, host: Host, dtype: str | None) -> str:
    """The element type: by default the first one."""
    if dtype is None:
        return host.types[0]
    if dtype not in host.types:
        raise KernelError(f"type of {name} must be one of {', '.join(host.types)}, not {dtype!r}")
    return dtype


def build_kernel(name: str, dtype: str | None = None, *, flags: Sequence[str] = (), warn: Warn | None = None) -> Path:
    """Compile a kernel, or find it in the cache, and return the path of its ELF. See :func:`prepare`."""
    return _build(name, _type(name, _host(name), dtype), flags, warn, MemoryMap())


def _build(name: str, dtype: str, flags: Sequence[str], warn: Warn | None, memory_map: MemoryMap) -> Path:
    folder = kernel_folder(name)
    return build_elf(
        [folder / "kernel.c"], name=f"{folder.resolve().name}_{dtype}", flags=flags, warn=warn, ours=name in KERNELS,
        memory_map=memory_map, defines={"TYPE": C_TYPES[dtype], "TYPE_IS_FLOAT": int(dtype == "float32")},
    )


def prepare(
    name: str, dtype: str | None = None, size: int | None = None, seed: int = 1, config: SmConfig = BASE, *,
    flags: Sequence[str] = (), warn: Warn | None = None,
) -> Launch:
    """Build a kernel and make inputs for it.

    Parameters
    ----------
    name
        One of :data:`KERNELS`, or the path of a folder with ``kernel.c`` and ``host.py``.
    dtype
        The element type; None takes the kernel's first one.
    size
        What it counts is the kernel's (``KernelInfo.about``); None takes the default size.
    config
        The machine it shall run on: psum chooses its block by it. The program itself suits every machine.
    flags, warn
        As for :func:`sim.toolchain.build_elf`.

    Raises
    ------
    KernelError
        For an unknown kernel, a type it does not have, a size that it or the machine cannot take, or a mistake in
        its ``host.py``.
    ToolchainError
        If it does not compile.
    """
    host = _host(name)
    dtype = _type(name, host, dtype)
    size = host.default_size if size is None else size
    require_size(name, size, host.max_size)
    problem = host.problem(dtype, size, seed, config)
    launch = Launch(
        name=name,
        image=load_elf(_build(name, dtype, flags, warn, config.memory_map), config.memory_map),
        memory_map=config.memory_map,
        arguments=problem.arguments,
        buffers=problem.buffers,
        check=lambda memory: problem.check(memory.read),
        dtype=dtype,
        size=size,
        seed=seed,
    )
    overlap = _overlap(launch)
    if overlap is not None:
        raise HostError(f"{host.file}: {overlap}")
    return launch


def prepare_source(
    path: str | Path, arguments_path: str | Path | None = None, config: SmConfig = BASE, *,
    flags: Sequence[str] = (), warn: Warn | None = None,
) -> Launch:
    """A program of one C or assembly file, compiled with the runtime; else as :func:`prepare_elf`.

    Raises
    ------
    ImageError, ToolchainError
        If the argument block cannot be used, or the source does not compile.
    """
    path = Path(path)
    elf = build_elf([path], name=path.resolve().stem, flags=flags, warn=warn, memory_map=config.memory_map)
    return _foreign(load_elf(elf, config.memory_map), arguments_path, config, name=shown(path))


def _overlap(launch: Launch) -> str | None:
    """What is in the way of what, or outside memory, in words; None if all is well."""
    places = {"the argument block": (launch.argument_address, launch.arguments)}
    places |= {f"buffer {name!r}": place for name, place in launch.buffers.items()}
    places |= {f"the file of {name}": place for name, place in launch.loads.items()}
    ends = {what: (address, address + len(data)) for what, (address, data) in places.items() if data}
    for what, (address, end) in ends.items():
        if address < launch.memory_map.first or end > launch.memory_map.end:
            return f"{what} at {address:#010x} is not in memory"
    segments = launch.image.segments
    parts = ends | {f"the program's segment at {its.address:#010x}": (its.address, its.end) for its in segments}
    ordered = sorted(parts, key=lambda what: parts[what])
    for first, second in itertools.pairwise(ordered):
        if parts[second][0] < parts[first][1]:
            return f"{first} and {second} overlap, at {parts[second][0]:#010x}"
    return None


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


def _foreign(
    image: ElfImage, arguments_path: str | Path | None, config: SmConfig, name: str | None = None
) -> Launch:
    arguments = b""
    if arguments_path is not None:
        try:
            arguments = Path(arguments_path).read_bytes()
        except OSError as error:
            raise ImageError(f"{arguments_path}: argument block cannot be read: {error.strerror or error}") from None
        room = config.memory_map.start - config.memory_map.user
        if len(arguments) > room:
            raise ImageError(f"{arguments_path}: an argument block of {len(arguments)} bytes is longer than {room}")
    launch = Launch(name=name or image.path.name, image=image, memory_map=config.memory_map, arguments=arguments)
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


def prepare_vxbin(path: str | Path, arguments_path: str | Path | None = None, config: SmConfig = BASE) -> Launch:
    """An image in Vortex's format; else as :func:`prepare_elf`."""
    return _foreign(load_vxbin(path, config.memory_map), arguments_path, config)


def with_loads(launch: Launch, loads: dict[str, tuple[int, bytes]]) -> Launch:
    """``launch`` with ``loads`` in memory.

    Raises
    ------
    ImageError
        If two of all that is in memory at the start overlap, or something is outside memory.
    """
    launch = dataclasses.replace(launch, loads=loads)
    overlap = _overlap(launch)
    if overlap is not None:
        raise ImageError(f"{overlap}: choose another ADDR for --load")
    return launch


def load_into(launch: Launch, memory: SparseMemory) -> None:
    """Write image, buffers, loads and argument block.

    What a segment only reserves is zero afterwards, in used memory too.
    """
    pages = memory.pages()
    for segment in launch.image.segments:
        memory.write(segment.address, segment.data)
        _clear(memory, pages, segment.address + len(segment.data), segment.end)
    for address, data in (launch.buffers | launch.loads).values():
        memory.write(address, data)
    if launch.arguments:
        memory.write(launch.argument_address, launch.arguments)


def _clear(memory: SparseMemory, pages: list[int], first: int, end: int) -> None:
    """Zero [first, end) where it lies in pages that exist; the others read zero anyway."""
    for page in pages:
        low, high = max(first, page), min(end, page + PAGE_BYTES)
        if low < high:
            memory.write(low, bytes(high - low))
