"""Loops of a function, and the order in which the paths through it advance.

The order is a weak topological order (Bourdoncle 1993): every loop is contiguous, with its header first, so all of a
loop comes before the code after it. A call is a step to the next instruction. Returns and jumps to unknown places have
no successor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from metronome.hdl.isa.ops import BranchOp, SimtOp, Unit
from metronome.hdl.isa.table import ImmFormat

from .decoding import Decoded

__all__ = ["Function", "target_of"]


def target_of(code: Decoded, pc: int) -> int | None:
    """Return the target of a branch or ``jal`` at ``pc``; None for other instructions."""
    word = code.word
    if code.row.imm is ImmFormat.B:
        offset = (word >> 25 & 63) << 5 | (word >> 8 & 15) << 1 | (word >> 7 & 1) << 11
        return pc + offset - (word >> 31 << 12) & 0xFFFF_FFFF
    if code.row.op is BranchOp.JAL:
        offset = (word >> 21 & 0x3FF) << 1 | (word >> 20 & 1) << 11 | (word >> 12 & 0xFF) << 12
        return pc + offset - (word >> 31 << 20) & 0xFFFF_FFFF
    return None


def _steps(code: Decoded, pc: int) -> list[int]:
    """Return the successors of an instruction in its function; that of a call is the next instruction."""
    following, target = pc + 4 & 0xFFFF_FFFF, target_of(code, pc)
    if code.unit is Unit.BRANCH:
        linked = code.writes is not None
        if target is None:
            return [following] if linked else []
        if code.row.op is BranchOp.JAL:
            return [following] if linked else [target]
        return [following, target]
    return [following]


class Function:
    """The instructions of one function in order; ``read`` returns the instruction at a pc, or None."""

    def __init__(self, entry: int, read: Callable[[int], Decoded | None]) -> None:
        self.entry = entry
        self._steps: dict[int, list[int]] = {}
        pending = [entry]
        while pending:
            pc = pending.pop()
            if pc in self._steps:
                continue
            code = read(pc)
            ends = code is None or (code.unit is Unit.SIMT and code.row.op is SimtOp.TMC and not code.reads)
            self._steps[pc] = [] if ends or code is None else _steps(code, pc)
            pending += self._steps[pc]
        #: For each pc, its place in the order, and the headers of the loops around it, outermost first.
        self.place: dict[int, int] = {}
        self.loops: dict[int, tuple[int, ...]] = {}
        self._order()

    def goes_back(self, header: int) -> int:
        """Count the branches of a loop back to its header. If there are several, two loops may share the header."""
        return sum(header in self._steps[pc] for pc, around in self.loops.items() if header in around)

    def _order(self) -> None:
        """Number strongly connected components in topological order, then those inside each without its header."""
        number = 0
        for part in _components(sorted(self._steps), [self.entry], self._steps):
            number = self._lay(part, (), number)

    def _lay(self, part: list[int], around: tuple[int, ...], number: int) -> int:
        """Number a component inside the loops ``around``; return the next number."""
        head = part[0]
        if len(part) == 1 and head not in self._steps[head]:
            self.place[head], self.loops[head] = number, around
            return number + 1
        loops = (*around, head)
        self.place[head], self.loops[head] = number, loops
        number += 1
        rest = [each for each in part if each != head]
        inside = set(rest)
        entries = [each for each in self._steps[head] if each in inside]
        for inner in _components(rest, entries, self._steps):
            number = self._lay(inner, loops, number)
        return number


class _Components:
    """Strongly connected components of a graph, by Tarjan's algorithm."""

    def __init__(self, nodes: list[int], steps: dict[int, list[int]]) -> None:
        self._inside, self._steps = set(nodes), steps
        self._index: dict[int, int] = {}
        self._low: dict[int, int] = {}
        self._path: list[int] = []
        self._on_path: set[int] = set()
        self._work: list[tuple[int, Iterator[int]]] = []
        self.parts: list[list[int]] = []

    def visit(self, root: int) -> None:
        """Find the components reachable from a node."""
        if root in self._index or root not in self._inside:
            return
        self._enter(root)
        while self._work:
            node, following = self._work[-1]
            fresh = next((each for each in following if self._see(node, each)), None)
            if fresh is None:
                self._leave(node)
            else:
                self._enter(fresh)

    def _enter(self, node: int) -> None:
        self._index[node] = self._low[node] = len(self._index)
        self._path.append(node)
        self._on_path.add(node)
        self._work.append((node, iter(self._steps[node])))

    def _see(self, node: int, following: int) -> bool:
        """Update the low link of ``node``; return whether ``following`` has yet to be entered."""
        if following in self._on_path:
            self._low[node] = min(self._low[node], self._index[following])
        return following in self._inside and following not in self._index

    def _leave(self, node: int) -> None:
        self._work.pop()
        if self._work:
            parent = self._work[-1][0]
            self._low[parent] = min(self._low[parent], self._low[node])
        if self._low[node] == self._index[node]:
            at = self._path.index(node)
            part = self._path[at:]
            del self._path[at:]
            self._on_path.difference_update(part)
            self.parts.append(part)


def _components(nodes: list[int], entries: list[int], steps: dict[int, list[int]]) -> list[list[int]]:
    """Return the strongly connected components of ``nodes`` in topological order, each with its entry first."""
    search = _Components(nodes, steps)
    for root in [*entries, *nodes]:
        search.visit(root)
    return search.parts[::-1]
