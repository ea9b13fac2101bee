"""``metronome analyze``: a program's accesses in order, and their hits in data caches of any size."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..options.common import JsonOption
from ..output.outputs import require_writable, write_file, write_json
from ..process.errors import Exit, UsageError
from .analyze_output import described_analysis, print_analysis
from .asking import AskedRun, RunOptions, SubjectOptions, asked_run
from .wcet_lines import refusal

if TYPE_CHECKING:
    from metronome.sim.analysis.access_order.estimate import CacheSize, Estimate
    from metronome.sim.analysis.access_order.measured_misses import Verified
    from metronome.sim.analysis.access_order.records import Listing

__all__ = ["analyze"]

_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20}
_CACHE = re.compile(r"(\d{1,9})([KMkm]?)/(\d{1,4})")


def analyze(
    ctx: typer.Context, *, subject: SubjectOptions, json_file: JsonOption = None,
    cache: Annotated[
        list[str] | None,
        typer.Option(metavar="BYTES/WAYS", help="A data cache: size/ways, such as 16K/4, or none. Repeatable."),
    ] = None,
    order: Annotated[str | None, typer.Option(metavar="FILE", help="Write the order as the hardware reads it.")] = None,
    listing_file: Annotated[
        str | None, typer.Option("--listing", metavar="FILE", help="Write the whole listing, as text.")
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Run the hardware with ordered channels and compare the order and the misses."),
    ] = False,
) -> int:
    """List the accesses to global memory, the same in every run, and estimate hits and misses in data caches."""
    files = [
        (option, require_writable(name, option, *formats)) for option, name, *formats in (
            ("--order", order, ".order"), ("--listing", listing_file, ".txt"))
        if name is not None
    ]
    sizes = None if cache is None else [_cache(text) for text in cache]
    asked = asked_run(ctx, RunOptions(subject=subject, json_file=json_file), files, with_list=False)
    from metronome.sim.analysis.access_order.analyzer import analyze as analyzed
    from metronome.sim.analysis.access_order.estimate import CacheSize, estimate, lookups
    from metronome.sim.analysis.code.refusals import RefusedError

    try:
        listing = analyzed(asked.config, asked.request, asked.launch)
    except RefusedError as error:
        raise UsageError(f"{asked.launch.name}: {refusal(asked.launch.image, error)}") from None
    if sizes is None:
        sizes = [CacheSize.of(asked.config)]
    estimates = [estimate(lookups(listing), size) for size in sizes]
    for option, path in files:
        write_file(path, _written(option, asked, listing))
    verified = _verified(asked, listing) if verify else None
    _tell(asked, listing, estimates, verified)
    return Exit.PASSED if verified is None or not verified.mismatches else Exit.CHECK_FAILED


def _verified(asked: AskedRun, listing: Listing) -> Verified:
    """Run the program on the hardware, with channels in order and with the machine's own data cache."""
    from metronome.sim.analysis.access_order.estimate import estimate_of
    from metronome.sim.analysis.access_order.measured_misses import Lookups, Verified, measured
    from metronome.sim.analysis.access_order.ordered import ordered_machine, with_order
    from metronome.sim.program.elf import ImageError
    from metronome.sim.run.runner import run as simulate

    try:
        config = ordered_machine(asked.config)
        launch = with_order(asked.launch, listing, config)
    except (ValueError, ImageError) as error:
        raise UsageError(f"--verify: {error}") from None
    result = simulate(config, dataclasses.replace(asked.request, launch=launch, trace=True))
    if result.status != "ended" or result.events is None:
        raise UsageError(f"--verify: the run has not ended by itself: {result.status}")
    expected = estimate_of(listing, config)
    return Verified.of(expected, measured(listing, Lookups.of_hardware(result.events)))


def _cache(text: str) -> CacheSize:
    from metronome.sim.analysis.access_order.estimate import CacheSize

    if text.lower() == "none":
        return CacheSize(0)
    match = _CACHE.fullmatch(text)
    if match is None:
        raise UsageError(f"--cache: {text!r} is not a cache: write bytes and ways, such as 16K/4, or none")
    try:
        return CacheSize(int(match[1]) * _FACTORS[match[2].upper()], int(match[3]))
    except ValueError as error:
        raise UsageError(f"--cache {text}: {error}") from None


def _written(option: str, asked: AskedRun, listing: Listing) -> bytes:
    """Return the contents of the file of ``option``."""
    if option == "--order":
        from metronome.sim.analysis.access_order.configuration import encode, entries_of

        return encode(entries_of(listing.accesses))
    from metronome.sim.analysis.access_order.text import text_of

    return "".join(f"{line}\n" for line in text_of(listing, asked.config)).encode()


def _tell(asked: AskedRun, listing: Listing, estimates: Sequence[Estimate], verified: Verified | None) -> None:
    target: Path | None = asked.target
    if asked.as_json:
        write_json(target, described_analysis(asked, listing, estimates, verified))
    if not asked.as_json or target is not None:
        print_analysis(asked, listing, estimates, verified)
