"""Control-flow graph of a function: blocks, their order, dominators, loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from .instructions import Instruction

__all__ = ["Block", "Function", "Insertion", "Loop", "Virtual", "loops", "post_dominators", "reach", "reverse"]

Node = TypeVar("Node", bound=Hashable)


@dataclass(eq=False)
class Virtual:
    """A register that the pass needs and that is not yet placed."""

    name: str


@dataclass(eq=False)
class Insertion:
    """An instruction that the pass adds: ``{0}``, ``{1}`` in ``text`` are its registers, results first."""

    text: str
    writes: tuple[Virtual | int, ...] = ()
    reads: tuple[Virtual | int, ...] = ()


@dataclass(eq=False)
class Block:
    """A basic block: instructions and other lines (debug labels), then its successors.

    ``branch`` is the conditional branch at its end: to ``targets[0]`` if it is taken, else to ``targets[1]``. Without
    one, there is one target, several after an indirect jump, or none after a return.
    """

    name: str
    items: list[Instruction | Insertion | str] = field(default_factory=list)
    branch: Instruction | Insertion | None = None
    targets: list[str] = field(default_factory=list)
    #: ``jump``, ``branch``, ``return``, ``indirect`` or ``stop`` (control never passes it).
    kind: str = "jump"
    #: Its last instruction, if that is neither a branch nor a jump.
    end: Instruction | None = None
    #: The pass added it to give a loop one header.
    made: bool = False
    #: Lanes may diverge at the branch.
    divergent: bool = False
    #: The ``.loc`` of instructions that the pass adds.
    place: str = ""

    @property
    def instructions(self) -> Iterator[Instruction]:
        """The source's instructions, including the branch."""
        for item in (*self.items, self.branch, self.end):
            if isinstance(item, Instruction):
                yield item


@dataclass(eq=False)
class Function:
    """Blocks in the order of the text; the first is the entry, which no jump targets."""

    name: str
    blocks: dict[str, Block]
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def entry(self) -> str:
        """The name of the first block."""
        return next(iter(self.blocks))

    @property
    def last(self) -> str:
        """The block that returns."""
        return next(name for name, block in self.blocks.items() if block.kind == "return")

    def fresh(self, what: str) -> str:
        """Return a name for a new block."""
        return f".Lsimt_{self.name}_{what}_{next(self.numbers)}"

    def add(self, block: Block, after: str) -> None:
        """Insert a block after another one."""
        order = list(self.blocks.items())
        place = [name for name, _ in order].index(after) + 1
        order.insert(place, (block.name, block))
        self.blocks = dict(order)

    def edges(self) -> dict[str, list[str]]:
        """The successors of each block, each once."""
        return {name: list(dict.fromkeys(block.targets)) for name, block in self.blocks.items()}

    def lost(self, edges: Mapping[str, Sequence[str]]) -> set[str]:
        """Blocks that cannot reach the return: they end the program or run for ever."""
        before: dict[str, list[str]] = reverse(edges)
        found: set[str] = reach(before, [self.last])
        return set(self.blocks) - found

    def reconvergence(self, edges: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """The block where lanes that diverge after a block reconverge: its immediate post-dominator.

        Lanes that end the program need not be waited for, so their paths do not count, except from blocks whose paths
        all end it. In an endless loop, lanes reconverge at the end of its body at the latest (masks.one_header).
        """
        lost = self.lost(edges)
        kept = {name: [target for target in targets if target not in lost]
                for name, targets in edges.items() if name not in lost}
        ends = {name: [self.last] if self.blocks[name].kind == "stop" else list(targets)
                for name, targets in edges.items()}
        before: dict[str, list[str]] = reverse(ends)
        ending: set[str] = reach(before, [self.last])
        endless = set(self.blocks) - ending
        for loop in loops(self) if endless else ():
            if loop.header in endless:
                (latch,) = [name for name in loop.body if loop.header in edges[name]]
                ends[latch].append(self.last)
        return post_dominators(ends, self.last) | post_dominators(kept, self.last)

    def redirect(self, source: str, old: str, new: str) -> None:
        """Redirect the edge from ``source`` to ``old`` to ``new``."""
        block = self.blocks[source]
        block.targets = [new if target == old else target for target in block.targets]


def reverse(edges: Mapping[Node, Sequence[Node]]) -> dict[Node, list[Node]]:
    """The predecessors of each node."""
    result: dict[Node, list[Node]] = {node: [] for node in edges}
    for node, targets in edges.items():
        for target in targets:
            result[target].append(node)
    return result


def reach(edges: Mapping[Node, Sequence[Node]], starts: Iterable[Node], until: Collection[Node] = ()) -> set[Node]:
    """The nodes reachable from ``starts``, which are included, without entering ``until``."""
    found: set[Node] = set()
    work = [start for start in starts if start not in until]
    while work:
        node = work.pop()
        if node not in found:
            found.add(node)
            work += [target for target in edges[node] if target not in until]
    return found


def _postorder(edges: Mapping[Node, Sequence[Node]], root: Node, seen: set[Node]) -> list[Node]:
    """The nodes reachable from ``root`` and not yet in ``seen``, in postorder."""
    order: list[Node] = []
    seen.add(root)
    stack = [(root, iter(edges[root]))]
    while stack:
        node, targets = stack[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(edges[target])))
                break
        else:
            order.append(node)
            stack.pop()
    return order


