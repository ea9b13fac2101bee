"""Run requests as plain data for the simulation process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metronome.hdl.config import SmConfig

from ..machine.memory.names import MEMORY_MODELS
from ..machine.memory.registry import MemoryOptions
from ..machine.memory.store import SparseMemory
from ..program.kernels import Launch, load_into
from .types import Job, RunRequest, pack_memory

if TYPE_CHECKING:
    from .memcheck import DeclaredAreas

__all__ = ["job_of"]


def _check_fetch_policy(config: SmConfig, name: str | None) -> None:
    """Raise ValueError for a fetch policy that this build lacks, or for a missing one if the build needs one."""
    if not config.fetch_policies and name is not None:
        raise ValueError(f"fetch_policy must be None, not {name!r}: swas has one scheduler for fetch and issue")
    if config.fetch_policies and name not in config.fetch_policies:
        raise ValueError(f"fetch_policy must be one of {', '.join(config.fetch_policies)}, not {name!r}")


def _declared(launch: Any, config: SmConfig) -> DeclaredAreas | None:
    from .memcheck import declared

    return declared(launch, config) if isinstance(launch, Launch) else None


def job_of(config: SmConfig, request: RunRequest) -> Job:
    """Return the request as plain data. ValueError if this configuration cannot run it."""
    if request.policy not in config.policies:
        raise ValueError(f"policy must be one of {', '.join(config.policies)}, not {request.policy!r}")
    _check_fetch_policy(config, request.fetch_policy)
    if not isinstance(request.memory_options, MemoryOptions):
        raise ValueError(f"memory_options must be MemoryOptions, not {request.memory_options!r}")
    if request.memory not in MEMORY_MODELS:
        raise ValueError(f"memory must be one of {', '.join(MEMORY_MODELS)}, not {request.memory!r}")
    if request.latency < 1:
        raise ValueError(f"latency must be at least 1, not {request.latency!r}")
    if request.seed < 0:
        raise ValueError(f"seed must be at least 0, not {request.seed!r}")
    if request.max_cycles < 1:
        raise ValueError(f"max_cycles must be at least 1, not {request.max_cycles!r}")
    if (request.check or request.memcheck or request.trace) and not config.probe:
        raise ValueError("check, memcheck and trace need a configuration with probe")
    if request.memcheck and not isinstance(request.launch, Launch):
        raise ValueError("memcheck needs a Launch, which describes the program's memory")
    memory = SparseMemory(config.memory_map)
    if isinstance(request.launch, Launch):
        load_into(request.launch, memory)
    else:
        request.launch.load_into(memory)
    return Job(
        config=config, pages=pack_memory(memory), start_pc=request.launch.entry, arg=request.launch.argument_address,
        policy=config.policies.index(request.policy),
        fetch_policy=config.fetch_policies.index(request.fetch_policy) if request.fetch_policy else 0,
        memory=request.memory, latency=request.latency, memory_options=request.memory_options,
        seed=request.seed, check=request.check or request.memcheck, trace=request.trace,
        max_cycles=request.max_cycles,
        arrival=_arrival(request.launch) if isinstance(request.launch, Launch) else None,
        memcheck=_declared(request.launch, config) if request.memcheck else None,
        strict_races=request.strict_races,
        without_argument=isinstance(request.launch, Launch) and request.launch.without_argument,
    )


def _arrival(launch: Launch) -> tuple[int, tuple[tuple[int, bytes], ...]] | None:
    """The memory contents to restore when ``main`` is entered."""
    if not launch.at_main or launch.main is None:
        return None
    return launch.main, tuple(launch.at_main.values())
