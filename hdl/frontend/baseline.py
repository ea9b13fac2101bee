"""Baseline: fetch and issue each schedule warps on their own (Crouzet 2024, section V-B)."""

from amaranth.hdl import Module, Mux, Signal

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

__all__ = ["BaselineCoordination"]


class BaselineCoordination(Component):
    """Fetch-ready: active, no miss outstanding, room in the buffer. Issue-ready: buffer not empty and head ready.

    A warp issues nothing while its control flow is unresolved, but keeps fetching as if the branch were not taken. A
    miss stops only the warp's fetch.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__(coordination_signature(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.issuing = issuing = Scheduler(config, oracles=oracles_of(config))
        m.submodules.fetching = fetching = Scheduler(config, policies=config.fetch_policies, doubt=True)
        may_issue = self.flow.active & ~self.unresolved
        may_fetch = self.flow.active & ~self.lookup.suspended & self.room & ~self._stalled(m)
        connect_scheduler(m, self, issuing)
        connect_scheduler(m, self, fetching, strap="fetch_policy")
        connect_fetch(m, self, fetching)
        connect_issue(m, self, issuing)
        connect_oracles(m, config, self, issuing, may_issue=may_issue, head_ready=self.ready)
        m.d.comb += [
            self.issue.eligible.eq(Mux(self.halt, 0, may_issue & ~self.empty & self.ready)),
            issuing.eligible.eq(self.issue.eligible),
            fetching.eligible.eq(Mux(self.halt, 0, may_fetch)),
        ]
        return m

    def _stalled(self, m: Module) -> Signal:
        """Return the warps that may not fetch for another reason: none."""
        return Signal(self._config.warps, name="stalled")
