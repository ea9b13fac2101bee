"""A bound as the JSON and the table of ``metronome wcet``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from metronome.sim.machine.engines import Engine

from ..output.tables import new_table
from ..process.terminal import Console
from .asking import AskedRun
from .wcet_lines import described_lines, place_in, print_lines

if TYPE_CHECKING:
    from metronome.sim.analysis.bound.bound import Bound
    from metronome.sim.analysis.bound.compose.parts import Composed
    from metronome.sim.analysis.bound.search import Observed
    from metronome.sim.analysis.code.inputs import Range

__all__ = ["document_of", "print_bound"]

#: Names of the parts of a bound, in the order of the table.
_PARTS = {
    "begin": "the beginning, which all runs share",
    "instructions": "issue slots: instructions", "nops": "issue slots: NOPs",
    "waits": "waits: operands, loads, control flow",
    "writeback": "waits: a writeback slot", "units": "waits: a divider", "lanes": "waits: lanes handled one by one",
    "turns": "waits: turns of the partitions", "icache": "waits: I-cache misses", "memory": "waits: memory",
    "barriers": "waits: barriers, starts and ends",
    "launch": "launch and end",
}


def document_of(
    asked: AskedRun, bound: Bound, observed: Observed | None, ranges: Sequence[Range], shown: Sequence[Composed]
) -> dict[str, Any]:
    """Return the fields of docs/wcet.md."""
    from metronome.sim.machine.gpu_settings import gpu_values
    from metronome.sim.run.outcome import described

    image, request, launch = asked.launch.image, asked.request, asked.launch
    document: dict[str, Any] = {
        "kernel": launch.name,
        "config": described(
            asked.machine, asked.config, request, launch.compiling, launch.dtype, launch.size, Engine.PREDICT
        ),
        "bound": bound.cycles, "exact": bound.exact, "holds": _holds(asked, bound), "composition": bound.parts,
        "composers": [{"method": each.method, "bound": each.cycles, "composition": dict(each.parts)}
                      for each in bound.composed if each.holds],
        "not_bounds": [{"method": each.method, "cycles": each.cycles, "composition": dict(each.parts)}
                       for each in shown if not each.holds],
        "loops": [{"pc": pc, "place": place_in(image, pc), "bound": count, "from": bound.origins.get(pc, "values")}
                  for pc, count in sorted(bound.loops.items())],
        "depends_on_inputs": [{"pc": each.pc, "kind": each.kind, "place": place_in(image, each.pc)}
                              for each in bound.dependences],
        **described_lines(image, bound),
        "ranges": [each.text for each in ranges],
        "assumptions": [each.as_json() for each in bound.assumptions],
    }
    if asked.gpu is not None:
        document["config"] |= gpu_values(asked.gpu)
        document["sms"] = list(bound.sms)
    if observed is not None:
        document |= {
            "observed_max": observed.cycles, "observed_runs": observed.runs, "observed_on_hardware": observed.hardware,
            "ratio": bound.cycles / observed.cycles if observed.cycles else None,
        }
    return document


def _holds(asked: AskedRun, bound: Bound) -> dict[str, str]:
    """Describe the bound's validity in words: the inputs, the machine, and the assumptions."""
    config, request = asked.config, asked.request
    memory = f"{request.memory} memory"
    if request.memory == "fixed":
        memory += f" with a latency of {request.latency} cycles"
    gpu = asked.gpu
    sms = "" if gpu is None else f"{gpu.sms} SMs of "
    if gpu is not None:
        memory += f" behind interconnect {gpu.interconnect}"
    return {
        "inputs": bound.inputs,
        "machine": f"{sms}{asked.machine.title} with {config.warps} warps of {config.threads} threads, "
                   f"{request.policy}, {config.prediction} and {memory}",
        "assumptions": "; ".join(each.text for each in bound.assumptions),
    }


def print_bound(asked: AskedRun, bound: Bound, observed: Observed | None, shown: Sequence[Composed]) -> None:
    """Print what is bounded, for what it holds, and the table of its parts."""
    launch = asked.launch
    console = Console()
    holds = _holds(asked, bound)
    kind = "exactly" if bound.exact else "at most"
    for line in (
        f"{launch.name}: every run takes {kind} {bound.cycles} cycles, {holds['inputs']};",
        f"on {holds['machine']};",
        "assumed: " + "; ".join(each.text for each in bound.assumptions if each.held_by == "the user")
        + " (the JSON has all assumptions)",
    ):
        console.print(line, markup=False, highlight=False)
    table = new_table("", ">cycles", title=escape(f"{launch.name} on {asked.machine.title}"))
    table.add_row(f"under these conditions {kind}", str(bound.cycles))
    table.add_section()
    _rows(table, bound.parts)
    if bound.sms:
        table.add_section()
    for number, cycles in enumerate(bound.sms):
        table.add_row(f"SM {number}, whatever the others execute", str(cycles))
    for each in shown:
        if each.cycles != bound.cycles or not each.holds:
            table.add_section()
            table.add_row(f"{'also a bound' if each.holds else 'not a bound'}: {each.method}", str(each.cycles))
    if observed is not None:
        table.add_section()
        table.add_row(f"the longest of {observed.runs} runs", str(observed.cycles))
        if observed.cycles:
            table.add_row("bound / longest run", f"{bound.cycles / observed.cycles:.3f}")
    console.print(table)
    print_lines(console, launch.image, bound)
    if not bound.exact and not bound.dependences:
        console.print(
            "the time does not depend on the inputs; it is not exact because the latency of memory, or the value of "
            "a load, is not known in advance", highlight=False,
        )
    elif not bound.exact:
        where = ", ".join(place_in(launch.image, each.pc) for each in bound.dependences[:3])
        more = len(bound.dependences) - 3
        console.print(
            f"time depends on the inputs at {where}" + (f" and {more} more places" if more > 0 else ""), highlight=False
        )


def _rows(table: Any, parts: Mapping[str, int]) -> None:
    for name, cycles in parts.items():
        if cycles:
            table.add_row(_PARTS.get(name, name), str(cycles))
