"""Runs the micro-benchmarks, on whatever executes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...machine.memory.store import SparseMemory
from .bench import Bench, Piece, Shape
from .classes import CLASSES, LONGER, InstructionClass
from .memory_probes import AFTER, LONG, MANY, between, capacity, lines, order, strides, under_way
from .probes import EMPTY, Cycles, barrier, control, distances, row, runs, slots

__all__ = ["Curve", "Execute", "Measured", "counts_of_warps", "measure", "measure_curves", "repeat"]

#: Runs a program to its end, and returns what it has left in memory. The number: a constant latency that memory is to
#: have for this run, or None for the memory that was asked for.
Execute = Callable[[Bench, int | None], SparseMemory]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Cycles of 1 to 8 instructions of a class in a row, and of 16 (LONGER), in each of ``warps`` warps.

    ``cycles[place][warp]``: from the selection of what is in front of the first to that of what is behind the last,
    less one. So one warp that issues in every cycle takes as many as there are instructions.
    """

    name: str
    dependent: bool
    warps: int
    cycles: Sequence[Sequence[int]]

    @property
    def slope(self) -> float:
        """Cycles that one more instruction takes, from the eighth to the last; of the slowest warp."""
        return (max(self.cycles[-1]) - max(self.cycles[-2])) / (LONGER[-1] - LONGER[-2])


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one warp alone has measured: name of a piece -> cycles. ``shape`` is what the programs knew."""

    shape: Shape
    distances: Cycles
    slots: Cycles
    control: Cycles
    strides: Cycles
    lines: Cycles
    order: Cycles
    under_way: Cycles
    capacity: Cycles
    #: Warps -> of a barrier in each of them.
    barriers: dict[int, tuple[int, ...]] = field(default_factory=dict)


def counts_of_warps(warps: int) -> list[int]:
    """How many warps are measured at once: each number up to eight, then every fourth, and all."""
    return sorted({*range(1, min(warps, 8) + 1), *range(12, warps + 1, 4), warps})


def measure(shape: Shape, execute: Execute) -> Measured:
    """All probes of one warp, and a barrier of each number of warps.

    The sizes (``under_way``, ``capacity``) are measured with a memory of a constant, long latency.
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
    """1 to 8 instructions of each class, independent and dependent, in each number of warps."""
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
    """The same in all warps at once, once for each of ``executes``: piece -> run -> cycles of each warp.

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
