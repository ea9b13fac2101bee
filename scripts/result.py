"""What ``metronome run`` says of a run: the JSON of docs/command-line.md, the table, the complaint, the exit status."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from metronome.hdl.config import Coordination, SmConfig
from metronome.hdl.layouts.counters import COUNTERS

from .errors import Exit
from .machine import Machine
from .region_table import region_rows, warp_table
from .run_options import DRAMS
from .tables import new_table

if TYPE_CHECKING:
    from metronome.sim.kernel import Launch
    from metronome.sim.runner_types import RunRequest, RunResult

__all__ = ["Outcome", "memory_of", "print_outcome"]

#: How a run can end, and what that is as an exit status. A mismatch and an assertion are defects of the machine.
_STATUS = {
    "fault": Exit.FAULT, "hang": Exit.CYCLE_LIMIT, "deadlock": Exit.CYCLE_LIMIT, "assertion": Exit.CHECK_FAILED,
    "mismatch": Exit.CHECK_FAILED,
}

#: Findings of the memory checker that are printed.
MOST_FINDINGS = 20


def memory_of(request: RunRequest) -> str:
    """The memory model and what it was given, for people."""
    if request.memory not in DRAMS:
        return f"{request.memory}, latency {request.latency}"
    return f"{request.memory}, {request.memory_options.timing}, clock ratio {request.memory_options.clock}"


def _ratio(part: int, whole: int) -> float | None:
    """``part / whole``, or None where there is nothing to divide by."""
    return part / whole if whole else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """A finished run with what was asked for."""

    machine: Machine
    #: That of the machine, with the front end that was asked for.
    config: SmConfig
    launch: Launch
    request: RunRequest
    result: RunResult

    @functools.cached_property
    def problems(self) -> list[str]:
        """What the kernel's own check finds wrong in memory; nothing to find unless the program has ended."""
        return self.launch.check(self.result.memory) if self.result.status == "ended" else []

    @property
    def exit_status(self) -> Exit:
        """The exit status of the process."""
        if self.result.status != "ended":
            return _STATUS[self.result.status]
        failed = self.problems or self.result.exit_code or self.result.memcheck
        return Exit.CHECK_FAILED if failed else Exit.PASSED

    @property
    def counters(self) -> Mapping[str, Any]:
        """The counters of the measured region; all 0 if the program never opened it."""
        return self.result.counters

    @property
    def cycles(self) -> int | None:
        """Cycles of the measured region; None if the program never opened it."""
        return self.counters["cycles"] or None

    def stalls(self) -> dict[str, int]:
        """Cycles in which nothing was issued, by reason."""
        return {reason: count for reason, count in self.counters["stalls"].items() if reason != "none"}

    def counted(self) -> dict[str, Any]:
        """Every counter by its name; None for the oracles' in a build without them (docs/policies.md)."""
        values = {counter.name: self.counters[counter.name] for counter in COUNTERS}
        if not self.config.oracles:
            values |= {counter.name: None for counter in COUNTERS if counter.oracle}
        return values | {"cycles": self.cycles, "total_cycles": self.result.total_cycles, "stalls": self.stalls()}

    def rates(self) -> dict[str, float | None]:
        """Ratios of counters."""
        counters, cycles = self.counters, self.counters["cycles"]
        return {
            "ipc": _ratio(counters["committed_threads"], cycles),
            "error_rate": _ratio(counters["errors"], cycles) if self.config.oracles else None,
        }

    @property
    def dcache_misses(self) -> int | None:
        """Lines that loads have requested from memory; None without a data cache, or without statistics."""
        region = self.result.region
        return region.loads.misses if region is not None and self.config.dcache_bytes else None

    def region(self) -> dict[str, Any]:
        """The statistics of the region that the simulation keeps; None each in a build without a probe."""
        region = self.result.region
        return dict.fromkeys(("lines", "coalescing", "load_latency", "warps")) if region is None else region.as_json()

    def fault(self) -> dict[str, Any] | None:
        """Why the machine stopped, or None."""
        fault = self.result.fault
        if fault is None:
            return None
        return {
            "cause": fault.cause.name.lower(),
            "warp": fault.warp,
            "pc": fault.pc,
            "address": fault.address,
            "function": self.launch.image.function_at(fault.pc),
            "source": self.launch.image.source_line(fault.pc),
        }

    def source_of(self, pc: int) -> tuple[str | None, str | None]:
        """The function and the source line of ``pc``, None each if unknown."""
        return self.launch.image.function_at(pc), self.launch.image.source_line(pc)

    def place(self, pc: int) -> str:
        """Where in the source ``pc`` is: " at FILE:LINE in FUNCTION", as much of it as the image tells."""
        function, source = self.source_of(pc)
        return (f" at {source}" if source else "") + (f" in {function}" if function else "")

    def hang(self) -> list[str] | None:
        """What each warp waits for, a line each; None unless the run was cut off."""
        if self.result.status not in ("hang", "deadlock"):
            return None
        return [warp.describe(self.place(warp.pc)) for warp in self.result.hang]

    def as_json(self) -> dict[str, Any]:
        """The fields that docs/command-line.md lists, and how the run was asked for."""
        request, result = self.request, self.result
        dram = request.memory in DRAMS
        return {
            "kernel": self.launch.name,
            "config": {
                "preset": self.machine.preset,
                "config_file": self.machine.file,
                "set": dict(self.machine.settings),
                "mode": self.config.coordination,
                "issue": request.policy,
                "fetch": request.fetch_policy,
                "memory": request.memory,
                "latency": None if dram else request.latency,
                "timing": request.memory_options.timing if dram else None,
                "memory_clock": str(request.memory_options.clock) if dram else None,
                "bank_hash": request.memory_options.bank_hash if dram else None,
                "type": self.launch.dtype,
                "size": self.launch.size,
                "seed": request.seed,
                "check": request.check,
                "memcheck": request.memcheck,
                **dataclasses.asdict(self.config),
            },
            "passed": self.exit_status == Exit.PASSED,
            "status": str(result.status),
            "problems": self.problems,
            "exit_code": result.exit_code,
            "fault": self.fault(),
            "mismatches": result.mismatches,
            "assertions": result.assertions,
            "memcheck": None if result.memcheck is None else
            [finding.as_json(self.source_of) for finding in result.memcheck],
            "hang": self.hang(),
            "region": self.launch.region,
            **self.counted(),
            **self.rates(),
            "dcache_misses": self.dcache_misses,
            **self.region(),
            "memory_statistics": result.memory_statistics,
            "python_share": result.python_seconds / result.sim_seconds if result.sim_seconds else None,
            "sim_seconds": result.sim_seconds,
            "cycles_per_second": result.cycles_per_second,
            "elaborate_seconds": result.elaborate_seconds,
            "build_seconds": result.build_seconds,
        }


