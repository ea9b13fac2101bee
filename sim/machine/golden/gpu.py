"""The golden model of a GPU: that of each SM, on one memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metronome.hdl.config import SmConfig

from ..memory.store import SparseMemory
from .between_sms import BetweenSms, SmState
from .machine import Iss
from .records import EndStatus, IssEnd

__all__ = ["GpuIss"]

#: Warp-instructions of an SM before the next one has its turn.
_TURN = 500


class GpuIss:
    """Several SMs that execute in turn. Each sees at once what another has stored: one of the orders that may be.

    ``configs``: those of the SMs, by number.
    """

    def __init__(self, configs: Sequence[SmConfig], memory: SparseMemory) -> None:
        self.sms = [Iss(config, memory) for config in configs]

    def launch(
        self, start_pc: int, arg: int, *, released: Callable[[list[SmState]], None] = lambda states: None,
    ) -> None:
        """Start warp 0 of each SM at ``start_pc`` with mscratch = ``arg``; ``released``: see :class:`BetweenSms`."""
        between_sms = BetweenSms(released)
        for sm in self.sms:
            sm.launch(start_pc, arg)
            sm.between_sms = between_sms

    def run(self, max_instructions: int) -> IssEnd:
        """Execute until all SMs have ended, one faults, none can continue, or so many instructions have executed.

        The limit is checked between turns. ``waits`` of the result is empty: see :meth:`Iss.waits` of each SM.
        """
        executed = 0
        while executed < max_instructions:
            before = executed
            for sm in self.sms:
                end = sm.run(_TURN)
                executed += end.executed
                if end.status is EndStatus.FAULT:
                    return IssEnd(EndStatus.FAULT, executed, end.fault)
            if all(sm.ended for sm in self.sms):
                return IssEnd(EndStatus.ENDED, executed)
            if executed == before:
                return IssEnd(EndStatus.DEADLOCK, executed)
        return IssEnd(EndStatus.LIMIT, executed)
