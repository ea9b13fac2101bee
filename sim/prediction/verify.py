"""Hardware and prediction side by side: the first cycle in which they part, and the unit that disagrees.

Both sides say what each unit does in a cycle: the hardware by its probe, the prediction by EVENT. In the first cycle in
which anything differs, the units are asked in the order in which one acts on the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import StallReason
from metronome.sim.predict.records import NONE
from metronome.sim.runner_types import RunResult

__all__ = ["RESULT_FIELDS", "Parting", "Verification", "Verifier", "compare", "result_differences"]

#: Of a result, what does not depend on the computer on which it was obtained.
RESULT_FIELDS = (
    "status", "total_cycles", "fault", "exit_code", "hang", "console", "argument_missing", "counters", "region",
    "memory_statistics",
)


#: A signal: its name, what the hardware says (events of a run -> one value a cycle), the field of EVENT, and, if it
#: means something only sometimes, the field of EVENT that says when.
Signal = tuple[str, Callable[[Any], np.ndarray], str, str | None]


def _number(mask: np.ndarray) -> np.ndarray:
    """The number of the one bit of each mask, NONE for 0."""
    bits = mask.astype(np.uint64)
    numbers = np.bitwise_count(np.maximum(bits, 1) - np.uint64(1)).astype(np.int64)
    return np.where(bits == 0, NONE, numbers)


def _field(*path: str) -> Callable[[Any], np.ndarray]:
    def of(events: Any) -> np.ndarray:
        for name in path:
            events = events[name]
        return events.astype(np.int64)

    return of


def _where(valid: tuple[str, ...], value: tuple[str, ...]) -> Callable[[Any], np.ndarray]:
    return lambda events: np.where(_field(*valid)(events) != 0, _field(*value)(events), NONE)


#: By unit, in the order in which they are asked.
UNITS: tuple[tuple[str, tuple[Signal, ...]], ...] = (
    ("the memory port", (
        ("request of the I-cache", _where(("front", "request"), ("front", "request_tag")), "request", None),
    )),
    ("the load/store unit", (
        ("access that goes", _field("lookup", "access"), "access", None),
        ("reason of a wait", _field("lookup", "wait"), "wait", None),
        ("line into the cache", _field("lookup", "fill"), "fill", None),
        ("its number", _field("lookup", "fill_line"), "fill_line", "fill"),
        ("line", _field("lookup", "line"), "line", "access"),
        ("warp", _field("lookup", "warp"), "access_warp", "access"),
        ("store", _field("lookup", "store"), "store", "access"),
        ("first of its instruction", _field("lookup", "first"), "first", "access"),
        ("hit", _field("lookup", "hit"), "hit", "access"),
        ("merge", _field("lookup", "merge"), "merge", "access"),
        ("forward", _field("lookup", "forward"), "forward", "access"),
    )),
    ("the writeback", (
        ("write of a register", _field("wb", "valid"), "written", None),
        ("warp", _field("wb", "value", "warp"), "written_warp", "written"),
        ("register", _field("wb", "value", "rd"), "written_register", "written"),
        ("last", _field("wb", "value", "last"), "written_last", "written"),
    )),
    ("the control unit", (
        ("active warps", _field("control", "active"), "active", None),
        ("waiting warps", _field("control", "waiting"), "waiting", None),
        ("resolution", _where(("control", "resolution", "valid"), ("control", "resolution", "warp")), "resolved", None),
        ("redirect", _field("control", "resolution", "redirect"), "redirects", "resolves"),
        ("released warps", _field("control", "release"), "release", None),
        ("warps that start", _field("control", "activation", "warps"), "activates", None),
        ("jump", _field("control", "taken"), "taken", None),
        ("thread-instructions", _field("control", "retired"), "retired", None),
        ("region", _field("control", "region"), "region", None),
        ("halt", _field("sm", "halt"), "halt", None),
    )),
    ("the I-cache", (
        ("miss", _field("front", "missed"), "missed", None),
        ("miss that asks for its line", _field("front", "miss"), "miss", None),
        ("line into the cache", _field("front", "refill"), "refill", None),
        ("its number", _field("front", "refill_line"), "refill_line", "refill"),
        ("answer of memory", _where(("front", "answer"), ("front", "answer_tag")), "answer", None),
    )),
    ("the front end", (
        ("warps with unresolved control flow", _field("front", "unresolved"), "unresolved", None),
        ("jump followed at decode", lambda events: _number(events["front"]["turn"]), "turn", None),
    )),
    ("the scoreboard", (("reasons", _field("sm", "reason"), "reason", None),)),
    ("the front end", (("eligible warps", _field("front", "eligible"), "eligible", None),)),
    ("the policy", (
        ("selected warp", _where(("front", "select_valid"), ("front", "select_warp")), "selected", None),
    )),
    ("the instruction buffer", (
        ("NOP", _field("front", "select_nop"), "nop", "chosen"),
        ("instruction in stage X", _where(("issue", "valid"), ("issue", "warp")), "executed", None),
        ("its pc", _field("issue", "pc"), "executed_pc", "executes"),
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


def _derived(predicted: np.ndarray, name: str) -> np.ndarray:
    if name == "resolved":
        return np.where(predicted["resolves"] != 0, predicted["resolved_warp"], NONE)
    if name == "chosen":
        return (predicted["selected"] != NONE).astype(np.int64)
    if name == "executes":
        return (predicted["executed"] != NONE).astype(np.int64)
    return predicted[name]


def _differs(config: SmConfig, measured: Any, predicted: np.ndarray, signal: Signal) -> np.ndarray:
    """Whether the signal differs, one value a cycle."""
    _, hardware, name, when = signal
    here, there = _derived(predicted, name), hardware(measured)
    if name == "reason":
        return (here[:, : config.warps] != there[:, : config.warps]).any(axis=1)
    # A set of 64 warps has the sign bit here.
    differs = here != there
    return differs if when is None else differs & (_derived(predicted, when) != 0)


def _side(config: SmConfig, selected: int, nop: int, eligible: int, reasons: Sequence[int], active: int) -> str:
    """Who is selected, who was eligible, and why the others were not."""
    warps = range(config.warps)
    chosen = "nobody" if selected == NONE else f"warp {selected}" + (" (a NOP)" if nop else "")
    may = ", ".join(str(warp) for warp in warps if eligible >> warp & 1) or "none"
    others = ", ".join(
        f"{warp} {StallReason(reasons[warp]).name.lower()}"
        for warp in warps if active >> warp & 1 and not eligible >> warp & 1 and reasons[warp]
    )
    return f"{chosen} issues; eligible: {may}" + (f"; not eligible: {others}" if others else "")


def compare(config: SmConfig, measured: Any, predicted: np.ndarray) -> Parting | None:
    """The first difference of the same cycles: the events of a run with its trace, and EVENT of a prediction.

    Raises
    ------
    ValueError
        If the cycles are not the same.
    """
    count = min(len(measured), len(predicted))
    measured, predicted = measured[:count], predicted[:count]
    if not np.array_equal(measured["cycle"].astype(np.int64), predicted["cycle"]):
        raise ValueError("the cycles of the two are not the same")
    found = [
        (unit, signal, _differs(config, measured, predicted, signal)) for unit, signals in UNITS for signal in signals
    ]
    any_differs = np.zeros(count, bool)
    for _, _, differs in found:
        any_differs |= differs
    if not any_differs.any():
        return None
    at = int(any_differs.argmax())
    unit = next(unit for unit, _, differs in found if differs[at])
    signals = tuple(
        _told(config, measured, predicted, at, signal)
        for name, signal, differs in found if name == unit and differs[at]
    )
    front, mine = measured["front"], predicted[at]
    return Parting(
        cycle=int(mine["cycle"]), unit=unit, signals=signals,
        measured=_side(
            config, int(_where(("front", "select_valid"), ("front", "select_warp"))(measured)[at]),
            int(front["select_nop"][at]), int(front["eligible"][at]), measured["sm"]["reason"][at].tolist(),
            int(measured["control"]["active"][at]),
        ),
        predicted=_side(
            config, int(mine["selected"]), int(mine["nop"]), int(mine["eligible"]), mine["reason"].tolist(),
            int(mine["active"]),
        ),
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
    """Compares a run, whose trace is there, with a prediction under way (:class:`sim.prediction.predictor.Watcher`).

    ``parting``: the first cycle in which they part; None as long as they do not. ``mismatches``: the cycles in which
    they do not select the same.
    """

    def __init__(self, config: SmConfig, events: np.ndarray) -> None:
        self._config, self._events = config, events
        self.begin()

    def begin(self) -> None:
        """See :class:`sim.prediction.predictor.Watcher`."""
        self.parting: Parting | None = None
        self.mismatches = 0
        self._cycles = 0

    def take(self, events: np.ndarray) -> None:
        """See :class:`sim.prediction.predictor.Watcher`."""
        first = self._cycles
        self._cycles += len(events)
        measured = self._events[first : self._cycles]
        if self.parting is None:
            self.parting = compare(self._config, measured, events)
        selected = _where(("front", "select_valid"), ("front", "select_warp"))(measured)
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
    there, here = (
        "; ".join(map(str, each)) or "nothing" if isinstance(each, list) else each for each in (there, here)
    )
    return [f"{name}: measured {there}, predicted {here}"]


def _told(config: SmConfig, measured: Any, predicted: np.ndarray, at: int, signal: Signal) -> str:
    name, hardware, field, _ = signal
    here, there = _derived(predicted, field)[at], hardware(measured)[at]
    if field == "reason":
        warp = int((here[: config.warps] != there[: config.warps]).argmax())
        here, there = (StallReason(int(side[warp])).name.lower() for side in (here, there))
        return f"warp {warp}: measured {there}, predicted {here}"
    return f"{name}: measured {there}, predicted {here}"
