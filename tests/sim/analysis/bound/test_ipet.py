"""The integer program against every path of small programs, one by one."""

import random

import pytest

from metronome.sim.analysis.bound.ipet import Flow, Loop, NoBoundError, longest

PROGRAMS = 500


class Program:
    """A random structured program: blocks, branches and loops, as a graph and as a tree that can be walked."""

    def __init__(self, random_: random.Random) -> None:
        self._random = random_
        self.nodes = 0
        self.edges: list[tuple[int, int]] = []
        self.costs: dict[tuple[int, int], int] = {}
        self.loops: list[Loop] = []
        self.start = self._node()
        self.end = self._part(self.start, 3)

    def _node(self) -> int:
        self.nodes += 1
        return self.nodes

    def _edge(self, first: int, second: int) -> tuple[int, int]:
        edge = first, second
        self.edges.append(edge)
        self.costs[edge] = self._random.randint(0, 9)
        return edge

    def _part(self, first: int, depth: int) -> int:
        kind = self._random.choice(["block", "branch", "loop", "both"]) if depth else "block"
        if kind == "block":
            last = self._node()
            self._edge(first, last)
            return last
        if kind == "both":
            return self._part(self._part(first, depth - 1), depth - 1)
        if kind == "branch":
            sides = []
            for _ in range(2):
                begin = self._node()
                self._edge(first, begin)
                sides.append(self._part(begin, depth - 1))
            last = self._node()
            for side in sides:
                self._edge(side, last)
            return last
        header, body = self._node(), self._node()
        entry = self._edge(first, header)
        self._edge(header, body)
        back = self._edge(self._part(body, depth - 1), header)
        self.loops.append(Loop([entry], [back], self._random.randint(0, 3)))
        last = self._node()
        self._edge(header, last)
        return last

    def flow(self) -> Flow:
        return Flow(self.edges, self.start, self.end, self.costs, self.loops)

    def dearest(self) -> int:
        """The greatest cost of a walk, by walking all of them."""
        entered = {loop.entries[0]: at for at, loop in enumerate(self.loops)}
        turned = {loop.back[0]: at for at, loop in enumerate(self.loops)}
        following: dict[int, list[tuple[int, int]]] = {}
        for edge in self.edges:
            following.setdefault(edge[0], []).append(edge)
        known: dict[tuple, int] = {}

        def walk(node: int, left: tuple[int, ...]) -> int:
            if node == self.end:
                return 0
            key = node, left
            if key not in known:
                costs = [-1]
                for edge in following[node]:
                    turns = list(left)
                    if edge in entered:
                        turns[entered[edge]] = self.loops[entered[edge]].most
                    if edge in turned:
                        if not turns[turned[edge]]:
                            continue
                        turns[turned[edge]] -= 1
                    rest = walk(edge[1], tuple(turns))
                    if rest >= 0:
                        costs.append(self.costs[edge] + rest)
                known[key] = max(costs)
            return known[key]

        return walk(self.start, (0,) * len(self.loops))


def test_equals_the_dearest_path() -> None:
    seed = 18
    print("seed", seed)
    random_ = random.Random(seed)
    sizes = []
    for _ in range(PROGRAMS):
        program = Program(random_)
        # A loop whose back edge may not be taken has no way through its body: one more turn is half a turn.
        cost, taken = longest(program.flow())
        sizes.append(len(program.edges))
        assert cost == program.dearest()
        assert cost == sum(program.costs[edge] * count for edge, count in taken.items())
    assert max(sizes) > 20


def test_facts_and_exclusions_count() -> None:
    edges = [(0, 1), (1, 2), (1, 3), (2, 1), (3, 1), (1, 4)]
    costs = {(1, 2): 10, (1, 3): 1}
    loop = Loop([(0, 1)], [(2, 1), (3, 1)], 5)
    assert longest(Flow(edges, 0, 4, costs, [loop]))[0] == 50
    assert longest(Flow(edges, 0, 4, costs, [loop], facts={(1, 2): (0, 2)}))[0] == 23
    assert longest(Flow(edges, 0, 4, costs, [loop], exclusive=[([(1, 2), (1, 3)], 3)]))[0] == 30


def test_a_loop_without_a_bound_is_refused() -> None:
    edges = [(0, 1), (1, 1), (1, 2)]
    with pytest.raises(NoBoundError):
        longest(Flow(edges, 0, 2, {(1, 1): 1}))
