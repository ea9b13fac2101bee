"""The cost of predictability on an FPGA: the three front ends at several numbers of warps, and the SM with each.

Every step is cached by content, so an interrupted table resumes where it stopped.
"""

from __future__ import annotations

import csv
import dataclasses
import fnmatch
import io
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from metronome.hdl.config import Coordination, Prediction, SmConfig
from metronome.hdl.presets import PIPELINES, PRESETS

from ...build.verilog import Progress
from ...machine.schemes import check_scheme, one_policy
from ...machine.settings import replaced
from .families import DEFAULT_FAMILY, Target, target_of
from .flow import Options
from .measure import synthesize
from .report import Area, SynthResult
from .tools import SynthesisError, versions

__all__ = ["Case", "Price", "as_csv", "as_json", "as_markdown", "cases", "chosen", "headings", "measure",
           "missing", "on", "values"]

#: The numbers of warps for the compared front ends, which are otherwise those of MID.
WARPS = (2, 4, 8, 16, 32)
FRONT_END_PRESET = "MID"
SM_PRESETS = ("TINY", "BASE")
#: From the least to the most predictable.
_MODES = (Coordination.VORTEX, Coordination.BASELINE, Coordination.SWAS)
#: The mode with which the others are compared.
_REFERENCE = Coordination.BASELINE
_ISSUE = "gtlrr"
#: The machine of the papers, whatever `metronome synth` measures by default.
_PIPELINE = "classic"


@dataclass(frozen=True)
class Case:
    """A front end with a number of warps, or the SM of a preset."""

    unit: str
    size: str
    mode: Coordination
    prediction: Prediction
    fpga: Target = field(default_factory=target_of)

    @property
    def name(self) -> str:
        """``frontend-8-swas-btfn``, ``sm-TINY-swas-btfn``."""
        return f"{self.unit}-{self.size}-{self.mode}-{self.prediction}"

    @property
    def label(self) -> str:
        """The name, with the family if it is not the default."""
        family = self.fpga.family.name
        return self.name if family == DEFAULT_FAMILY else f"{self.name}, {family}"

    @property
    def config(self) -> SmConfig:
        """The configuration for a chip, with one policy."""
        preset = PRESETS[FRONT_END_PRESET if self.unit == "frontend" else self.size]
        preset = replaced(preset, PIPELINES[_PIPELINE])
        sized = preset if self.unit == "sm" else dataclasses.replace(preset, warps=int(self.size))
        scheme = check_scheme(sized, mode=self.mode, issue=_ISSUE, prediction=self.prediction)
        return one_policy(sized, scheme).for_chip()


@dataclass(frozen=True)
class Price:
    """The measurements for a case; ``problems`` are lines about missing ones."""

    case: Case
    result: SynthResult | None
    problems: tuple[str, ...] = ()

    @property
    def area(self) -> Area | None:
        """The area, or None if yosys failed."""
        return None if self.result is None else self.result.area

    @property
    def rates(self) -> tuple[float, float, float] | None:
        """Minimum, median and maximum MHz over the seeds; None if none was routed."""
        found = [] if self.result is None else self.result.rates
        return (min(found), round(statistics.median(found), 2), max(found)) if found else None


def cases() -> list[Case]:
    """Return all rows of the table; those with the same size and prediction are adjacent."""
    sizes = [("frontend", str(warps)) for warps in WARPS] + [("sm", preset) for preset in SM_PRESETS]
    return [Case(*size, mode, prediction) for size, prediction, mode in product(sizes, Prediction, _MODES)]


def chosen(patterns: Sequence[str]) -> list[Case]:
    """Return the cases whose name matches one of the shell-style patterns.

    Raises
    ------
    ValueError
        If a pattern matches no case.
    """
    names = [case.name for case in cases()]
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise ValueError(f"no row matches {pattern!r}: the rows are {names[0]}, ..., {names[-1]}")
    return [case for case in cases() if any(fnmatch.fnmatchcase(case.name, pattern) for pattern in patterns)]


def on(fpgas: Sequence[Target], rows: Sequence[Case]) -> list[Case]:
    """Return every case on each FPGA, with those of one case side by side."""
    return [dataclasses.replace(case, fpga=fpga) for case in rows for fpga in fpgas]


