"""The table of ``metronome sweep`` with a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from metronome.sim.machine.engines import Engine

from ..output.tables import new_table
from ..process.errors import Exit
from ..process.terminal import Console
from .result import Outcome, memory_of

__all__ = ["print_sweep"]


def _share(part: int | None, cycles: int | None) -> str:
    return "-" if part is None or not cycles else f"{100 * part / cycles:.2f} %"


def _scheme_cells(outcome: Outcome) -> dict[str, str]:
    return {
        "mode": outcome.config.coordination.value, "fetch": outcome.request.fetch_policy or "-",
        "issue": outcome.request.policy, "prediction": outcome.config.prediction.value,
    }


def _table(outcomes: Sequence[Outcome], varied: Sequence[str]) -> Table:
    """A table, a row per run, in 80 columns. IPC is that of the JSON (`ipc`); *rel.* is to the first that passed.

    NOPs, *discr.* (discrepancies) and errors are shares of the cycles. With ``varied`` fields, front end columns that
    are the same in all rows are left out. Forecasts, if there are any, replace the shares: cycles, and the issues that
    were forecast in their exact cycle, and in their place in the order.
    """
    forecasts = any(outcome.forecast is not None for outcome in outcomes)
    cells = [_scheme_cells(outcome) for outcome in outcomes]
    names = [name for name in cells[0] if not varied or len({its[name] for its in cells}) > 1]
    last = ("forecast", "off by", "cycle", "place") if forecasts else ("rel.", "NOPs", "discr.", "errors")
    table = new_table(*varied, *names, *(f">{name}" for name in ("cycles", "IPC", *last)), tight=True)
    first: float | None = None
    for outcome, its in zip(outcomes, cells, strict=True):
        cycles, counters = outcome.cycles, outcome.counters
        row = [*(outcome.machine.settings[name] for name in varied), *(its[name] for name in names)]
        if outcome.exit_status != Exit.PASSED or cycles is None:
            missing = "no region" if outcome.config.research_counters else "no counter"
            table.add_row(*row, missing if outcome.exit_status == Exit.PASSED else outcome.exit_status.name.lower())
            continue
        ipc = outcome.rates()["ipc"] or 0.0
        first = first or ipc
        if forecasts:
            more = _forecast_cells(outcome.forecast or {}, cycles)
        else:
            slots = cycles * outcome.issue_slots
            shares = (_share(counters[name], slots) for name in ("nops", "discrepancies", "errors"))
            more = [f"{ipc / first:.3f}" if first else "-", *shares]
        table.add_row(*row, str(cycles), f"{ipc:.4f}", *more)
    return table


def _forecast_cells(forecast: Mapping[str, Any], cycles: int) -> list[str]:
    if not forecast.get("cycles"):
        return [str(forecast.get("problem") or "no region"), "-", "-", "-"]
    off = forecast["cycles"] / cycles - 1
    return [str(forecast["cycles"]), f"{100 * off:+.2f} %", *(f"{100 * forecast[name]:.2f} %" for name in (
        "same_cycle", "same_place"))]


def print_sweep(outcomes: Sequence[Outcome], varied: Sequence[str], program: str) -> None:
    """Print the common settings and a table of the runs of ``program``; ``varied`` are the fields that differ."""
    first = outcomes[0]
    machine = first.machine
    fixed = [f"{name}={text}" for name, text in machine.settings.items() if name not in varied]
    place = ", ".join([machine.file or machine.preset, *fixed])
    config = first.config
    sizes = "" if {"warps", "threads"} & set(varied) else f" ({config.warps} warps x {config.threads} threads)"
    size = "" if first.launch.size is None else f", size {first.launch.size}"
    console = Console()
    console.print(f"{program} on {place}{sizes}{size}, memory {memory_of(first.request)}"
                  + (", predicted" if first.engine is Engine.PREDICT else ""), highlight=False,
                  soft_wrap=True, markup=False)
    if varied:
        alike = [f"{name} {text}" for name, text in _scheme_cells(first).items() if text != "-"
                 and len({_scheme_cells(outcome)[name] for outcome in outcomes}) == 1]
        console.print(", ".join(alike), highlight=False)
    table = _table(outcomes, varied)
    # Prefer a long line to a truncated number.
    needed = console.measure(table, options=console.options.update(max_width=10_000)).maximum
    Console(width=max(console.width, needed)).print(table)
    console.print("IPC: thread-instructions per cycle", highlight=False)
