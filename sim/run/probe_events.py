"""A hardware run as the predictor's records: one EVENT a cycle (:mod:`sim.predict.model.records`).

Tools that read schedules (comparison, traces, profiles) therefore read one kind of record for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..machine.events import EVENT, NONE

__all__ = ["EVENT_PARTS", "events_of", "tidy"]

#: The parts of a record (:func:`sim.build.records.record_layout`) that :func:`events_of` reads.
EVENT_PARTS = ("front", "issue", "wb", "control", "lookup", "sm", "port")

#: Fields of EVENT copied from fields of a record.
_SAME = {
    "cycle": "cycle", "eligible": "front.eligible", "nop": "front.select_nop", "missed": "front.missed",
    "miss": "front.miss", "refill": "front.refill", "refill_line": "front.refill_line",
    "unresolved": "front.unresolved", "active": "control.active", "waiting": "control.waiting",
    "region": "control.region", "resolves": "control.resolution.valid", "resolved_warp": "control.resolution.warp",
    "redirects": "control.resolution.redirect", "release": "control.release",
    "activates": "control.activation.warps", "taken": "control.taken", "retired": "control.retired",
    "executed_pc": "issue.pc", "executed_word": "issue.instruction", "executed_mask": "issue.mask",
    "access": "lookup.access", "first": "lookup.first", "access_warp": "lookup.warp", "line": "lookup.line",
    "store": "lookup.store", "uncached": "lookup.uncached", "hit": "lookup.hit", "merge": "lookup.merge",
    "forward": "lookup.forward", "wait": "lookup.wait", "fill": "lookup.fill", "fill_line": "lookup.fill_line",
    "written": "wb.valid", "written_warp": "wb.value.warp", "written_register": "wb.value.rd",
    "written_last": "wb.value.last", "halt": "sm.halt", "stall": "sm.stall", "port_line": "port.line",
    "port_write": "port.write", "port_error": "port.error",
}
#: Fields of EVENT that are numbers, or NONE unless a flag of the record is set.
_IF = {
    "selected": ("front.select_valid", "front.select_warp"), "request": ("front.request", "front.request_tag"),
    "answer": ("front.answer", "front.answer_tag"), "executed": ("issue.valid", "issue.warp"),
    "port_tag": ("port.request", "port.tag"), "port_answer": ("port.answer", "port.answer_tag"),
    "fetched": ("front.fetch_valid", "front.fetch_warp"),
}
#: Fields of EVENT that are valid only if another field says so: otherwise they are 0.
_ONLY = {
    "nop": "selected", "refill_line": "refill", "resolved_warp": "resolves", "redirects": "resolves",
    "executed_pc": "executed", "executed_word": "executed", "executed_mask": "executed",
    **dict.fromkeys(("first", "access_warp", "line", "store", "uncached", "hit", "merge", "forward"), "access"),
    "fill_line": "fill", **dict.fromkeys(("written_warp", "written_register", "written_last"), "written"),
    "port_line": "port_tag", "port_write": "port_tag", "port_error": "port_answer",
}


def _field(records: Any, path: str) -> np.ndarray:
    for name in path.split("."):
        records = records[name]
    return records


def _number(mask: np.ndarray) -> np.ndarray:
    """Return the number of the one bit set in each mask, NONE for 0."""
    bits = mask.astype(np.uint64)
    numbers = np.bitwise_count(np.maximum(bits, 1) - np.uint64(1)).astype(np.int64)
    return np.where(bits == 0, NONE, numbers)


def events_of(records: np.ndarray) -> np.ndarray:
    """Return EVENT, of shape (n,), for n consecutive cycles of the hardware.

    Parameters
    ----------
    records
        From :func:`sim.build.records.decode_records`, with :data:`EVENT_PARTS` at least.
    """
    events = np.zeros(len(records), EVENT)
    for name, path in _SAME.items():
        events[name] = _field(records, path)
    for name, (flag, path) in _IF.items():
        events[name] = np.where(_field(records, flag) != 0, _field(records, path).astype(np.int64), NONE)
    events["turn"] = _number(records["front"]["turn"])
    for number, name in enumerate(("osched1", "osched2")):
        events[name] = _number(records["front"]["oracles"][:, number])
    if "lost" in (records["front"].dtype.names or ()):
        events["lost"] = records["front"]["lost"]
    if "change" in (records["control"].dtype.names or ()):
        events["change"] = records["control"]["change"]
    reasons = records["sm"]["reason"]
    events["reason"][:, : reasons.shape[1]] = reasons
    return tidy(events)


def tidy(events: np.ndarray) -> np.ndarray:
    """Set to 0, in place, each field of ``events`` that is invalid in its cycle: equal cycles become equal records."""
    for name, flag in _ONLY.items():
        there = events[flag]
        events[name][there == (NONE if flag in _IF else 0)] = 0
    return events
