"""Reasons why no statement about all runs of a program is possible."""

from __future__ import annotations

from metronome.hdl.config import SmConfig, Turns, Units

from ...machine.golden import EndStatus, IssEnd
from ...predict.model.policies import NAMES

__all__ = ["INSTRUCTION_LIMIT", "NOT_CONSERVING", "RefusedError", "refuse_end", "refuse_policy", "refuse_turns"]

#: The number of instructions after which an analysis gives up.
INSTRUCTION_LIMIT = 20_000_000


#: Why a policy has no bound.
NOT_CONSERVING = "no bound for {}: it is not proved that it selects a warp whenever one is eligible"


class RefusedError(Exception):
    """The reason why an analysis refuses a program; ``pc`` is the place, or None if the reason has no place."""

    def __init__(self, reason: str, pc: int | None = None) -> None:
        super().__init__(reason)
        self.pc = pc


def refuse_end(end: IssEnd) -> None:
    """Raise RefusedError if a run whose control flow does not depend on the inputs faulted or reached the limit."""
    if end.fault is not None:
        cause = end.fault.cause.name.lower().replace("_", " ")
        raise RefusedError(f"every run faults: {cause} of warp {end.fault.warp}", end.fault.pc)
    if end.status is not EndStatus.ENDED:
        raise RefusedError(f"no run ends by itself: {end.status} after {end.executed} instructions")


def refuse_policy(policy: str) -> None:
    """Raise RefusedError for a policy that is not ours."""
    if policy not in NAMES:
        raise RefusedError(NOT_CONSERVING.format(policy))


def refuse_turns(config: SmConfig) -> None:
    """Raise RefusedError for partitions for which the turns are not bounded."""
    if config.schedulers > 1 and (config.units is not Units.SLICES or config.turns is not Turns.ALTERNATE):
        raise RefusedError(f"no bound with units={config.units} and turns={config.turns}: bounds are composed for "
                           "partitions with units of their own, and for fixed turns")
