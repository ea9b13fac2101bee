"""A warp's issue slots by implicit path enumeration: its graph is that of the control instructions it can execute."""

from __future__ import annotations

from ..counts import SharedState
from ..ipet import Flow, longest
from ..pipeline import Pipeline

__all__ = ["EdgeCounts", "nops_behind", "parts_of", "slots_by_program", "walk_of"]

Edge = tuple[int, int]
#: Edges of a warp's graph, and how often each is taken.
EdgeCounts = dict[Edge, int]

#: Nodes that are no control instructions: where the warp begins, where it ends, and places that are jumped to.
_BEGIN, _END, _PLACE = -2, -1, 1 << 33


def slots_by_program(shared: SharedState, taken: EdgeCounts) -> tuple[int, int]:
    """Instructions, and NOPs behind jumps, of a walk (:func:`walk_of`)."""
    stretches, edges = parts_of(taken)
    instructions = sum(count * ((last - first) // 4 + 1) for (first, last), count in stretches.items())
    return instructions, sum(count * nops_behind(shared, *edge) for edge, count in edges.items())


def parts_of(taken: EdgeCounts) -> tuple[EdgeCounts, EdgeCounts]:
    """Of a walk how often it goes through each stretch, from its first pc to its last, the control instruction.

    And how often each control instruction goes on where; -1: the warp ends or waits.
    """
    stretches = {(place - _PLACE, pc): count for (place, pc), count in taken.items() if place >= _PLACE}
    edges = {
        (pc, end - _PLACE if end >= _PLACE else -1): count for (pc, end), count in taken.items() if 0 <= pc < _PLACE
    }
    return stretches, edges


def walk_of(shared: SharedState, pipeline: Pipeline) -> EdgeCounts:
    """The dearest walk that takes no edge more often than any path does."""
    edges: dict[tuple[int, int], tuple[int, int]] = {}
    facts: dict[tuple[int, int], tuple[int, int]] = {}
    blocks: dict[tuple[int, int], tuple[int, int]] = {}

    def block(place: int) -> None:
        """From a place that is jumped to, to the next control instruction."""
        pc = place
        while not shared.program.at(pc).decoded.row.control:
            pc += 4
        blocks[_PLACE + place, pc] = (pc - place) // 4 + 1, 0

    if not pipeline.starts:
        return {}
    for start in set(pipeline.starts):
        edges[_BEGIN, _PLACE + start] = 0, 0
        facts[_BEGIN, _PLACE + start] = (pipeline.starts.count(start),) * 2
        block(start)
    for (pc, following), count in pipeline.edges.items():
        end = _END if following < 0 else _PLACE + following
        if following >= 0:
            block(following)
        edges[pc, end] = 0, nops_behind(shared, pc, following)
        facts[pc, end] = 0, count
    again = len(pipeline.starts) - 1
    if again:
        # A warp that has ended is started again.
        edges[_END, _BEGIN] = 0, 0
        facts[_END, _BEGIN] = again, again
    costs = edges | blocks
    flow = Flow(
        list(costs), _BEGIN, _END, {edge: sum(cost) for edge, cost in costs.items()}, facts=facts,
    )
    _, taken = longest(flow)
    return taken


def nops_behind(shared: SharedState, pc: int, following: int) -> int:
    """NOPs behind a control instruction that goes on there."""
    return shared.costs.of(shared.program.at(pc).decoded.word).nops(pc, following)
