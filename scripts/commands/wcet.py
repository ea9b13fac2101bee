"""``metronome wcet``: worst-case execution time of a program, for all inputs."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..options.common import JsonOption, positive, within
from ..options.flow_facts import facts_of
from ..options.gpu import GpuOptions
from ..options.ranges import ranges_of
from ..output.outputs import write_json
from ..process.backend import backend_of
from ..process.errors import Exit, UsageError
from ..process.progress import Report, show_progress
from .asking import AskedRun, RunOptions, SubjectOptions, asked_run
from .tracing import TraceFile, about, trace_files, traced
from .wcet_lines import place_in, refusal
from .wcet_output import document_of, print_bound

if TYPE_CHECKING:
    from metronome.sim.analysis.bound.bound import Bound
    from metronome.sim.analysis.bound.compose.parts import Composed
    from metronome.sim.analysis.bound.search import Observed
    from metronome.sim.analysis.code.inputs import Range
    from metronome.sim.analysis.paths.facts import Facts

__all__ = ["BoundOptions", "Bounded", "bounded", "check_bounds", "wcet"]

#: One in this many observed inputs also runs on the hardware.
_PART = 25


@dataclasses.dataclass(frozen=True, kw_only=True)
class BoundOptions:
    """Known facts, and results besides the bound."""

    observe: Annotated[
        int,
        typer.Option(metavar="N", help="Also search for slow inputs: N predicted runs, some repeated on the hardware."),
    ] = 0
    rtl: Annotated[bool, typer.Option(help="With --observe: repeat some runs on the hardware.")] = True
    compose: Annotated[
        bool,
        typer.Option("--compose", help="Also print the bound of each composition method, and of published formulas."),
    ] = False
    memory_bound: Annotated[
        int | None, typer.Option(metavar="CYCLES", help="The maximum memory latency, for dram and random.")
    ] = None
    ranges: Annotated[
        list[str] | None, typer.Option(
            "--range", metavar="NAME=LOW..HIGH", help="The range of a buffer, variable or arg[N]. Repeatable.",
        )
    ] = None
    flow_facts: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Read loop bounds and code that is never executed from an FFX file."),
    ] = None
    slowest: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="With --observe: trace the longest run.")
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bounded:
    """The bound of a requested run."""

    asked: AskedRun
    bound: Bound
    ranges: Sequence[Range]
    facts: Facts
    #: The runs of --observe, if there are any.
    observed: Observed | None
    #: The results of the other composition methods that are shown.
    shown: Sequence[Composed]

    def complaint(self, memory_bound: int | None) -> str | None:
        """Return how an observed run contradicts the bound or a flow fact; None if none does."""
        bound, observed = self.bound, self.observed
        if observed is not None and observed.contradiction is not None:
            what, pc = observed.contradiction
            return f"{what} (at {place_in(self.asked.launch.image, pc)})"
        if observed is None or observed.cycles <= bound.cycles:
            return None
        wrong = "the bound is wrong"
        if memory_bound is not None:
            wrong += f", or memory takes more than the {memory_bound} cycles of --memory-bound"
        return f"a run took {observed.cycles} cycles, more than the bound of {bound.cycles}: {wrong}"

    def as_json(self) -> dict[str, Any]:
        """Return the fields of docs/wcet.md."""
        return document_of(self.asked, self.bound, self.observed, self.ranges, self.shown)


def wcet(
    ctx: typer.Context, *, subject: SubjectOptions, gpu: GpuOptions, json_file: JsonOption = None, bounds: BoundOptions
) -> int:
    """Bound the cycles of a program from launch to end, for all inputs."""
    check_bounds(bounds)
    traces = _traces(bounds.slowest, bounds.observe)
    options = RunOptions(subject=subject, json_file=json_file, gpu=gpu)
    asked = asked_run(ctx, options, [("--slowest", trace.path) for trace in traces])
    with show_progress() as progress:
        found = bounded(ctx, asked, bounds, progress, _tell)
        if found.observed is not None and found.observed.cycles and traces:
            _trace(ctx, found, traces)
    if asked.as_json:
        write_json(asked.target, found.as_json())
    if not asked.as_json or asked.target is not None:
        print_bound(asked, found.bound, found.observed, found.shown)
    # A rule that matches nothing may be a mistake.
    for rule in found.facts.unused_rules if found.facts.used else ():
        _tell(f"{rule.text} matches no code that is executed")
    complaint = found.complaint(bounds.memory_bound)
    if complaint is None:
        return Exit.PASSED
    _tell(complaint)
    return Exit.CHECK_FAILED


def _tell(text: str) -> None:
    print(f"metronome: {text}", file=sys.stderr)


def check_bounds(bounds: BoundOptions) -> None:
    """Refuse numbers out of range, before anything is compiled."""
    positive("--memory-bound", bounds.memory_bound)
    within("--observe", bounds.observe, 0)


def bounded(
    ctx: typer.Context | None, asked: AskedRun, bounds: BoundOptions, progress: Report, tell: Report
) -> Bounded:
    """Return the bound, with the observed runs if they are requested. ``tell``: called with each note on it.

    Raises
    ------
    UsageError
        For a program without a bound, and for ranges and flow facts that do not fit it.
    """
    from metronome.sim.analysis.bound.assumptions import UserStatements
    from metronome.sim.analysis.bound.bound import longest_time
    from metronome.sim.analysis.bound.gpu import longest_time_of_gpu
    from metronome.sim.analysis.code.inputs import RangeError
    from metronome.sim.analysis.code.refusals import RefusedError
    from metronome.sim.analysis.paths.facts import FactError
    from metronome.sim.machine.engines import CannotPredictError

    ranges = ranges_of(asked.launch, bounds.ranges or [])
    facts = facts_of(asked.launch.image, bounds.flow_facts, tell)
    _tell_moved(asked, ranges, tell)
    stated = UserStatements(ranges=ranges, facts=facts, memory_latency=bounds.memory_bound)
    try:
        if asked.gpu is None:
            bound = longest_time(
                asked.config, asked.request, asked.launch, stated, compose=bounds.compose, miss_rate=_miss_rate(asked),
                progress=progress,
            )
        else:
            if bounds.compose:
                tell("the published formulas of --compose are for one SM: with several, it prints the bounds only")
            bound = longest_time_of_gpu(
                asked.gpu, asked.request, asked.launch, stated, compose=bounds.compose, progress=progress)
    except RefusedError as error:
        raise UsageError(f"{asked.launch.name}: {refusal(asked.launch.image, error)}") from None
    except FactError as error:
        raise UsageError(f"--flow-facts: {error}") from None
    except RangeError as error:
        raise UsageError(f"--range {error}") from None
    except CannotPredictError as error:
        raise UsageError(f"only a program that can be predicted has a bound: {error}") from None
    observed = None
    if bounds.observe:
        hardware = bounds.rtl and not bound.lost
        observed = _observe(ctx, asked, (ranges, facts), bounds.observe, hardware, progress)
        if bounds.rtl and bound.lost:
            names = " and ".join(each.name for each in bound.lost)
            tell(f"no run on the hardware: the start-up code clears {names}, and a run there cannot set it again")
    shown = [each for each in bound.composed if bounds.compose or (each.holds and each.cycles != bound.cycles)]
    return Bounded(asked=asked, bound=bound, ranges=ranges, facts=facts, observed=observed, shown=shown)


def _tell_moved(asked: AskedRun, ranges: Sequence[Range], tell: Report) -> None:
    """Report the ranges that do not contain the launch's own values."""
    from metronome.sim.analysis.code.inputs import initialised, outside

    for each in ranges:
        if initialised(asked.launch, each) and outside(asked.launch, each):
            tell(
                f"--range {each.text}: in this launch, {each.name} has values outside the range, which the bound does "
                "not cover"
            )


