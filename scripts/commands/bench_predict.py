"""``metronome bench --predict``: the hardware's simulation and the prediction of the same run, one after the other."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from metronome.sim.machine.engines import Engine

from ..output.tables import new_table
from ..process.backend import Backend
from ..process.progress import Report
from .bench_cases import Case

__all__ = ["is_same", "measure_predictions", "predictions_table"]


def measure_predictions(backend: Backend, cases: Sequence[Case], repeat: int, progress: Report) -> dict[str, Any]:
    """Measure, and return the fields for the JSON."""
    figures: dict[str, dict[str, Any]] = {}
    for case in cases:
        figures.setdefault(case.name, {})[case.request.memory] = _measure(backend, case, repeat, progress)
    return {"presets": figures}


def _measure(backend: Backend, case: Case, repeat: int, progress: Report) -> dict[str, Any]:
    """Return the figures of one preset and memory.

    A prediction begins with the golden model's run of the program; nothing is kept from one to the next.
    """
    config, request = case.machine.config, case.request

    def said(step: str) -> None:
        progress(f"{case.name}, {request.memory}: {step}")

    measured, predicted = [], []
    for _ in range(repeat):
        measured.append(backend.run(config, request, said, lambda line: None, by_profile=False))
        predicted.append(backend.predict(config, request, said, lambda line: None).result)
    case.require_passed(measured[-1])
    runs, predictions = ([each.cycles_per_second for each in side] for side in (measured, predicted))
    speed, predicted_speed = statistics.median(runs), statistics.median(predictions)
    counted, computed = case.outcome(measured[-1]), case.outcome(predicted[-1], Engine.PREDICT)
    return {
        "total_cycles": measured[-1].total_cycles, "same": counted.counted() == computed.counted(),
        "cycles_per_second": speed, "predicted_cycles_per_second": predicted_speed,
        "ratio": predicted_speed / speed, "runs": runs, "predictions": predictions,
    }


def is_same(document: Mapping[str, Any]) -> bool:
    """Return whether every prediction has the same counts as the hardware."""
    return all(figure["same"] for by_memory in document["presets"].values() for figure in by_memory.values())


def predictions_table(document: Mapping[str, Any]) -> Table:
    """Return a table with two rows for each preset and memory: the simulation and the prediction."""
    table = new_table("preset", "memory", ">size", ">cycles", "", ">cycles/s", ">cycles/loop", ">ratio", "counted",
                      title=document["kernel"])
    for preset, by_memory in document["presets"].items():
        for memory, figure in by_memory.items():
            speeds = (f"{figure['cycles_per_second']:.0f}", f"{figure['cycles_per_loop']:.0f}")
            table.add_row(preset, memory, str(document["sizes"][preset]), str(figure["total_cycles"]), "simulated",
                          *speeds, "", "")
            speeds = (f"{figure['predicted_cycles_per_second']:.0f}", f"{figure['predicted_cycles_per_loop']:.0f}")
            table.add_row("", "", "", "", "predicted", *speeds, f"{figure['ratio']:.1f}",
                          "the same" if figure["same"] else "NOT THE SAME")
    return table
