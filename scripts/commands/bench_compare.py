"""``metronome bench --compare``: compare with an earlier result of ``metronome bench --json``.

Figures of two machines are compared per loop: speeds are multiplied by the loop's seconds, build times divided by them.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metronome.sim.build.origin import maker

from ..options.common import input_file
from ..output.tables import new_table
from ..process.errors import UsageError
from ..process.terminal import Console
from .bench_cases import Asked, Kind
from .bench_loop import python_version
from .bench_units import AREAS

__all__ = ["Change", "changes", "print_changes", "read_earlier"]

#: Shown instead of whether a figure has changed.
WITHIN = "within the spread of the runs"
ONCE = "measured once, spread unknown"
_OPTION = "--compare"
#: Names of conditions that are not options, and the remedy if they differ.
_CONDITIONS = {
    "measured": ("what is measured", "use the same of --predict, --trace and neither"),
    "config_file": ("--config", "use the same options"),
    "sizes": ("sizes", "measure it again with this version of Metronome"),
    "memories": ("--memory or --latency", "use the same options"),
    "tools": ("the versions of the synthesis tools", "measure both with the same"),
    "python": ("the version of Python", "each has its own loop: measure both with the same"),
}


@dataclass(frozen=True)
class _Words:
    """Words for a figure that has risen, and for one that has fallen."""

    more: str
    less: str


_SPEED = _Words("faster", "slower")
_TIME = _Words("slower", "faster")
_COUNT = _Words("more", "fewer")


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A figure: the median of its runs, the lowest and the highest."""

    median: float
    low: float
    high: float
    runs: int

    def __str__(self) -> str:
        low, high = _number(self.low), _number(self.high)
        return low if low == high else f"{low}..{high}"


@dataclass(frozen=True, kw_only=True)
class Change:
    """One figure, earlier and now."""

    preset: str
    name: str
    then: Spread
    now: Spread
    words: _Words

    @property
    def ratio(self) -> float | None:
        """Return the new value divided by the old; None if the old one is 0."""
        return self.now.median / self.then.median if self.then.median else None

    @property
    def verdict(self) -> str:
        """Return in words whether the figure has changed. Two ranges that overlap show no change."""
        if min(self.then.runs, self.now.runs) < 2:
            return ONCE
        if self.then.low <= self.now.high and self.now.low <= self.then.high:
            return WITHIN
        return self.words.more if self.now.median > self.then.median else self.words.less

    def as_json(self) -> dict[str, Any]:
        """Return the entry in ``compared``."""
        sides = {side: {"median": its.median, "low": its.low, "high": its.high}
                 for side, its in (("then", self.then), ("now", self.now))}
        return {"preset": self.preset, "of": self.name, **sides, "ratio": self.ratio, "verdict": self.verdict}


def _number(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:.2f} M"
    return f"{value:.0f}" if value >= 1000 or value.is_integer() else f"{value:.1f}"


def read_earlier(name: str, asked: Asked) -> dict[str, Any]:
    """Return the document of an earlier run of the requested measurement.

    Raises
    ------
    UsageError
        If the file is not from ``metronome bench``, or holds a different measurement.
    """
    file = input_file(_OPTION, name)
    try:
        document = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        raise UsageError(f"{_OPTION}: {name!r} is not JSON: name a file that metronome bench --json wrote") from None
    if not isinstance(document, dict) or not {"kernel", "presets", "sizes", "repeat"} <= set(document):
        raise UsageError(f"{_OPTION}: {name!r} is not of metronome bench: name a file that its --json wrote")
    if "loop_runs" not in document:
        raise UsageError(f"{_OPTION}: {name!r} has no loop_runs: an earlier version of Metronome wrote it")
    _require_same(name, document, {**asked.conditions(), "python": python_version()})
    try:
        list(_figures(document, asked.sizes))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise UsageError(f"{_OPTION}: {name!r} is damaged: a figure is missing, or is no number above 0") from None
    return document


