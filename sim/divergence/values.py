"""Where the value in a register or frame word comes from: it stays the same in copies, and saved and loaded again."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping

from .frame import Frame
from .graph import Function, reverse
from .instructions import Instruction

__all__ = ["Values", "Written"]

#: A register's number, or ("word", offset).
Place = Hashable
#: (block, number of the instruction or -1 where ways with different values meet, place); block "" is the entry.
Value = tuple[str, int, Place]
#: Registers (a bit each) and frame words that a block writes.
Written = tuple[int, frozenset[int]]

_COPIES = {"mv", "fmv.s"}
_CONSTANTS = {"li", "lui"}
#: More than enough for most functions.
_FREE_TURNS = 30


class Values:
    """The origin of each value at the beginning of each block."""

    def __init__(self, function: Function, frame: Frame) -> None:
        self.function, self.frame = function, frame
        self.before: dict[str, dict[Place, Value]] = {function.entry: {}}
        self._met: dict[str, set[Place]] = {name: set() for name in function.blocks}
        self._sources = reverse(function.edges())
        behind: dict[str, dict[Place, Value]] = {}
        for turn in itertools.count():
            changed = False
            for name in function.blocks:
                known = [behind[source] for source in self._sources[name] if source in behind]
                if name != function.entry:
                    if not known:
                        continue
                    self.before[name] = self._meet(name, known, keep=turn > _FREE_TURNS)
                new = self._through(name)
                if behind.get(name) != new:
                    behind[name], changed = new, True
            if not changed:
                break

    def _through(self, name: str) -> dict[Place, Value]:
        state, pointer = dict(self.before[name]), self.frame.before.get(name)
        for number, instruction in enumerate(self.function.blocks[name].instructions):
            self._step(state, name, number, instruction, pointer)
            pointer = self.frame.after(instruction, pointer)
        return state

    def _step(
        self, state: dict[Place, Value], name: str, number: int, instruction: Instruction, pointer: int | None
    ) -> None:
        slot = self.frame.word(instruction, pointer)
        if instruction.kind == "store":
            if slot is not None:
                state["word", slot] = of(state, instruction.registers[0])
            return
        if instruction.op in _COPIES:
            target, source = instruction.registers
            state[target] = of(state, source)
            return
        if instruction.kind == "load" and slot is not None:
            state[instruction.registers[0]] = of(state, ("word", slot))
            return
        if instruction.op in _CONSTANTS:
            # The same wherever it is made again, which compilers do to save a register.
            state[instruction.registers[0]] = ("", 0, (instruction.op, *instruction.operands[1:]))
            return
        written, register = instruction.writes, 0
        while written:
            if written & 1:
                state[register] = (name, number, register)
            written, register = written >> 1, register + 1

    def _meet(self, name: str, known: list[dict[Place, Value]], keep: bool) -> dict[Place, Value]:
        """What is at the beginning of a block that these ways lead to.

        Where they bring different values there is a new one. ``keep``: what has once been such a one stays it, so that
        the search ends.
        """
        state: dict[Place, Value] = {}
        for place in {place for way in known for place in way}:
            own = (name, -1, place)
            values = {of(way, place) for way in known} - {own}
            if len(values) > 1 or (keep and place in self._met[name]):
                self._met[name].add(place)
                state[place] = own
            else:
                state[place] = values.pop() if values else own
        return state

    def made_in(self, name: str, blocks: set[str], place: Place) -> bool:
        """Whether the value at the beginning of a block was made in these blocks, or other values meet there."""
        origin, number, _ = of(self.before[name], place)
        return origin in blocks or (origin == name and number < 0)


def of(state: Mapping[Place, Value], place: Place) -> Value:
    """What stands at a place; at first each has what it had at the entry."""
    return state.get(place, ("", 0, place))
