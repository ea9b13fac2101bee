"""Where the value in a register or frame word comes from: it stays the same in copies, and saved and loaded again."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from .frame import Frame
from .graph import Function
from .instructions import Instruction

__all__ = ["Values", "Written"]

#: A register's number, or ("word", offset).
Place = Hashable
#: (block, number of the instruction or -1 where ways with different values meet, place); block "" is the entry.
Value = tuple[str, int, Place]
#: Registers (a bit each) and frame words that a block writes.
Written = tuple[int, frozenset[int]]

_COPIES = {"mv", "fmv.s"}


class Values:
    """The origin of each value at the beginning of each block."""

    def __init__(self, function: Function, frame: Frame) -> None:
        self.function, self.frame = function, frame
        self.before: dict[str, dict[Place, Value]] = {function.entry: {}}
        self._met: dict[str, set[Place]] = {name: set() for name in function.blocks}
        work = {function.entry: None}
        while work:
            name = next(iter(work))
            del work[name]
            behind = self._through(name)
            for target in dict.fromkeys(function.blocks[name].targets):
                if self._meet(target, behind):
                    work[target] = None

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
        written, register = instruction.writes, 0
        while written:
            if written & 1:
                state[register] = (name, number, register)
            written, register = written >> 1, register + 1

    def _meet(self, name: str, behind: Mapping[Place, Value]) -> bool:
        """Bring what is known behind a way to the block that it leads to; whether that knows something new."""
        if name not in self.before:
            self.before[name] = dict(behind)
            return True
        state, changed = self.before[name], False
        for place in {*state, *behind} - self._met[name]:
            if of(state, place) != of(behind, place):
                state[place] = (name, -1, place)
                self._met[name].add(place)
                changed = True
        return changed

    def made_in(self, name: str, blocks: set[str], place: Place) -> bool:
        """Whether the value at the beginning of a block was made in these blocks, or other values meet there."""
        origin, number, _ = of(self.before[name], place)
        return origin in blocks or (origin == name and number < 0)


def of(state: Mapping[Place, Value], place: Place) -> Value:
    """What stands at a place; at first each has what it had at the entry."""
    return state.get(place, ("", 0, place))
