"""Implicit path enumeration: the highest cost of a walk through a graph, as an integer program (Li 1995).

The variables are the counts of the edges. Flow into a node equals flow out of it, and loops and facts bound the counts.
HiGHS maximises the sum of costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import highspy
import numpy as np

__all__ = ["Flow", "Loop", "NoBoundError", "longest"]

Edge = tuple[int, int]


class NoBoundError(Exception):
    """The cost is unbounded because a cycle has no bound, or there is no walk."""


@dataclass(frozen=True)
class Loop:
    """A loop bound: at most ``most`` of the edges ``back`` are taken for each taken edge of ``entries``."""

    entries: Sequence[Edge]
    back: Sequence[Edge]
    most: int


@dataclass(frozen=True)
class Flow:
    """A graph from ``start`` to ``end``, whose nodes are numbers.

    ``costs``: the cost of an edge, by default 0. ``facts``: the least and the highest count of an edge. ``exclusive``:
    sets of edges, each with the highest sum of their counts.
    """

    edges: Sequence[Edge]
    start: int
    end: int
    costs: Mapping[Edge, int]
    loops: Sequence[Loop] = ()
    facts: Mapping[Edge, tuple[int, int]] = field(default_factory=dict)
    exclusive: Sequence[tuple[Sequence[Edge], int]] = ()


def longest(flow: Flow) -> tuple[int, dict[Edge, int]]:
    """Return the cost of the most expensive walk, and its count of each edge.

    The flow may include cycles that are not connected to the walk; they are bounded like all others.

    Raises
    ------
    NoBoundError
        If the cost has no maximum.
    """
    solver = highspy.Highs()
    solver.silent()
    number = {edge: at for at, edge in enumerate(flow.edges)}
    for edge in flow.edges:
        least, most = flow.facts.get(edge, (0, highspy.kHighsInf))
        solver.addVar(least, most)
    columns = np.arange(len(flow.edges), dtype=np.int32)
    solver.changeColsCost(len(columns), columns, np.array([float(flow.costs.get(edge, 0)) for edge in flow.edges]))
    integer = np.full(len(columns), highspy.HighsVarType.kInteger)
    solver.changeColsIntegrality(len(columns), columns, integer)
    solver.changeObjectiveSense(highspy.ObjSense.kMaximize)

    for terms, low, high in _rows(flow, number):
        rows = np.array(list(terms), np.int32)
        solver.addRow(low, high, len(rows), rows, np.array(list(terms.values()), float))
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise NoBoundError(str(solver.modelStatusToString(solver.getModelStatus())))
    taken = {edge: round(value) for edge, value in zip(flow.edges, solver.getSolution().col_value, strict=True)}
    return sum(count * flow.costs.get(edge, 0) for edge, count in taken.items()), taken


def _rows(flow: Flow, number: Mapping[Edge, int]) -> Iterator[tuple[dict[int, float], float, float]]:
    """Yield the constraints: factors by number of the edge, and the least and the greatest sum."""
    for node in {each for edge in flow.edges for each in edge} | {flow.start, flow.end}:
        terms: dict[int, float] = {}
        for edge, at in number.items():
            change = (edge[1] == node) - (edge[0] == node)
            if change:
                terms[at] = change
        # The walk begins once at the start, and ends once at the end.
        surplus = (node == flow.end) - (node == flow.start)
        yield terms, surplus, surplus
    for loop in flow.loops:
        terms = {number[edge]: 1.0 for edge in loop.back}
        for edge in loop.entries:
            terms[number[edge]] = terms.get(number[edge], 0) - loop.most
        # A walk that starts at the header also enters the loop.
        extra = loop.most if any(edge[1] == flow.start for edge in loop.back) else 0
        yield terms, -highspy.kHighsInf, extra
    for edges, most in flow.exclusive:
        yield {number[edge]: 1.0 for edge in edges}, -highspy.kHighsInf, most
