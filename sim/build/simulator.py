"""Build the simulation executable of a configuration, once: it is cached by the content of all its inputs.

That content is the Verilog, not the sources that generate it (:mod:`sim.build.verilog`).
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from metronome.hdl.config import SmConfig

from ..machine.policies.files import PolicyFileError
from ..machine.policies.hardware import require_hardware
from .cache import entry, held
from .executables import EXECUTABLE, WAVES_MAIN, describe, is_whole, kept, key_of, name_by_profile, usual_name
from .generated import cocotb_library, pack, testbench_sources
from .plain_paths import plain
from .preflight import missing_for_simulation
from .verilating import FLAGS, PREFIX, WAVES_FLAGS, BuildError, call, make, verilator
from .verilog import Design, Progress

__all__ = ["Build", "BuildError", "Progress", "build", "build_usual", "is_built", "kept_executable", "require_tools"]


@dataclass(frozen=True)
class Build:
    """A simulation executable and the seconds this call spent on making it (0 if it came from the cache)."""

    executable: Path
    elaborate_seconds: float = 0.0
    build_seconds: float = 0.0


def _compile(config: SmConfig, verilog: str, folder: Path, waves: bool, progress: Progress) -> float:
    """Compile Verilog to ``folder``/metronome_top; return the seconds that compiling took."""
    from .layout_header import layout_header

    (folder / "metronome_sm.v").write_text(verilog)
    (folder / "layout.svh").write_text(layout_header(config))
    progress("verilate")
    shared = _verilate(folder, waves)
    if not waves:
        pack(folder)
    progress("compile")
    started = time.perf_counter()
    make(folder, PREFIX, shared)
    return time.perf_counter() - started


def _verilate(folder: Path, waves: bool) -> list[Path]:
    """Translate Verilog to C++ in ``folder``/obj; return the testbench's C++ sources, which other designs share."""
    script, env = verilator()
    main, *sources = testbench_sources()
    folders: list[str] = []
    if waves:
        shutil.copy(main, folder)
        folders, main = ["-CFLAGS", "-I.."], plain(WAVES_MAIN.parent) / WAVES_MAIN.name
    call([
        str(script), *FLAGS, *(WAVES_FLAGS if waves else ()), *folders,
        "-Mdir", "obj", "-I.", "-o", f"../{EXECUTABLE}",
        # Without the library's path: it comes from the environment that runs the executable (sim/run/process.py).
        "-LDFLAGS", f"{cocotb_library()} -Wl,--export-dynamic",
        str(main), *map(str, sources), "metronome_sm.v",
    ], folder, env)
    return [main, *(path for path in sources if path.suffix == ".cpp")]


def kept_executable(config: SmConfig) -> Path | None:
    """The simulation of ``config`` in the cache; None if it must be built, or may have to be."""
    return kept(Design(config), waves=False)


def is_built(config: SmConfig) -> bool:
    """Whether the cache has the simulation of ``config``, as far as can be determined without elaborating it."""
    return kept_executable(config) is not None


def require_tools(config: SmConfig, *, waves: bool = False) -> None:
    """Check the tools as :func:`build` does: raises BuildError if it would have to build, and a tool is missing."""
    require_simulated(config)
    _require_tools(Design(config, all_signals=waves), waves)


def _require_tools(design: Design, waves: bool) -> None:
    if (missing := missing_for_simulation()) and kept(design, waves) is None:
        raise BuildError("; ".join(missing))


def require_simulated(config: SmConfig) -> None:
    """Raise BuildError if the SM lacks a port with all counters, for the testbench, or has a Python-only policy."""
    if not config.all_counters:
        raise BuildError("a simulation reads all counters at once: leave out all_counters=false, which is for a chip")
    try:
        require_hardware(config)
    except PolicyFileError as error:
        raise BuildError(str(error)) from None


def build(
    config: SmConfig, *, verilog: str | None = None, waves: bool = False, progress: Progress | None = None,
    by_profile: bool = True,
) -> Build:
    """Return the executable of ``config``, from the cache or built now; a profile-guided one if it exists.

    Parameters
    ----------
    verilog
        The text of a module ``metronome_sm`` with the SM's ports, in place of the SM itself (tests of the harness).
    waves
        Build with VCD dumping.
    by_profile
        Whether it may be a profile-guided build.

    Raises
    ------
    BuildError
        If a system requirement is missing, or a tool fails, or the configuration has no port with all counters.
    """
    require_simulated(config)
    design = Design(config, verilog, progress or (lambda step: None), all_signals=waves)
    # Before the design is elaborated, which takes 7 to 35 seconds.
    _require_tools(design, waves)
    if by_profile and not waves and (place := held(name_by_profile(key_of(design, waves)), is_whole)):
        return Build(place / EXECUTABLE, design.elaborate_seconds)
    return build_usual(design, waves, progress)


def build_usual(design: Design, waves: bool = False, progress: Progress | None = None) -> Build:
    """As :func:`build`, but never a profile-guided build."""
    report = progress or (lambda step: None)
    seconds = 0.0

    def make_entry(folder: Path) -> None:
        nonlocal seconds
        text = design.verilog
        started = time.perf_counter()
        compiling = _compile(design.config, text, folder, waves, report)
        shutil.rmtree(folder / "obj")
        seconds = time.perf_counter() - started
        describe(folder, config=repr(design.config), build_seconds=seconds, compile_seconds=compiling, key=key)

    key = key_of(design, waves)
    made = entry(usual_name(key), make_entry, is_whole)
    return Build(made / EXECUTABLE, design.elaborate_seconds, seconds)
