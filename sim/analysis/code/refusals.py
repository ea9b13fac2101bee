"""Reasons why no statement about all runs of a program is possible."""

from __future__ import annotations

from ...machine.golden import EndStatus, IssEnd

__all__ = ["INSTRUCTION_LIMIT", "RefusedError", "refuse_end"]

#: The number of instructions after which an analysis gives up.
INSTRUCTION_LIMIT = 20_000_000


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
