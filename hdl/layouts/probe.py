"""The probe port: what happened in a cycle, and the only way to look inside the SM (design.md section 7)."""

from __future__ import annotations

from amaranth.lib import data

from ..config import LINE_NUMBER_BITS, Coordination, SmConfig
from ..lib.partitions import named
from .counters import REASON_BITS
from .events import control_event_layout, front_event_layout, issue_event_layout, write_event_layout
from .waits import STARVATION_CYCLES, LookupWait

__all__ = ["ASSERTIONS", "STARVATION_CYCLES", "LookupWait", "lookup_layout", "passed_over_layout", "probe_layout",
           "store_layout", "unit_events"]

#: Hardware assertions, by bit of the SM's ``assertions`` output: each may never become 1.
ASSERTIONS: tuple[str, ...] = (
    "the buffer of the selected warp was empty",
    "buffer + in flight differs from the buffer depth",
    "more than one warp was selected, for issue or fetch",
    "two results in one writeback slot",
    "the LSU got a request without room for it",
    "a policy selected a warp that is not eligible, or none although it has no idles = True",
    # The assumptions of the front end's proofs (hdl.observe.environment), bit by bit.
    "control flow resolved that was not unresolved, or an ended warp's without a redirect",
    "a warp was released that had nothing unresolved, or was not active",
    "a warp was activated that was active, or had control flow unresolved",
    "a warp became active without an activation, or ended without control flow",
    "memory answered a request of the I-cache that was not made",
    "an access has left its channel out of turn",
)


def lookup_layout(config: SmConfig) -> data.StructLayout:
    """One cycle of the LSU's lookup stage.

    Lines are those of memory, where stacks are interleaved (:mod:`hdl.lib.stacks`). A load with none of ``hit``,
    ``merge`` and ``forward`` makes a request.
    """
    return data.StructLayout({
        # A line access of ``warp`` is decided now; first: the first of its instruction (so accesses / firsts is the
        # number of lines that an instruction takes); it is a store, else a load; uncached: below the user area.
        "access": 1, "first": 1, "warp": config.warp_bits, "line": LINE_NUMBER_BITS, "store": 1, "uncached": 1,
        "hit": 1,  # the line of the access is in the cache
        "merge": 1,  # a load that shares an earlier one's request, or a store that shares an entry of the write buffer
        "forward": 1,  # a load that the write buffer answers
        "wait": max(LookupWait).bit_length(),  # a :class:`LookupWait`: there is an access that waits
        # The line fill_line comes into the cache; lookups see it from the next cycle on.
        "fill": 1, "fill_line": LINE_NUMBER_BITS,
        # The last part of a load of this warp is written back.
        "load_done": 1, "load_done_warp": config.warp_bits,
    })


def store_layout(config: SmConfig) -> data.StructLayout:
    """A store as the LSU takes it up, in LSU order."""
    lanes = data.ArrayLayout(32, config.threads)
    return data.StructLayout({
        "valid": 1, "warp": config.warp_bits, "pc": 32, "size": 2, "mask": config.threads, "address": lanes,
        "data": lanes,
    })


def unit_events(config: SmConfig) -> dict[str, data.StructLayout]:
    """The records of the units, by their names in the probe.

    With several schedulers each partition has records of its own, with its own warp numbers: ``front``, ``front_1``.
    """
    part, own = config.partition, {
        "front": front_event_layout, "issue": issue_event_layout, "wb": write_event_layout,
        "control": control_event_layout,
    }
    return {
        **{named(name, p): layout(part) for p in range(config.schedulers) for name, layout in own.items()},
        "store": store_layout(config),
        "lookup": lookup_layout(config),
    }


def probe_layout(config: SmConfig) -> data.StructLayout:
    """One cycle of the SM: the records of its units as they are, and in ``sm`` what follows from several."""
    return data.StructLayout({
        **unit_events(config),
        "sm": data.StructLayout({
            # Why nothing is selected in this cycle, by partition, and each warp's own reason (NONE: it is eligible or
            # not active).
            **{named("stall", p): REASON_BITS for p in range(config.schedulers)},
            "reason": data.ArrayLayout(REASON_BITS, config.warps),
            # A fault has stopped the SM.
            "halt": 1,
        }),
    })


def passed_over_layout(config: SmConfig) -> data.StructLayout:
    """The warps that each stage's scheduler starves (:class:`hdl.observe.starvation.PassedOver`)."""
    stages = ("issue",) if config.coordination is Coordination.SWAS else ("issue", "fetch")
    return data.StructLayout(dict.fromkeys(stages, config.warps))
