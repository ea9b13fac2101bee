"""Cross compiling kernels with the LLVM inside the ziglang wheel, and a cache of the results by content.

The cache key is the hash of everything a build depends on: all sources and headers, the linker script, the flags and
the compiler's version. There is no time stamp, so a stale build cannot be picked up.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .cache import entry
from .compiler_messages import explain
from .processes import run

__all__ = ["ARCH", "ToolchainError", "build_elf", "compiler_version"]

REPOSITORY = Path(__file__).resolve().parents[1]
RUNTIME = REPOSITORY / "riscv_kernels" / "runtime"
#: What a program gets only if it calls it: one object a source, in an archive.
LIBRARY = RUNTIME / "library"

#: What the machine executes (isa.md).
ARCH = "rv32imf_zicond_zicsr_zifencei"

_COMPILE_FLAGS = (
    "--target=riscv32-unknown-elf",
    f"-march={ARCH}",
    "-mabi=ilp32f",
    "-mno-relax",
    "-ffreestanding",
    "-fno-math-errno",
    # a * b + c within one expression becomes one fused operation, across expressions never: host.py relies on it.
    "-ffp-contract=on",
    # SIMT_IF and SIMT_WHILE forbid jumps out of them with it (metronome.h).
    "-fdefer-ts",
    # No copying of SIMT instructions, no branch threaded past them (metronome.h).
    "-fconvergent-functions",
    # s2..s11 belong to the thread mapping (context.h).
    *(f"-ffixed-x{number}" for number in range(18, 28)),
    "-fomit-frame-pointer",
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
    # Code size and thus the instruction cache stay predictable; a kernel may ask for unrolling by pragma.
    "-fno-unroll-loops",
    "-ffile-compilation-dir=.",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-O2",
    "-g",
)
_LINK_FLAGS = ("--no-relax", "--discard-locals", "--fatal-warnings", "-z", "max-page-size=64", "--build-id=none")


class ToolchainError(Exception):
    """The cross compiler is missing or refused a source; the text is one line and then the compiler's own message."""


def compiler_version() -> str:
    """The version of the ziglang wheel. Raises ToolchainError if it is not installed."""
    try:
        return importlib.metadata.version("ziglang")
    except importlib.metadata.PackageNotFoundError:
        raise ToolchainError("the cross compiler is missing: install the Python package ziglang") from None


@functools.cache
def _compiler_include() -> Path:
    """Folder of the compiler's own freestanding headers (stdint.h and so on)."""
    compiler_version()
    spec = importlib.util.find_spec("ziglang")
    assert spec is not None and spec.origin is not None, "the version check above found the package"
    return Path(spec.origin).parent / "lib" / "include"


def _run(arguments: Sequence[str], what: str, directory: Path) -> None:
    done = run([sys.executable, "-m", "ziglang", *arguments], cwd=directory)
    if done.returncode != 0:
        message = (done.stderr + done.stdout).strip() or f"exit status {done.returncode}"
        raise ToolchainError(f"{what} failed:\n{explain(message)}")


def _relative(path: Path) -> str:
    """The path as the debug information shall show it: relative to the repository where it lies inside."""
    return str(path.relative_to(REPOSITORY)) if path.is_relative_to(REPOSITORY) else str(path)


def _headers(folders: Iterable[Path]) -> list[Path]:
    return sorted({header for folder in folders for header in folder.glob("*.h")})


def _key(files: Iterable[Path], flags: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in (compiler_version(), *flags):
        digest.update(text.encode() + b"\0")
    for path in files:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ToolchainError(f"cannot read {_relative(path)}: {error.strerror}") from None
        digest.update(f"{_relative(path)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:32]


def build_elf(
    sources: Sequence[Path],
    *,
    name: str,
    defines: Mapping[str, str | int] | None = None,
    flags: Sequence[str] = (),
    runtime: bool = True,
    link_script: Path = RUNTIME / "link.ld",
) -> Path:
    """Compile C and assembly sources into one ELF in the cache and return its path.

    Parameters
    ----------
    sources
        ``.c`` and ``.S`` files; headers are found beside them and in ``riscv_kernels/runtime``.
    name
        File name of the result, without a folder or suffix.
    defines
        Preprocessor macros.
    flags
        Further compiler flags, after the standard ones.
    runtime
        Link the start-up code and the C runtime too. Without it a source must define ``_start``.

    Raises
    ------
    ToolchainError
        With the compiler's or linker's message.
    """
    sources = [Path(source).resolve() for source in sources]
    if runtime:
        sources = [RUNTIME / "crt0.S", RUNTIME / "spawn.S", RUNTIME / "runtime.c", *sources]
    folders = list(dict.fromkeys([RUNTIME, *(source.parent for source in sources)]))
    # The script of each folder is relative to the repository, so that the key does not depend on where that lies.
    options = [
        *_COMPILE_FLAGS,
        *(f"-D{key}={value}" for key, value in (defines or {}).items()),
        *(f"-I{_relative(folder)}" for folder in folders),
        *flags,
    ]
    archives = [_library()] if runtime else []
    key = _key([*sources, *_headers(folders), link_script.resolve()],
               [*options, *_LINK_FLAGS, *(path.parent.name for path in archives), name])
    elf = f"{name}.elf"

    def make(folder: Path) -> None:
        _build_into(folder.resolve(), elf, sources, options, link_script, archives)

    return entry(f"kernels/{key}", make, lambda target: (target / elf).exists()) / elf


def _library() -> Path:
    """The archive of ``riscv_kernels/runtime/library``, in the cache."""
    sources = sorted(LIBRARY.glob("*.c"))
    key = _key([*sources, *_headers([RUNTIME, LIBRARY])], _COMPILE_FLAGS)

    def make(folder: Path) -> None:
        # All in one call, since starting the compiler takes longer than compiling; it writes where it runs.
        names = [f"-I{RUNTIME}", *_system_headers(), f"-ffile-prefix-map={REPOSITORY}/="]
        _run(["clang", *_COMPILE_FLAGS, *names, "-c", *map(str, sources)], "compiling the C library", folder)
        objects = [f"{source.stem}.o" for source in sources]
        _run(["ar", "rcsD", "library.a", *objects], "archiving the C library", folder)
        for name in objects:
            (folder / name).unlink()

    return entry(f"kernels/{key}", make, lambda target: (target / "library.a").exists()) / "library.a"


def _system_headers() -> list[str]:
    include = _compiler_include()
    return ["-isystem", str(include), f"-ffile-prefix-map={include}=compiler"]


def _build_into(
    work: Path, name: str, sources: Sequence[Path], options: Sequence[str], link_script: Path, archives: Sequence[Path]
) -> None:
    """Compile and link in the folder ``work``, and leave nothing but the result in it."""
    system = _system_headers()
    objects = []
    for position, source in enumerate(sources):
        result = work / f"{position}.o"
        command = ["clang", *options, *system, "-c", _relative(source), "-o", str(result)]
        _run(command, f"compiling {_relative(source)}", REPOSITORY)
        objects.append(str(result))
    elf = work / name
    inputs = [*objects, *map(str, archives)]
    _run(["ld.lld", *_LINK_FLAGS, "-T", str(link_script), *inputs, "-o", str(elf)], f"linking {name}", REPOSITORY)
    for path in objects:
        Path(path).unlink()
