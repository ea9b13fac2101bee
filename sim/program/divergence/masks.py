"""Loops: give each one header, and make lanes that leave wait for the others at the loop's end.

A loop that lanes leave at different times keeps their mask in a register, from before its first iteration. If all lanes
still in the loop reach an exit together, `pred` disables those that are done; when none is left, it enables all again,
and they leave together (isa.md). If all exits are of that kind, they stay where they are. Otherwise, a lane notes the
number of its exit and jumps to the loop's end, a new block with the `pred`. If there are several exits, a chain of
branches after the loop sends each lane to its target.
"""

from __future__ import annotations

from collections.abc import Collection

from .graph import Block, Function, Insertion, Loop, Virtual, loops, post_dominators, reach
from .predicates import Predicate, predicate

__all__ = ["mask_loops", "one_header", "separate_loops"]

_ACTIVE_THREADS = 0xCC4
#: The exit number of a lane that stays; exits are numbered 0, -2, -4, ..: pred looks at bit 0.
_STAYS = 1


def one_header(function: Function) -> list[Loop]:
    """Give each loop with several entries a new header that all of them pass, and each endless loop an end."""
    found = loops(function, lambda body, entries: _add_header(function, entries))
    for loop in found:
        edges = function.edges()
        if all(target in loop.body for name in loop.body for target in edges[name]):
            back = [name for name in function.blocks if name in loop.body and loop.header in edges[name]]
            again = Block(function.fresh("again"), targets=[loop.header], place=function.blocks[back[-1]].place)
            for name in back:
                function.redirect(name, loop.header, again.name)
            function.add(again, back[-1])
    return loops(function)


def separate_loops(function: Function, waits: Collection[str]) -> None:
    """Give loops that share a header one each, if only one of them contains a block of ``waits``.

    Clang lets an inner loop at the start of another one share its header. Lanes in the inner loop would then seem to be
    in another iteration of the outer one than the other lanes, which wait there at a barrier.
    """
    done: set[str] = set()
    while True:
        edges = function.edges()
        for loop in loops(function):
            if loop.header in done:
                continue
            done.add(loop.header)
            turn = {name: [target for target in edges[name] if target in loop.body and target != loop.header]
                    for name in loop.body}
            behind = reach(turn, [name for name in loop.body if name in waits])
            back = [name for name in function.blocks if name in loop.body and loop.header in edges[name]]
            outer = [name for name in back if name in behind]
            if outer and len(outer) < len(back):
                header = Block(function.fresh("outer"), targets=[loop.header], place=function.blocks[loop.header].place)
                for name in function.blocks:
                    if loop.header in edges[name] and (name not in loop.body or name in outer):
                        function.redirect(name, loop.header, header.name)
                function.add(header, _before(function, loop.header))
                break
        else:
            return


def _add_header(function: Function, entries: list[str]) -> None:
    """Route all edges to the entries through a new block, with the entry's number in a register."""
    number = Virtual("entry")
    header = Block(function.fresh("dispatch"), place=function.blocks[entries[0]].place, made=True)
    sources = list(function.blocks)
    for value, entry in enumerate(entries):
        for source in sources:
            if entry in function.blocks[source].targets:
                load = Insertion(f"li\t{{0}}, {value}", (number,))
                place = function.blocks[source].place
                edge = Block(function.fresh("edge"), [load], targets=[header.name], place=place)
                function.redirect(source, entry, edge.name)
                function.add(edge, source)
    function.add(header, _before(function, entries[0]))
    _dispatch(function, header, number, list(enumerate(entries)), divergent=False)


def _before(function: Function, name: str) -> str:
    order = list(function.blocks)
    return order[order.index(name) - 1]


