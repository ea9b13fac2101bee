"""The probe port: what happened in a cycle, and the only way to look inside the SM (design.md section 7)."""

from __future__ import annotations

import enum

from amaranth.lib import data

from ..config import Coordination, SmConfig
from .execute import writeback_layout

__all__ = [
    "ASSERTIONS", "ORACLES", "STARVATION_CYCLES", "LookupWait", "StallReason", "counters_layout", "lookup_layout",
    "passed_over_layout", "probe_layout",
]


#: osched1 and osched2 (docs/policies.md, "The oracles").
ORACLES = 2

#: A warp that a scheduler has passed over for so many cycles counts as starved in the report of a hang.
STARVATION_CYCLES = 1024


class StallReason(enum.IntEnum):
    """Why no warp was selected in a cycle.

    A warp has one reason; the SM's reason is POLICY where a warp is eligible, else the lowest number among those of its
    active warps, so that they add up to the cycles in which nothing was selected.
    """

    NONE = 0
    #: An operand or the destination waits for a load.
    LOAD = 1
    #: An operand or the destination waits for another unit.
    DATA = 2
    #: The unit or the LSU queue is busy.
    UNIT = 3
    #: No free writeback slot.
    WRITEBACK = 4
    #: fence, or an access to fcsr, waits for older instructions.
    DRAIN = 5
    #: An I-cache miss is outstanding.
    ICACHE = 6
    #: A branch or SIMT instruction has not resolved.
    CONTROL = 7
    #: Waits at a barrier, or in wspawn for the other warps' end.
    BARRIER = 8
    #: The instruction buffer is empty; never in ``swas``.
    BUFFER = 9
    #: No warp is active (the last instructions drain), or the SM has stopped at a fault.
    IDLE = 10
    #: A warp is eligible, but the policy selects nobody (``srr``, ``prr``). No warp's own reason.
    POLICY = 11


class LookupWait(enum.IntEnum):
    """Why a line access stays in the LSU's lookup stage in a cycle; everything younger waits behind it."""

    NONE = 0
    #: Every miss register is taken.
    MSHR = 1
    #: Every place for a part of a load that waits for memory is taken.
    PARTS = 2
    #: A load, and the write buffer holds its line (or, uncached, an earlier access is not done).
    ORDER = 3
    #: A store, and the write buffer is full.
    BUFFER = 4
    #: A line is on its way into the cache.
    FILL = 5
    #: A load that hits, and the one before it has not been written back.
    WRITEBACK = 6


#: Hardware assertions, by bit of the SM's ``assertions`` output: each may never become 1.
ASSERTIONS: tuple[str, ...] = (
    "the buffer of the selected warp was empty",
    "buffer + in flight differs from the buffer depth",
    "more than one warp was selected",
    "two results in one writeback slot",
    "the LSU got a request without room for it",
    "a warp was selected that is not active",
    # What the proofs of the front end assume (hdl.observe.environment), bit by bit.
    "control flow resolved that was not unresolved, or an ended warp's without a redirect",
    "a warp was released that had nothing unresolved, or was not active",
    "a warp was activated that was active, or had control flow unresolved",
    "a warp became active without an activation, or ended without control flow",
    "memory answered a request of the I-cache that was not made",
)


def lookup_layout(config: SmConfig) -> data.StructLayout:
    """One cycle of the LSU's lookup stage.

    Lines are those of memory, where stacks are interleaved (:mod:`hdl.memory.stacks`).

    ``access``: a line access of ``warp`` is decided now, and is a ``store`` or a load; ``first``: the first of its
    instruction (so accesses / firsts is the number of lines an instruction takes); ``hit``: the line is in the cache;
    ``merge``: a load that shares an earlier one's request, or a store that shares an entry of the write buffer;
    ``forward``: a load that the write buffer answers. A load with none of the three makes a request. ``wait``
    (:class:`LookupWait`): there is an access that waits. ``fill``: ``fill_line`` comes into the cache; lookups see it
    from the next cycle on. ``load_done``: the last part of a load is written back.
    """
    return data.StructLayout({
        "access": 1, "first": 1, "warp": config.warp_bits, "line": 26, "store": 1, "uncached": 1,
        "hit": 1, "merge": 1, "forward": 1, "wait": 3, "fill": 1, "fill_line": 26,
        "load_done": 1, "load_done_warp": config.warp_bits,
    })


def probe_layout(config: SmConfig) -> data.StructLayout:
    """One cycle of the SM.

    ``front`` describes this cycle's selection, and what comes with it: the ``fetch``; ``missed``: the lookup of
    ``miss_warp`` misses, and ``miss``: it is not squashed in this cycle; ``refill``: a line comes into the cache,
    ``woken``: who of these warps waits for it goes on; ``turn``: the fetch of this warp is redirected by a jump in
    decode; ``head_ready``: the scoreboard's judgement of every head, be it a NOP or none; ``oracles``: what osched1
    and osched2 pick (one-hot or 0); ``reason``: each warp's own :class:`StallReason`, NONE if it is eligible or not
    active; ``region``: the counters run; ``halt``: a fault has stopped the SM. ``issue`` is the non-NOP instruction
    now in stage X, two cycles after its selection, in issue order. ``wb`` is the register write of this cycle.
    ``store`` is a store as the LSU takes it up, in LSU order; ``lookup`` what its lookup stage does.
    """
    warp = config.warp_bits
    lanes = data.ArrayLayout(32, config.threads)
    return data.StructLayout({
        "front": data.StructLayout({
            "select": 1, "select_warp": warp, "select_nop": 1,
            "fetch": 1, "fetch_warp": warp,
            "missed": 1, "miss": 1, "miss_warp": warp, "miss_line": 26,
            "refill": 1, "woken": config.warps, "refill_line": 26,
            "resolve": 1, "resolve_warp": warp, "redirect": 1, "turn": config.warps,
            "eligible": config.warps, "active": config.warps, "activate": config.warps,
            "waiting": config.warps, "head_ready": config.warps, "oracles": data.ArrayLayout(config.warps, ORACLES),
            "stall": 4, "reason": data.ArrayLayout(4, config.warps), "region": 1, "halt": 1,
        }),
        "issue": data.StructLayout({
            "valid": 1, "warp": warp, "pc": 32, "instruction": 32, "mask": config.threads,
        }),
        "wb": data.StructLayout({"valid": 1, "value": writeback_layout(config)}),
        "store": data.StructLayout({
            "valid": 1, "warp": warp, "pc": 32, "size": 2, "mask": config.threads, "address": lanes, "data": lanes,
        }),
        "lookup": lookup_layout(config),
    })


def passed_over_layout(config: SmConfig) -> data.StructLayout:
    """The warps that each scheduler starves (:class:`hdl.observe.starvation.PassedOver`), by what it selects for."""
    stages = ("issue",) if config.coordination is Coordination.SWAS else ("issue", "fetch")
    return data.StructLayout(dict.fromkeys(stages, config.warps))


def counters_layout() -> data.StructLayout:
    """The SM's counters; all but ``total_cycles`` run only inside the measured region (isa.md, mregion)."""
    fields: dict[str, int | data.ArrayLayout] = dict.fromkeys(
        ("total_cycles", "cycles", "committed", "committed_threads", "nops", "discrepancies", "errors",
         "icache_misses", "taken_branches", "loads", "load_wait_cycles"),
        48,
    )
    fields["stalls"] = data.ArrayLayout(48, len(StallReason))
    return data.StructLayout(fields)
