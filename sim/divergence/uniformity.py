"""Which values are the same in all lanes that run together, and thus which branches lanes may disagree about.

Forward dataflow on registers and on words of the stack frame. A value differs between lanes if it comes from what
differs (the lane's number, the stack's address, memory at an address that differs), or if lanes that were apart when it
was written meet again: behind a divergent branch, at its immediate post-dominator; behind a loop that lanes leave at
different times, at once.

Where lanes meet is judged as the machine will run the function (splits.py, masks.py). Lanes that leave a loop wait at
its end for the others, so each loop is looked at by itself, with one end that all ways out lead to and an inner loop of
that kind as one node: a level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .assembly import SimtError
from .frame import Frame
from .graph import Block, Function, Loop, loops, post_dominators, reach, reverse
from .instructions import CALLER_SAVED, SP, ZERO, Instruction, mask
from .values import Values, Written

__all__ = ["Shape", "State", "Uniformity", "analyse", "entry_state"]

#: The same in all lanes at the entry: where it returns to, the global pointers, and what the runtime keeps (context.h).
_UNIFORM_AT_ENTRY = mask("zero ra gp tp s9 s10 s11")
#: Also those in which a block's number stands: they are in a block of several threads (context.h).
_BLOCK_NUMBERS = mask("s2 s3 s4 s8")
_ALL = (1 << 64) - 1


@dataclass(frozen=True)
class State:
    """What is known before an instruction: registers that may differ between lanes, and frame words that do not."""

    divergent: int
    #: Offsets from the stack pointer at the function's entry.
    slots: frozenset[int]

    def meet(self, other: State) -> State:
        """What holds on both ways."""
        return State(self.divergent | other.divergent, self.slots & other.slots)


@dataclass
class Uniformity:
    """What an analysis has found."""

    #: Blocks whose branch lanes may disagree about.
    divergent: set[str] = field(default_factory=set)
    #: Headers of the loops that lanes leave at different times.
    loops: set[str] = field(default_factory=set)
    #: Blocks that lanes of a warp may run at different times.
    apart: set[str] = field(default_factory=set)
    #: Each call, and the state before it.
    calls: list[tuple[Instruction, State]] = field(default_factory=list)
    #: Registers that are the same in all lanes at the return.
    results: int = 0


def entry_state(arguments: int, block_numbers: bool) -> State:
    """The state at the entry where these argument registers are the same in all lanes."""
    uniform = _UNIFORM_AT_ENTRY | arguments | (_BLOCK_NUMBERS if block_numbers else 0)
    return State(_ALL & ~uniform, frozenset())


class Shape:
    """What holds for a function whoever calls it: where it goes, its loops, its frame, where its values come from."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.edges = function.edges()
        self.lost = function.lost(self.edges)
        self.loops = loops(function)
        self.innermost: dict[str, Loop] = {}
        for loop in self.loops:
            self.innermost.update(dict.fromkeys(loop.body, loop))
        self.frame = Frame(function)
        self.values = Values(function, self.frame)
        self.written = {name: self._written(name) for name in function.blocks}

    def _written(self, name: str) -> Written:
        registers, slots = 0, set()
        pointer = self.frame.before.get(name)
        for instruction in self.function.blocks[name].instructions:
            registers |= instruction.writes
            if instruction.kind == "store" and (slot := self.frame.word(instruction, pointer)) is not None:
                slots.add(slot)
            pointer = self.frame.after(instruction, pointer)
        return registers, frozenset(slots)


