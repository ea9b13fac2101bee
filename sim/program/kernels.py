"""Launches of the kernels of ``riscv_kernels``, of users' kernels, and of any other program.

A kernel is a folder with ``kernel.c`` or ``kernel.cl``, and ``host.py`` (kernel_folders.py).

A :class:`Launch` is everything that must be in memory before the machine starts, in a fixed order: the program
image, the buffers, the argument block at the user area's start (whose address goes into mscratch).
"""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from metronome.hdl.config import MemoryMap, SmConfig
from metronome.hdl.presets import BASE
from metronome.riscv_kernels.host import KernelError, Problem, require_size
from metronome.riscv_kernels.opencl import OpenCl

from .compiler.elf_cache import Parts, build_elf
from .compiler.options import AS_USUAL, Compiling
from .elf import ElfImage, ImageError, load_binary, load_elf, load_vxbin
from .hints import with_hints
from .host import Host, HostError, shown
from .kernel_folders import KERNEL_FILES, KERNELS, KernelInfo, host_of, kernel_source, kernels, listing
from .kernel_names import C_TYPES
from .launch import Launch, ReadableMemory, load_into

__all__ = [
    "KERNELS", "HostError", "KernelError", "KernelInfo", "Launch", "ReadableMemory", "build_kernel", "build_sources",
    "kernels", "listing", "load_into", "prepare", "prepare_binary", "prepare_elf", "prepare_source", "prepare_vxbin",
    "with_loads", "with_vortex_memory",
]

#: The runtime's linker script defines it.
RUNTIME_SYMBOL = "__metronome_runtime"
#: Called with the compiler's warnings.
Warn = Callable[[str], None]


def _type(name: str, host: Host, dtype: str | None) -> str:
    """The element type: by default the first one."""
    if dtype is None:
        return host.types[0]
    if dtype not in host.types:
        raise KernelError(f"type of {name} must be one of {', '.join(host.types)}, not {dtype!r}")
    return dtype


def build_kernel(
    name: str, dtype: str | None = None, compiling: Compiling = AS_USUAL, *, warn: Warn | None = None
) -> Path:
    """Compile a kernel, or find it in the cache, and return the path of its ELF. See :func:`prepare`."""
    if compiling.hints:
        return prepare(name, dtype, compiling=compiling, warn=warn).image.path
    host = host_of(name)
    dtype = _type(name, host, dtype)
    problem = None
    if kernel_source(name).suffix == ".cl":
        problem = _problem(name, host, compiling.function, (dtype, host.default_size, 1, BASE))
    return _build(name, dtype, problem, compiling, MemoryMap(), warn)


def _build(
    name: str, dtype: str, problem: Problem | OpenCl | None, compiling: Compiling, memory_map: MemoryMap,
    warn: Warn | None,
) -> Path:
    source = kernel_source(name)
    elf = f"{source.stem if source.name not in KERNEL_FILES else source.resolve().parent.name}_{dtype}"
    if isinstance(problem, OpenCl):
        if not compiling.simt:
            raise KernelError(f"{shown(source)}: --no-simt is for C: an OpenCL kernel has only plain branches")
        from .opencl import OpenClUnit

        return build_elf(
            [source], name=elf, flags=[*_options(source, problem), *compiling.flags], soft_float=compiling.soft_float,
            warn=warn, memory_map=memory_map, parts=OpenClUnit.parts(problem.kernel), of_gpu=compiling.of_gpu,
        )
    defines: dict[str, str | int] = {"TYPE": C_TYPES[dtype], "TYPE_IS_FLOAT": int(dtype == "float32")}
    return build_elf(
        [source], name=elf, flags=compiling.flags, simt=compiling.simt, soft_float=compiling.soft_float, warn=warn,
        memory_map=memory_map, parts=Parts(ours=name in KERNELS, defines=defines), of_gpu=compiling.of_gpu,
    )


def _options(source: Path, problem: OpenCl) -> list[str]:
    try:
        return shlex.split(problem.options)
    except ValueError as error:
        raise HostError(f"{shown(source.parent / 'host.py')}: options {problem.options!r}: {error}") from None


