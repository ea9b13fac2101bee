"""A function's stack frame: which word a load or store goes to, and which words nothing else can reach."""

from __future__ import annotations

from .graph import Function
from .instructions import SP, Instruction

__all__ = ["Frame"]

#: Below all offsets.
_NOWHERE = -(1 << 40)


class Frame:
    """The stack pointer at each instruction, and which words of the frame no pointer leads to."""

    def __init__(self, function: Function) -> None:
        self.before: dict[str, int | None] = {function.entry: 0}
        self.taken = 0
        work = [function.entry]
        while work:
            name = work.pop()
            pointer = self.before[name]
            for instruction in function.blocks[name].instructions:
                self._look(instruction, pointer)
                pointer = self.after(instruction, pointer)
            for target in function.blocks[name].targets:
                if target not in self.before:
                    self.before[target] = pointer
                    work.append(target)
                elif self.before[target] not in (pointer, None):
                    self.before[target] = None
                    work.append(target)

    @staticmethod
    def after(instruction: Instruction, pointer: int | None) -> int | None:
        """The stack pointer behind an instruction, None if it is not known."""
        if not instruction.writes & 1 << SP:
            return pointer
        if instruction.op == "addi" and instruction.operands[1] == "sp" and pointer is not None:
            return pointer + int(instruction.operands[2], 0)
        return None

    def _look(self, instruction: Instruction, pointer: int | None) -> None:
        if not instruction.reads & 1 << SP or instruction.writes & 1 << SP or instruction.kind in ("call", "return"):
            return
        if instruction.size and (instruction.kind == "load" or instruction.registers[:1] != (SP,)):
            return
        plain = instruction.op in ("addi", "mv") and pointer is not None
        offset = int(instruction.operands[2], 0) if plain and instruction.op == "addi" else 0
        self.taken = min(self.taken, (pointer or 0) + offset if plain else _NOWHERE)

    def word(self, instruction: Instruction, pointer: int | None) -> int | None:
        """The place of the word that a load or store goes to, if it is one of the frame's; None: elsewhere, unknown."""
        base = instruction.base
        if base is None or base[0] != SP or pointer is None or instruction.size != 4:
            return None
        try:
            offset = pointer + int(base[1], 0)
        except ValueError:
            return None
        return offset if offset < self.taken else None