def _require_same(name: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse a measurement made under other conditions. Only ``cold`` may differ: then no builds are compared."""
    sizes = _mapping(then.get("sizes"))
    if missing := [preset for preset in now["sizes"] if preset not in sizes]:
        has = ", ".join(sizes) or "none"
        raise UsageError(f"{_OPTION}: {name!r} has not measured {missing[0]}: its presets are {_brief(has)}")
    then = {**then, "sizes": {preset: sizes[preset] for preset in now["sizes"]}}
    for field in now:
        if field != "cold" and then.get(field) != now[field]:
            what, hint = _CONDITIONS.get(field, (f"--{field}", "use the same options"))
            raise UsageError(f"{_OPTION}: {name!r} differs in {what}: {_brief(then.get(field))} then, "
                             f"{_brief(now[field])} now: {hint}")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _brief(value: Any) -> str:
    """Return a value on one line, whatever its layout in the file."""
    if isinstance(value, dict):
        text = ", ".join(f"{key}={its}" for key, its in value.items()) or "none"
    elif isinstance(value, list) and all(isinstance(each, str) for each in value):
        text = ", ".join(value)
    else:
        text = "none" if value is None else str(value)
    text = "".join(each for each in " ".join(text.split()) if each.isprintable())
    return text if len(text) <= 80 else f"{text[:77]}..."


def changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    """Compare the figures in both, without builds from the cache or builds whose caches had different contents."""
    before = {(preset, name): (spread, words) for preset, name, spread, words in _figures(then, now["sizes"])}
    found = []
    for preset, name, spread, words in _figures(now, now["sizes"]):
        if (preset, name) not in before or (words is _TIME and not _same_cache(then, now)):
            continue
        earlier = before[preset, name][0]
        if words is not _COUNT or earlier != spread:
            found.append(Change(preset=preset, name=name, then=earlier, now=spread, words=words))
    return found


def _same_cache(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether builds began alike: the first one in an empty cache also makes the shared parts."""
    return then.get("cold") == now["cold"] and (not now["cold"] or list(then["sizes"]) == list(now["sizes"]))


_Figure = tuple[str, str, Spread, _Words]


def _figures(document: Mapping[str, Any], presets: Mapping[str, int]) -> Iterator[_Figure]:
    """Yield preset, name and figure; raise an exception if a field of a document is missing or not a number."""
    by_kind = {Kind.SIMULATION: _of_simulations, Kind.PREDICTION: _of_predictions, Kind.TRACE: _of_traces}
    loops = [_positive(value) for value in document["loop_runs"]]
    for preset in presets:
        yield from by_kind[Kind(document["measured"])](preset, document["presets"][preset], loops)
    if document["measured"] == Kind.SIMULATION:
        yield "PAPER", "golden model", _speed(document["iss_runs"], loops), _SPEED
    for preset in presets if "synth" in document else ():
        for unit in document["synth"]:
            yield from _of_unit(preset, unit, document["units"][preset][unit])


def _of_simulations(preset: str, figure: Mapping[str, Any], loops: Sequence[float]) -> Iterator[_Figure]:
    yield preset, "simulation", _speed(figure["runs"], loops), _SPEED
    yield _cycles(preset, "cycles of the run", figure)
    for name, field in (("elaboration", "elaborate_seconds"), ("build", "build_seconds")):
        if figure[field]:
            loop = min(loops)
            value = _positive(figure[field]) / loop
            yield preset, name, Spread(median=value, low=value, high=value, runs=1), _TIME


def _of_predictions(preset: str, by_memory: Mapping[str, Any], loops: Sequence[float]) -> Iterator[_Figure]:
    for memory, figure in by_memory.items():
        yield preset, f"{memory}, simulation", _speed(figure["runs"], loops), _SPEED
        yield preset, f"{memory}, prediction", _speed(figure["predictions"], loops), _SPEED
        yield _cycles(preset, f"{memory}, cycles", figure)


def _of_traces(preset: str, figure: Mapping[str, Any], loops: Sequence[float]) -> Iterator[_Figure]:
    cycles = _positive(figure["total_cycles"])
    for kind, seconds in figure["seconds"].items():
        speeds = [cycles / _positive(each) for each in seconds]
        yield preset, f"trace {kind.removeprefix('.')}", _speed(speeds, loops), _SPEED
    yield _cycles(preset, "cycles of the run", figure)


def _of_unit(preset: str, unit: str, figure: Mapping[str, Any]) -> Iterator[_Figure]:
    """Yield the areas, which the same tools repeat exactly, and the clock rate, whose runs are the placements."""
    for field, name in AREAS.items():
        yield _exact(preset, f"{unit}, {name}", _count(figure[field]))
    rates = [_positive(rate) for rate in figure["fmax_mhz"].values() if rate is not None]
    if rates:
        spread = Spread(median=statistics.median(rates), low=min(rates), high=max(rates), runs=len(rates))
        yield preset, f"{unit}, MHz", spread, _SPEED


def _count(value: Any) -> float:
    """Return a count, which may be 0; raise ValueError for anything else."""
    return 0.0 if value == 0 and not isinstance(value, bool) else _positive(value)


def _cycles(preset: str, name: str, figure: Mapping[str, Any]) -> _Figure:
    return _exact(preset, name, _positive(figure["total_cycles"]))


def _exact(preset: str, name: str, count: float) -> _Figure:
    return preset, name, Spread(median=count, low=count, high=count, runs=2), _COUNT


def _speed(runs: Sequence[float], loops: Sequence[float]) -> Spread:
    """Return a speed per loop, by the loop's best time. The range uses its median, as one time may be an outlier."""
    speeds = [_positive(value) for value in runs]
    return Spread(median=statistics.median(speeds) * min(loops), low=min(speeds) * min(loops),
                  high=max(speeds) * statistics.median(loops), runs=len(speeds))


def _positive(value: Any) -> float:
    """Return a number above 0 that can be a time, a speed or a count.

    Raises
    ------
    ValueError
        For anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-9 < value < 1e15:
        raise ValueError(value)
    return float(value)


def print_changes(console: Console, then: Mapping[str, Any], now: Mapping[str, Any], found: Sequence[Change]) -> None:
    """Print a row for each figure, and explain the columns."""
    table = new_table("preset", "", ">then", ">now", ">ratio", "change", title="Compared, per loop")
    for change in found:
        ratio = "" if change.ratio is None else f"{change.ratio:.3f}"
        table.add_row(change.preset, change.name, str(change.then), str(change.now), ratio, change.verdict)
    console.print(table)
    lines = [f"Then: {_maker(then)}, loop {min(then['loop_runs']):.3f} s; now: loop {min(now['loop_runs']):.3f} s.",
             "A range includes the spread of the loop. The ratio is now divided by then, of the medians."]
    if "synth" in now:
        lines.append("Clock rates and areas are not per loop. The range of a clock rate is that of its placements. "
                     "Areas and cycles that are equal are not listed.")
    if (runs := now["repeat"]) > 1:
        chance = math.comb(2 * runs, runs) // 2
        lines.append(f"Without any change, the ranges of {runs} runs are apart 1 time in {chance}.")
    if any(change.words is _TIME for change in found):
        lines.append("The time of a build is in loops.")
    elif now["measured"] == Kind.SIMULATION:
        lines.append("Builds are compared only if both have built, and both or neither with --cold and these presets.")
    console.print("\n".join(lines), markup=False)


def _maker(document: Mapping[str, Any]) -> str:
    """Return the version and date of the measurement, if the file has them."""
    record = _mapping(document.get("origin"))
    return _brief(f"Metronome {maker(record)}, {record.get('date')}")
