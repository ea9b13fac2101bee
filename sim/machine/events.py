"""What happens in a cycle, as one record for the hardware and for what computes it; sizes and names that it has.

The records of the simulation (:mod:`sim.run.probe_events`) become EVENT, and the prediction (:mod:`sim.predict.model`)
writes it. What compares or shows runs reads nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["DEPTH", "EVENT", "LANES", "MSHRS", "NONE", "PARTS", "REGISTERS", "STORES", "WARPS", "Reason", "Wait"]

#: No warp, no register, no pc.
NONE = -1
#: The most of each that a configuration can have (hdl.config).
WARPS, LANES, MSHRS, PARTS, STORES = 64, 32, 64, 64, 64
#: Registers of a warp, integer and floating point.
REGISTERS = 64
#: d = t_F + 1 instructions in a buffer (design.md section 3).
DEPTH = 4


class _Reasons(NamedTuple):
    LOAD: int = 1
    DATA: int = 2
    UNIT: int = 3
    WRITEBACK: int = 4
    DRAIN: int = 5
    ICACHE: int = 6
    CONTROL: int = 7
    BARRIER: int = 8
    BUFFER: int = 9
    IDLE: int = 10
    POLICY: int = 11
    COUNT: int = 12


class _Waits(NamedTuple):
    MSHR: int = 1
    PARTS: int = 2
    ORDER: int = 3
    BUFFER: int = 4
    FILL: int = 5
    WRITEBACK: int = 6
    COUNT: int = 7


#: Why a warp is not eligible, or nobody is selected (docs/counters.md, in its order).
Reason = _Reasons()
#: Why an access waits in the lookup (docs/memory.md, "What waits").
Wait = _Waits()

#: One cycle, as the probe of the hardware shows it (hdl.layouts.events has the words): what the units have done in it.
EVENT = np.dtype([
    *((name, np.int64) for name in (
        "cycle eligible fetched selected nop missed miss refill refill_line turn unresolved request answer active"
        " waiting region resolves resolved_warp redirects release activates taken retired executed executed_pc"
        " executed_word executed_mask access first access_warp line store uncached hit merge forward wait fill"
        " fill_line written written_warp written_register written_last halt stall port_tag port_line port_write"
        " port_answer port_error osched1 osched2 lost change"
    ).split()),
    ("reason", np.int64, WARPS),
])