def _dispatch(function: Function, block: Block, number: Virtual, ways: list[tuple[int, str]], divergent: bool) -> None:
    """Branch from ``block`` to the target whose value ``number`` has."""
    while len(ways) > 1:
        (value, way), *ways = ways
        compared: Virtual = number
        if value:
            compared = Virtual("difference")
            block.items.append(Insertion(f"addi\t{{0}}, {{1}}, {-value}", (compared,), (number,)))
        following = Block(function.fresh("dispatch"), place=block.place)
        block.kind, block.branch, block.divergent = "branch", Insertion("beqz\t{0}", (), (compared,)), divergent
        block.targets = [way, following.name]
        function.add(following, block.name)
        block = following
    block.targets = [ways[0][1]]


def mask_loops(function: Function, headers: set[str]) -> None:
    """Add masks to the loops with these headers, inner ones first; their exits become uniform."""
    left = set(headers)
    while left:
        found = loops(function)
        loop = max((one for one in found if one.header in left), key=lambda one: one.depth)
        left.remove(loop.header)
        _mask(function, loop, found)


def _mask(function: Function, loop: Loop, found: list[Loop]) -> None:
    """Mask one of the loops ``found``."""
    edges = function.edges()
    lost = function.lost(edges)
    ways = [(name, target) for name in function.blocks if name in loop.body for target in edges[name]
            if target not in loop.body and (target not in lost or loop.header in lost)]
    lanes = Virtual("lanes")
    before = [Insertion(f"csrr\t{{0}}, {_ACTIVE_THREADS}", (lanes,))]
    around = {target: sum(target in one.body for one in found) for _, target in ways}
    # Exit targets: those that leave most loops first, so that the others are branches inside a loop.
    targets = sorted(around, key=around.__getitem__)
    inner = {name for one in found if one.parent is loop for name in one.body}
    if {name for name, _ in ways} <= _together(function, loop, ways, inner):
        _where_they_stand(function, ways, targets, lanes)
    else:
        before.append(_one_end(function, loop, ways, targets, lanes))
    _add_preheader(function, loop, before)


def _together(function: Function, loop: Loop, ways: list[tuple[str, str]], inner: set[str]) -> set[str]:
    """The blocks with an exit that all lanes still in the loop reach together, if lanes that leave there wait.

    ``inner`` has the blocks of loops inside.
    """
    edges = function.edges()
    lost = function.lost(edges)
    if loop.header in lost:
        lost = set()
    turn: dict[str, list[str]] = {"END": []}
    for name in loop.body:
        targets = [target if target in loop.body and target != loop.header else "END"
                   for target in edges[name] if target not in lost]
        turn[name] = list(dict.fromkeys(targets))
    meet = post_dominators(turn, "END")
    sources = [name for name, _ in ways]
    found = {name for name in sources
             if sources.count(name) == 1 and name not in inner and function.blocks[name].kind == "branch"}
    while True:
        apart: set[str] = set()
        for name in loop.body:
            if function.blocks[name].divergent and name not in found:
                apart |= reach(turn, turn[name], (meet[name],))
        if not found & apart:
            return found
        found -= apart


def _where_they_stand(function: Function, ways: list[tuple[str, str]], targets: list[str], lanes: Virtual) -> None:
    """Keep each exit in place: lanes that leave one by one wait there. Dispatch to ``targets`` in this order."""
    way_out = Virtual("way_out")
    alone = sum(function.blocks[name].divergent for name, _ in ways) == 1
    going = Virtual("going")
    behind = None
    if len(targets) > 1:
        behind = Block(function.fresh("left"), place=function.blocks[ways[-1][0]].place)
    for name, target in ways:
        block = function.blocks[name]
        note = [Insertion(f"li\t{{0}}, {-2 * targets.index(target)}", (way_out,))] if behind is not None else []
        goal = target if behind is None else behind.name
        if not block.divergent:
            # All remaining lanes leave together, with those that wait.
            edge = Block(function.fresh("leave"), [*note, Insertion(".insn r 0x0B, 0, 0, x0, {0}, x0", (), (lanes,))],
                         targets=[goal], place=block.place)
            _put_edge(function, name, target, edge)
            continue
        added, condition = predicate(block)
        stay_where_taken = block.targets[0] != target
        if not alone:
            condition = _go_by(block, added, condition, stay_where_taken, going)
        block.items += [*note, *added]
        negated = "x1" if condition.taken != stay_where_taken else "x0"
        block.items.append(Insertion(f".insn r 0x0B, 5, 0, {negated}, {{0}}, {{1}}", (), (condition.register, lanes)))
        block.divergent = False
        function.redirect(name, target, goal)
    if behind is not None:
        function.add(behind, ways[-1][0])
        numbered = [(-2 * place, target) for place, target in enumerate(targets)]
        _dispatch(function, behind, way_out, numbered, divergent=True)


