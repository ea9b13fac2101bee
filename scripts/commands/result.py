"""Output of ``metronome run``: the JSON of docs/command-line.md, the table, the complaints and the exit status."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from metronome.hdl.config import Coordination, SmConfig
from metronome.hdl.layouts.counters import COUNTERS
from metronome.sim.machine.engines import Engine
from metronome.sim.machine.memory.names import DRAM_MODELS
from metronome.sim.run import outcome as plain

from ..output.region_table import region_rows, warp_table
from ..output.tables import new_table
from ..process.errors import Exit
from ..process.terminal import Console

if TYPE_CHECKING:
    from metronome.sim.program.kernels import Launch
    from metronome.sim.run.types import RunRequest

__all__ = ["Outcome", "add_counters", "memory_of", "not_measured", "notes_on", "print_outcome"]

#: Ends of a run other than by itself, and their exit statuses.
_STATUS = {"fault": Exit.FAULT, "hang": Exit.CYCLE_LIMIT, "deadlock": Exit.CYCLE_LIMIT}

#: Shown for a counter that the predictor does not have.
_NOT_PREDICTED = "not predicted"


def memory_of(request: RunRequest) -> str:
    """Describe the memory model and its parameters."""
    if request.memory not in DRAM_MODELS:
        return f"{request.memory}, latency {request.latency}"
    return f"{request.memory}, {request.memory_options.timing}, clock ratio {request.memory_options.clock}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome(plain.Outcome):
    """A finished run with its request and its exit status."""

    @property
    def exit_status(self) -> Exit:
        """The exit status of the process."""
        if self.passed:
            return Exit.PASSED
        return _STATUS.get(self.result.status, Exit.CHECK_FAILED)


def notes_on(outcome: Outcome) -> list[str]:
    """Return the notes on a run, one line each, whether or not it has passed."""
    notes = [f"memcheck: {finding.describe(outcome.source_of)}" for finding in outcome.findings or () if finding.note]
    if outcome.result.argument_missing:
        place = f"the program reads its argument block at {outcome.launch.argument_address:#x}, but has none"
        notes.append(place + (": give it one with --arg FILE" if outcome.launch.dtype is None else ": see its host.py"))
    return notes


def add_counters(table: Table, outcome: Outcome, cycles: int) -> None:
    """Add rows for the counters with a title: cycle counters as shares, then the others."""
    counters, config = outcome.counters, outcome.config
    titled = [counter for counter in COUNTERS if counter.title is not None]
    shares = {counter.title: counters[counter.name] for counter in titled if counter.share and not counter.oracle}
    shares |= {f"nothing issued: {name}": count for name, count in outcome.stalls().items() if count}
    if config.oracles and config.coordination is not Coordination.SWAS:
        shares |= {counter.title: counters[counter.name] for counter in titled if counter.share and counter.oracle}
    slots = cycles * outcome.issue_slots
    if outcome.issue_slots > 1:
        # Each scheduler issues in each cycle.
        table.add_row("cycles", str(shares.pop("cycles")))
        shares = {f"issue slots of {outcome.issue_slots} schedulers": slots, **shares}
    for title, count in shares.items():
        table.add_row(title, _NOT_PREDICTED if count is None else f"{count}  {100 * count / slots:5.1f} %")
    table.add_section()
    for counter in titled:
        if not counter.share:
            count = counters[counter.name]
            table.add_row(counter.title, _NOT_PREDICTED if count is None else str(count))
        if counter.name == "committed_threads":
            table.add_row("thread-instructions per cycle", f"{counters[counter.name] / cycles:.3f}")


def not_measured(launch: Launch, config: SmConfig) -> str:
    """Return the reason why the cycles of the measured region are missing."""
    if not config.research_counters:
        return "absent: this machine has only total_cycles (research_counters=false)"
    if launch.region is not None:
        return f"not measured: the program never called {launch.region} (--region)"
    return "not measured: the program never opened the region (CSR 0x7C0)" + (
        ": see --region" if launch.dtype is None else ""
    )


def _program(launch: Launch) -> str:
    """Type, size and unusual compilation of a program, in words."""
    how = launch.compiling
    options = [] if how is None else [
        name for name, given in (("hints", how.hints), ("soft float", how.soft_float), ("no SIMT pass", not how.simt))
        if given
    ]
    return ", ".join([*([] if launch.size is None else [f"{launch.dtype}, size {launch.size}"]), *options])


def _table(outcome: Outcome) -> Table:
    """Return the table of the run's figures."""
    request, config = outcome.request, outcome.config
    on = f"{outcome.sms} SMs of {outcome.machine.title}" if outcome.sms > 1 else outcome.machine.title
    title = f"{outcome.launch.name} on {on} ({config.warps} warps x {config.threads} threads)"
    table = new_table("", ">", title=escape(title))
    size = _program(outcome.launch)
    checked = "lock step with the golden model" if request.check or request.memcheck else "result only"
    checked += ", memory accesses" if request.memcheck else ""
    passed = outcome.exit_status == Exit.PASSED
    failed = "deadlock" if outcome.result.status == "deadlock" else outcome.exit_status.name.lower()
    table.add_row("result", "[green]passed[/]" if passed else f"[red]{failed}[/]")
    table.add_row("program", size or "-")
    fetch = "" if request.fetch_policy is None else f"{config.coordination}: fetch {request.fetch_policy}, issue "
    table.add_row("policy", f"{fetch}{request.policy}, prediction {config.prediction}")
    table.add_row("memory", memory_of(request))
    for name, text in outcome.of_gpu():
        table.add_row(name, text)
    if outcome.launch.size is None and not (request.check or request.memcheck):
        checked = "exit code only"
    table.add_row("checked", checked)
    table.add_section()
    table.add_row("total cycles", f"{outcome.result.total_cycles}")
    cycles = outcome.cycles
    if cycles is None:
        table.add_row("cycles", not_measured(outcome.launch, config))
    else:
        add_counters(table, outcome, cycles)
        if outcome.result.region is not None:
            table.add_section()
            for row in region_rows(outcome.result.region):
                table.add_row(*row)
    if outcome.result.memory_statistics is not None:
        table.add_section()
        for name, value in outcome.result.memory_statistics.items():
            shown = f"{value:.1f}" if isinstance(value, float) else str(value)
            table.add_row(f"memory: {name.replace('_', ' ')}", shown)
    table.add_section()
    result = outcome.result
    simulated = outcome.engine is Engine.RTL
    speed = f"{result.sim_seconds:.2f} s, {result.cycles_per_second:.0f} cycles/s"
    table.add_row("simulation" if simulated else "prediction", speed)
    if simulated:
        table.add_row("elaboration, build", f"{result.elaborate_seconds:.1f} s, {result.build_seconds:.1f} s")
    return table


def print_outcome(
    outcome: Outcome, *, table: bool, per_warp: bool = False, name: str | None = None,
    finishes: Sequence[int | None] | None = None,
) -> None:
    """Print the tables on standard output if wanted, and errors on standard error; ``name`` labels one of several runs.

    ``finishes``: the cycle of each warp's last instruction, if it is known; ``per_warp`` shows it.
    """
    if table:
        Console().print(_table(outcome))
        if per_warp and outcome.result.region is not None and outcome.cycles is not None:
            Console().print(warp_table(outcome.result.region, finishes))
        sys.stdout.flush()
    for line in outcome.complaints() + [f"note: {note}" for note in notes_on(outcome)]:
        print(f"metronome: {line}" if name is None else f"metronome: {name}: {line}", file=sys.stderr)
