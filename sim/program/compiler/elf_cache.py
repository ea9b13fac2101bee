"""Cross compilation of kernels with LLVM from the ziglang wheel, and a cache of the results by content.

The cache key is the hash of everything a build depends on: the preprocessed text of each source or, for our own
kernels and the runtime, all sources and headers; the linker script, the flags and the compiler's version. There is no
time stamp, so a stale build cannot be used by mistake.
"""

from __future__ import annotations

import functools
import hashlib
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from metronome.hdl.config import MemoryMap

from ...build.cache import entry
from ...build.processes import own_folder
from ...build.sources import ROOT, closure, contents
from ..object_files import runs_around_main
from .clang import (
    COMPILE_FLAGS,
    DIVERGENCE_FLAGS,
    MACHINE_FLAGS,
    PASS_REGISTERS,
    RUNTIME,
    ToolchainError,
    Unit,
    compiler_version,
    headers,
    our_unit,
    own_unit,
    relative,
    run_wheel,
    system_headers,
)
from .options import refused_flag
from .refusals import compile_failure, link_failure
from .soft_float import SOFT_FLOAT_FLAGS

__all__ = ["RUNTIME", "Parts", "ToolchainError", "build_elf", "compiler_version"]

#: Code that a program gets only if it calls it: one object for each source, in an archive.
LIBRARY = RUNTIME / "library"
#: The same for programs with soft float.
SOFT_FLOAT = RUNTIME / "soft_float"
#: Flags such as -flto change it.
_UNREADABLE = "the compiler's output is not assembly (check --cflags, or try --no-simt)"
_LINK_FLAGS = ("--no-relax", "--discard-locals", "--fatal-warnings", "-z", "max-page-size=64", "--build-id=none")


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of a program besides its sources.

    Attributes
    ----------
    defines
        Preprocessor macros of the sources.
    runtime
        Link the start-up code and the C runtime too. Without it a source must define ``_start``.
    link_script
        The linker script, which places everything.
    ours
        The sources are kernels of this repository: a warning is an error.
    unit
        Makes the unit of a user's source from its path and flags.
    launcher
        Sources of the runtime that are part of this program.
    kernels
        Functions that assembly of the launcher starts on all lanes, with the same argument for all.
    """

    defines: Mapping[str, str | int] = field(default_factory=dict)
    runtime: bool = True
    link_script: Path = RUNTIME / "link.ld"
    ours: bool = False
    unit: Callable[[Path, Sequence[str]], Unit] = own_unit
    launcher: Sequence[Path] = ()
    kernels: Sequence[str] = ()


def build_elf(
    sources: Sequence[Path], *, name: str, flags: Sequence[str] = (), simt: bool = True,
    soft_float: bool = False, memory_map: MemoryMap | None = None, parts: Parts | None = None,
    warn: Callable[[str], None] | None = None, of_gpu: Sequence[str] = (),
) -> Path:
    """Compile C and assembly sources into one ELF in the cache and return its path.

    With ``simt``, a file beside it, with the same name and ``.s``, shows the code of the C sources; lines that the pass
    added end with ``# added``.

    Parameters
    ----------
    sources
        ``.c`` and ``.S`` files; headers are found beside them and in ``riscv_kernels/runtime``.
    name
        File name of the result, without a folder or suffix.
    flags
        Further compiler flags of ``sources``, after the standard ones.
    simt
        Insert the instructions for divergent branches (:mod:`sim.program.divergence`); else the source has them.
    soft_float
        Use no float instruction: operations on floats become calls (:mod:`.soft_float`), with the same results.
    memory_map
        That of the machine: the program's start, stacks, console and exit code. None: the usual one.
    parts
        None: the usual ones.
    warn
        Called with the compiler's warnings if there are any, whether or not the result was in the cache; by default
        they go to standard error.
    of_gpu
        The flags that a GPU of several SMs needs (:attr:`.options.Compiling.of_gpu`).

    Raises
    ------
    ToolchainError
        A line with the error and its place, then the compiler's or linker's message.
    """
    if refused := refused_flag(flags, simt, soft_float):
        raise ToolchainError(f"unsupported compiler flag: {refused}")
    parts = parts or Parts()
    places, start = _places(memory_map or MemoryMap())
    places += SOFT_FLOAT_FLAGS if soft_float else ()
    places += of_gpu
    passed = DIVERGENCE_FLAGS if simt else ()
    library = [*places, *(PASS_REGISTERS if simt else ())] if parts.runtime else None
    units, content = _units(sources, [*places, *passed], flags, parts)
    before = _runtime(parts, [*places, *passed])
    inputs: list[object] = [_content([parts.link_script.resolve()]), _LINK_FLAGS, start, name]
    inputs += [*_runtime_key(parts), content]
    if library is not None:
        inputs.append(_library_key(library))
    inputs.append(simt)
    elf, notes = f"{name}.elf", f"{name}.warnings"

    def make(folder: Path) -> None:
        said = _build_into(folder.resolve(), elf, before, units, ["-T", str(parts.link_script), *start], library,
                           parts.kernels if simt else None)
        if said:
            (folder / notes).write_text(said + "\n")

    built = entry(f"kernels/{_key(inputs, [*before, *units])}", make, lambda target: (target / elf).exists())
    if (built / notes).exists():
        (warn or sys.stderr.write)((built / notes).read_text())
    return built / elf


def _units(
    sources: Sequence[Path], machine: Sequence[str], flags: Sequence[str], parts: Parts
) -> tuple[list[Unit], list[Any]]:
    """The sources as compiled, and everything that their objects depend on besides the flags."""
    own = [*machine, *(f"-D{key}={value}" for key, value in parts.defines.items()), *flags]
    paths = [_readable(Path(source)) for source in sources]
    if not parts.ours:
        units = [parts.unit(path, own) for path in paths]
        return units, _preprocessed(units)
    folders = list(dict.fromkeys([RUNTIME, *(path.parent for path in paths)]))
    return [our_unit(path, folders, own) for path in paths], _content([*paths, *headers(folders)])


def _runtime(parts: Parts, flags: Sequence[str]) -> list[Unit]:
    """The code that comes first in memory: the start-up code, the runtime, the launcher."""
    if not parts.runtime:
        return []
    sources = [*(RUNTIME / source for source in ("crt0.S", "spawn.S", "runtime.c")), *parts.launcher]
    return [our_unit(source, [RUNTIME], flags) for source in sources]


def _runtime_key(parts: Parts) -> list[object]:
    if not parts.runtime:
        return []
    return [_content([
        *(RUNTIME.glob("*.[cS]")), *parts.launcher, *headers([RUNTIME, *(its.parent for its in parts.launcher)]),
        *((ROOT / "sim" / "program" / "opencl").glob("*.py") if parts.launcher else ()),
    ])]


def _library_sources(flags: Sequence[str]) -> list[Path]:
    folders = [LIBRARY, *([SOFT_FLOAT] if set(SOFT_FLOAT_FLAGS) <= set(flags) else ())]
    return sorted(source for folder in folders for source in folder.glob("*.c"))


def _library_key(flags: Sequence[str]) -> str:
    return _key([_content([*_library_sources(flags), *headers([RUNTIME, LIBRARY, SOFT_FLOAT])]), *flags], [])


def _library(flags: Sequence[str]) -> Path:
    """The archive of ``riscv_kernels/runtime/library`` and, with soft float, of its routines; in the cache."""
    sources = _library_sources(flags)

    def make(folder: Path) -> None:
        # All in one call, since starting the compiler takes longer than compiling; it writes to its working folder.
        names = [f"-I{RUNTIME}", *system_headers(), f"-ffile-prefix-map={ROOT}/="]
        run_wheel(["clang", *COMPILE_FLAGS, "-Werror", *flags, *names, "-c", *map(str, sources)], folder,
                  lambda said: compile_failure("the C library", said))
        objects = [f"{source.stem}.o" for source in sources]
        run_wheel(["ar", "rcsD", "library.a", *objects], folder, lambda said: f"cannot archive the C library:\n{said}")
        for name in objects:
            (folder / name).unlink()

    name = f"kernels/{_library_key(flags)}"
    return entry(name, make, lambda target: (target / "library.a").exists()) / "library.a"


def _places(memory_map: MemoryMap) -> tuple[list[str], list[str]]:
    """Flags that give the compiler and the linker the addresses that differ from the usual ones."""
    moved = [its.name for its in fields(MemoryMap) if getattr(memory_map, its.name) != its.default]
    defines = [f"-DMEMORY_{name.upper()}={getattr(memory_map, name):#x}" for name in moved if name != "start"]
    return defines, [f"--defsym=__start_address={memory_map.start:#x}"] if "start" in moved else []


def _readable(path: Path) -> Path:
    """The path, absolute. Raises ToolchainError unless it can be read."""
    try:
        with path.open("rb"):
            return path.resolve()
    except OSError as error:
        raise ToolchainError(f"cannot read {path}: {error.strerror}") from None


def _content(paths: Iterable[Path]) -> list[tuple[str, bytes]]:
    return [(relative(path), path.read_bytes()) for path in sorted(paths)]


def _preprocessed(units: Iterable[Unit]) -> list[list[bytes]]:
    with own_folder() as folder:
        return [unit.preprocessed(folder / "source.i") for unit in units]


@functools.cache
def _method() -> list[tuple[str, bytes]]:
    """The text of the module and of all that it imports: how a program is built from its parts."""
    return contents(closure(["sim/program/compiler/elf_cache.py"]))


def _key(inputs: object, units: Iterable[Unit]) -> str:
    flags = [(unit.name, unit.flags) for unit in units]
    what = (compiler_version(), COMPILE_FLAGS, flags, _method(), inputs)
    return hashlib.sha256(repr(what).encode()).hexdigest()[:32]


def _assemble(
    work: Path, texts: Mapping[int, str], machine: Mapping[int, tuple[str, ...]], whole: bool, kernels: Sequence[str]
) -> dict[int, str]:
    """Make object files of the program's C, by number, with support for divergent branches; return the assembly.

    ``machine`` has the flags that select the machine, ``whole``: no assembly of the user's calls into it.
    """
    # Imported here: a program from the cache does not need it.
    from ..divergence import SimtError, insert_divergence
    from ..symbols import as_named, for_the_assembler, plain_names

    try:
        changed = insert_divergence([plain_names(text) for text in texts.values()], whole=whole, kernels=kernels)
    except SimtError as error:
        raise ToolchainError(as_named(str(error)).encode("latin-1", "replace").decode("utf-8", "replace")) from None
    final = dict(zip(texts, changed, strict=True))
    for number, text in final.items():
        (work / f"{number}.s").write_text(for_the_assembler(text), encoding="latin-1")
    for flags in set(machine.values()):  # those for one machine in one call, which writes to its working folder
        names = [f"{number}.s" for number in final if machine[number] == flags]
        if names:
            run_wheel(["clang", *MACHINE_FLAGS, *flags, "-c", *names], work, lambda said: f"{_UNREADABLE}:\n{said}")
    for number in final:
        (work / f"{number}.s").unlink()
    return final


def _part(unit: Unit, simt: bool) -> Path:
    """The compiled form of a source of the runtime, which is the same for most programs: in the cache.

    An object file or, for C that goes through the pass (``simt``), the assembly.
    """
    name = "part.s" if simt and unit.source.suffix == ".c" else "part.o"

    def make(folder: Path) -> None:
        if name == "part.s":
            (folder / name).write_text(unit.assembly(folder)[0], "latin-1")
        else:
            unit.translate(folder, "-c", "-o", str(folder / name))

    key = _key([_content([unit.source, *headers([RUNTIME, unit.source.parent])]), name], [unit])
    return entry(f"kernels/{key}", make, lambda target: (target / name).exists()) / name


def _build_into(
    work: Path, name: str, before: Sequence[Unit], units: Sequence[Unit], link: Sequence[str],
    library: Sequence[str] | None, kernels: Sequence[str] | None,
) -> str:
    """Compile and link in the folder ``work``, leave only the result in it, and return the warnings.

    The runtime, ``before``, comes first in memory. It is compiled last, after the sources that are more likely to be
    refused; so is the C library, with its flags ``library`` (None: without it). ``kernels`` is None without the pass.
    """
    said = []
    texts: dict[int, str] = {}
    for position, unit in enumerate(units, len(before)):
        if kernels is not None and unit.source.suffix in (".c", ".cl"):
            texts[position], warnings = unit.assembly(work)
            said.append(warnings)
        else:
            said.append(unit.translate(work, "-c", "-o", str(work / f"{position}.o")))
    for position, unit in enumerate(before):
        part = _part(unit, kernels is not None)
        if part.suffix == ".s":
            texts[position] = part.read_text("latin-1")
        else:
            shutil.copy(part, work / f"{position}.o")
    machine = {number: unit.machine_flags for number, unit in enumerate([*before, *units])}
    if kernels is not None:
        whole = all(unit.source.suffix != ".S" for unit in units)
        final = _assemble(work, texts, machine, whole=whole, kernels=kernels)
        from ..divergence import listing
        from ..symbols import as_named

        shown = "".join(listing(text) for number, text in final.items() if number >= len(before))
        (work / name).with_suffix(".s").write_text(as_named(shown), "latin-1")
    objects = [str(work / f"{position}.o") for position in range(len(before) + len(units))]
    archives = [] if library is None else [str(_library(library))]
    if archives and any(runs_around_main(Path(path)) for path in objects[len(before) :]):
        link = [*link, "--wrap=main", "--wrap=exit"]  # library/constructors.c
    elf = work / name
    command = ["ld.lld", *_LINK_FLAGS, *link, *objects, *archives, "-o", str(elf)]
    run_wheel(command, ROOT, lambda message: link_failure(name, message.replace(f"{work}/", "")))
    for path in objects:
        Path(path).unlink()
    return "\n".join(filter(None, said))
