"""Runs the micro-benchmarks on any engine that can execute them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...machine.memory.store import SparseMemory
from .bench import Bench, Piece, Shape
from .classes import CLASSES, LONGER, InstructionClass
from .memory_probes import AFTER, LONG, MANY, between, capacity, lines, order, strides, under_way
from .probes import EMPTY, Cycles, barrier, control, distances, row, runs, slots
from .starts import StartBench

__all__ = ["Curve", "Execute", "Measured", "counts_of_warps", "measure", "measure_curves", "repeat"]

#: Runs a program to its end, and returns the memory after it. The number is the constant latency of memory in this run,
#: or None for the requested memory.
Execute = Callable[["Bench | StartBench", int | None], SparseMemory]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Cycles of sequences of 1 to 8 instructions of a class, and of 16 (LONGER), in each of ``warps`` warps.

    ``cycles[place][warp]``: from the selection of the instruction before the first to that of the instruction after the
    last, less one. A single warp that issues in every cycle therefore takes as many cycles as there are instructions.
    """

    name: str
    dependent: bool
    warps: int
    cycles: Sequence[Sequence[int]]

    @property
    def slope(self) -> float:
        """Cycles per additional instruction, from the last but one length to the last, in the slowest warp."""
        return (max(self.cycles[-1]) - max(self.cycles[-2])) / (LONGER[-1] - LONGER[-2])


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The measurements of one warp alone: name of a piece -> cycles. ``shape``: the facts that the programs knew."""

    shape: Shape
    distances: Cycles
    slots: Cycles
    control: Cycles
    strides: Cycles
    lines: Cycles
    order: Cycles
    under_way: Cycles
    capacity: Cycles
    #: Number of warps -> cycles of a barrier in each of them.
    barriers: dict[int, tuple[int, ...]] = field(default_factory=dict)


def counts_of_warps(warps: int) -> list[int]:
    """The numbers of warps that are measured together: each number up to eight, then every fourth, and all."""
    return sorted({*range(1, min(warps, 8) + 1), *range(12, warps + 1, 4), warps})


def measure(shape: Shape, execute: Execute) -> Measured:
    """Run all probes of one warp, and a barrier for each number of warps.

    The sizes (``under_way``, ``capacity``) are measured with a memory that has a long constant latency.
    """

    def run(pieces: Sequence[Piece], latency: int | None = None) -> Cycles:
        bench = Bench(shape, pieces)
        return bench.cycles(execute(bench, latency))

    coarse = run(under_way(dict.fromkeys(AFTER, MANY)), LONG)
    return Measured(
        shape=shape, distances=run(distances()), slots=run(slots()), control=run([EMPTY, *control()]),
        strides=run(strides(shape)), lines=run(lines(shape)), order=run(order()),
        under_way={**coarse, **run(under_way(between(coarse)), LONG)}, capacity=run([EMPTY, *capacity()], LONG),
        barriers={warps: _barrier(shape, execute, warps) for warps in counts_of_warps(shape.warps)},
    )


def _barrier(shape: Shape, execute: Execute, warps: int) -> tuple[int, ...]:
    bench = Bench(shape, [barrier()], warps)
    (cycles,) = bench.cycles(execute(bench, None)).values()
    return cycles


def measure_curves(
    shape: Shape, execute: Execute, warps: Sequence[int], classes: Sequence[str] = tuple(CLASSES)
) -> list[Curve]:
    """Measure 1 to 8 instructions of each class, independent and dependent, for each number of warps."""
    chosen = [CLASSES[name] for name in classes]
    curves = []
    for count in warps:
        pieces: list[Piece] = []
        for each, dependent in _forms(chosen):
            pieces += runs(each, LONGER, dependent=dependent, guard=False)
        bench = Bench(shape, pieces, count)
        cycles = bench.cycles(execute(bench, None))
        curves += [
            Curve(
                name=each.name, dependent=dependent, warps=count,
                cycles=row(cycles, each.name, LONGER, dependent=dependent),
            )
            for each, dependent in _forms(chosen)
        ]
    return curves


def _forms(classes: Sequence[InstructionClass]) -> list[tuple[InstructionClass, bool]]:
    return [(each, dependent) for each in classes for dependent in each.forms]


def repeat(shape: Shape, executes: Sequence[Execute]) -> dict[str, list[tuple[int, ...]]]:
    """Run the same pieces in all warps at once, once for each of ``executes``: piece -> run -> cycles of each warp.

    Two dependent instructions, two dependent loads, and eight stores, each to a new line (Fermi study,
    figures 20, 24 and 25).
    """
    chosen = [("mad_add", 2, True), ("load_miss", 2, True), ("store_line", 8, False)]
    pieces = [
        piece for name, count, dependent in chosen
        for piece in runs(CLASSES[name], [count], dependent=dependent, guard=False)
    ]
    found: dict[str, list[tuple[int, ...]]] = {piece.name: [] for piece in pieces}
    for execute in executes:
        bench = Bench(shape, pieces, shape.warps)
        for name, taken in bench.cycles(execute(bench, None)).items():
            found[name].append(taken)
    return found
