"""``metronome bench --predict``: the hardware's simulation and the prediction of the same run, one after the other."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from metronome.sim.machine.engines import Engine

from ..options.machine import Machine
from ..output.tables import new_table
from ..process.backend import Backend
from ..process.progress import Report
from .result import Outcome

__all__ = ["measure_prediction", "prediction_table"]


def measure_prediction(
    backend: Backend, asked: Machine, kernel: str, size: int, repeat: int, memories: Mapping[str, int], progress: Report
) -> Iterator[tuple[str, Outcome, dict[str, Any]]]:
    """Each memory (its name, with a latency) with the last outcome of the hardware, and the figures.

    A prediction begins with the golden model's run of the program; nothing is kept from one to the next.
    """
    from metronome.sim.run.types import RunRequest

    config, preset = asked.config, asked.preset
    launch = backend.prepare(kernel, None, size, 1, config)
    for memory, latency in memories.items():
        request = RunRequest(launch=launch, policy=config.policies[0], memory=memory, latency=latency)
        backend.refuse_prediction(config, request)

        def said(step: str, memory: str = memory) -> None:
            progress(f"{preset}, {memory}: {step}")

        measured, predicted = [], []
        for _ in range(repeat):
            measured.append(backend.run(config, request, said, lambda line: None))
            predicted.append(backend.predict(config, request, said, lambda line: None).result)
        speeds = [statistics.median(each.cycles_per_second for each in side) for side in (measured, predicted)]
        outcome = Outcome(machine=asked, config=config, launch=launch, request=request, result=measured[-1])
        computed = Outcome(machine=asked, config=config, launch=launch, request=request, result=predicted[-1],
                           engine=Engine.PREDICT)
        yield memory, outcome, {
            "total_cycles": measured[-1].total_cycles, "same": outcome.counted() == computed.counted(),
            "cycles_per_second": speeds[0], "predicted_cycles_per_second": speeds[1], "ratio": speeds[1] / speeds[0],
            "predictions": [each.cycles_per_second for each in predicted],
        }


def prediction_table(kernel: str, sizes: Mapping[str, int], figures: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each preset and memory."""
    table = new_table("preset", "memory", ">size", ">cycles", ">simulated/s", ">predicted/s", ">ratio", "counted",
                      title=f"{kernel}, cycles a second")
    for preset, by_memory in figures.items():
        for memory, figure in by_memory.items():
            table.add_row(
                preset, memory, str(sizes[preset]), str(figure["total_cycles"]), f"{figure['cycles_per_second']:.0f}",
                f"{figure['predicted_cycles_per_second']:.0f}", f"{figure['ratio']:.1f}",
                "the same" if figure["same"] else "NOT THE SAME",
            )
    return table
