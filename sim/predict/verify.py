"""Compare hardware and prediction: find the first cycle in which they differ, and the unit that disagrees.

Both sides describe the actions of each unit in every cycle: the hardware through its probe, the prediction as EVENT. In
the first cycle with a difference, the units are checked in the order in which one acts on the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import StallReason

from ..machine.events import NONE
from ..run.probe_events import events_of
from ..run.types import RunResult

__all__ = ["RESULT_FIELDS", "FirstDifference", "Verification", "Verifier", "compare", "field_differences",
           "result_differences"]

#: The fields of a result that do not depend on the computer on which it was obtained.
RESULT_FIELDS = (
    "status", "total_cycles", "fault", "exit_code", "hang", "console", "argument_missing", "counters", "region",
    "memory_statistics",
)


#: The signals of each unit, in the order in which units are checked: name for the report, and field of EVENT.
UNITS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("the memory port", (
        ("request of the I-cache", "request"), ("request to memory", "port_tag"), ("requested line", "port_line"),
        ("write", "port_write"), ("answer", "port_answer"), ("error", "port_error"),
    )),
    ("the load/store unit", (
        ("access that is made", "access"), ("reason for a wait", "wait"), ("line into the cache", "fill"),
        ("its number", "fill_line"), ("line", "line"), ("warp", "access_warp"), ("store", "store"),
        ("first of its instruction", "first"), ("uncached", "uncached"), ("hit", "hit"), ("merge", "merge"),
        ("forward", "forward"), ("warps that lost locality in the cycle before", "lost"),
    )),
    ("the writeback", (
        ("write of a register", "written"), ("warp", "written_warp"), ("register", "written_register"),
        ("last", "written_last"),
    )),
    ("the control unit", (
        ("active warps", "active"), ("waiting warps", "waiting"), ("resolution", "resolves"),
        ("warp that resolves", "resolved_warp"), ("redirect", "redirects"), ("released warps", "release"),
        ("warps that start", "activates"), ("jump", "taken"), ("thread-instructions", "retired"), ("region", "region"),
        ("halt", "halt"), ("change of the policies", "change"),
    )),
    ("the I-cache", (
        ("miss", "missed"), ("miss that asks for its line", "miss"), ("line into the cache", "refill"),
        ("its number", "refill_line"), ("answer of memory", "answer"),
    )),
    ("the front end", (("warps with unresolved control flow", "unresolved"), ("jump followed at decode", "turn"))),
    ("the scoreboard", (("reasons", "reason"),)),
    ("the front end", (("eligible warps", "eligible"),)),
    ("the policy", (("selected warp", "selected"), ("fetch", "fetched"), ("stall", "stall"),
                    ("pick of osched1", "osched1"), ("pick of osched2", "osched2"))),
    ("the instruction buffer", (
        ("NOP", "nop"), ("instruction in stage X", "executed"), ("its pc", "executed_pc"),
        ("its word", "executed_word"), ("its lanes", "executed_mask"),
    )),
)


@dataclass(frozen=True, kw_only=True)
class FirstDifference:
    """The first cycle in which the two differ, the unit responsible, and a description of both sides."""

    cycle: int
    unit: str
    signals: tuple[str, ...]
    measured: str
    predicted: str

    def __str__(self) -> str:
        return "\n".join([
            f"cycle {self.cycle}: {self.unit} disagrees: {'; '.join(self.signals)}",
            f"  measured:  {self.measured}",
            f"  predicted: {self.predicted}",
        ])


def _side(config: SmConfig, event: np.void) -> str:
    """Describe the selected warp, the eligible warps, and why the others were not eligible."""
    selected, eligible, active = int(event["selected"]), int(event["eligible"]), int(event["active"])
    reasons, warps = event["reason"].tolist(), range(config.warps)
    chosen = "nobody" if selected == NONE else f"warp {selected}" + (" (a NOP)" if event["nop"] else "")
    may = ", ".join(str(warp) for warp in warps if eligible >> warp & 1) or "none"
    others = ", ".join(
        f"{warp} {StallReason(reasons[warp]).name.lower()}"
        for warp in warps if active >> warp & 1 and not eligible >> warp & 1 and reasons[warp]
    )
    return f"{chosen} issues; eligible: {may}" + (f"; not eligible: {others}" if others else "")


def compare(config: SmConfig, measured: np.ndarray, predicted: np.ndarray) -> FirstDifference | None:
    """Return the first difference between two tidy EVENT arrays (:func:`sim.run.probe_events.tidy`), or None.

    Raises
    ------
    ValueError
        If the two do not cover the same cycles.
    """
    count = min(len(measured), len(predicted))
    measured, predicted = measured[:count], predicted[:count]
    if not np.array_equal(measured["cycle"], predicted["cycle"]):
        raise ValueError("the two did not compute the same cycles")
    differs = measured != predicted
    if not differs.any():
        return None
    at = int(differs.argmax())
    there, mine = measured[at], predicted[at]
    unit, signals = next(
        (unit, differing) for unit, signals in UNITS
        if (differing := tuple(
            _described(there, mine, *signal) for signal in signals if _unequal(there, mine, signal[1])
        ))
    )
    return FirstDifference(
        cycle=int(mine["cycle"]), unit=unit, signals=signals, measured=_side(config, there),
        predicted=_side(config, mine),
    )


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The outcome of a verification.

    ``mismatches``: the number of cycles in which the two select different warps. ``differences``: of the results.
    """

    mismatches: int
    parting: FirstDifference | None
    differences: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the two agree in everything."""
        return self.parting is None and not self.differences and not self.mismatches

    def as_json(self) -> dict[str, Any]:
        """The fields of ``metronome predict --verify`` (docs/command-line.md)."""
        return {
            "mismatches": self.complaints(), "mismatching_cycles": self.mismatches,
            "first_mismatch": None if self.parting is None else asdict(self.parting),
        }

    def complaints(self) -> list[str]:
        """Describe each difference in one or a few lines."""
        return [*([] if self.parting is None else [str(self.parting)]), *self.differences]


class Verifier:
    """Compares the trace of a run with a prediction in progress (:class:`sim.run.types.Watcher`).

    ``parting``: the first difference; None as long as there is none. ``mismatches``: the number of cycles in which the
    two select different warps.
    """

    def __init__(self, config: SmConfig, events: np.ndarray) -> None:
        self._config, self._events = config, events
        self.begin()

    def begin(self) -> None:
        """See :class:`sim.run.types.Watcher`."""
        self.parting: FirstDifference | None = None
        self.mismatches = 0
        self._cycles = 0

    def take(self, events: np.ndarray) -> None:
        """See :class:`sim.run.types.Watcher`."""
        first, count = self._cycles, self._config.schedulers
        self._cycles += len(events) // count
        measured = events_of(self._config, self._events[first : self._cycles])
        if self.parting is None:
            self.parting = compare(self._config, measured, events)
        selected = measured["selected"]
        same = (selected == events["selected"][: len(selected)]).reshape(-1, count).all(axis=1)
        self.mismatches += len(events) // count - int(np.count_nonzero(same))

    def verdict(self, measured: RunResult, predicted: RunResult) -> Verification:
        """Return the outcome when both have ended."""
        return Verification(
            mismatches=self.all_mismatches, parting=self.parting,
            differences=tuple(result_differences(measured, predicted)),
        )

    @property
    def all_mismatches(self) -> int:
        """``mismatches`` at the end. The prediction has no event for the cycle in which a run stops."""
        return self.mismatches + abs(len(self._events) - 1 - self._cycles)


def result_differences(
    measured: RunResult, predicted: RunResult, fields: Sequence[str] = RESULT_FIELDS,
) -> list[str]:
    """Describe the differences between two results in ``fields`` and final memory, one line each."""
    found = field_differences(measured, predicted, fields)
    # If a program is stopped, the memory contents depend on which of its stores have completed.
    if measured.status == "ended" and not measured.memory.equal(predicted.memory):
        address, there, here = next(measured.memory.differences(predicted.memory, 1))
        found.append(f"memory at {address:#x}: measured {there:#x}, predicted {here:#x}")
    return found


def field_differences(measured: RunResult, predicted: RunResult, fields: Sequence[str]) -> list[str]:
    """Describe the differences between two results in ``fields``, one line each."""
    found: list[str] = []
    for name in fields:
        here, there = getattr(predicted, name), getattr(measured, name)
        if name == "hang":
            # A run in lock step with the golden model describes a wait in more detail.
            here, there = ([replace(each, wait="") for each in side] for side in (here, there))
        if name == "counters":
            there, here = _counted(there, here)
        if here == there:
            continue
        found += _unlike(name, there, here)
    return found


def _counted(there: Mapping[str, Any], here: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the counters that the model of the machine has, measured and predicted."""
    names = [counter for counter, value in here.items() if value is not None]
    return {name: there[name] for name in names}, {name: here[name] for name in names}


