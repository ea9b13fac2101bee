"""Profile-guided builds of a simulation: rarely executed code is moved out of the way of the rest.

Such a build is made once, when it pays off; then :func:`sim.build.simulator.build` returns it instead of the usual one.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from metronome.hdl.config import SmConfig

from . import compilers
from .cache import entry
from .executables import EXECUTABLE, about, describe, is_whole, key_of, name_by_profile
from .generated import unpack
from .profile import ProfileError, indexed
from .simulator import Build, build_usual, require_simulated
from .verilating import PREFIX, BuildError, make, make_design
from .verilog import Design, Progress

__all__ = ["build_by_profile", "note_seconds", "seconds_file", "seconds_until_it_pays"]

#: A profile-guided build takes two compilations and the counted runs; afterwards a run takes a tenth less time. It has
#: therefore paid off when the simulations have run thirty times as long as the compilation.
_PAYS_AFTER = 30
_PROFILE = "machine.profdata"


def build_by_profile(config: SmConfig, count: Callable[[Path], bytes], progress: Progress | None = None) -> Build:
    """Return the executable of ``config`` compiled with its profile, from the cache or built now.

    Parameters
    ----------
    count
        Runs programs on an executable that counts; returns the output of tb/profile.cpp.

    Raises
    ------
    BuildError
        As :func:`sim.build.simulator.build`, and if clang cannot be used here, or has no profile of it.
    """
    report = progress or (lambda step: None)
    require_simulated(config)
    compiler = compilers.chosen()
    if compiler is compilers.GCC:
        raise BuildError("a build with a profile needs the compiler of the Python package ziglang, which does not "
                         "work here")
    design = Design(config, progress=report)
    usual = build_usual(design, progress=report)
    seconds = 0.0

    def make_entry(folder: Path) -> None:
        nonlocal seconds
        started = time.perf_counter()
        sources = unpack(usual.executable.parent, folder)
        report("compile with counters")
        make(folder, PREFIX, sources, fast=compilers.COUNTING)
        report("record the profile")
        try:
            profile = indexed(count(folder / EXECUTABLE))
        except ProfileError as error:
            raise BuildError(str(error)) from None
        report("compile with the profile")
        objects = folder / "obj"
        (objects / _PROFILE).write_bytes(profile)
        for path in (*objects.glob(f"{PREFIX}_fast_*.o"), *objects.glob(f"{PREFIX}__ALL.a"), folder / EXECUTABLE):
            path.unlink()
        make_design(folder, PREFIX, compiler, fast=f"-fprofile-use={_PROFILE}")
        shutil.rmtree(objects)
        seconds = time.perf_counter() - started
        describe(folder, config=repr(config), build_seconds=seconds, by_profile=True)

    made = entry(name_by_profile(key_of(design, waves=False)), make_entry, is_whole)
    return Build(made / EXECUTABLE, usual.elaborate_seconds, usual.build_seconds + seconds)


def seconds_file(executable: Path) -> Path:
    """The file with the seconds that simulations with the executable have run, a line for each command."""
    return executable.parent / "seconds"


def note_seconds(executable: Path, seconds: float | None) -> bool:
    """Note that simulations with the executable have run for ``seconds``; None: start again from 0.

    Returns whether that was possible: it is not in a read-only cache.
    """
    mode = "w" if seconds is None else "a"
    try:
        with seconds_file(executable).open(mode) as file:
            file.write("" if seconds is None else f"{seconds:.1f}\n")
    except OSError:
        return False
    return True


def seconds_until_it_pays(executable: Path) -> float | None:
    """Return how long the executable has yet to run until a profile-guided build would have paid off; None if never.

    It never pays off for an executable that is already built by profile, or without clang.
    """
    compiling = about(executable.parent).get("compile_seconds")
    if not isinstance(compiling, int | float) or compilers.clang() is None:
        return None
    try:
        lines = seconds_file(executable).read_bytes().splitlines()
    except OSError:
        lines = []
    # A full disk or a killed command may have left an incomplete line.
    noted = sum(float(line) for line in lines if re.fullmatch(rb"\d{1,9}\.\d", line))
    return max(0.0, _PAYS_AFTER * compiling - noted)
