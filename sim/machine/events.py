"""The events of one cycle as a record, the same for hardware and prediction, with its sizes and names.

The records of the simulation (:mod:`sim.run.probe_events`) are converted to EVENT, and the prediction
(:mod:`sim.predict.model`) writes EVENT directly. Code that compares or shows runs reads nothing else.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from typing import Any

import numpy as np

from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.layouts.waits import STARVATION_CYCLES, LookupWait

__all__ = ["DEPTH", "EVENT", "LANES", "MSHRS", "NONE", "PARTS", "REGISTERS", "STARVATION_CYCLES", "STORES", "WARPS",
           "Reason", "Wait"]

#: No warp, no register, no pc.
NONE = -1
#: The maximum of each in any configuration (hdl.config).
WARPS, LANES, MSHRS, PARTS, STORES = 64, 32, 64, 64, 64
#: Registers of a warp, integer and floating point.
REGISTERS = 64
#: d = t_F + 1 instructions in a buffer (design.md section 3).
DEPTH = 4



def _numbers(reasons: Iterable[StallReason | LookupWait]) -> Any:
    """Return the reasons as plain numbers, which compiled code accepts, and their number as COUNT."""
    names = {reason.name: reason.value for reason in reasons}
    record: Any = namedtuple  # a type checker wants literal names
    return record("_Numbers", [*names, "COUNT"])(*names.values(), len(names))


#: Reasons why a warp is not eligible, or why no warp is selected (docs/counters.md).
Reason = _numbers(StallReason)
#: Reasons why an access waits in the lookup (docs/memory.md, "Lookup waits").
Wait = _numbers(LookupWait)

#: The actions of the units in one cycle, as the hardware's probe shows them (hdl.layouts.events describes the fields).
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