def _unlike(name: str, there: Any, here: Any) -> list[str]:
    """Describe the differences between two values of the same shape, one line for each smallest part."""
    if there == here:
        return []
    if is_dataclass(there) and is_dataclass(here):
        there, here = ({field.name: getattr(each, field.name) for field in fields(each)} for each in (there, here))
    if isinstance(there, tuple | list) and isinstance(here, tuple | list) and len(there) == len(here):
        there, here = (dict(enumerate(each)) for each in (there, here))
    if isinstance(there, Mapping) and isinstance(here, Mapping) and there.keys() == here.keys():
        return [
            line for key in there
            for line in _unlike(f"{name}.{key.name.lower() if isinstance(key, Enum) else key}", there[key], here[key])
        ]
    there, here = ("; ".join(map(str, each)) or "nothing" if isinstance(each, list) else each for each in (there, here))
    return [f"{name}: measured {there}, predicted {here}"]


def _unequal(measured: np.void, predicted: np.void, field: str) -> bool:
    return not np.array_equal(measured[field], predicted[field])


def _described(measured: np.void, predicted: np.void, name: str, field: str) -> str:
    there, here = measured[field], predicted[field]
    if field == "reason":
        warp = int((here != there).argmax())
        there, here = (StallReason(int(side[warp])).name.lower() for side in (there, here))
        return f"warp {warp}: measured {there}, predicted {here}"
    return f"{name}: measured {there}, predicted {here}"