def _exit_code(word: int, place: str) -> str:
    """The exit code as ``main`` in C returns it: with a sign."""
    negative = word >> 31
    hint = ": spawn_threads returns it if a block has more threads than the machine" if word == 0xFFFF_FFFF else ""
    return f"exit code {word - (1 << 32)} ({word:#010x}, {place}){hint}" if negative else f"exit code {word} ({place})"


def _complaints(outcome: Outcome) -> list[str]:
    """Why the run has not passed, a line each; nothing if it has."""
    result = outcome.result
    lines = []
    fault = outcome.fault()
    if fault is not None:
        place = outcome.place(fault["pc"])
        what = f"fault: {fault['cause'].replace('_', ' ')}, warp {fault['warp']}"
        lines.append(f"{what}, pc {fault['pc']:#010x}, address {fault['address']:#010x}{place}")
    elif result.status == "hang":
        lines.append(f"not ended after {result.total_cycles} cycles (--max-cycles)")
    elif result.status == "deadlock":
        lines.append(f"deadlock: after {result.total_cycles} cycles no active warp can ever go on")
    lines += outcome.hang() or []
    if any("in __groups_worker" in line for line in lines):
        lines.append("(__groups_worker is the end of a block: its warps have not come to as many barriers each)")
    # A defect of the machine can be what led to the fault or the hang.
    lines += [f"assertion: {text}" for text in result.assertions]
    lines += [f"differs from the golden model: {text}" for text in result.mismatches]
    if result.exit_code:
        lines.append(_exit_code(result.exit_code, f"the word at {outcome.config.memory_map.exit_code:#x}"))
    lines += [f"check: {problem}" for problem in outcome.problems]
    findings = result.memcheck or []
    lines += [f"memcheck: {finding.describe(outcome.source_of)}" for finding in findings[:MOST_FINDINGS]]
    if len(findings) > MOST_FINDINGS:
        lines.append(f"memcheck: {len(findings) - MOST_FINDINGS} more: --json has them all")
    return lines


