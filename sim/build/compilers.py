"""The C++ compiler of a simulation: clang from the ziglang wheel, or g++ if the wheel has none for this machine.

Clang takes two thirds of g++'s time, and its code for a large design runs a third faster. It has headers of its
own, but not those of the C++ library: g++ provides these, and links.
"""

from __future__ import annotations

import functools
import importlib.util
import platform
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from .packages import version
from .plain_paths import plain
from .processes import run, tool_environment

__all__ = ["CLANG_FLAGS", "COUNTING", "GCC", "Compiler", "chosen", "clang", "identity", "level", "refusal"]

#: The parts of the C++ library that the generated C++ and Verilator's library use.
_TRIAL = "#include <coroutine>\n#include <map>\n#include <string>\nstd::map<int, std::string> trial;\n"
#: The features of x86-64-v3, by Linux's names: AVX2 and its companions. Such code runs a tenth faster.
_V3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}


@dataclass(frozen=True)
class Compiler:
    """A compiler with its flags for parts that run in every cycle, that run once, and for Verilator's library."""

    name: str
    command: tuple[str, ...]
    flags: str
    fast: str
    slow: str = "-O0"
    library: str = "-O2"

    @property
    def invocation(self) -> str:
        """The command as a word of a makefile."""
        return shlex.join([*self.command, *self.flags.split()]).replace("$", "$$")

    def settings(self, fast: str = "") -> list[str]:
        """Variables of Verilator's makefile; ``fast``: more flags for the parts that run in every cycle."""
        return [f"CXX={self.invocation}", "LINK=g++", f"OPT_FAST={self.fast} {fast}".rstrip(), f"OPT_SLOW={self.slow}",
                f"OPT_GLOBAL={self.library}"]


#: For parts that run in every cycle. With -O2 they run 6 % slower, and take as long to compile.
CLANG_FLAGS = "-O3"
#: More of them for a build that counts executed code; argument values are not recorded, as they are not needed.
COUNTING = "-fprofile-generate -mllvm -disable-vp"
#: -O1: with -O2 g++ takes twice as long for the PAPER size, and every size runs less than 5 % faster.
GCC = Compiler("g++", ("g++",), "", "-O1")


@functools.cache
def _gcc_version() -> str:
    """The version of g++; empty if there is none."""
    if shutil.which("g++") is None:
        return ""
    return run(["g++", "--version"], cwd=Path("/"), env=tool_environment()).stdout.partition("\n")[0]


@functools.cache
def level() -> str:
    """The flag for this machine's instructions; code compiled with it does not run on any other machine."""
    if platform.machine() != "x86_64":
        return ""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return "-march=x86-64-v3" if set(flags.split()) >= _V3 else ""


@functools.cache
def clang() -> Compiler | None:
    """Clang for this machine, if the wheel is installed and its linker's output can be loaded by Linux."""
    package = importlib.util.find_spec("ziglang")
    if sys.platform != "linux" or package is None or package.origin is None:
        return None
    folder = plain(Path(package.origin).parent)
    flags = f"--target={platform.machine()}-linux-gnu -isystem {folder}/lib/include {level()}"
    name = f"clang of ziglang {version('ziglang')} {level()}"
    return Compiler(name.strip(), (str(folder / "zig"), "clang", "--driver-mode=g++"), flags.strip(), CLANG_FLAGS)


def identity() -> str:
    """The compiler versions that a build on this machine depends on; empty if there is no C++ library."""
    compiler = clang()
    return _gcc_version() and f"{_gcc_version()}, {(compiler or GCC).name}"


def refusal(compiler: Compiler) -> str | None:
    """The compiler's first error for a program that uses the C++ library; None if it compiles."""
    command = [*compiler.command, *compiler.flags.split(), "-std=c++20", "-x", "c++", "-fsyntax-only", "-"]
    done = run(["sh", "-c", f'printf %s "$0" | {shlex.join(command)}', _TRIAL], cwd=Path("/"), env=tool_environment())
    if done.returncode == 0:
        return None
    return next((line for line in done.stderr.splitlines() if "error" in line), f"exit status {done.returncode}")


@functools.cache
def chosen() -> Compiler:
    """Return the compiler to use now; print a line if it is not clang."""
    compiler = clang()
    if compiler is None:
        reason = "the Python package ziglang has no clang here"
    elif refused := refusal(compiler):
        reason = f"{compiler.name} cannot compile for this machine ({refused})"
    else:
        return compiler
    print(f"metronome: {reason}: g++ is used instead, and the simulation is slower", file=sys.stderr)
    return GCC
