"""The cross compiler in the ziglang wheel: its flags for this machine, and the compilation of one source."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...build.packages import version
from ...build.processes import run, tool_environment
from ...build.sources import ROOT
from .refusals import compile_failure
from .soft_float import SOFT_FLOAT_FLAGS, with_routines

__all__ = [
    "ARCH",
    "COMPILE_FLAGS",
    "DIVERGENCE_FLAGS",
    "MACHINE_FLAGS",
    "PASS_REGISTERS",
    "RUNTIME",
    "WITHOUT_PASSES",
    "ToolchainError",
    "Unit",
    "compiler_version",
    "headers",
    "our_unit",
    "own_unit",
    "relative",
    "run_wheel",
    "system_headers",
]

RUNTIME = ROOT / "riscv_kernels" / "runtime"

#: The instruction set of the machine (isa.md).
ARCH = "rv32imf_zicond_zicsr_zifencei"

MACHINE_FLAGS = ("--target=riscv32-unknown-elf", f"-march={ARCH}", "-mabi=ilp32f", "-mno-relax")
COMPILE_FLAGS = (
    *MACHINE_FLAGS,
    "-ffreestanding",
    "-fno-math-errno",
    # a * b + c within one expression becomes one fused operation, but never across expressions: host.py relies on it.
    "-ffp-contract=on",
    # SIMT_IF and SIMT_WHILE use it to forbid jumps out of them (metronome.h).
    "-fdefer-ts",
    # No copying of SIMT instructions, and no jump threading past them (metronome.h).
    "-fconvergent-functions",
    # s2..s11 belong to the thread mapping (context.h).
    *(f"-ffixed-x{number}" for number in range(18, 28)),
    "-fomit-frame-pointer",
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
    # Code size and thus the instruction cache stay predictable; a kernel may request unrolling by pragma.
    "-fno-unroll-loops",
    "-ffile-compilation-dir=.",
    "-Wall",
    "-Wextra",
    "-O2",
    "-g",
)
#: s0 and s1 belong to the pass (places.py), in all code that calls code it changed.
PASS_REGISTERS = ("-ffixed-x8", "-ffixed-x9")
#: Further flags that sim.program.divergence needs.
DIVERGENCE_FLAGS = (
    "-DMETRONOME_DIVERGENCE",
    *PASS_REGISTERS,
    # The pass cannot follow jumps through a table, or calls that are jumps.
    "-fno-jump-tables",
    "-fno-optimize-sibling-calls",
    # -Oz would outline parts of functions, which return through another register.
    "-mno-outline",
    # Put an instruction at unreachable places, so that a function's text does not run on into the next one.
    "-mllvm",
    "-trap-unreachable",
    # Copies of the code after a branch would make its lanes reconverge later than necessary.
    "-mllvm",
    "-tail-dup-placement=0",
    "-mllvm",
    "-disable-early-taildup",
    "-mllvm",
    "-disable-tail-duplicate",
)
#: LLVM IR as the front end writes it.
WITHOUT_PASSES = ("-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes")
#: Directives and attributes through which the compiled text names other files.
_ASSEMBLER_READS = re.compile(rb"\.inc(bin|lude)\b|\bembed\b")


class ToolchainError(Exception):
    """The cross compiler is missing or refused a source; the text is one line and then the compiler's own message."""


def compiler_version() -> str:
    """The version of the ziglang wheel. Raises ToolchainError if it is not installed."""
    try:
        return version("ziglang")
    except ModuleNotFoundError:
        raise ToolchainError("the cross compiler is missing: install the Python package ziglang") from None


@functools.cache
def _wheel() -> Path:
    """The folder of the package."""
    compiler_version()
    spec = importlib.util.find_spec("ziglang")
    assert spec is not None and spec.origin is not None, "the version check above found the package"
    return Path(spec.origin).parent


def system_headers() -> list[str]:
    """Flags with which the compiler finds its own headers, wherever they are."""
    include = _wheel() / "lib" / "include"  # stdint.h and so on
    return ["-isystem", str(include), f"-ffile-prefix-map={include}=compiler"]


def run_wheel(arguments: Sequence[str], directory: Path, failure: Callable[[str], str]) -> str:
    """Run a program of the wheel and return its output; ToolchainError with ``failure`` of the output if it fails."""
    # Run the program directly: starting it through `python -m ziglang` takes longer than most of its tasks.
    try:
        done = run([_wheel() / "zig", *arguments], cwd=directory, env=tool_environment(**_date()))
    except (FileNotFoundError, PermissionError) as error:
        raise ToolchainError(
            f"the cross compiler cannot be started: {error.filename}: {error.strerror}: reinstall the Python package "
            "ziglang"
        ) from None
    said = (done.stderr + done.stdout).strip()
    if done.returncode != 0:
        raise ToolchainError(failure(said or f"exit status {done.returncode}"))
    return said