class _Analysis:
    def __init__(self, shape: Shape, start: State, results: Callable[[str], int], everything: bool) -> None:
        self.start, self.results, self.everything = start, results, everything
        self.function, self.edges, self.lost = shape.function, shape.edges, shape.lost
        self.loops, self.innermost = shape.loops, shape.innermost
        self.frame, self.values, self.written = shape.frame, shape.values, shape.written
        self.before: dict[str, State] = {}
        self.taints: dict[str, Written] = {}
        self.result = Uniformity()

    # ---- values ----

    def _step(self, instruction: Instruction, state: State, pointer: int | None) -> State:
        divergent, slots = state.divergent, state.slots
        differs = instruction.lanes or bool(instruction.reads & divergent)
        if instruction.kind == "call":
            same = self.results(instruction.target) | mask("ra")
            return State((divergent | CALLER_SAVED) & ~same, slots)
        slot = self.frame.word(instruction, pointer)
        if instruction.kind == "store":
            if slot is not None:
                slots = slots - {slot} if divergent >> instruction.registers[0] & 1 else slots | {slot}
            return State(divergent, slots)
        if slot is not None:
            differs = slot not in slots
        elif instruction.kind == "simt":
            differs = True
        divergent = divergent | instruction.writes if differs else divergent & ~instruction.writes
        # Each lane has a stack of its own.
        return State((divergent | 1 << SP) & ~(1 << ZERO), slots)

    def _flow(self) -> None:
        """States at the blocks' beginnings from the taints as they are; the divergent branches among them."""
        self.before = {self.function.entry: self.start}
        work = {self.function.entry: None}
        while work:
            name = next(iter(work))
            del work[name]
            state = self._through(name)
            for target in self.edges[name]:
                new = self._tainted(target, state)
                old = self.before.get(target)
                new = new if old is None else old.meet(new)
                if new != old:
                    self.before[target] = new
                    work[target] = None
        for name, block in self.function.blocks.items():
            if name in self.before and self._disagree(name, block):
                self.result.divergent.add(name)

    def _tainted(self, name: str, state: State) -> State:
        registers, slots = self.taints.get(name, (0, frozenset()))
        return State((state.divergent | registers) & ~1, state.slots - slots)

    def _through(self, name: str, see: Callable[[Instruction, State], None] | None = None) -> State:
        state, pointer = self.before[name], self.frame.before.get(name)
        for instruction in self.function.blocks[name].instructions:
            if see is not None:
                see(instruction, state)
            state = self._step(instruction, state, pointer)
            pointer = self.frame.after(instruction, pointer)
        return state

    def _disagree(self, name: str, block: Block) -> bool:
        if block.kind == "indirect" and block.end is not None:
            return bool(self._through(name).divergent & block.end.reads)
        if block.branch is None or block.targets[0] == block.targets[1]:
            return False
        # What one_header adds is taken for divergent.
        if self.everything or not isinstance(block.branch, Instruction):
            return True
        return bool(self._through(name).divergent & block.branch.reads)

    # ---- where lanes are apart ----

    def _node(self, name: str, level: Loop | None) -> str | Loop:
        """The block, or the outermost loop around it within the level that lanes leave at different times."""
        found: str | Loop = name
        loop = self.innermost.get(name)
        while loop is not level and loop is not None:
            if loop.header in self.result.loops:
                found = loop
            loop = loop.parent
        return found

    def _level(self, level: Loop | None) -> dict[object, list[object]]:
        edges: dict[object, list[object]] = {}
        # Who leaves a loop to end the program need not be waited for.
        lost = self.lost if level is not None and level.header not in self.lost else ()
        names: Iterable[str] = level.body if level else [name for name in self.function.blocks if name in self.before]
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
        meet = post_dominators(edges, "END") if level is not None else self._meetings(edges)
        for node in list(edges):
            if isinstance(node, Loop):
                if node.parent is level:
                    self._look_at_node(node, edges, meet, level)
            elif node in self.result.divergent and self.innermost.get(str(node)) is level:
                self._look_at_node(node, edges, meet, level)

    def _meetings(self, edges: Mapping[object, list[object]]) -> Mapping[object, object]:
        """As Function.meetings, of the function's own level."""
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
            raise _Endless(node.header if isinstance(node, Loop) else str(node))
        self.result.apart |= blocks
        sources = blocks | self._blocks([node])
        where = meet[node]
        if where == "END":
            assert level is not None
            self.result.loops.add(level.header)
            again = [target for target in targets if "AGAIN" in reach(edges, [target])]
            if len(again) > 1:
                self._taint(level.header, blocks, sources)
        elif where == "AGAIN":
            assert level is not None
            self._taint(level.header, blocks, sources)
        elif where != "EXIT":
            self._taint(where.header if isinstance(where, Loop) else str(where), blocks, sources)

    def _blocks(self, nodes: Iterable[object]) -> set[str]:
        result: set[str] = set()
        for node in nodes:
            result |= node.body if isinstance(node, Loop) else {str(node)}
        return result

    def _taint(self, name: str, blocks: set[str], sources: set[str]) -> None:
        """Lanes that were apart in ``blocks`` come to block ``name`` from ``sources``."""
        if name not in self.before:
            return
        registers, slots = self.taints.get(name, (0, frozenset()))
        changed = 0
        words: set[int] = set()
        for block in blocks:
            changed |= self.written[block][0]
            words |= self.written[block][1]
        for number in range(64):
            if changed & ~registers & 1 << number and self.values.differ(name, sources, blocks, number):
                registers |= 1 << number
        slots |= {word for word in words if self.values.differ(name, sources, blocks, ("word", word))}
        self.taints[name] = (registers, slots)

    def run(self) -> Uniformity:
        while True:
            before = (len(self.result.divergent), len(self.result.loops), dict(self.taints))
            self._flow()
            for loop in reversed(self.loops):
                self._look_at(loop)
                if loop.header in self.result.loops:
                    self.result.apart |= loop.body
                    for name in loop.body:
                        for target in self.edges[name]:
                            if target not in loop.body and target not in self.lost:
                                self._taint(target, loop.body, loop.body)
            self._look_at(None)
            if (len(self.result.divergent), len(self.result.loops), self.taints) == before:
                break
        self._conclude()
        return self.result

    def _conclude(self) -> None:
        for name in self.function.blocks:
            if name in self.before:
                self._through(name, self._note_call)
        last = self.before.get(self.function.last)
        self.result.results = 0 if last is None else ~last.divergent & mask("a0 a1 fa0 fa1")

    def _note_call(self, instruction: Instruction, state: State) -> None:
        if instruction.kind == "call":
            self.result.calls.append((instruction, state))


class _Endless(Exception):
    """Lanes part at this block, and some of them never come back."""


def analyse(
    shape: Shape, start: State, results: Callable[[str], int], everything: bool,
    refuse: Callable[[Block, str], SimtError],
) -> Uniformity:
    """Analyse a function.

    Parameters
    ----------
    shape
        The function, whose loops have one header each.
    start
        The state at its entry (:func:`entry_state`).
    results
        The registers that are the same in all lanes behind a call of a symbol.
    everything
        Take all branches for divergent: a test of the pass.
    refuse
        Makes the error for a block and a reason.

    Raises
    ------
    SimtError
        For an endless loop that some lanes of a warp may be in while others are not.
    """
    analysis = _Analysis(shape, start, results, everything)
    try:
        return analysis.run()
    except _Endless as error:
        block = shape.function.blocks[str(error)]
        raise refuse(block, "an endless loop where lanes have parted: the others would wait for ever") from None