def _notes(outcome: Outcome) -> list[str]:
    """What is worth knowing of a run whether it has passed or not, a line each."""
    if not outcome.result.argument_missing:
        return []
    place = f"the program reads its argument block at {outcome.launch.argument_address:#x}, but has none"
    return [f"{place}: " + ("give it one with --arg FILE" if outcome.launch.dtype is None else "see its host.py")]


def _add_counters(table: Table, outcome: Outcome, cycles: int) -> None:
    """Rows of the counters that have a title: those that count cycles as shares, the others below them."""
    counters, config = outcome.counters, outcome.config
    titled = [counter for counter in COUNTERS if counter.title is not None]
    shares = {counter.title: counters[counter.name] for counter in titled if counter.share and not counter.oracle}
    shares |= {f"nothing issued: {name}": count for name, count in outcome.stalls().items() if count}
    if config.oracles and config.coordination is not Coordination.SWAS:
        shares |= {counter.title: counters[counter.name] for counter in titled if counter.share and counter.oracle}
    for title, count in shares.items():
        table.add_row(title, f"{count}  {100 * count / cycles:5.1f} %")
    table.add_section()
    for counter in titled:
        if not counter.share:
            table.add_row(counter.title, str(counters[counter.name]))
        if counter.name == "committed_threads":
            table.add_row("thread-instructions per cycle", f"{counters[counter.name] / cycles:.3f}")


def _not_measured(launch: Launch) -> str:
    """Why there are no cycles of the measured region."""
    if launch.region is not None:
        return f"not measured: the program never called {launch.region} (--region)"
    return "not measured: the program never opened the region (CSR 0x7C0)" + (
        ": see --region" if launch.dtype is None else ""
    )


def _table(outcome: Outcome) -> Table:
    """The run in numbers."""
    request, config = outcome.request, outcome.config
    title = f"{outcome.launch.name} on {outcome.machine.title} ({config.warps} warps x {config.threads} threads)"
    table = new_table("", ">", title=escape(title))
    size = "" if outcome.launch.size is None else f"{outcome.launch.dtype}, size {outcome.launch.size}"
    checked = "lock step with the golden model" if request.check or request.memcheck else "result only"
    checked += ", memory accesses" if request.memcheck else ""
    passed = outcome.exit_status == Exit.PASSED
    failed = "deadlock" if outcome.result.status == "deadlock" else outcome.exit_status.name.lower()
    table.add_row("result", "[green]passed[/]" if passed else f"[red]{failed}[/]")
    table.add_row("program", size or "-")
    fetch = "" if request.fetch_policy is None else f"{config.coordination}: fetch {request.fetch_policy}, issue "
    table.add_row("policy", f"{fetch}{request.policy}, prediction {config.prediction}")
    table.add_row("memory", memory_of(request))
    if outcome.launch.size is None and not (request.check or request.memcheck):
        checked = "exit code only"
    table.add_row("checked", checked)
    table.add_section()
    table.add_row("total cycles", f"{outcome.result.total_cycles}")
    cycles = outcome.cycles
    if cycles is None:
        table.add_row("cycles", _not_measured(outcome.launch))
    else:
        _add_counters(table, outcome, cycles)
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
    table.add_row("simulation", f"{result.sim_seconds:.2f} s, {result.cycles_per_second:.0f} cycles/s")
    table.add_row("elaboration, build", f"{result.elaborate_seconds:.1f} s, {result.build_seconds:.1f} s")
    return table


def print_outcome(outcome: Outcome, *, table: bool, per_warp: bool = False, name: str | None = None) -> None:
    """The tables on standard output if wanted, what went wrong on standard error; of several runs each has a name."""
    if table:
        Console().print(_table(outcome))
        if per_warp and outcome.result.region is not None and outcome.cycles is not None:
            Console().print(warp_table(outcome.result.region))
        sys.stdout.flush()
    for line in _complaints(outcome) + [f"note: {note}" for note in _notes(outcome)]:
        print(f"metronome: {line}" if name is None else f"metronome: {name}: {line}", file=sys.stderr)
