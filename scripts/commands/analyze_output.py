"""Results of ``metronome analyze``, as JSON and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from metronome.sim.machine.engines import Engine

from ..output.tables import new_table
from ..process.terminal import Console
from .wcet_lines import place_in

if TYPE_CHECKING:
    from metronome.sim.analysis.access_order.estimate import Counts, Estimate
    from metronome.sim.analysis.access_order.measured_misses import Verified
    from metronome.sim.analysis.access_order.records import Listing

    from .asking import AskedRun

__all__ = ["described_analysis", "described_estimate", "print_analysis"]

#: Limits of the listing on the terminal: lines, and characters per line. The file of --listing is complete.
_MOST_LINES, _MOST_CHARACTERS = 24, 160


def _counts(counts: Counts) -> dict[str, Any]:
    return {
        "hits": counts.hits, "misses": counts.misses, "miss_rate": counts.miss_rate, "stores": counts.stores,
        "store_hits": counts.store_hits,
    }


def described_estimate(estimate: Estimate) -> dict[str, Any]:
    """Return one entry of ``caches`` in the JSON."""
    size = estimate.size
    return {
        "bytes": size.bytes, "ways": size.ways, **_counts(estimate.total),
        "pcs": [{"pc": pc, **_counts(counts)} for pc, counts in estimate.by_pc.items()],
    }


def _verified(verified: Verified) -> dict[str, Any]:
    return {
        "mismatches": verified.mismatches, "misses": verified.misses, "strangers": verified.unlisted,
        "disorder": verified.disorder, "pcs": [each._asdict() for each in verified.pcs],
    }


def _instances(listing: Listing) -> tuple[Counter[int], Counter[int]]:
    """Return, by pc, how often a warp executes it, and its line accesses."""
    times, lines = Counter[int](), Counter[int]()
    for each in listing.accesses:
        times[each.pc] += 1
        lines[each.pc] += len(each.lines)
    return times, lines


def described_analysis(
    asked: AskedRun, listing: Listing, estimates: Iterable[Estimate], verified: Verified | None = None
) -> dict[str, Any]:
    """Return the JSON (docs/analyze.md)."""
    from metronome.hdl.config import LINE_BYTES
    from metronome.sim.run.outcome import described

    image, request, launch = asked.launch.image, asked.request, asked.launch
    times, lines = _instances(listing)
    return {
        "kernel": launch.name,
        "config": described(
            asked.machine, asked.config, request, launch.compiling, launch.dtype, launch.size, Engine.PREDICT
        ),
        "num_pcs": len(listing.pcs),
        "pcs": [
            {"pc": pc, "kind": "S" if store else "L", "place": place_in(image, pc), "instances": times[pc],
             "lines": lines[pc]}
            for pc, store in listing.pcs.items()
        ],
        "grids": [{"grid": each.grid, "block": each.block} for each in listing.grids],
        "caches": [described_estimate(each) for each in estimates],
        **({} if verified is None else {"verified": _verified(verified)}),
        "accesses": [
            {"epoch": each.epoch, "pc": each.pc, "group": each.place.group, "member": each.place.member,
             "block": each.place.block, "warp": each.warp, "kind": "S" if each.store else "L",
             "addresses": [line * LINE_BYTES for line in each.lines]}
            for each in listing.accesses
        ],
    }


def print_analysis(
    asked: AskedRun, listing: Listing, estimates: Sequence[Estimate], verified: Verified | None = None
) -> None:
    """Print the beginning of the listing, the estimates by pc, and the hardware's results if ``verified``."""
    _print_listing(asked, listing)
    Console().print()
    image = asked.launch.image
    times, lines = _instances(listing)
    table = new_table(
        "pc", "", "source line", ">times", ">lines",
        *([">hits", ">misses"] if len(estimates) == 1 else [f">{each.size}" for each in estimates]),
        title=escape(f"{asked.launch.name} on {asked.machine.title}: {_title(estimates)}"),
    )
    for column in table.columns:
        # On a narrow terminal the source line is shortened first.
        column.no_wrap = column.header != "source line"
    for pc, store in listing.pcs.items():
        name = "/".join((image.source_line(pc) or "").split("/")[-2:])
        table.add_row(
            f"{pc:#010x}", "S" if store else "L", escape(name), str(times[pc]), str(lines[pc]),
            *_cells([each.by_pc[pc] for each in estimates], store=store),
        )
    table.add_section()
    table.add_row(
        "all", "", "", str(times.total()), str(lines.total()), *_cells([each.total for each in estimates], store=False)
    )
    Console().print(table)
    if verified is not None:
        Console().print(
            f"{verified.mismatches} mismatches: the hardware had {verified.misses} misses of loads in the region;"
            f" {len(verified.pcs)} pcs differ from the estimate, {verified.disorder} accesses came in another order,"
            f" {verified.unlisted} were not in the listing", highlight=False, soft_wrap=True,
        )


def _title(estimates: Sequence[Estimate]) -> str:
    if len(estimates) == 1:
        return f"hits and misses of loads, data cache {estimates[0].size}"
    return "misses of loads, by data cache"


def _cells(counts: Sequence[Counts], *, store: bool) -> list[str]:
    """Return hits and misses for one cache, the misses of each for several, and nothing for a store."""
    if len(counts) == 1:
        return ["", ""] if store else [str(counts[0].hits), str(counts[0].misses)]
    return ["" if store else str(each.misses) for each in counts]


def _print_listing(asked: AskedRun, listing: Listing) -> None:
    from metronome.sim.analysis.access_order.text import text_of

    console = Console()
    rest = 0
    for number, line in enumerate(text_of(listing, asked.config)):
        if number >= _MOST_LINES:
            rest += 1
            continue
        shown = line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 3] + " .."
        console.print(shown, markup=False, highlight=False, soft_wrap=True)
    if rest:
        console.print(f".. and {rest} more lines: --listing FILE has all", highlight=False)
