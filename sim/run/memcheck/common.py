"""The state that the memory checkers of all SMs share."""

from __future__ import annotations

from metronome.hdl.config import SmConfig

from .areas import DeclaredAreas
from .finding import Findings
from .order import Order
from .origins import Origins
from .shadow import Cells, Flags
from .stacks import Stacks

__all__ = ["Common"]


class Common:
    """The shadow of memory, the order of accesses, and what was found.

    Warps and harts are numbered through all ``sms``: those of SM 0 first. ``config``: that of an SM.
    """

    def __init__(self, config: SmConfig, declared: DeclaredAreas, sms: int = 1) -> None:
        self.flags = Flags(declared)
        self.cells = Cells(config.warps * sms)
        #: Several SMs: the accesses to the local memory of each.
        self.local_cells = [Cells(config.warps * sms) for _ in range(sms)] if sms > 1 else []
        self.order = Order(config.warps * sms, config.warps)
        self.origins = Origins(config.threads)
        self.stacks = Stacks(config, sms)
        self.findings = Findings()