def _go_by(
    block: Block, added: list[Insertion], condition: Predicate, stay_where_taken: bool, going: Virtual
) -> Predicate:
    """Set ``going`` to 1 in lanes that stay, and branch on it: in lanes that wait at another exit it is 0.

    In waiting lanes, the registers that the branch tested are those of an earlier iteration.
    """
    swapped = {"seqz": "snez", "snez": "seqz"}
    right = condition.taken == stay_where_taken
    op, _, rest = added[-1].text.partition("\t") if added else ("", "", "")
    if added and (right or op in swapped):
        added[-1] = Insertion(f"{op if right else swapped[op]}\t{rest}", (going,), added[-1].reads)
    elif right:
        added.append(Insertion("mv\t{0}, {1}", (going,), (condition.register,)))
    else:
        added.append(Insertion("xori\t{0}, {1}, 1", (going,), (condition.register,)))
    block.branch = Insertion("bnez\t{0}" if stay_where_taken else "beqz\t{0}", (), (going,))
    return Predicate(going, stay_where_taken)


def _one_end(
    function: Function, loop: Loop, ways: list[tuple[str, str]], targets: list[str], lanes: Virtual
) -> Insertion:
    """Lead all exits and back edges to one new block; return the instruction to add before the loop."""
    way_out = Virtual("way_out")
    back = [name for name in function.blocks if name in loop.body and loop.header in function.blocks[name].targets]
    end = Block(function.fresh("end"), place=function.blocks[(back or [loop.header])[-1]].place)
    function.add(end, back[-1])
    for source, target in ways:
        value = -2 * targets.index(target)
        edge = Block(function.fresh("leave"), [Insertion(f"li\t{{0}}, {value}", (way_out,))], targets=[end.name],
                     place=function.blocks[source].place)
        _put_edge(function, source, target, edge)
    for source in back:
        function.redirect(source, loop.header, end.name)
    behind = Block(function.fresh("left"), place=end.place)
    end.items = [Insertion(".insn r 0x0B, 5, 0, x0, {0}, {1}", (), (way_out, lanes))]
    end.kind, end.branch, end.targets = "branch", Insertion("bgtz\t{0}", (), (way_out,)), [loop.header, behind.name]
    function.add(behind, end.name)
    _dispatch(function, behind, way_out, [(-2 * place, target) for place, target in enumerate(targets)], divergent=True)
    return Insertion(f"li\t{{0}}, {_STAYS}", (way_out,))


def _put_edge(function: Function, source: str, target: str, edge: Block) -> None:
    """Insert the block ``edge`` on an edge: at the fall-through of its source if possible, else at the end."""
    block = function.blocks[source]
    falls = block.kind == "jump" or (block.kind == "branch" and block.targets[1] == target)
    function.redirect(source, target, edge.name)
    function.add(edge, source if falls else list(function.blocks)[-1])


def _add_preheader(function: Function, loop: Loop, items: list[Insertion]) -> None:
    block = Block(function.fresh("loop"), list(items), targets=[loop.header], place=function.blocks[loop.header].place)
    edges = function.edges()
    # The blocks that the pass added to the loop lie inside too.
    (now,) = [one for one in loops(function) if one.header == loop.header]
    inside = loop.body | now.body
    for source in [name for name in function.blocks if name not in inside and loop.header in edges[name]]:
        function.redirect(source, loop.header, block.name)
    function.add(block, _before(function, loop.header))