def _date() -> dict[str, str]:
    """The user's value of ``__DATE__``, if there is one: it is part of the preprocessed text."""
    return {name: os.environ[name] for name in ("SOURCE_DATE_EPOCH",) if name in os.environ}


def relative(path: Path) -> str:
    """The path as the debug information shows it: relative to the repository if it lies inside."""
    return _below(path, ROOT)


def _below(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def headers(folders: Iterable[Path]) -> list[Path]:
    """The header files in the folders."""
    return sorted({header for folder in folders for header in folder.glob("*.h")})


@dataclass(frozen=True)
class Unit:
    """One source, its flags, and the folder in which the compiler runs (paths in messages are relative to it)."""

    source: Path
    directory: Path
    flags: tuple[str, ...]

    @property
    def name(self) -> str:
        """The source as passed to the compiler."""
        return _below(self.source, self.directory)

    @property
    def machine_flags(self) -> tuple[str, ...]:
        """The flags that select the machine."""
        return tuple(flag for flag in self.flags if flag.startswith(("-march=", "-mabi=", "-mcpu=", "-mattr=")))

    @property
    def soft_float(self) -> bool:
        """Whether operations on floats are calls."""
        return set(SOFT_FLOAT_FLAGS) <= set(self.flags)

    def compile(self, *arguments: str) -> str:
        """Run the compiler on it and return its warnings."""
        return self._run([*self.flags, *system_headers(), *arguments, "--", self.name])

    def _run(self, words: Sequence[str]) -> str:
        command = ["clang", *COMPILE_FLAGS, *words]
        return run_wheel(command, self.directory, lambda said: compile_failure(self.name, said))

    def translate(self, work: Path, *arguments: str) -> str:
        """As :meth:`compile`, for code; ``work`` is a folder for intermediate files."""
        if not self.soft_float or self.source.suffix != ".c":
            return self.compile(*arguments)
        code = work / "unit.ll"
        said = self.compile(*WITHOUT_PASSES, "-o", str(code))
        code.write_text(with_routines(code.read_text("latin-1")), "latin-1")
        try:
            self._run([*self.flags, "-w", "-Qunused-arguments", *arguments, "-x", "ir", "--", str(code)])
        except ToolchainError:
            self.compile(*arguments)  # it fails as well, and names the line of the source
            raise
        code.unlink()
        return said

    def assembly(self, work: Path) -> tuple[str, str]:
        """The assembly of C, and the compiler's warnings; ``work`` is a folder for intermediate files."""
        result = work / "unit.s"
        said = self.translate(work, "-S", "-o", str(result))
        text = result.read_text(encoding="latin-1")
        result.unlink()
        return text, said

    def preprocessed(self, result: Path) -> list[bytes]:
        """The preprocessed text with all its includes, and the other files that the compiler reads.

        These are files that a flag names (``@options``, ``-fprofile-use=FILE``), and those that the assembler includes:
        for the latter, the object file stands in.
        """
        self.compile("-E", "-w", "-o", str(result))
        texts = [result.read_bytes(), *_named(self.flags, self.directory)]
        if _ASSEMBLER_READS.search(texts[0]):
            self.compile("-c", "-w", "-o", str(result))
            texts.append(result.read_bytes())
        return texts


def _named(flags: Iterable[str], directory: Path) -> list[bytes]:
    """The contents of the files that the flags name."""
    found = []
    for flag in flags:
        for name in {flag, *re.split("[=,@]", flag)} - {""}:
            if (path := directory / name).is_file():
                found.append(path.read_bytes())
                if flag.startswith("@"):
                    found += _named(shlex.split(path.read_text("utf-8", "replace")), directory)
    return found


def our_unit(source: Path, folders: Sequence[Path], flags: Sequence[str]) -> Unit:
    """A source of this repository. The compiler runs there, so that the result does not depend on the location."""
    return Unit(source, ROOT, ("-Werror", *(f"-I{relative(folder)}" for folder in folders), *flags))


def own_unit(source: Path, flags: Sequence[str]) -> Unit:
    """A user's source: a warning does not stop it, and messages show its path relative to the user's folder."""
    here = Path.cwd()
    return Unit(source, here, (
        # A thread-local variable becomes a call of a missing function, so that the linker names the line that uses it.
        "-femulated-tls", f"-ffile-prefix-map={ROOT}/=", f"-I{RUNTIME}", f"-I{_below(source.parent, here)}",
        *flags,
    ))
