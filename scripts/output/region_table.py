"""Tables of the measured region's statistics (docs/counters.md, "Statistics of a simulation")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from metronome.hdl.layouts.counters import StallReason

from .tables import new_table

if TYPE_CHECKING:
    from metronome.sim.machine.statistics import RegionStatistics, WarpCycles

__all__ = ["region_rows", "warp_table"]

#: Narrow enough for all columns to fit in 80 characters.
_SHORT = {StallReason.WRITEBACK: "wb", StallReason.CONTROL: "ctrl", StallReason.BARRIER: "barr",
          StallReason.BUFFER: "buf", StallReason.ICACHE: "icach"}


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def region_rows(region: RegionStatistics) -> Iterator[tuple[str, str]]:
    """Yield rows of a run's table: line accesses, coalescing, load latency. Kinds that did not occur are left out."""
    for name, counted in (("load", region.loads), ("store", region.stores)):
        if not counted.accesses:
            continue
        yield f"lines per {name}", _number(counted.per_instruction, 2)
        yield f"{name} line accesses", str(counted.accesses)
        for kind in ("hits", "merges", "forwards", "misses", "uncached"):
            count = getattr(counted, kind)
            if count:
                yield f"  {kind}", f"{count}  {100 * count / counted.accesses:5.1f} %"
    for reason, cycles in region.waits.items():
        if cycles:
            yield f"cycles that an access waited: {reason.name.lower()}", str(cycles)
    latency = region.load_latency
    if latency.count:
        yield "load latency, mean and maximum", f"{_number(latency.mean, 1)}, {latency.maximum} cycles"


def _columns(warp: WarpCycles) -> dict[str, int]:
    return {
        "instr": warp.instructions, "nop": warp.nops,
        **{_SHORT.get(reason, reason.name.lower()): count for reason, count in warp.stalls.items()},
        "ready": warp.not_selected, "off": warp.inactive,
    }


def _percent(part: int, whole: int) -> str:
    """Format a percentage in four characters."""
    return "100" if part == whole else f"{100 * part / whole:.1f}"[:4]


def warp_table(region: RegionStatistics, finishes: Sequence[int | None] | None = None) -> Table:
    """Return a table of each warp's activity in percent of the region's cycles. A column of zeros is left out.

    ``finishes``: the cycle of each warp's last instruction, counted from the start of the run.
    """
    rows = [_columns(warp) for warp in region.warps]
    shown = [name for name in rows[0] if any(row[name] for row in rows)]
    columns = [*(f">{name}" for name in shown), *[">finish"] * (finishes is not None)]
    table = new_table(">warp", *columns, title="every warp's cycles, %", tight=True)
    for number, (row, warp) in enumerate(zip(rows, region.warps, strict=True)):
        last = [] if finishes is None else ["-" if finishes[number] is None else str(finishes[number])]
        table.add_row(str(number), *(_percent(row[name], warp.total) for name in shown), *last)
    return table
