"""``metronome build --optimise``."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from ..options.common import json_target
from ..options.machine import Machine
from ..options.schemes import SchemeOptions, check_scheme, coordinate
from ..output.outputs import STDOUT, write_json
from ..process.backend import Backend
from ..process.errors import Exit
from ..process.progress import show_progress

__all__ = ["OptimiseOptions", "build_by_profile"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class OptimiseOptions(SchemeOptions):
    """Options for a simulation that is used for many runs."""

    optimise: Annotated[
        bool,
        typer.Option("--optimise", help="Build the machine's simulation for many runs: profile-guided."),
    ] = False


def build_by_profile(
    backend: Backend, machine: Machine, options: SchemeOptions, json_file: str | None
) -> Exit:
    """Build the simulation of the machine, optimised with a profile of its own, unless there is one."""
    target = json_target(json_file)
    # The machine that `metronome run` would build for the same options.
    config = coordinate(machine.config, check_scheme(machine, options))
    backend.require_tools([config])
    with show_progress() as progress:
        built = backend.build_by_profile(config, progress)
    if json_file is not None:
        write_json(target, {
            "config": {
                "preset": machine.preset, "config_file": machine.file, "set": dict(machine.settings),
                **dataclasses.asdict(config),
            },
            "elaborate_seconds": built.elaborate_seconds, "build_seconds": built.build_seconds,
        })
    if json_file != STDOUT:
        seconds = built.elaborate_seconds + built.build_seconds
        done = f"built by its profile in {seconds:.0f} s" if seconds else "built by its profile already"
        print(f"{machine.title} ({config.warps} warps x {config.threads} threads, {config.coordination}, "
              f"{config.prediction}, {' '.join(config.policies)}): {done}; every command that simulates this machine "
              "uses it")
    return Exit.PASSED
