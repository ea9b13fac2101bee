"""``metronome characterize --models``: predictions of timing models for each kernel, and its measured time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from metronome.sim.machine.engines import Engine

from ..options.common import choose, listed
from ..output.tables import new_table
from ..process.backend import Backend
from ..process.errors import UsageError
from ..process.progress import Report
from ..process.terminal import Console

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig
    from metronome.sim.run.types import RunRequest
    from metronome.sim.studies.models.compare import KernelEstimates
    from metronome.sim.studies.models.parameters import Parameters

__all__ = ["judge", "kernels_of", "print_judged"]

_MOST_CYCLES = 10_000_000


def kernels_of(names: str | None, dtype: str | None, models: bool) -> list[str]:
    """Return the requested kernels; none without --models.

    Raises
    ------
    UsageError
        For --kernels or --type without --models, and a kernel that is not one of ours.
    """
    from metronome.sim.program.kernel_folders import KERNELS

    for option, value in (("--kernels", names), ("--type", dtype)):
        if value is not None and not models:
            raise UsageError(f"{option} is for --models: give both")
    if not models:
        return []
    if names is None:
        return list(KERNELS)
    return [choose("--kernels", name, KERNELS) for name in listed("--kernels", names)]


def judge(
    config: SmConfig, request: RunRequest, engine: Engine, backend: Backend, progress: Report,
    program: tuple[str, str | None], parameters: Parameters,
) -> KernelEstimates:
    """Run one of our kernels at its default size, and query the models. Its mix is that of the prediction.

    ``program``: its name and type; None as type is the kernel's own.
    """
    from metronome.sim.studies.models.compare import estimates
    from metronome.sim.studies.models.mix import mix_of

    name, dtype = program
    launch = backend.prepare(name, dtype, None, request.seed, config)
    asked = replace(request, launch=launch, max_cycles=_MOST_CYCLES)
    prediction = backend.predict(config, asked, progress, lambda line: None)
    predicted = prediction.result.counters["cycles"]
    measured = predicted
    if engine is Engine.RTL:
        measured = backend.run(config, asked, progress, lambda line: None).counters["cycles"]
    judged = estimates(name, measured, mix_of(config, prediction.result, prediction.issued), parameters)
    if engine is Engine.RTL:
        judged = replace(judged, estimates={"predict": float(predicted), **judged.estimates})
    return judged


def print_judged(judged: Sequence[KernelEstimates]) -> None:
    """Print the cycles of each kernel, and the error of each model; nothing if there is none."""
    if not judged:
        return
    models = list(judged[0].estimates)
    # The best, average and worst case of the Fermi study's model are shown without its name, to fit the width.
    heads = [f">{model.removeprefix('cpi ').removeprefix('mwp-cwp ')}" for model in models]
    title = "\ncycles of each kernel's region, and the error of each model in %"
    table = new_table("kernel", ">cycles", *heads, "slots", title=title, tight=True)
    for each in judged:
        errors = [f" {100 * each.error(model):+.0f}" for model in models]
        table.add_row(each.kernel, f" {each.cycles}", *errors, " enough" if each.holds else " too few")
    means = [sum(abs(each.error(model)) for each in judged) / len(judged) for model in models]
    table.add_row("mean amount", "", *(f" {100 * mean:.0f}" for mean in means), "")
    Console().print(table)
