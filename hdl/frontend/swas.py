"""SWaS: one scheduler selects the warp that issues and fetches in the same cycle (Crouzet 2024, section IV-B)."""

from amaranth.hdl import Module, Mux

from ..config import SmConfig
from ..lib.component import Component
from .coordination import (
    connect_fetch,
    connect_issue,
    connect_oracles,
    connect_scheduler,
    coordination_signature,
    oracles_of,
)
from .scheduler import Scheduler

__all__ = ["SwasCoordination"]


class SwasCoordination(Component):
    """Eligible: active, no miss outstanding, no unresolved control flow, and the head is a NOP or ready.

    Eligibility never depends on how full a buffer is: this is the principle of SWaS. Only the policy has state.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__(coordination_signature(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.scheduler = scheduler = Scheduler(self._config, oracles=oracles_of(self._config), doubt=True)
        may_run = self.flow.active & ~self.lookup.suspended & ~self.unresolved
        connect_scheduler(m, self, scheduler)
        connect_fetch(m, self, scheduler)
        connect_issue(m, self, scheduler)
        connect_oracles(m, self._config, self, scheduler, may_issue=may_run & ~self.lookup.misses,
                        head_ready=self.nop | self.ready)
        m.d.comb += [
            scheduler.eligible.eq(Mux(self.halt, 0, may_run & (self.nop | self.ready))),
            self.issue.eligible.eq(scheduler.eligible & ~self.lookup.misses),
        ]
        return m
