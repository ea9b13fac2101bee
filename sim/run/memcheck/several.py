"""The memory checker of a GPU: one for each SM, on a common shadow of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...machine.golden.state import State
from .areas import DeclaredAreas
from .checker import MemCheck
from .common import Common
from .finding import Finding, Side
from .leftovers import Leftover
from .order import LANE_BITS
from .shadow import Flags

__all__ = ["GpuMemCheck", "SmMemCheck"]


class SmMemCheck(MemCheck):
    """The memory checker of one SM. Local memory, which other SMs do not have, has a shadow of its own."""

    def __init__(self, state: State, declared: DeclaredAreas, number: int, common: Common, *, strict: bool) -> None:
        warps = state.config.warps
        super().__init__(state, declared, strict=strict, common=common, first_warp=number * warps)
        self._common = common
        self._memory = common.flags, common.cells
        self._local = Flags(declared), common.local_cells[number]

    def access(
        self, warp: int, pc: int, lanes: np.ndarray, addresses: np.ndarray, size: int, data: np.ndarray | None
    ) -> None:
        """See :class:`sim.machine.golden.watch.Watch`."""
        local = self._state.local
        inside = np.broadcast_to((addresses >= local.base) & (addresses < local.end), lanes.shape)
        if not inside.any():
            super().access(warp, pc, lanes, addresses, size, data)
            return
        addresses = np.broadcast_to(addresses, lanes.shape)
        for part, shadow in ((~inside, self._memory), (inside, self._local)):
            if part.any():
                self._flags, self._cells = shadow
                super().access(
                    warp, pc, lanes[part], addresses[part], size, None if data is None else data[part])
        self._flags, self._cells = self._memory

    def replaced(self, warp: int, addresses: np.ndarray, size: int) -> None:
        """A load of ``warp`` has returned what other SMs have stored to ``addresses`` since it was issued.

        If these stores are flags, it has taken them.
        """
        cells, _ = self._cells.of(addresses, size)
        self._order.take_flags(warp + self._first, self._cells.writes.take(cells) >> LANE_BITS)

    def meets(self) -> list[int]:
        """Arrive at a barrier between SMs; return the warps of this SM. Warps that wait there share their stacks.

        A kernel's arguments are often on the stack of the thread that starts it on all SMs.
        """
        for warp, mask in enumerate(self._state.mask_bits):
            if self._state.active[warp]:
                self._stacks.share(warp + self._first, mask)
        return self._own_warps()

    def _forget(self) -> None:
        self._order.forget()
        for cells in (self._common.cells, *self._common.local_cells):
            cells.clear()

    def _named(self, warp: int, lane: int) -> str:
        return "SM {}, warp {}, lane {}".format(*divmod(warp, self._config.warps), lane)


class GpuMemCheck:
    """Watch one program on the golden models of all SMs, ``states``: that of SM i has ``sms[i]`` as its ``watch``.

    Two accesses of different SMs race if at least one is a store and nothing orders them: a barrier between SMs that
    both took part in, or a flag and a fence (docs/memcheck.md).
    """

    def __init__(self, states: Sequence[State], declared: DeclaredAreas, *, strict: bool = False) -> None:
        config = states[0].config
        self._warps = config.warps
        self._common = Common(config, declared, len(states))
        self.sms = [
            SmMemCheck(state, declared, number, self._common, strict=strict) for number, state in enumerate(states)
        ]

    def meet(self, numbers: Sequence[int]) -> None:
        """A barrier between these SMs releases all of them."""
        self._common.order.meet([warp for number in numbers for warp in self.sms[number].meets()])

    @property
    def findings(self) -> list[Finding]:
        """The defects found; each side names its SM."""
        return [self._of_sms(finding) for finding in self._common.findings.all]

    def leftovers(self) -> list[Leftover]:
        """See :meth:`.checker.MemCheck.leftovers`; without local memory, which no host reads."""
        return [replace(left, finding=self._of_sms(left.finding)) for left in self.sms[0].leftovers()]

    def _of_sms(self, finding: Finding) -> Finding:
        def named(side: Side) -> Side:
            sm, warp = divmod(side.warp, self._warps)
            return replace(side, sm=sm, warp=warp)

        return replace(finding, side=named(finding.side), other=None if finding.other is None else named(finding.other))