def _miss_rate(asked: AskedRun) -> float | None:
    """Return the share of the listed loads that miss, which is known before the run."""
    if asked.listing is None:
        return None
    from metronome.sim.analysis.access_order.estimate import estimate_of

    return estimate_of(asked.listing, asked.config).total.miss_rate or 0.0


def _traces(slowest: list[str] | None, observe: int) -> list[TraceFile]:
    if slowest and not observe:
        raise UsageError("--slowest traces the longest run of --observe: add --observe N")
    return trace_files(slowest, "--slowest")


def _observe(
    ctx: typer.Context | None, asked: AskedRun, known: tuple[Sequence[Range], Facts], count: int, hardware: bool,
    progress: Report,
) -> Observed:
    from metronome.sim.analysis.bound.bound import contradicted
    from metronome.sim.analysis.bound.gpu import contradicted_on_gpu
    from metronome.sim.analysis.bound.search import Search

    ranges, facts = known

    def check(request: Any) -> tuple[str, int] | None:
        if not facts.used:
            return None
        gpu = asked.gpu
        return contradicted(asked.config, request, facts) if gpu is None else contradicted_on_gpu(gpu, request, facts)

    search = Search(asked.gpu or asked.config, asked.request, asked.launch, asked.request.seed, ranges, check)
    observed = search.run(count, lambda done: progress(f"observe ({done} of {count})"))
    if hardware:
        backend = backend_of(ctx)

        def on_hardware(request: Any) -> Any:
            if asked.gpu is not None:
                return backend.run_gpu(asked.gpu, request, progress, lambda line: None)
            return backend.run(asked.config, request, progress, lambda line: None)

        search.confirm(on_hardware, max(1, count // _PART))
    return observed


def _trace(ctx: typer.Context, found: Bounded, traces: Sequence[TraceFile]) -> None:
    """Write the predicted trace of the longest run."""
    from metronome.sim.analysis.code.inputs import Inputs

    asked, observed = found.asked, found.observed
    assert observed is not None
    request = dataclasses.replace(asked.request, launch=Inputs(asked.launch, found.ranges).filled(observed.inputs))
    what = about(asked)
    more = ("longest of", f"{observed.runs} runs"), ("bound", str(found.bound.cycles)), ("it holds", found.bound.inputs)
    what = dataclasses.replace(what, facts=[*what.facts, *more])
    with traced(traces, asked.config, what, []) as watcher:
        backend_of(ctx).predict(asked.config, request, lambda text: None, lambda line: None, watcher)
