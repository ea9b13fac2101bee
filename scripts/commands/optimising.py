"""``metronome build --optimise``."""

from __future__ import annotations

from ..options.common import json_target
from ..options.machine import Machine
from ..output.outputs import STDOUT, write_json
from ..process.backend import Backend
from ..process.errors import Exit
from ..process.progress import show_progress

__all__ = ["build_by_profile"]


def build_by_profile(backend: Backend, machine: Machine, json_file: str | None) -> Exit:
    """Build the simulation of the machine by a profile of its own, unless there is one."""
    target = json_target(json_file)
    backend.require_tools([machine.config])
    with show_progress() as progress:
        built = backend.build_by_profile(machine.config, progress)
    if json_file is not None:
        write_json(target, {
            "preset": machine.preset, "set": dict(machine.settings),
            "elaborate_seconds": built.elaborate_seconds, "build_seconds": built.build_seconds,
        })
    if json_file != STDOUT:
        seconds = built.elaborate_seconds + built.build_seconds
        done = f"built by its profile in {seconds:.0f} s" if seconds else "built by its profile already"
        print(f"{machine.preset}: {done}; every command that simulates this machine uses it")
    return Exit.PASSED
