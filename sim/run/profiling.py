"""Profile-guided builds: the programs used for profiling, and when a simulation is built this way automatically."""

from __future__ import annotations

import sys
from pathlib import Path

from metronome.hdl.config import SmConfig

from ..build.by_profile import build_by_profile, note_seconds, seconds_file, seconds_until_it_pays
from ..build.cache import try_lock
from ..build.simulator import Build, BuildError, Progress
from ..program.compiler.elf_cache import ToolchainError
from ..program.elf import ImageError
from ..program.kernels import KernelError, prepare
from .errors import SimulationError
from .jobs import job_of
from .process import simulation
from .types import Job, RunRequest

__all__ = ["built_by_profile", "when_it_pays"]

#: Kernels and sizes: integer and floating point, stores, barriers and divergence.
PROGRAMS = (("psort", 128), ("sgemm", 16), ("blackscholes", 64))


def built_by_profile(config: SmConfig, progress: Progress | None = None) -> Build:
    """Return the simulation of ``config`` compiled with a profile of :data:`PROGRAMS`, from the cache or built now.

    Raises
    ------
    BuildError
        As :func:`sim.build.by_profile.build_by_profile`, and if a program does not end on the machine.
    """
    return build_by_profile(config, lambda executable: _counts(config, executable), progress)


def _counts(config: SmConfig, executable: Path) -> bytes:
    """Return the counts that tb/profile.cpp writes after a run of all programs."""
    # A folder that is removed when the build ends.
    profile = executable.parent / "obj" / "counts"
    try:
        jobs = [_job(config, name, size) for name, size in PROGRAMS]
        with simulation(executable, profile=profile) as process:
            for kind, index, *content in process.messages(jobs):
                if kind == "result" and content[0]["status"] != "ended":
                    raise BuildError(f"{PROGRAMS[index][0]} does not end on this machine, so it gives no profile")
        return profile.read_bytes()
    except (ImageError, KernelError, SimulationError, ToolchainError) as error:
        raise BuildError(f"no profile: {error}") from error
    except FileNotFoundError:
        raise BuildError("the simulation has written no counts") from None


def _job(config: SmConfig, kernel: str, size: int) -> Job:
    fetch_policy = config.fetch_policies[0] if config.fetch_policies else None
    launch = prepare(kernel, None, size, 1, config)
    return job_of(config, RunRequest(launch=launch, policy=config.policies[0], fetch_policy=fetch_policy))


def when_it_pays(config: SmConfig, built: Build, progress: Progress | None) -> Build:
    """Return ``built``, or a profile-guided build if the usual one has run long enough for that to pay off.

    If ``progress`` is given, a line reports the build, or the reason that it is not done.
    """
    left = seconds_until_it_pays(built.executable)
    if left is None or left > 0:
        return built

    def say(text: str) -> None:
        if progress is not None:
            print(f"metronome: {text}", file=sys.stderr)

    with try_lock(seconds_file(built.executable)) as free:
        if not free:
            say("another command is building this machine with a profile: this one uses the ordinary simulation")
            return built
        # If this fails or is interrupted, the next command does not retry it at once.
        if not note_seconds(built.executable, None):
            return built
        say("this machine is simulated often: its simulation is rebuilt once with a profile, to run faster")
        try:
            return built_by_profile(config, progress)
        except (BuildError, OSError) as error:
            say(f"the build with a profile failed, so the ordinary simulation is used: {str(error).splitlines()[0]}")
            return built
