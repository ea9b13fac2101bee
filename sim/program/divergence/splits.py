"""Divergent branches: a split before each, joins where its lanes reconverge.

Lanes reconverge at the branch's immediate post-dominator. All splits that reconverge at one place share one register
with the depth of the warp's stack before the first of them, and one chain of joins. `join` compares the register with
the stack: while the stack is deeper, its top entry belongs to one of these splits. A chain with one join for each
possible entry thus takes all of them, innermost first, and a path with fewer splits enters the chain farther down.
"""

from __future__ import annotations

from dataclasses import dataclass

from .graph import Block, Function, Insertion, Virtual, reach, reverse
from .predicates import predicate

__all__ = ["split_branches"]

_SPLIT = ".insn r 0x0B, 2, 0, {0}, {1}, x0"
_SPLIT_ONLY = ".insn r 0x0B, 2, 0, x0, {0}, x0"
#: With the condition 0 in all lanes nothing is pushed: it only returns the depth.
_DEPTH = ".insn r 0x0B, 2, 0, {0}, x0, x0"
_JOIN = ".insn r 0x0B, 3, 0, x0, {0}, x0"


@dataclass
class _Reconvergence:
    """A reconvergence point, the blocks that split, and all between: ``region`` (with the splits)."""

    place: str
    splits: list[str]
    region: set[str]
    depth: Virtual


def split_branches(function: Function) -> None:
    """Insert splits and joins for all blocks that are marked divergent."""
    edges = function.edges()
    lost = function.lost(edges)
    meet = function.reconvergence(edges)
    merges: dict[str, _Reconvergence] = {}
    for name, block in function.blocks.items():
        if block.divergent and block.branch is not None and len(edges[name]) > 1:
            place = meet[name]
            merge = merges.setdefault(place, _Reconvergence(place, [], set(), Virtual("depth")))
            merge.splits.append(name)
            region = reach(edges, edges[name], (place,))
            assert name not in region, "a divergent branch that is reached again before its lanes have reconverged"
            # Lanes that end the program do not come back: they do not need the stack.
            merge.region |= {name} | (region if name in lost else region - lost)
    _grow(merges)
    entries = {place: _entries(merge, edges) for place, merge in merges.items()}
    chains = {place: _chain(function, merge, edges) for place, merge in merges.items()}
    into: dict[tuple[str, str], Block] = {}
    for place, merge in merges.items():
        _note_depth(function, merge, entries[place], chains, reverse(edges), into)


def _grow(merges: dict[str, _Reconvergence]) -> None:
    """Grow each region that contains another's reconvergence point until it contains all of that region or none of it.

    The depth is noted on the edges into a region; inside the other region the stack may already be deeper.
    """
    changed = True
    while changed:
        changed = False
        for outer in merges.values():
            for inner in merges.values():
                if inner is outer or inner.place not in outer.region or inner.region <= outer.region:
                    continue
                if inner.region & outer.region:
                    outer.region |= inner.region
                    changed = True


def _entries(merge: _Reconvergence, edges: dict[str, list[str]]) -> dict[str, list[str]]:
    """The edges into the region: sources by target."""
    result: dict[str, list[str]] = {}
    for source, targets in edges.items():
        if source not in merge.region:
            for target in targets:
                if target in merge.region:
                    result.setdefault(target, []).append(source)
    return result


def _pushed(merge: _Reconvergence, edges: dict[str, list[str]]) -> dict[str, int]:
    """The most entries of this reconvergence point that can be on the stack after each block of its region."""
    pushed = {name: int(name in merge.splits) for name in merge.region}
    work = list(merge.region)
    while work:
        name = work.pop()
        for target in edges[name]:
            if target in pushed:
                new = pushed[name] + (target in merge.splits)
                if new > pushed[target]:
                    assert new <= len(merge.splits), "a split that is reached again before its lanes have reconverged"
                    pushed[target] = new
                    work.append(target)
    return pushed


def _chain(function: Function, merge: _Reconvergence, edges: dict[str, list[str]]) -> tuple[Block, list[str]]:
    """Add the joins before the reconvergence point; return the block after the last join, and the blocks redirected."""
    pushed = _pushed(merge, edges)
    ways = {name: pushed[name] for name in function.blocks if name in merge.region and merge.place in edges[name]}
    place = function.blocks[merge.place]
    after = Block(function.fresh("met"), targets=[merge.place], place=place.place)
    order = list(function.blocks)
    function.add(after, order[order.index(merge.place) - 1])
    names = [after.name]
    for _ in range(max(ways.values(), default=0)):
        items = [Insertion(_JOIN, (), (merge.depth,))]
        join = Block(function.fresh("join"), [*items], targets=[names[-1]], place=place.place)
        order = list(function.blocks)
        function.add(join, order[order.index(names[-1]) - 1])
        names.append(join.name)
    for name, count in ways.items():
        function.redirect(name, merge.place, names[count])
    return after, list(ways)


def _note_depth(
    function: Function, merge: _Reconvergence, entries: dict[str, list[str]],
    chains: dict[str, tuple[Block, list[str]]], before: dict[str, list[str]], into: dict[tuple[str, str], Block],
) -> None:
    """Add the splits, and note the depth where the region is entered; ``into`` has the new blocks on edges."""
    noted = set()
    for target, sources in entries.items():
        block = function.blocks[target]
        if set(sources) == set(before[target]):
            if target in merge.splits:
                noted.add(target)
            else:
                block.items.insert(_first(block), Insertion(_DEPTH, (merge.depth,)))
            continue
        after, ways = chains.get(target, (None, []))
        if after is not None and set(ways) & set(sources):
            assert set(ways) <= set(sources), "all that comes through a chain enters the region there"
            after.items.append(Insertion(_DEPTH, (merge.depth,)))
        for source in sources:
            if source not in ways:
                _edge(function, source, target, into).items.append(Insertion(_DEPTH, (merge.depth,)))
    for name in merge.splits:
        block = function.blocks[name]
        added, condition = predicate(block)
        split = (Insertion(_SPLIT, (merge.depth,), (condition.register,)) if name in noted
                 else Insertion(_SPLIT_ONLY, (), (condition.register,)))
        block.items += [*added, split]


def _edge(function: Function, source: str, target: str, into: dict[tuple[str, str], Block]) -> Block:
    """The block on the edge between the two."""
    if (source, target) not in into:
        edge = Block(function.fresh("enter"), targets=[target], place=function.blocks[source].place)
        function.redirect(source, target, edge.name)
        function.add(edge, list(function.blocks)[-1])
        into[source, target] = edge
    return into[source, target]


def _first(block: Block) -> int:
    """The position after the labels that name the block."""
    return sum(isinstance(item, str) and item.endswith(":") for item in block.items[:1])
