"""The SM's counters: the table from which their registers, CSRs, a run's JSON and its report are derived."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..described import DescribedEnum

if TYPE_CHECKING:
    from amaranth.lib import data

__all__ = ["COUNTERS", "COUNTER_BITS", "REASON_BITS", "TOTAL", "Counter", "StallReason", "built_counters",
           "counter_names", "counter_places", "counters_layout"]

COUNTER_BITS = 48


class StallReason(DescribedEnum):
    """Why no warp was selected in a cycle, with its meaning (docs/counters.md).

    A warp has one reason. The SM's reason is POLICY if a warp is eligible, else the lowest number among those of its
    active warps, so the reasons add up to the cycles in which no warp was selected. NONE: a warp was selected. A warp's
    own reason is never IDLE or POLICY.
    """

    NONE = 0
    LOAD = 1, "an operand or the destination waits for a load"
    DATA = 2, "the same, for another unit"
    UNIT = 3, "the unit or the LSU's queue is busy"
    WRITEBACK = 4, "no free writeback slot"
    DRAIN = 5, "a fence, or an access to fcsr, waits for older instructions"
    ICACHE = 6, "an I-cache miss is outstanding (`baseline`, `vortex`: and the buffer is empty)"
    CONTROL = 7, "a branch or SIMT instruction has not resolved"
    BARRIER = 8, "waits at a barrier, or in wspawn for the others' end"
    BUFFER = 9, "the instruction buffer is empty for another reason; never in `swas`"
    IDLE = 10, "no warp is active, or the SM has stopped at a fault"
    POLICY = 11, "a warp is eligible, but the policy selects nobody (`srr`, `prr`, `variable_rate_strict`, `ccws`)"


#: Bits of a stall reason.
REASON_BITS = max(StallReason).bit_length()


@dataclass(frozen=True, kw_only=True)
class Counter:
    """A counter of the SM, or one for each :class:`StallReason`."""

    name: str  # that of its register, and of its field in a run's JSON
    #: The number of its low half (the high half is 0x80 above; by reason: of the first reason's); None if software
    #: cannot read it.
    csr: int | None
    about: str  # the events that it counts (docs/counters.md)
    title: str | None = None  # of its row in the table of a run, if it has one
    share: bool = False  # it counts cycles: the row shows their share of the region
    oracle: bool = False  # stays 0 in a build without oracles
    by_reason: bool = False  # there is one for each reason

    def numbers(self) -> Iterator[tuple[int, StallReason]]:
        """The CSR number of each low half, with its reason (NONE: it is not by reason)."""
        if self.csr is not None:
            reasons = [reason for reason in StallReason if reason] if self.by_reason else [StallReason.NONE]
            yield from enumerate(reasons, self.csr)


#: The only counter of a machine without research counters.
TOTAL = "total_cycles"

#: All but ``total_cycles`` run only inside the measured region (isa.md, mregion).
COUNTERS = (
    Counter(name=TOTAL, csr=None, about="cycles with busy high: from the cycle after the launch to the end"),
    Counter(name="cycles", csr=None, title="cycles", share=True, about="cycles of the region"),
    Counter(name="committed_threads", csr=None, title="thread-instructions",
            about="thread-instructions: `committed`, each with its number of active lanes (CSR 0xB02, minstret, "
                  "counts the whole run)"),
    Counter(name="committed", csr=0xB03, title="warp-instructions", share=True, about="warp-instructions issued"),
    Counter(name="nops", csr=0xB04, title="NOPs", share=True,
            about="NOPs issued that the front end inserted (`swas`)"),
    Counter(name="discrepancies", csr=0xB05, title="discrepancies (osched1)", share=True, oracle=True,
            about="cycles in which osched1 picks another warp"),
    Counter(name="errors", csr=0xB06, title="errors (osched2)", share=True, oracle=True,
            about="cycles in which osched2 picks another warp"),
    Counter(name="icache_misses", csr=0xB07, title="I-cache misses",
            about="fetches that missed and were not squashed in that cycle"),
    Counter(name="taken_branches", csr=0xB08, title="taken branches",
            about="instructions after which a warp does not continue at pc + 4, or fetches again (`fence.i`)"),
    Counter(name="loads", csr=0xB09, about="loads issued"),
    Counter(name="load_wait_cycles", csr=0xB0A,
            about="cycles in which a warp's next instruction waits for a load, summed over the warps"),
    Counter(name="stalls", csr=0xB0B, by_reason=True,
            about="cycles without an issue, by reason, in the order of the table below"),
    Counter(name="branches", csr=0xB16, about="branches executed"),
    Counter(name="wrong_branches", csr=0xB17, about="branches that were predicted wrong"),
    Counter(name="returns", csr=0xB18,
            about="`jalr` through ra or t0 executed, unless it writes the same register"),
    Counter(name="wrong_returns", csr=0xB19, about="such returns that were predicted wrong, or not predicted"),
    Counter(name="jumps", csr=0xB1A, about="other `jalr` executed"),
    Counter(name="wrong_jumps", csr=0xB1B, about="such jumps that were predicted wrong, or not predicted"),
)


def counter_places() -> list[tuple[Counter, StallReason]]:
    """All counters, each by its index: those by reason have one for each but NONE, the others the reason NONE.

    The index of a counter that software can read is the low bits of its CSR number.
    """
    reasons = [reason for reason in StallReason if reason]
    return [
        (counter, reason) for counter in COUNTERS for reason in (reasons if counter.by_reason else [StallReason.NONE])
    ]


def _check_numbers() -> None:
    for place, (counter, reason) in enumerate(counter_places()):
        csr = 0xB00 + place - max(reason - 1, 0)
        if counter.csr not in (csr, None):
            raise ValueError(f"hdl/layouts/counters.py: {counter.name} is number {place} of the counters: "
                             f"its csr must be {csr:#x}, not {counter.csr:#x}")


_check_numbers()


def counter_names() -> list[str]:
    """The counters' names in the same order: ``cycles``, ``stalls_load``, ..."""
    return [f"{counter.name}_{reason.name.lower()}" if reason else counter.name for counter, reason in counter_places()]


def built_counters(*, research: bool) -> dict[str, int]:
    """Name -> index of the counters that a machine has: with ``research`` counters all of them, otherwise the first."""
    return {name: index for index, name in enumerate(counter_names()) if research or name == TOTAL}


def counters_layout() -> data.StructLayout:
    """The registers of :data:`COUNTERS`; those by reason are indexed by :class:`StallReason`."""
    # Imported late: users that only read counters do not load the hardware language, and start 0.15 s earlier.
    from amaranth.lib import data

    return data.StructLayout({
        counter.name: data.ArrayLayout(COUNTER_BITS, len(StallReason)) if counter.by_reason else COUNTER_BITS
        for counter in COUNTERS
    })
