"""Upper bounds on the latency of a memory model, for any requests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from metronome.hdl.config import SmConfig
from metronome.hdl.gpu.config import GpuConfig, Interconnect, L2Kind

from ...machine.memory.random import LONGEST_PAUSE
from ...machine.memory.registry import create_model
from ...machine.memory.sm_slots import SmSlots
from ...machine.memory.store import SparseMemory
from ...machine.memory.tdm import TdmMemory
from ...run.types import RunRequest
from ..code.refusals import RefusedError

__all__ = ["MemoryBound", "memory_bound", "memory_bound_of_sm"]


#: Cycles that a miss of the L2 takes longer than without one; and those that a request may wait for others there, with
#: none to its line.
_THROUGH_L2, _LOOKUP_OF_L2 = 3, 3


@dataclass(frozen=True)
class MemoryBound:
    """Bounds on the cycles from the acceptance of a request to its answer.

    - ``base``: for a request that waits for no other. ``service``: the extra cycles for each request served before it.
    - ``stolen``: the share of cycles in which memory serves no request (refreshes). ``pause``: the longest such time.
    - ``latency``: for any request, with every tag of the port in use.
    - ``places``: the most requests accepted before one is answered; 0 if unlimited.
    - ``l2``: whether they pass an L2. There, a request to a line that is stored to may wait for another one to it, and
      an answer that is not taken holds up later requests.
    """

    base: int
    service: int
    stolen: Fraction
    pause: int
    latency: int
    places: int = 0
    l2: bool = False


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
    return _of_tdm(config, request, under_way, None)


def memory_bound_of_sm(gpu: GpuConfig, request: RunRequest) -> MemoryBound:
    """Return the memory bound of an SM, whatever the other SMs do (docs/gpu.md, "Interconnect" and "Separation").

    Raises
    ------
    RefusedError
        If the others may delay it without a bound, or none is known.
    """
    config = gpu.sm_of(0)
    if gpu.l2 is L2Kind.SHARED:
        raise RefusedError("no bound with l2=shared: it does not separate the SMs; use divided or none")
    in_turn = gpu.interconnect is Interconnect.ROUND_ROBIN
    if gpu.interconnect is Interconnect.FIXED_PRIORITY:
        raise RefusedError("no bound with interconnect=fixed_priority: an SM may wait forever for those before it; use "
                           "round_robin or tdm")
    if request.memory == "fixed":
        one = memory_bound(config, request, None)
    elif request.memory == "tdm" and in_turn:
        raise RefusedError("no bound for several SMs with memory 'tdm' and interconnect=round_robin: the SMs share its "
                           "queue; use --interconnect tdm or --memory fixed")
    elif request.memory == "tdm":
        under_way = config.fetch_requests + config.line_requests + config.store_buffer
        one = _of_tdm(config, request, under_way, SmSlots.of(gpu))
    else:
        raise RefusedError(f"no bound for several SMs with memory {request.memory!r}: it does not separate them; use "
                           "fixed or tdm")
    # A request waits for the slots of the other SMs, or for a request of each, and passes a register. Each one before
    # it takes a cycle of a slot, or a turn of all SMs.
    wait = 1 + (gpu.sms - 1) * (1 if in_turn else gpu.slot_cycles)
    service = one.service + gpu.sms - 1
    if gpu.l2 is L2Kind.NONE:
        return replace(one, base=one.base + wait, service=service, latency=one.latency + wait)
    # A request that misses the L2 takes longer. Others may wait for a line that enters, for a second one if they are
    # writes, and for an answer to a request that has joined (docs/gpu.md, "The L2").
    wait += _THROUGH_L2
    under_way = config.fetch_requests + config.line_requests + config.store_buffer
    places = gpu.l2_requests // gpu.sms
    return replace(
        one, base=one.base + wait, service=service + _LOOKUP_OF_L2, latency=one.latency + wait,
        places=places if places < under_way else 0, l2=True,
    )


def _of_tdm(config: SmConfig, request: RunRequest, under_way: int, slots: SmSlots | None) -> MemoryBound:
    tags = (1 if slots is None else slots.sms) << config.mem_tag_bits
    model = create_model(
        "tdm", SparseMemory(config.memory_map), None, latency=request.latency, seed=request.seed,
        options=request.memory_options, tags=tags, sms=slots,
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
