"""Hardware and prediction side by side: the first cycle in which they part, and the unit that disagrees.

Both sides say what each unit does in a cycle: the hardware by its probe, the prediction by EVENT. In the first cycle in
which anything differs, the units are asked in the order in which one acts on the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import StallReason

from ..machine.events import NONE
from ..run.probe_events import events_of
from ..run.types import RunResult

__all__ = ["RESULT_FIELDS", "Parting", "Verification", "Verifier", "compare", "result_differences"]

#: Of a result, what does not depend on the computer on which it was obtained.
RESULT_FIELDS = (
    "status", "total_cycles", "fault", "exit_code", "hang", "console", "argument_missing", "counters", "region",
    "memory_statistics",
)


#: By unit, in the order in which they are asked: what each signal is called, and its field of EVENT.
UNITS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("the memory port", (
        ("request of the I-cache", "request"), ("request to memory", "port_tag"), ("line asked for", "port_line"),
        ("write", "port_write"), ("answer", "port_answer"), ("error", "port_error"),
    )),
    ("the load/store unit", (
        ("access that goes", "access"), ("reason of a wait", "wait"), ("line into the cache", "fill"),
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
class Parting:
    """The first cycle in which the two differ, the unit to which it can be laid, and both sides in words."""

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
    """Who is selected, who was eligible, and why the others were not."""
    selected, eligible, active = int(event["selected"]), int(event["eligible"]), int(event["active"])
    reasons, warps = event["reason"].tolist(), range(config.warps)
    chosen = "nobody" if selected == NONE else f"warp {selected}" + (" (a NOP)" if event["nop"] else "")
    may = ", ".join(str(warp) for warp in warps if eligible >> warp & 1) or "none"
    others = ", ".join(
        f"{warp} {StallReason(reasons[warp]).name.lower()}"
        for warp in warps if active >> warp & 1 and not eligible >> warp & 1 and reasons[warp]
    )
    return f"{chosen} issues; eligible: {may}" + (f"; not eligible: {others}" if others else "")


def compare(config: SmConfig, measured: np.ndarray, predicted: np.ndarray) -> Parting | None:
    """The first difference of the same cycles, both EVENT and tidy (:func:`sim.run.probe_events.tidy`).

    Raises
    ------
    ValueError
        If the cycles are not the same.
    """
    count = min(len(measured), len(predicted))
    measured, predicted = measured[:count], predicted[:count]
    if not np.array_equal(measured["cycle"], predicted["cycle"]):
        raise ValueError("the cycles of the two are not the same")
    differs = measured != predicted
    if not differs.any():
        return None
    at = int(differs.argmax())
    there, mine = measured[at], predicted[at]
    unit, signals = next(
        (unit, told) for unit, signals in UNITS
        if (told := tuple(_told(there, mine, *signal) for signal in signals if _unequal(there, mine, signal[1])))
    )
    return Parting(
        cycle=int(mine["cycle"]), unit=unit, signals=signals, measured=_side(config, there),
        predicted=_side(config, mine),
    )


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What came of it.

    ``mismatches``: the cycles in which the two do not select the same. ``differences``: of the results, in words.
    """

    mismatches: int
    parting: Parting | None
    differences: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether all is the same."""
        return self.parting is None and not self.differences and not self.mismatches

    def as_json(self) -> dict[str, Any]:
        """The fields of ``metronome predict --verify`` (docs/command-line.md)."""
        return {
            "mismatches": self.complaints(), "mismatching_cycles": self.mismatches,
            "first_mismatch": None if self.parting is None else asdict(self.parting),
        }

    def complaints(self) -> list[str]:
        """What is not the same, a line or a few each."""
        return [*([] if self.parting is None else [str(self.parting)]), *self.differences]


class Verifier:
    """Compares a run, whose trace is there, with a prediction under way (:class:`sim.run.types.Watcher`).

    ``parting``: the first cycle in which they part; None as long as they do not. ``mismatches``: the cycles in which
    they do not select the same.
    """

    def __init__(self, config: SmConfig, events: np.ndarray) -> None:
        self._config, self._events = config, events
        self.begin()

    def begin(self) -> None:
        """See :class:`sim.run.types.Watcher`."""
        self.parting: Parting | None = None
        self.mismatches = 0
        self._cycles = 0

    def take(self, events: np.ndarray) -> None:
        """See :class:`sim.run.types.Watcher`."""
        first = self._cycles
        self._cycles += len(events)
        measured = events_of(self._events[first : self._cycles])
        if self.parting is None:
            self.parting = compare(self._config, measured, events)
        selected = measured["selected"]
        self.mismatches += len(events) - int(np.count_nonzero(selected == events["selected"][: len(selected)]))

    def verdict(self, measured: RunResult, predicted: RunResult) -> Verification:
        """When both have ended. The cycle in which a run stops is not one of the prediction's."""
        missing = abs(len(self._events) - 1 - self._cycles)
        return Verification(
            mismatches=self.mismatches + missing, parting=self.parting,
            differences=tuple(result_differences(measured, predicted)),
        )


def result_differences(measured: RunResult, predicted: RunResult) -> list[str]:
    """What a run has counted and left behind that its prediction has not, a line each."""
    found = []
    for name in RESULT_FIELDS:
        here, there = getattr(predicted, name), getattr(measured, name)
        if name == "hang":
            # Lock step, where it was on, says more of a wait.
            here, there = ([replace(each, wait="") for each in side] for side in (here, there))
        if name == "counters":
            # A counter that the model of the machine does not have is not compared.
            there = {counter: there[counter] for counter, value in here.items() if value is not None}
            here = {counter: here[counter] for counter in there}
        if here == there:
            continue
        found += _unlike(name, there, here)
    # What a program that was stopped has left in memory depends on how its stores have come through.
    if measured.status == "ended" and not measured.memory.equal(predicted.memory):
        address, there, here = next(measured.memory.differences(predicted.memory, 1))
        found.append(f"memory at {address:#x}: measured {there:#x}, predicted {here:#x}")
    return found


def _unlike(name: str, there: Any, here: Any) -> list[str]:
    """What differs of two values of one shape, a line for each smallest part."""
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


def _told(measured: np.void, predicted: np.void, name: str, field: str) -> str:
    there, here = measured[field], predicted[field]
    if field == "reason":
        warp = int((here != there).argmax())
        there, here = (StallReason(int(side[warp])).name.lower() for side in (there, here))
        return f"warp {warp}: measured {there}, predicted {here}"
    return f"{name}: measured {there}, predicted {here}"
