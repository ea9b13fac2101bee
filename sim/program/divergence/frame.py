"""A function's stack frame: the words that registers are saved in and loaded from."""

from __future__ import annotations

from .graph import Function
from .instructions import SP, Instruction

__all__ = ["Frame"]


class Frame:
    """The stack pointer at each instruction, relative to the function's entry."""

    def __init__(self, function: Function) -> None:
        self.before: dict[str, int | None] = {function.entry: 0}
        work = [function.entry]
        while work:
            name = work.pop()
            pointer = self.before[name]
            for instruction in function.blocks[name].instructions:
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
        """The stack pointer after an instruction, None if unknown."""
        if not instruction.writes & 1 << SP:
            return pointer
        if instruction.op == "addi" and instruction.operands[1] == "sp" and pointer is not None:
            return pointer + int(instruction.operands[2], 0)
        return None

    @staticmethod
    def word(instruction: Instruction, pointer: int | None) -> int | None:
        """The word that an instruction saves a register in or loads it from.

        None for other loads and stores, and if the stack pointer is unknown.
        """
        base = instruction.base
        if not instruction.spill or pointer is None or base is None or base[0] != SP:
            return None
        if not base[1].lstrip("-").isdigit():
            return None
        return pointer + int(base[1])
