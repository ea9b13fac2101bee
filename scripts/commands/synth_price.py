"""``metronome synth --price``: the front ends compared in area and clock rate, as a table and as files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from ..options.common import listed
from ..output.outputs import STDOUT, refuse_shared, require_writable, write_file, write_json
from ..output.tables import new_table
from ..process.errors import Exit, UsageError
from ..process.progress import show_progress
from ..process.terminal import Console

if TYPE_CHECKING:
    from metronome.sim.fpga.synth import Options, Target

__all__ = ["price"]

_KINDS = ("md", "csv", "json", "svg")


def price(fpgas: Sequence[Target], options: Sequence[Options], only: str | None, output: str | None,
          json_file: str | None, target: Path | None) -> int:
    """Measure the rows of the table on each FPGA, show it, and write ``output``.md, .csv, .json and .svg.

    Returns
    -------
    The exit status: :attr:`Exit.NOT_ROUTED` if a row lacks a figure.
    """
    from metronome.sim.fpga.synth import price as prices
    from metronome.sim.fpga.synth.price_figure import figure

    try:
        rows = prices.on(fpgas, prices.chosen(["*"] if only is None else listed("--only", only)))
    except ValueError as error:
        raise UsageError(f"--only: {error}") from None
    if output is not None and output.endswith(tuple(f".{kind}" for kind in _KINDS)):
        ends = ", ".join(f".{kind}" for kind in _KINDS)
        raise UsageError(f"--output: {output!r}: leave out the suffix; each file gets its own: {ends}")
    files = {} if output is None else {kind: require_writable(f"{output}.{kind}", "--output") for kind in _KINDS}
    refuse_shared([("--output", path) for path in files.values()], [("--json", target)] if target else [])
    with show_progress() as progress:
        found = list(prices.measure(rows, options, progress))
    document = prices.as_json(found, options)
    if json_file is not None:
        write_json(target, document)
    for kind, path in files.items():
        if kind == "json":
            write_json(path, document)
        else:
            seeds = list(dict.fromkeys(one.seed for one in options))
            texts = {"md": prices.as_markdown(found, seeds), "csv": prices.as_csv(found), "svg": figure(found)}
            write_file(path, (texts[kind] or "").encode())
    if json_file != STDOUT:
        table = new_table(*prices.headings(), title="The price of predictability: area, and clock rate in MHz")
        for row in prices.values(found):
            table.add_row(*map(escape, row))
        Console().print(table, highlight=False)
    lost = prices.missing(found)
    for line in lost:
        print(f"metronome: {line}", file=sys.stderr)
    return Exit.NOT_ROUTED if lost else Exit.PASSED
