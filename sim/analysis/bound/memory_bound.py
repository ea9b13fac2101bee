"""Upper bounds on the latency of a memory model, for any requests."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from metronome.hdl.config import SmConfig

from ...machine.memory.random import LONGEST_PAUSE
from ...machine.memory.registry import create_model
from ...machine.memory.store import SparseMemory
from ...machine.memory.tdm import TdmMemory
from ...run.types import RunRequest
from ..code.refusals import RefusedError

__all__ = ["MemoryBound", "memory_bound"]


@dataclass(frozen=True)
class MemoryBound:
    """Bounds on the cycles from the acceptance of a request to its answer.

    - ``base``: for a request that waits for no other. ``service``: the extra cycles for each request served before it.
    - ``stolen``: the share of cycles in which memory serves no request (refreshes). ``pause``: the longest such time.
    - ``latency``: for any request, with every tag of the port in use.
    - ``places``: the most requests accepted before one is answered; 0 if unlimited.
    """

    base: int
    service: int
    stolen: Fraction
    pause: int
    latency: int
    places: int = 0


def memory_bound(config: SmConfig, request: RunRequest, given: int | None) -> MemoryBound:
    """Return the memory bound of a run; ``given``: the latency that the user states for a model without a bound.

    Raises
    ------
    RefusedError
        If no bound is known.
    """
    under_way = config.fetch_requests + config.line_requests + config.store_buffer
    if given is not None:
        if request.memory in ("fixed", "tdm"):
            raise RefusedError(f"memory {request.memory!r} has its own bound: leave out --memory-bound")
        if request.memory == "random" and given < request.latency:
            raise RefusedError(
                f"memory 'random' takes up to {request.latency} cycles (--latency): --memory-bound {given} is less"
            )
        if request.memory == "random" and request.memory_options.adversarial:
            raise RefusedError("memory 'random' has no bound if it is adversarial: the length of its pauses is not "
                               "known")
        # After each request it may pause before it accepts another.
        service = LONGEST_PAUSE if request.memory == "random" else 0
        depth = request.memory_options.queue_depth if request.memory == "dram" else under_way
        places = depth if depth < under_way else 0
        return MemoryBound(base=given, service=service, stolen=Fraction(0), pause=0, latency=given, places=places)
    if request.memory == "fixed":
        latency = request.latency
        return MemoryBound(base=latency, service=0, stolen=Fraction(0), pause=0, latency=latency)
    if request.memory != "tdm":
        raise RefusedError(
            f"memory {request.memory!r} has no bound: give one with --memory-bound, or use fixed or tdm"
        )
    model = create_model(
        "tdm", SparseMemory(config.memory_map), None, latency=request.latency, seed=request.seed,
        options=request.memory_options, tags=1 << config.mem_tag_bits,
    )
    assert isinstance(model, TdmMemory)
    schedule = model.schedule
    one, two = model.worst_case_latency(1), model.worst_case_latency(2)
    # The schedule counts memory clocks: add a cycle wherever a conversion rounds.
    pause = schedule.refresh / Fraction(request.memory_options.clock)
    return MemoryBound(
        base=one - int(pause) + 1, service=two - one + 1, stolen=Fraction(schedule.refresh, schedule.frame),
        pause=int(pause) + 1, latency=model.worst_case_latency(under_way),
    )
