"""Values that are the same in all lanes that run together, and branches at which lanes may therefore diverge.

A value differs between lanes if it derives from one that differs (flow.py), or if it was written while lanes had
diverged that now reconverge: after a divergent branch, at its immediate post-dominator; after a loop that lanes leave
at different times, at once.

Reconvergence follows the way the machine will run the function (splits.py, masks.py). Lanes that leave a loop wait at
its end for the others, so each loop is analysed by itself, with one end for all exits, and with an inner loop of that
kind as one node: a level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .affine import NOTHING
from .assembly import SimtError
from .flow import Flow, Shape, State
from .graph import Block, Loop, post_dominators, reach, reverse
from .instructions import CONDITIONS, ZERO, Instruction, mask

__all__ = ["Uniformity", "analyse"]

@dataclass
class Uniformity:
    """The result of an analysis."""

    #: Blocks at whose branch lanes may diverge.
    divergent: set[str] = field(default_factory=set)
    #: Headers of the loops that lanes leave at different times.
    loops: set[str] = field(default_factory=set)
    #: Blocks that lanes of a warp may run at different times, and the block whose branch diverges.
    apart: dict[str, str] = field(default_factory=dict)
    #: Each call, and the registers that may differ between lanes before it.
    calls: list[tuple[Instruction, int]] = field(default_factory=list)
    #: Registers that are the same in all lanes at the return.
    results: int = 0


class _Analysis:
    def __init__(self, shape: Shape, flow: Flow, everything: bool) -> None:
        self.flow, self.everything = flow, everything
        self.function, self.edges, self.lost = shape.function, shape.edges, shape.lost
        self.loops, self.innermost = shape.loops, shape.innermost
        self.values, self.written = shape.values, shape.written
        self.result = Uniformity()
        #: The block whose branch makes lanes leave a loop at different times, by the loop's header.
        self._causes: dict[str, str] = {}

    def _disagree(self, name: str, block: Block) -> bool:
        if block.kind == "indirect" and block.end is not None:
            return bool(self.flow.behind[name].divergent & block.end.reads)
        if block.branch is None or block.targets[0] == block.targets[1]:
            return False
        # The branches that one_header adds are assumed to be divergent.
        if self.everything or not isinstance(block.branch, Instruction):
            return True
        state = self.flow.behind[name]
        if CONDITIONS[block.branch.op] in ("eq", "ne") or self.flow.around_barriers:
            sums = {state.parts.get(number, NOTHING) for number in (*block.branch.registers, ZERO)[:2]}
            return len(sums) > 1
        return bool(state.divergent & block.branch.reads)

    # ---- where lanes have diverged ----

    def _node(self, name: str, level: Loop | None) -> str | Loop:
        """The block, or the outermost loop around it, within the level, that lanes leave at different times."""
        found: str | Loop = name
        loop = self.innermost.get(name)
        while loop is not level and loop is not None:
            if loop.header in self.result.loops:
                found = loop
            loop = loop.parent
        return found

    def _level(self, level: Loop | None) -> dict[object, list[object]]:
        edges: dict[object, list[object]] = {}
        # Lanes that leave a loop to end the program need not be waited for.
        lost = self.lost if level is not None and level.header not in self.lost else ()
        names: Iterable[str] = level.body if level else [one for one in self.function.blocks if one in self.flow.before]
        for name in names:
            node = self._node(name, level)
            targets = edges.setdefault(node, [])
            for target in self.edges[name]:
                if target in lost:
                    continue
                goes: object = self._node(target, level)
                if level is not None and target not in level.body:
                    goes = "EXIT"
                elif level is not None and target == level.header:
                    goes = "AGAIN"
                if goes is not node and goes not in targets:
                    targets.append(goes)
        if level is not None:
            edges |= {"EXIT": ["END"], "AGAIN": ["END"], "END": []}
        return edges

    def _look_at(self, level: Loop | None) -> None:
        edges = self._level(level)
        meet = post_dominators(edges, "END") if level is not None else self._reconvergence(edges)
        for node in list(edges):
            if isinstance(node, Loop):
                if node.parent is level:
                    self._look_at_node(node, edges, meet, level)
            elif node in self.result.divergent and self.innermost.get(str(node)) is level:
                self._look_at_node(node, edges, meet, level)

    def _reconvergence(self, edges: Mapping[object, list[object]]) -> Mapping[object, object]:
        """Like Function.reconvergence, for the function's own level."""
        last = self.function.last
        lost = set(edges) - reach(reverse(edges), [last]) if last in edges else set(edges)
        kept = {node: [one for one in targets if one not in lost]
                for node, targets in edges.items() if node not in lost}
        ends = {**{node: list(targets) for node, targets in edges.items()}, last: []}
        for node, targets in ends.items():
            blocks = node.body if isinstance(node, Loop) else {str(node)}
            if any(self.function.blocks[name].kind == "stop" for name in blocks) and last not in targets:
                targets.append(last)
        return post_dominators(ends, last) | (post_dominators(kept, last) if last in kept else {})

    def _look_at_node(
        self, node: object, edges: Mapping[object, list[object]], meet: Mapping[object, object], level: Loop | None
    ) -> None:
        targets = edges[node]
        if len(targets) < 2 and not (isinstance(node, Loop) and not targets):
            return
        region = reach(edges, targets, () if node not in meet else (meet[node],))
        blocks = self._blocks(region - {"EXIT", "AGAIN", "END"})
        if node not in meet or any(one not in meet for one in region):
            raise _EndlessLoop(node.header if isinstance(node, Loop) else str(node))
        cause = self._causes[node.header] if isinstance(node, Loop) else str(node)
        self._note_apart(blocks, cause)
        sources = blocks | self._blocks([node])
        where = meet[node]
        if where == "END":
            assert level is not None
            self.result.loops.add(level.header)
            self._causes.setdefault(level.header, cause)
            again = [target for target in targets if "AGAIN" in reach(edges, [target])]
            if len(again) > 1:
                self._taint(level.header, blocks, sources)
        elif where == "AGAIN":
            assert level is not None
            self._taint(level.header, blocks, sources)
        elif where != "EXIT":
            self._taint(where.header if isinstance(where, Loop) else str(where), blocks, sources)

    def _note_apart(self, blocks: Iterable[str], cause: str) -> None:
        for name in blocks:
            self.result.apart.setdefault(name, cause)

    def _blocks(self, nodes: Iterable[object]) -> set[str]:
        result: set[str] = set()
        for node in nodes:
            result |= node.body if isinstance(node, Loop) else {str(node)}
        return result

    def _taint(self, name: str, blocks: set[str], sources: set[str]) -> None:
        """Taint values at block ``name`` that lanes which diverged in ``blocks`` bring from ``sources``."""
        if name not in self.flow.before:
            return
        registers, slots = self.flow.taints.get(name, (0, frozenset()))
        changed = 0
        words: set[int] = set()
        for block in blocks:
            changed |= self.written[block][0]
            words |= self.written[block][1]
        for number in range(64):
            if changed & ~registers & 1 << number and self.values.differ(name, sources, blocks, number):
                registers |= 1 << number
        slots |= {word for word in words if self.values.differ(name, sources, blocks, ("word", word))}
        self.flow.taints[name] = (registers, slots)

    def run(self) -> Uniformity:
        while True:
            before = (len(self.result.divergent), len(self.result.loops), dict(self.flow.taints))
            self.flow.run()
            self.result.divergent |= {
                name for name, block in self.function.blocks.items()
                if name in self.flow.before and self._disagree(name, block)
            }
            for loop in reversed(self.loops):
                self._look_at(loop)
                if loop.header in self.result.loops:
                    self._note_apart(loop.body, self._causes[loop.header])
                    for name in loop.body:
                        for target in self.edges[name]:
                            if target not in loop.body and target not in self.lost:
                                self._taint(target, loop.body, loop.body)
            self._look_at(None)
            if (len(self.result.divergent), len(self.result.loops), self.flow.taints) == before:
                break
        self._conclude()
        return self.result

    def _conclude(self) -> None:
        for name in self.function.blocks:
            if name in self.flow.before:
                self.flow.through(name, self._note_call)
        last = self.flow.before.get(self.function.last)
        self.result.results = 0 if last is None else ~last.divergent & mask("a0 a1 fa0 fa1")

    def _note_call(self, instruction: Instruction, state: State) -> None:
        if instruction.kind == "call":
            self.result.calls.append((instruction, state.divergent))


class _EndlessLoop(Exception):
    """Lanes diverge at this block, and some of them never come back."""


def analyse(
    shape: Shape, start: State, results: Callable[[str], int | None], everything: bool, around_barriers: bool,
    refuse: Callable[[Block, str], SimtError],
) -> Uniformity:
    """Analyse a function.

    Parameters
    ----------
    shape
        The function, whose loops have one header each.
    start
        The state at its entry (flow.py).
    results
        The registers that are the same in all lanes after a call of a symbol; None for a function of the runtime.
    everything
        Treat all branches as divergent: a test of the pass.
    around_barriers
        See :class:`Flow`.
    refuse
        Makes the error for a block and a reason.

    Raises
    ------
    SimtError
        For an endless loop that some lanes of a warp may be in while others are not.
    """
    analysis = _Analysis(shape, Flow(shape, start, results, around_barriers), everything)
    try:
        return analysis.run()
    except _EndlessLoop as error:
        block = shape.function.blocks[str(error)]
        reason = (
            "an endless loop where lanes have diverged: the other lanes would wait for ever (at -O3 the compiler may "
            "have made it for a step of 0: use -O2)"
        )
        raise refuse(block, reason) from None