def measure(rows: Sequence[Case], options: Sequence[Options], progress: Progress) -> Iterator[Price]:
    """Measure the cases in order; if a synthesis fails, its result reports that and no error is raised."""
    for place, case in enumerate(rows, 1):
        def say(step: str, head: str = f"{place}/{len(rows)} {case.label}") -> None:
            progress(f"{head} ({step})")

        try:
            own = [one for one in options if one.family == case.fpga.family.name]
            result = synthesize(case.unit, case.config, own, say, target=case.fpga)
            yield Price(case, result, tuple(result.problems))
        except SynthesisError as error:
            yield Price(case, None, (str(error).partition("\n")[0],))


def _more(price: Price, prices: Iterable[Price]) -> float | None:
    """Per cent of extra LUTs over the baseline with the same size and prediction; None if unknown."""
    like = dataclasses.replace(price.case, mode=_REFERENCE)
    other = next((each.area for each in prices if each.case == like), None)
    return round(100 * (price.area.luts / other.luts - 1), 1) if price.area and other and other.luts else None


def headings() -> tuple[str, ...]:
    """Headings for the columns of :func:`values`; ``>`` marks columns with numbers."""
    return ("row", "family", ">LUTs", ">%", ">FFs", ">block RAM", ">Fmax min", ">median", ">max")


def values(prices: Sequence[Price]) -> Iterator[tuple[str, ...]]:
    """A row of texts for each; the per cent are its extra LUTs over the baseline with the same size."""
    for price in prices:
        area, more, rates = price.area, _more(price, prices), price.rates
        areas = ("",) * 4
        if area is not None:
            areas = (str(area.luts), "" if more is None else f"{more:+.1f}", str(area.ffs), str(area.brams))
        shown = ("",) * 3 if rates is None else tuple(f"{rate:.1f}" for rate in rates)
        yield (price.case.name, price.case.fpga.family.name, *areas, *shown)


def missing(prices: Iterable[Price]) -> list[str]:
    """A line for each seed without a clock rate, and for each failed synthesis."""
    return [f"{price.case.label}: {problem}" for price in prices for problem in price.problems]


def as_markdown(prices: Sequence[Price], seeds: Sequence[int]) -> str:
    """The table, followed by a description of how it was made."""
    rows = [[name.removeprefix(">") for name in headings()], ["---:" if ">" in name else "---" for name in headings()]]
    lines = [f"| {' | '.join(row)} |" for row in (*rows, *values(prices))]
    tools = ", ".join(f"{name} {version}" for name, version in versions().items())
    fpgas = dict.fromkeys(f"{price.case.fpga.family.name}: {price.case.fpga}." for price in prices)
    notes = [*fpgas, f"{tools}.", f"Pipeline: {_PIPELINE}.", "%: change of the LUTs against the baseline."]
    if seeds:
        notes.append(f"Fmax in MHz, over the placements from the seeds {', '.join(map(str, seeds))}.")
    lost = [f"- {line}" for line in missing(prices)]
    return "\n".join([*lines, "", " ".join(notes), *(["", "Missing:", "", *lost] if lost else []), ""])


def as_json(prices: Sequence[Price], options: Sequence[Options]) -> dict[str, Any]:
    """All data of each row."""
    return {
        "tools": versions(), "seeds": list(dict.fromkeys(one.seed for one in options)),
        "freq": options[0].freq if options else None,
        "rows": [
            {
                "name": price.case.name, **_plain(price.case),
                "luts_to_baseline_percent": _more(price, prices), "problems": list(price.problems),
                **(price.result.as_json() if price.result else {}),
            }
            for price in prices
        ],
    }


def _plain(case: Case) -> dict[str, Any]:
    config = case.config
    return {"unit": case.unit, "size": case.size, "warps": config.warps, "threads": config.threads,
            "mode": case.mode.value, "prediction": case.prediction.value, "pipeline": _PIPELINE,
            "family": case.fpga.family.name, "device": case.fpga.part, "grade": case.fpga.grade}


def as_csv(prices: Sequence[Price]) -> str:
    """The figures as CSV, with an empty field for an unknown one."""
    text = io.StringIO()
    names = ("unit", "size", "warps", "threads", "mode", "prediction", "pipeline", "family", "device", "grade", "luts",
             "ffs", "brams", "dsps", "fmax_min_mhz", "fmax_median_mhz", "fmax_max_mhz", "problems")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for price in prices:
        area = ("",) * 4 if price.area is None else dataclasses.astuple(price.area)
        writer.writerow([*_plain(price.case).values(), *area, *(price.rates or ("",) * 3), "; ".join(price.problems)])
    return text.getvalue()
