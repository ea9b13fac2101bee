"""A hardware run as the predictor's records: one EVENT a cycle (:mod:`sim.predict.model.records`).

Tools that read schedules (comparison, traces, profiles) therefore read one kind of record for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig

from ..machine.events import EVENT, NONE
from .partitions import path_of

__all__ = ["EVENT_PARTS", "events_of", "tidy"]

#: The parts of a record (:func:`sim.build.records.record_layout`) that :func:`events_of` reads, those of the first
#: partition for all partitions.
EVENT_PARTS = ("front", "issue", "wb", "control", "lookup", "sm", "port")
#: Fields of EVENT that are sets of warps, and those that are one of a partition's warps or NONE.
_SETS = ("eligible", "unresolved", "active", "waiting", "release", "activates", "lost")
_WARPS = ("selected", "fetched", "resolved_warp", "executed", "written_warp", "turn", "osched1", "osched2")

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


def events_of(config: SmConfig, records: np.ndarray) -> np.ndarray:
    """Return EVENT for n consecutive cycles of the hardware: in each cycle one for each partition, shape (n * S,).

    Parameters
    ----------
    records
        From :func:`sim.build.records.decode_records`, with :data:`EVENT_PARTS` at least.
    """
    count = config.schedulers
    events = np.zeros((len(records), count), EVENT)
    for partition in range(count):
        mine = _events_of(records, partition)
        if count > 1:
            for name in _SETS:
                mine[name] = _spread(config, mine[name], partition)
            for name in _WARPS:
                mine[name] = np.where(mine[name] == NONE, NONE, mine[name] * count + partition)
        events[:, partition] = mine
    return tidy(events.reshape(-1))


def _events_of(records: np.ndarray, partition: int) -> np.ndarray:
    """Return the events of a partition, with its own warp numbers."""

    def of(path: str) -> np.ndarray:
        return _field(records, path_of(path, partition))

    events = np.zeros(len(records), EVENT)
    for name, path in _SAME.items():
        events[name] = of(path)
    for name, (flag, path) in _IF.items():
        events[name] = np.where(of(flag) != 0, of(path).astype(np.int64), NONE)
    events["turn"] = _number(of("front.turn"))
    for number, name in enumerate(("osched1", "osched2")):
        events[name] = _number(of("front.oracles")[:, number])
    if "lost" in (records["front"].dtype.names or ()):
        events["lost"] = of("front.lost")
    if "change" in (records["control"].dtype.names or ()):
        events["change"] = of("control.change")
    reasons = records["sm"]["reason"]
    events["reason"][:, : reasons.shape[1]] = reasons
    return events


def _spread(config: SmConfig, sets: np.ndarray, partition: int) -> np.ndarray:
    """Return sets of warps of the SM for sets of a partition's warps."""
    bits = [(sets >> w & 1) << (w * config.schedulers + partition) for w in range(config.partition.warps)]
    return np.bitwise_or.reduce(np.array(bits))


def tidy(events: np.ndarray) -> np.ndarray:
    """Set to 0, in place, each field of ``events`` that is invalid in its cycle: equal cycles become equal records."""
    for name, flag in _ONLY.items():
        there = events[flag]
        events[name][there == (NONE if flag in _IF else 0)] = 0
    return events
