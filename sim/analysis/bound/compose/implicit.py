"""A warp's issue slots by implicit path enumeration on the graph of its control instructions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..counts import SharedState
from ..ipet import Flow, longest
from ..pipeline import Pipeline

__all__ = ["EdgeCounts", "nops_by_jump", "parts_of", "slots_by_program", "walk_of"]

Edge = tuple[int, int]
#: Edges of a warp's graph, and how often each is taken.
EdgeCounts = dict[Edge, int]

#: Nodes that are not control instructions: the start and end of the warp, and jump targets.
_BEGIN, _END, _PLACE = -2, -1, 1 << 33
#: A jump that is predicted wrongly leads to a node of its own, below this one, and from there to its target.
_WRONG, _PCS = -3, 1 << 32


def slots_by_program(shared: SharedState, taken: EdgeCounts) -> tuple[int, int]:
    """Return the numbers of instructions and of NOPs after jumps in a walk (:func:`walk_of`)."""
    stretches, _ = parts_of(taken)
    instructions = sum(count * ((last - first) // 4 + 1) for (first, last), count in stretches.items())
    return instructions, sum(nops for _, nops in nops_by_jump(shared, taken))


def nops_by_jump(shared: SharedState, taken: EdgeCounts) -> Iterator[tuple[int, int]]:
    """Yield pcs of jumps and the NOPs after them in a walk; a pc may occur several times."""
    for (pc, end), count in taken.items():
        if 0 <= pc < _PLACE:
            yield pc, count * _nops_after(shared, pc, _following(end), wrong=end <= _WRONG)


def _following(end: int) -> int:
    """Return the pc that the node after a jump stands for, -1 if the warp ends or waits."""
    return (_WRONG - end) % _PCS if end <= _WRONG else end - _PLACE if end >= _PLACE else -1


def parts_of(taken: EdgeCounts) -> tuple[EdgeCounts, EdgeCounts]:
    """Return how often a walk executes each basic block, by its first and last pc, and takes each jump.

    A jump is a pair of a control instruction and the next pc, -1 if the warp ends or waits.
    """
    stretches = {(place - _PLACE, pc): count for (place, pc), count in taken.items() if place >= _PLACE}
    edges: Counter[Edge] = Counter()
    for (pc, end), count in taken.items():
        if 0 <= pc < _PLACE:
            edges[pc, _following(end)] += count
    return stretches, edges


def walk_of(shared: SharedState, pipeline: Pipeline) -> EdgeCounts:
    """Return the most expensive walk that takes no edge more often than any path does."""
    edges: dict[tuple[int, int], tuple[int, int]] = {}
    facts: dict[tuple[int, int], tuple[int, int]] = {}
    blocks: dict[tuple[int, int], tuple[int, int]] = {}
    together: list[tuple[list[Edge], int]] = []

    def block(place: int) -> None:
        """Add the block from a jump target to the next control instruction."""
        pc = shared.program.next_control(place)
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
        edges[pc, end] = 0, _nops_after(shared, pc, following)
        facts[pc, end] = 0, count
        wrong = pipeline.wrong.get((pc, following), 0)
        if wrong:
            by_way_of = _WRONG - pc * _PCS - following
            edges[pc, by_way_of], edges[by_way_of, end] = (0, _nops_after(shared, pc, following, wrong=True)), (0, 0)
            facts[pc, by_way_of] = 0, wrong
            together.append(([(pc, end), (pc, by_way_of)], count))
    again = len(pipeline.starts) - 1
    if again:
        # A warp that has ended may be started again.
        edges[_END, _BEGIN] = 0, 0
        facts[_END, _BEGIN] = again, again
    costs = edges | blocks
    flow = Flow(list(costs), _BEGIN, _END, {edge: sum(cost) for edge, cost in costs.items()}, facts=facts,
                exclusive=together)
    _, taken = longest(flow)
    return taken


def _nops_after(shared: SharedState, pc: int, following: int, *, wrong: bool = False) -> int:
    """Return the NOPs after a control instruction that continues at ``following``."""
    return shared.costs.of(shared.program.at(pc).decoded.word).nops(pc, following, wrong=wrong)