def _problem(name: str, host: Host, function: str | None, what: tuple[str, int, int, SmConfig]) -> Problem | OpenCl:
    """The inputs; an OpenCL problem has the kernel ``function``, if that is given."""
    made = host.problem(*what, function)
    if kernel_source(name).suffix == ".cl":
        if not isinstance(made, OpenCl):
            raise HostError(f"{host.file}: make() of an OpenCL kernel must return an OpenCl (docs/opencl.md)")
        if function is not None and made.kernel not in (None, function):
            raise HostError(f"{host.file}: make() has the arguments of kernel {made.kernel!r}, not of {function!r}")
        return dataclasses.replace(made, kernel=made.kernel if function is None else function)
    if isinstance(made, OpenCl):
        raise HostError(f"{host.file}: make() returns an OpenCl, but the kernel in its folder is not OpenCL C "
                        "(kernel.cl)")
    if function is not None:
        raise KernelError(f"--kernel is for OpenCL C: {name} has one kernel")
    return made


def _arguments(problem: Problem | OpenCl, image: ElfImage, config: SmConfig, host: Host) -> bytes:
    if isinstance(problem, Problem):
        return problem.arguments
    from .opencl import launch_arguments

    return launch_arguments(image, problem, config, host.file)


def prepare(
    name: str, dtype: str | None = None, size: int | None = None, seed: int = 1, config: SmConfig = BASE,
    compiling: Compiling = AS_USUAL, *, warn: Warn | None = None,
) -> Launch:
    """Build a kernel and make inputs for it.

    Parameters
    ----------
    name
        One of :data:`KERNELS`, or the path of a folder with ``kernel.c`` or ``kernel.cl`` and ``host.py``, or of an
        OpenCL source with ``host.py`` beside it.
    dtype
        The element type; None takes the kernel's first one.
    size
        Its unit depends on the kernel (``KernelInfo.about``); None takes the default size.
    config
        The machine to run on: psum chooses its block by it. The program itself suits every machine.
    compiling
        Flags of the compiler, and the kernel of an OpenCL source.
    warn
        Called with the compiler's warnings; by default they go to stderr.

    Raises
    ------
    KernelError
        For an unknown kernel, a type it does not have, a size that it or the machine cannot take, or a mistake in
        its ``host.py``.
    ToolchainError
        If it does not compile.
    """
    host = host_of(name)
    dtype = _type(name, host, dtype)
    size = host.default_size if size is None else size
    require_size(name, size, host.max_size)
    problem = _problem(name, host, compiling.function, (dtype, size, seed, config))
    image = load_elf(_build(name, dtype, problem, compiling, config.memory_map, warn), config.memory_map)
    launch = Launch(
        name=name,
        image=image,
        memory_map=config.memory_map,
        arguments=_arguments(problem, image, config, host),
        buffers=problem.buffers,
        check=lambda memory: problem.check(memory.read),
        dtype=dtype,
        size=size,
        seed=seed,
        compiling=compiling,
        host_files=host.files,
    )
    overlap = _overlap(launch)
    if overlap is not None:
        raise HostError(f"{host.file}: {overlap}")
    if (refusal := _without_fpu(launch, config)) is not None:
        raise KernelError(refusal)
    if compiling.hints:
        launch = dataclasses.replace(launch, image=with_hints(_other_inputs(launch, config), config))
    return launch


def _other_inputs(launch: Launch, config: SmConfig) -> Launch:
    """The same program with the inputs of the next seed, or with its own if they need another program or do not exist.

    A profile of the run's own inputs would know more than a user can know before the run.
    """
    if launch.seed is None or launch.compiling is None:
        return launch
    as_usual = dataclasses.replace(launch.compiling, hints=False)
    try:
        other = prepare(launch.name, launch.dtype, launch.size, launch.seed + 1, config, as_usual, warn=_silent)
    except KernelError:
        return launch
    return other if other.image.content == launch.image.content else launch


def _silent(warning: str) -> None:
    """Do not repeat a warning of the compiler."""


def _without_fpu(launch: Launch, config: SmConfig) -> str | None:
    """The reason why a machine without an FPU cannot run the program, in one line; None if it can."""
    if config.fpu:
        return None
    # Imported late: its table of instructions takes Amaranth.
    from .float_code import needs_fpu

    found = needs_fpu(launch.image)
    if found is None:
        return None
    soft = launch.compiling is not None and launch.compiling.soft_float
    advice = "--soft-float cannot replace it" if soft else "compile its C with --soft-float, or use integers"
    return f"{launch.name}: this machine has no FPU (fpu=false), and the program has {found}: {advice}"


