"""Loops: one header each, and lanes that are done wait for the others at the loop's end.

A loop that lanes leave at different times keeps the mask of its lanes in a register, from before its first turn. At one
place in each turn ``pred`` takes those lanes out that are done; when none is left it brings all back, and they leave
together (isa.md). Where the loop has one way out that every turn passes, that is the place, and the branch stays as it
is. Else a lane notes the number of its way out and goes to the loop's end, a new block, where ``pred`` stands; a chain of
branches behind it sends each lane on its way.
"""

from __future__ import annotations

from .graph import Block, Function, Loop, Made, Virtual, loops, post_dominators
from .predicates import predicate

__all__ = ["mask_loops", "one_header"]

_ACTIVE_THREADS = 0xCC4
#: What a lane's number of its way out is while it stays; the ways out are 0, -2, -4, ..: pred looks at bit 0.
_STAYS = 1


def one_header(function: Function) -> list[Loop]:
    """Give each loop with several entries a new header that they are reached through; all loops."""
    return loops(function, lambda body, entries: _add_header(function, entries))


def _add_header(function: Function, entries: list[str]) -> None:
    """All edges to the entries go through a new block, with the entry's number in a register."""
    number = Virtual("entry")
    header = Block(function.fresh("dispatch"), place=function.blocks[entries[0]].place)
    sources = list(function.blocks)
    for value, entry in enumerate(entries):
        for source in sources:
            if entry in function.blocks[source].targets:
                edge = Block(function.fresh("edge"), [Made(f"li\t{{0}}, {value}", (number,))], targets=[header.name],
                             place=function.blocks[source].place)
                function.redirect(source, entry, edge.name)
                function.add(edge, source)
    function.add(header, _before(function, entries[0]))
    _dispatch(function, header, number, list(enumerate(entries)), divergent=False)


def _before(function: Function, name: str) -> str:
    order = list(function.blocks)
    return order[order.index(name) - 1]


def _dispatch(function: Function, block: Block, number: Virtual, ways: list[tuple[int, str]], divergent: bool) -> None:
    """Let ``block`` go on to the way whose value ``number`` has."""
    while len(ways) > 1:
        (value, way), *ways = ways
        compared: Virtual = number
        if value:
            compared = Virtual("difference")
            block.items.append(Made(f"addi\t{{0}}, {{1}}, {-value}", (compared,), (number,)))
        following = Block(function.fresh("dispatch"), place=block.place)
        block.kind, block.branch, block.divergent = "branch", Made("beqz\t{0}", (), (compared,)), divergent
        block.targets = [way, following.name]
        function.add(following, block.name)
        block = following
    block.targets = [ways[0][1]]


def mask_loops(function: Function, headers: set[str]) -> None:
    """Add masks to the loops with these headers, inner ones first; their ways out become uniform."""
    left = set(headers)
    while left:
        found = [loop for loop in loops(function) if loop.header in left]
        loop = max(found, key=lambda one: one.depth)
        left.remove(loop.header)
        _mask(function, loop)


def _mask(function: Function, loop: Loop) -> None:
    edges = function.edges()
    lost = function.lost(edges)
    ways = [(name, target) for name in function.blocks if name in loop.body for target in edges[name]
            if target not in loop.body and (target not in lost or loop.header in lost)]
    lanes = Virtual("lanes")
    before = [Made(f"csrr\t{{0}}, {_ACTIVE_THREADS}", (lanes,))]
    if len(ways) == 1 and _every_turn_passes(function, loop, ways[0][0]):
        block = function.blocks[ways[0][0]]
        added, condition = predicate(block)
        stay_where_taken = block.targets[0] != ways[0][1]
        negated = "x1" if condition.taken != stay_where_taken else "x0"
        block.items += [
            *added, Made(f".insn r 0x0B, 5, 0, {negated}, {{0}}, {{1}}", (), (condition.register, lanes))
        ]
        block.divergent = False
    else:
        before.append(_one_end(function, loop, ways, lanes))
    _add_preheader(function, loop, before)


def _every_turn_passes(function: Function, loop: Loop, name: str) -> bool:
    """Whether each turn of the loop passes this block once, with all its lanes, unless it ends the program."""
    edges = function.edges()
    lost = function.lost(edges) if loop.header not in function.lost(edges) else set()
    if any(name in inner.body for inner in loops(function) if inner.parent is not None and inner.parent.header == loop.header):
        return False
    turn: dict[str, list[str]] = {"END": []}
    for one in loop.body:
        targets = [target if target in loop.body and target != loop.header else "END"
                   for target in edges[one] if target not in lost]
        turn[one] = list(dict.fromkeys(targets))
    meet = post_dominators(turn, "END")
    at = loop.header
    while at not in (name, "END"):
        at = meet[at]
    return at == name and function.blocks[name].kind == "branch"


def _one_end(function: Function, loop: Loop, ways: list[tuple[str, str]], lanes: Virtual) -> Made:
    """Lead all ways out and all ways back to one new block; what to do before the loop."""
    way_out = Virtual("way_out")
    # Those that leave most loops come first: what is left then are branches inside the outer loop.
    around = {name: sum(name in one.body for one in loops(function)) for _, name in ways}
    targets = sorted(dict.fromkeys(target for _, target in ways), key=lambda target: around[target])
    back = [name for name in function.blocks if name in loop.body and loop.header in function.blocks[name].targets]
    end = Block(function.fresh("end"), place=function.blocks[(back or [loop.header])[-1]].place)
    function.add(end, back[-1])
    for source, target in ways:
        value = -2 * targets.index(target)
        edge = Block(function.fresh("leave"), [Made(f"li\t{{0}}, {value}", (way_out,))], targets=[end.name],
                     place=function.blocks[source].place)
        _put_edge(function, source, target, edge)
    for source in back:
        function.redirect(source, loop.header, end.name)
    behind = Block(function.fresh("left"), place=end.place)
    end.items = [Made(".insn r 0x0B, 5, 0, x0, {0}, {1}", (), (way_out, lanes))]
    end.kind, end.branch, end.targets = "branch", Made("bgtz\t{0}", (), (way_out,)), [loop.header, behind.name]
    function.add(behind, end.name)
    _dispatch(function, behind, way_out, [(-2 * place, target) for place, target in enumerate(targets)], divergent=True)
    return Made(f"li\t{{0}}, {_STAYS}", (way_out,))


def _put_edge(function: Function, source: str, target: str, edge: Block) -> None:
    """The block ``edge`` between two, where the fall through of its source is if it can be, else at the end."""
    block = function.blocks[source]
    falls = block.kind == "jump" or (block.kind == "branch" and block.targets[1] == target)
    function.redirect(source, target, edge.name)
    function.add(edge, source if falls else _before(function, function.last))


def _add_preheader(function: Function, loop: Loop, items: list[Made]) -> None:
    block = Block(function.fresh("loop"), list(items), targets=[loop.header], place=function.blocks[loop.header].place)
    inside = loop.body
    edges = function.edges()
    # The blocks that the pass has put into the loop lie inside too.
    known = {one for one in loops(function) if one.header == loop.header}
    for one in known:
        inside = inside | one.body
    for source in [name for name in function.blocks if name not in inside and loop.header in edges[name]]:
        function.redirect(source, loop.header, block.name)
    function.add(block, _before(function, loop.header))
