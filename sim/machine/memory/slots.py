"""The schedule of the TDM controller: the slots of each bank group on the channel, and the times of refreshes."""

from __future__ import annotations

from .dram.mapping import GROUPS
from .dram.timing import DramTiming

__all__ = ["SlotSchedule"]


class SlotSchedule:
    """Slots of fixed length, one for each bank group in turn, and refreshes at fixed times; all in memory clocks.

    A slot is one access with closed page: ACT at its start, RDA or WRA (auto-precharge) tRCD later. Accesses of any
    kind do not interfere with each other:

    - slots of different groups are ``slot`` apart: at least tRRD_S, tFAW / 4, tCCD_S, RD to WR (tCL + BL + 2 - tCWL)
      and WR to RD (tCWL + BL + tWTR_S); tRCD is not a multiple of ``slot``, so commands of two slots never coincide;
    - slots of one group are ``rotation`` = 4 slots apart: at least ``busy``, the time until a bank is closed again
      after a read or a write, tRRD_L, tCCD_L, RD to WR and WR to RD within the group (tCWL + BL + tWTR_L).

    A ``frame`` is ``rotations`` rotations, as many as fit into tREFI, and a gap of ``refresh`` clocks. The last slot
    of a frame ends ``busy`` clocks after its start; REF follows, and the next frame begins tRFC later.
    """

    def __init__(self, timing: DramTiming) -> None:
        self.timing = timing
        to_read = timing.write_latency
        after_read = max(timing.ras, timing.rcd + timing.rtp) + timing.rp
        after_write = timing.rcd + timing.write_to_precharge + timing.rp
        self.busy = max(timing.rc, after_read, after_write)
        apart = max(timing.rrd_s, timing.ccd_s, timing.read_to_write, to_read + timing.wtr_s, -(-timing.faw // GROUPS))
        within = max(self.busy, timing.rrd_l, timing.ccd_l, to_read + timing.wtr_l)
        self.slot = max(apart, -(-within // GROUPS))
        while timing.rcd % self.slot == 0:
            self.slot += 1
        self.rotation = GROUPS * self.slot
        self.refresh = self.busy - self.slot + timing.rfc
        self.rotations = (timing.refi - self.refresh) // self.rotation
        if self.rotations < 1:
            raise ValueError(f"refi must be at least {self.rotation + self.refresh}, not {timing.refi!r}")
        self.frame = self.rotations * self.rotation + self.refresh

    def begin(self, group: int, index: int) -> int:
        """Return the clock in which slot number ``index`` of a group begins."""
        frame, rotation = divmod(index, self.rotations)
        return frame * self.frame + rotation * self.rotation + group * self.slot

    def first(self, group: int, clock: int) -> int:
        """Return the number of a group's first slot that begins at ``clock`` or later."""
        frame, offset = divmod(clock, self.frame)
        rotation = -(-(offset - group * self.slot) // self.rotation)
        return frame * self.rotations + min(max(rotation, 0), self.rotations)

    def refresh_at(self, frame: int) -> int:
        """Return the clock of the REF that ends a frame."""
        return (frame + 1) * self.frame - self.timing.rfc

    def longest_wait(self, outstanding: int) -> int:
        """Return the longest wait, in clocks, of the last of ``outstanding`` requests to one group.

        In the worst case, it arrives a clock after a slot of its group began, behind ``outstanding - 1`` requests of
        that group that have not had their slots. It gets the slot ``outstanding`` rotations after the missed one; that
        span holds a refresh for each frame begun, ceil(outstanding / rotations).
        """
        refreshes = -(-outstanding // self.rotations)
        return outstanding * self.rotation + refreshes * self.refresh - 1