def dominators(edges: Mapping[Node, Sequence[Node]], root: Node) -> dict[Node, Node]:
    """Return the immediate dominator of each node reachable from ``root`` (Cooper 2001)."""
    order = _postorder(edges, root, set())
    number = {node: place for place, node in enumerate(order)}
    before = reverse(edges)
    result = {root: root}

    def meet(a: Node, b: Node) -> Node:
        while a != b:
            while number[a] < number[b]:
                a = result[a]
            while number[b] < number[a]:
                b = result[b]
        return a

    changed = True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            done = [source for source in before[node] if source in result]
            new = done[0]
            for source in done[1:]:
                new = meet(source, new)
            if result.get(node) != new:
                result[node], changed = new, True
    return result


def post_dominators(edges: Mapping[Node, Sequence[Node]], last: Node) -> dict[Node, Node]:
    """Return the immediate post-dominator of each node that reaches ``last``."""
    return dominators(reverse(edges), last)


def components(nodes: Collection[Node], edges: Mapping[Node, Sequence[Node]]) -> list[set[Node]]:
    """Return the cyclic strongly connected components of the graph on ``nodes`` (Kosaraju's two searches)."""
    known = set(nodes)
    inside = {node: [target for target in edges[node] if target in known] for node in nodes}
    order: list[Node] = []
    seen: set[Node] = set()
    for node in nodes:
        if node not in seen:
            order += _postorder(inside, node, seen)
    before, left = reverse(inside), set(inside)
    found = []
    for node in reversed(order):
        if node in left:
            component = reach(before, [node], set(inside) - left)
            left -= component
            if len(component) > 1 or node in inside[node]:
                found.append(component)
    return found


@dataclass(eq=False)
class Loop:
    """A loop with its header; ``body`` includes the header and all inner loops."""

    header: str
    body: set[str]
    parent: Loop | None = None

    @property
    def depth(self) -> int:
        """Nesting depth: 1 for an outermost loop."""
        return 1 + (self.parent.depth if self.parent else 0)

    def inside(self, outer: Loop | None) -> bool:
        """Whether it is ``outer`` or inside it; every loop is inside None."""
        return outer is None or self is outer or (self.parent is not None and self.parent.inside(outer))


def loops(function: Function, several_entries: Callable[[set[str], list[str]], None] | None = None) -> list[Loop]:
    """Return all loops, outer before inner.

    ``several_entries`` is called with body and entries of a loop without a single header; it must change the function
    so that there is one, and the search restarts.
    """
    while True:
        found: list[Loop] = []
        odd = _search(function, found)
        if odd is None:
            return found
        assert several_entries is not None, "each loop has got a header"
        several_entries(*odd)


def _search(function: Function, found: list[Loop]) -> tuple[set[str], list[str]] | None:
    edges = function.edges()
    before = reverse(edges)
    # Unreachable code is not a loop.
    work: list[tuple[set[str], Loop | None, str]] = [(reach(edges, [function.entry]), None, "")]
    while work:
        nodes, parent, header = work.pop(0)
        for body in components([node for node in function.blocks if node in nodes and node != header], edges):
            entries = [node for node in function.blocks if node in body and any(
                source not in body for source in before[node]
            )]
            if len(entries) != 1:
                return body, entries
            loop = Loop(entries[0], body, parent)
            found.append(loop)
            work.append((body, loop, loop.header))
    return None
