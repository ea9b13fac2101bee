"""Implicit path enumeration: the most that a walk through a graph can cost, as an integer program (Li 1995).

How often each edge is taken is a variable. What flows into a node flows out of it; loops and facts bound edges. HiGHS
finds the greatest sum of costs, and how often each edge is taken then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import highspy
import numpy as np

__all__ = ["Flow", "Loop", "NoBoundError", "longest"]

Edge = tuple[int, int]


class NoBoundError(Exception):
    """A walk may cost anything: some circle of the graph has no bound; or there is no walk at all."""


@dataclass(frozen=True)
class Loop:
    """Of the edges ``back`` at most ``most`` are taken for each one of ``entries``."""

    entries: Sequence[Edge]
    back: Sequence[Edge]
    most: int


@dataclass(frozen=True)
class Flow:
    """A graph from ``start`` to ``end``, by nodes that are numbers.

    ``costs``: of an edge each time that it is taken; 0 where there is none. ``facts``: the least and the most often
    that an edge is taken. ``exclusive``: sets of edges that are together taken so often at most.
    """

    edges: Sequence[Edge]
    start: int
    end: int
    costs: Mapping[Edge, int]
    loops: Sequence[Loop] = ()
    facts: Mapping[Edge, tuple[int, int]] = field(default_factory=dict)
    exclusive: Sequence[tuple[Sequence[Edge], int]] = ()


def longest(flow: Flow) -> tuple[int, dict[Edge, int]]:
    """The cost of the dearest walk, and how often it takes each edge.

    A walk is counted as what flows: circles that it does not touch are not excluded, but bounded as any other.

    Raises
    ------
    NoBoundError
        If there is no greatest cost.
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
    """The constraints: the factors of the edges by number, the least and the greatest sum."""
    for node in {each for edge in flow.edges for each in edge} | {flow.start, flow.end}:
        terms: dict[int, float] = {}
        for edge, at in number.items():
            change = (edge[1] == node) - (edge[0] == node)
            if change:
                terms[at] = change
        # One comes in at the start, and one leaves at the end.
        surplus = (node == flow.end) - (node == flow.start)
        yield terms, surplus, surplus
    for loop in flow.loops:
        terms = {number[edge]: 1.0 for edge in loop.back}
        for edge in loop.entries:
            terms[number[edge]] = terms.get(number[edge], 0) - loop.most
        # A walk that starts in the header has entered it, too.
        extra = loop.most if any(edge[1] == flow.start for edge in loop.back) else 0
        yield terms, -highspy.kHighsInf, extra
    for edges, most in flow.exclusive:
        yield {number[edge]: 1.0 for edge in edges}, -highspy.kHighsInf, most
