"""Allocate a register or a word of memory for each value that the pass adds.

A register is suitable if the function neither needs nor changes it while the value is needed. If there is none, as a
call may change all registers, the value goes to memory: to a stack of the pass's own that grows upwards from
the lowest address of each hart's stack, with its pointer in s0. s1 and gp hold values that are needed for only a few
instructions: without relaxation by the linker, no code uses gp. (A callee-saved register of the function, saved and
restored, would not do: a lane that waits at one pred may continue after another one.)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from .graph import Block, Function, Insertion, Virtual
from .instructions import FREE, Instruction

__all__ = ["TooManyValues", "place_values"]

#: s1 and gp.
_SCRATCH = (9, 3)
#: Registers needed within one block.
_SHORT = ("scratch", "condition", "difference")
#: The range of a load's or store's offset.
_MOST_BYTES = 2044


class TooManyValues(Exception):
    """The values do not fit into one function's share of the pass's stack."""


class _Liveness:
    """The registers and added values that are live at each place."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.values: dict[Virtual, int] = {}
        self.after: dict[str, int] = {}
        self._solve()

    def bit(self, operand: Virtual | int) -> int:
        """The bit of a register, or of an added value after the 64 registers."""
        if isinstance(operand, int):
            return 1 << operand
        return 1 << self.values.setdefault(operand, 64 + len(self.values))

    def effect(self, item: Instruction | Insertion) -> tuple[int, int]:
        """The registers that an instruction reads and writes."""
        if isinstance(item, Instruction):
            return item.reads, item.writes
        reads = writes = 0
        for operand in item.reads:
            reads |= self.bit(operand)
        for operand in item.writes:
            writes |= self.bit(operand)
        return reads & ~1, writes & ~1

    @staticmethod
    def items(block: Block) -> list[Instruction | Insertion]:
        return [item for item in (*block.items, block.branch, block.end) if isinstance(item, (Instruction, Insertion))]

    def _solve(self) -> None:
        edges = self.function.edges()
        gen, kill = {}, {}
        for name, block in self.function.blocks.items():
            needed = written = 0
            for item in self.items(block):
                reads, writes = self.effect(item)
                needed |= reads & ~written
                written |= writes
            gen[name], kill[name] = needed, written
        before = dict.fromkeys(edges, 0)
        changed = True
        while changed:
            changed = False
            for name in reversed(edges):
                after = 0
                for target in edges[name]:
                    after |= before[target]
                new = gen[name] | after & ~kill[name]
                self.after[name] = after
                if new != before[name]:
                    before[name], changed = new, True

    def conflicts(self) -> dict[Virtual, int]:
        """The registers that each added value may not share."""
        result = dict.fromkeys(self.values, 0)
        names = {1 << number: value for value, number in self.values.items()}
        added = ((1 << len(self.values)) - 1) << 64
        for name, block in self.function.blocks.items():
            live = self.after[name]
            for item in reversed(self.items(block)):
                reads, writes = self.effect(item)
                # A write must not destroy a value that is live after it; values live together conflict.
                self._clash(result, names, (live | writes) & added, live | writes)
                live = live & ~writes | reads
                self._clash(result, names, live & added, live)
        return result

    def together(self) -> dict[Virtual, set[Virtual]]:
        """The added values with which each may not share a place."""
        conflicts = self.conflicts()
        return {
            value: {other for other, place in self.values.items() if taken >> place & 1}
            for value, taken in conflicts.items()
        }

    @staticmethod
    def _clash(result: dict[Virtual, int], names: dict[int, Virtual], added: int, live: int) -> None:
        while added:
            bit = added & -added
            result[names[bit]] |= live & ~bit
            added &= added - 1


def place_values(function: Function) -> dict[Virtual, int]:
    """Return a register for each added value; values without one are moved to memory first.

    Raises
    ------
    TooManyValues
        If they need more memory than an instruction can address.
    """
    live = _Liveness(function)
    together = live.together()
    words: dict[Virtual, int] = {}
    while True:
        chosen, homeless = _choose(live)
        if not homeless:
            break
        for value in homeless:
            assert value.name != "scratch", "an instruction needs two registers at most"
            # Below the pointer, so that the place does not depend on their final number.
            taken = {words[other] for other in together[value] if other in words}
            words[value] = next(number for number in itertools.count(1) if number not in taken)
        _spill(function, {value: -4 * words[value] for value in homeless})
        live = _Liveness(function)
    if words:
        size = 4 * max(words.values())
        if size > _MOST_BYTES:
            raise TooManyValues
        function.blocks[function.entry].items.insert(0, Insertion(f"addi\ts0, s0, {size}"))
        function.blocks[function.last].items.append(Insertion(f"addi\ts0, s0, {-size}"))
    return chosen


def _choose(live: _Liveness) -> tuple[dict[Virtual, int], list[Virtual]]:
    conflicts = live.conflicts()
    numbers = {number: value for value, number in live.values.items()}
    chosen: dict[Virtual, int] = {}
    homeless: list[Virtual] = []
    # Values for a few instructions first: they have no other place.
    for value in sorted(conflicts, key=lambda one: (one.name != "scratch", live.values[one])):
        taken = conflicts[value]
        for place, other in numbers.items():
            if taken >> place & 1 and other in chosen:
                taken |= 1 << chosen[other]
        pool = (*_SCRATCH, *FREE) if value.name in _SHORT else FREE
        free = next((one for one in pool if not taken >> one & 1), None)
        if free is None:
            homeless.append(value)
        else:
            chosen[value] = free
    return chosen, homeless


def _spill(function: Function, slots: dict[Virtual, int]) -> None:
    """Load these before each instruction that reads them, store them after each that writes them."""
    for block in function.blocks.values():
        block.items = list(_spilled(block.items, slots))
        if isinstance(block.branch, Insertion) and any(value in slots for value in block.branch.reads):
            *loads, branch = _spilled([block.branch], slots)
            assert isinstance(branch, Insertion), "a branch writes nothing"
            block.items += loads
            block.branch = branch


def _spilled(
    items: Sequence[Instruction | Insertion | str], slots: dict[Virtual, int]
) -> Iterator[Instruction | Insertion | str]:
    for item in items:
        if not isinstance(item, Insertion) or not any(value in slots for value in (*item.reads, *item.writes)):
            yield item
            continue
        instead: dict[Virtual | int, Virtual] = {
            value: Virtual("scratch") for value in (*item.reads, *item.writes) if value in slots
        }
        for value in dict.fromkeys(item.reads):
            if value in slots:
                yield Insertion(f"lw\t{{0}}, {slots[value]}(s0)", (instead[value],))
        yield Insertion(
            item.text, tuple(instead.get(value, value) for value in item.writes),
            tuple(instead.get(value, value) for value in item.reads),
        )
        for value in dict.fromkeys(item.writes):
            if value in slots:
                yield Insertion(f"sw\t{{0}}, {slots[value]}(s0)", (), (instead[value],))
