"""MWP-CWP (Hong 2009).

Memory warp parallelism (MWP) is the number of warps that wait for memory at once; computation warp parallelism (CWP) is
the number that can compute meanwhile. The greater decides which of the two is hidden. The names are the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HongKim"]


@dataclass(frozen=True, kw_only=True)
class HongKim:
    """One SM and one kernel whose warps are all active, so that the paper's number of repetitions is 1.

    Latencies and delays in cycles. ``total_insts``, ``mem_insts``: per warp; each memory instruction accesses
    ``lines_per_load`` lines; more than one is uncoalesced. ``bandwidth``: bytes per cycle. ``load_bytes``: per load
    of a warp. ``warps``: active ones, N.
    """

    issue_cycles: float
    mem_ld: float
    departure_uncoal: float
    departure_coal: float
    bandwidth: float
    total_insts: float
    mem_insts: float
    lines_per_load: float
    load_bytes: float
    warps: float

    @property
    def mem_l(self) -> float:
        """The latency of a memory instruction with all its lines."""
        return self.mem_ld + (self.lines_per_load - 1) * self.departure_uncoal

    @property
    def departure_delay(self) -> float:
        """The delay between the memory instructions of two warps."""
        if self.lines_per_load > 1:
            return self.departure_uncoal * self.lines_per_load
        return self.departure_coal

    @property
    def mwp(self) -> float:
        """The number of warps that wait for memory at once, limited by latency, bandwidth and the number of warps."""
        peak = self.bandwidth / (self.load_bytes / self.mem_l)
        return min(self.mem_l / self.departure_delay, peak, self.warps)

    @property
    def comp_cycles(self) -> float:
        """Cycles of one warp spent computing."""
        return self.issue_cycles * self.total_insts

    @property
    def mem_cycles(self) -> float:
        """Cycles of one warp spent waiting for memory."""
        return self.mem_l * self.mem_insts

    @property
    def cwp(self) -> float:
        """The number of warps that can compute while one waits for memory, including that one."""
        return min((self.mem_cycles + self.comp_cycles) / self.comp_cycles, self.warps)

    @property
    def cycles(self) -> float:
        """Equations 22 to 24. Without memory instructions: only computation, one warp after another."""
        if not self.mem_insts:
            return self.comp_cycles * self.warps
        mwp, cwp, period = self.mwp, self.cwp, self.comp_cycles / self.mem_insts
        if mwp == cwp == self.warps:
            return self.mem_cycles + self.comp_cycles + period * (mwp - 1)
        if cwp >= mwp or self.comp_cycles > self.mem_cycles:
            return self.mem_cycles * self.warps / mwp + period * (mwp - 1)
        return self.mem_l + self.comp_cycles * self.warps
