"""Detection of warps that a scheduler passes over for a long time (docs/policies.md, "Starvation")."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from ..lib.component import Component

__all__ = ["PassedOver"]


class PassedOver(Component):
    """``passed_over[w]``: warp w was eligible, and has not been selected since for ``cycles`` cycles or more.

    ``eligible`` and ``select`` (one-hot or 0) are a scheduler's set and selection of this cycle. A warp may become
    ineligible meanwhile: a policy that offers it turns only when it cannot take them starves it, too. The flag is set
    less than ``2 * cycles`` cycles after the warp was first passed over, and cleared in the cycle after its selection.
    Reset: no warp was passed over.

    Parameters
    ----------
    cycles : int
        A power of two.
    """

    def __init__(self, *, warps: int, cycles: int) -> None:
        if cycles < 2 or cycles & (cycles - 1):
            raise ValueError(f"cycles must be a power of two of at least 2, not {cycles!r}")
        self._warps, self._cycles = warps, cycles
        super().__init__({
            "eligible": In(warps),  # a scheduler's set in this cycle
            "select": In(warps),  # the warp that it selects (one-hot or 0)
            "passed_over": Out(warps),  # a register: the warps that it starves
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        time = Signal(range(self._cycles))
        # Passed over in this period or before; before this period; and before the last one.
        now, before, long_before = (Signal(self._warps, name=name) for name in ("now", "before", "long_before"))
        m.d.sync += [
            time.eq(time + 1),
            now.eq((now | self.eligible) & ~self.select),
            before.eq(before & ~self.select),
            long_before.eq(long_before & ~self.select),
        ]
        with m.If(time == self._cycles - 1):
            m.d.sync += [
                before.eq((now | self.eligible) & ~self.select),
                long_before.eq(before & ~self.select),
            ]
        m.d.comb += self.passed_over.eq(long_before)
        return m