def prepare_source(
    path: str | Path, arguments_path: str | Path | None = None, config: SmConfig = BASE,
    compiling: Compiling = AS_USUAL, *, warn: Warn | None = None,
) -> Launch:
    """Prepare a program of one C or assembly file, compiled with the runtime; else as :func:`prepare_elf`.

    Raises
    ------
    ImageError, ToolchainError
        If the argument block cannot be used, or the source does not compile.
    """
    path = Path(path)
    elf = _build_sources([path], path.resolve().stem, compiling, config.memory_map, warn)
    launch = _foreign(load_elf(elf, config.memory_map), arguments_path, config, name=shown(path), compiling=compiling)
    return dataclasses.replace(launch, image=with_hints(launch, config)) if compiling.hints else launch


def build_sources(
    paths: Sequence[Path], name: str, compiling: Compiling = AS_USUAL, *, warn: Warn | None = None
) -> Path:
    """Compile a program of C and assembly files with the runtime, and return the path of its ELF in the cache.

    Raises
    ------
    ToolchainError
        If a source does not compile.
    """
    elf = _build_sources(paths, name, compiling, MemoryMap(), warn)
    return with_hints(prepare_elf(elf), BASE).path if compiling.hints else elf


def _build_sources(
    paths: Sequence[Path], name: str, compiling: Compiling, memory_map: MemoryMap, warn: Warn | None
) -> Path:
    return build_elf(
        paths, name=name, flags=compiling.flags, simt=compiling.simt, soft_float=compiling.soft_float, warn=warn,
        memory_map=memory_map, of_gpu=compiling.of_gpu,
    )


def _overlap(launch: Launch) -> str | None:
    """The first overlap, or the first part outside memory, in words; None if there is neither."""
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
    image: ElfImage, arguments_path: str | Path | None, config: SmConfig, name: str | None = None,
    compiling: Compiling | None = None,
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
    launch = Launch(
        name=name or image.path.name, image=image, memory_map=config.memory_map, arguments=arguments,
        compiling=compiling,
    )
    _require_apart(launch)
    if (refusal := _without_fpu(launch, config)) is not None:
        raise ImageError(refusal)
    return launch


def prepare_elf(path: str | Path, arguments_path: str | Path | None = None, config: SmConfig = BASE) -> Launch:
    """Prepare a program that was not built here. ``arguments_path`` is a file with its argument block.

    Raises
    ------
    ImageError
        If either file cannot be used.
    """
    return _foreign(load_elf(path, config.memory_map), arguments_path, config)


def prepare_binary(
    path: str | Path, arguments_path: str | Path | None = None, base: int | None = None, config: SmConfig = BASE
) -> Launch:
    """Prepare a raw image at ``base`` (default: the start address); else as :func:`prepare_elf`."""
    return _foreign(load_binary(path, base, config.memory_map), arguments_path, config)


def prepare_vxbin(path: str | Path, arguments_path: str | Path | None = None, config: SmConfig = BASE) -> Launch:
    """Prepare an image in Vortex's format; else as :func:`prepare_elf`."""
    return _foreign(load_vxbin(path, config.memory_map), arguments_path, config)


def with_vortex_memory(launch: Launch, config: SmConfig) -> tuple[Launch, SmConfig]:
    """``launch`` on ``config``, with memory up to the end of the address space unless it has this project's runtime."""
    if RUNTIME_SYMBOL in launch.image.symbols:
        return launch, config
    memory_map = dataclasses.replace(config.memory_map, end=1 << 32)
    return dataclasses.replace(launch, memory_map=memory_map), dataclasses.replace(config, memory_map=memory_map)


def with_loads(launch: Launch, loads: dict[str, tuple[int, bytes]]) -> Launch:
    """Return ``launch`` with ``loads`` in memory.

    Raises
    ------
    ImageError
        If any two parts of the initial memory overlap, or one is outside memory.
    """
    launch = dataclasses.replace(launch, loads=loads)
    overlap = _overlap(launch)
    if overlap is not None:
        raise ImageError(f"{overlap}: choose another ADDR for --load")
    return launch
