"""Named sets of DRAM timing: the distances between commands in memory clocks, with the source of each set."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

__all__ = ["DDR4_2400R", "DDR4_2400R_JEDEC", "DDR4_3200AA", "QUEUE_DEPTH", "TIMINGS", "DramTiming"]

#: The default number of requests in the controller, as in the read queue of ramulator2's generic controller.
QUEUE_DEPTH = 32


@dataclass(frozen=True, kw_only=True)
class DramTiming:
    """The timing of one rank with a 64-bit channel, in memory clocks of ``tck_ps`` picoseconds.

    ``_s`` (short) is between banks of different groups, ``_l`` (long) within a group. The data of a read are on the bus
    from ``cl`` clocks after RD, those of a write from ``cwl`` clocks after WR, for ``bl`` clocks: one line, a burst of
    8. ``wr``, ``wtr_s`` and ``wtr_l`` count from the end of a write's data, ``rtp`` from RD. ``refi`` is the mean
    interval of refreshes, ``rfc`` the time from REF to the next ACT.
    """

    name: str
    source: str
    tck_ps: int
    cl: int
    cwl: int
    rcd: int
    rp: int
    ras: int
    rc: int
    rrd_s: int
    rrd_l: int
    faw: int
    wr: int
    wtr_s: int
    wtr_l: int
    rtp: int
    ccd_s: int
    ccd_l: int
    refi: int
    rfc: int
    bl: int = 4

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in ("name", "source") and value < 1:
                raise ValueError(f"{field.name} must be at least 1, not {value!r}")
        for short, long in (("rrd_s", "rrd_l"), ("ccd_s", "ccd_l"), ("wtr_s", "wtr_l"), ("bl", "ccd_s"), ("ras", "rc")):
            if getattr(self, short) > getattr(self, long):
                raise ValueError(f"{long} must be at least {short}, not {getattr(self, long)!r}")
        if self.cwl > self.cl + 1:
            raise ValueError(f"cwl must be at most cl + 1, not {self.cwl!r}")

    @property
    def read_latency(self) -> int:
        """Clocks from RD to the end of its data."""
        return self.cl + self.bl

    @property
    def write_latency(self) -> int:
        """Clocks from WR to the end of its data."""
        return self.cwl + self.bl

    @property
    def read_to_write(self) -> int:
        """Clocks from RD to WR: two clocks between their data turn the bus around (with a preamble of one clock)."""
        return self.cl + self.bl + 2 - self.cwl

    @property
    def write_to_precharge(self) -> int:
        """Clocks from WR to PRE of the same bank."""
        return self.cwl + self.bl + self.wr


#: Chips of 8 Gbit, x8. tREFI 7.8 us, tRFC1 360 ns.
DDR4_2400R = DramTiming(
    name="DDR4_2400R",
    source="ramulator2, src/dram/impl/DDR4.cpp: DDR4_2400R with DDR4_8Gb_x8",
    tck_ps=833, cl=16, cwl=12, rcd=16, rp=16, ras=39, rc=55, rrd_s=4, rrd_l=6, faw=26, wr=18, wtr_s=3, wtr_l=9, rtp=9,
    ccd_s=4, ccd_l=6, refi=9364, rfc=433,
)
#: The other write latency that the standard allows at this rate, and its refresh time of 350 ns for 8 Gbit.
DDR4_2400R_JEDEC = replace(
    DDR4_2400R, name="DDR4_2400R_JEDEC", cwl=16, rfc=421,
    source="JESD79-4: CWL 16 (second set of DDR4-2400), tRFC1 350 ns for 8 Gbit; else as DDR4_2400R",
)
DDR4_3200AA = DramTiming(
    name="DDR4_3200AA",
    source="ramulator2, src/dram/impl/DDR4.cpp: DDR4_3200AA with DDR4_8Gb_x8",
    tck_ps=625, cl=22, cwl=16, rcd=22, rp=22, ras=52, rc=74, rrd_s=4, rrd_l=8, faw=34, wr=24, wtr_s=4, wtr_l=12,
    rtp=12, ccd_s=4, ccd_l=8, refi=12480, rfc=576,
)

TIMINGS = {timing.name: timing for timing in (DDR4_2400R, DDR4_2400R_JEDEC, DDR4_3200AA)}
