"""Values that may differ between lanes, if lanes diverge and reconverge only where the analysis says so.

Forward dataflow on registers and on words of the stack frame. A value differs between lanes if it derives from one
that differs: the lane number, the stack's address, memory at an address that differs. If two values differ by the
same sum, their difference is the same in all lanes, and so is whether they are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .affine import NOTHING, Affine, alone, computed, multiplied
from .frame import Frame
from .graph import Function, Loop, loops, reverse
from .instructions import CALLER_SAVED, Instruction, bits, mask, register
from .values import Place, Value, Values, Written

__all__ = ["Flow", "Shape", "State", "entry_state"]

#: Uniform at the entry: the return address, the global pointers, and the registers that the runtime keeps (context.h).
_UNIFORM_AT_ENTRY = mask("zero ra gp tp s9 s10 s11")
#: Also those that hold a block's number: uniform in a block of several threads (context.h).
_BLOCK_NUMBERS = mask("s2 s3 s4 s8")
_ALL = (1 << 64) - 1
#: Runtime functions that load their result from the first of the cells in their argument: the registers of the cells,
#: and of the result. Without F, the cells of the second one are its second argument.
_SUMS = {
    "block_sum": ((mask("a1"), mask("a0")),),
    "block_sum_float": ((mask("a0"), mask("fa0")), (mask("a1"), mask("a0"))),
}
_ONE, _TWO, _THREE = mask("a0"), mask("a0 a1"), mask("a0 a1 a2")
#: The routines of soft float in the same form: their result depends on their arguments alone.
_ROUTINES = {
    **{f"__{name}sf3": ((_TWO, _ONE),) for name in ("add", "sub", "mul", "div")},
    **{f"__{name}sf2": ((_TWO, _ONE),) for name in ("eq", "ne", "lt", "le", "gt", "ge", "unord")},
    **dict.fromkeys(("fminf", "fmaxf", "__floatdisf", "__floatundisf"), ((_TWO, _ONE),)),
    **dict.fromkeys(("__floatsisf", "__floatunsisf", "__fixsfsi", "__fixunssfsi", "sqrtf"), ((_ONE, _ONE),)),
    **dict.fromkeys(("__fixsfdi", "__fixunssfdi"), ((_ONE, _TWO),)),
    "fmaf": ((_THREE, _ONE),),
}
#: More than enough for most functions.
_FREE_TURNS = 30


@dataclass
class State:
    """The state before an instruction: registers that may differ between lanes, and frame words that do not.

    For a place that differs, ``parts`` has the sum (affine.py) that differs: the rest is the same in all lanes.
    """

    divergent: int
    #: Offsets from the stack pointer at the function's entry.
    slots: frozenset[int] = frozenset()
    parts: dict[Place, Affine] = field(default_factory=dict)
    #: Registers that a branch has found to be zero, and their sums before it.
    were: dict[int, Affine] = field(default_factory=dict)

    def copy(self) -> State:
        """Return a copy to modify."""
        return State(self.divergent, self.slots, dict(self.parts), dict(self.were))

    def put(self, register: int, part: Affine) -> None:
        """Write a value that differs by ``part`` to a register."""
        self.were.pop(register, None)
        if part:
            self.divergent |= 1 << register
            self.parts[register] = part
        else:
            self.divergent &= ~(1 << register)
            self.parts.pop(register, None)

    def save(self, register: int, slot: int) -> None:
        """Store a register in a frame word."""
        if self.divergent >> register & 1:
            self.slots -= {slot}
            self.parts["word", slot] = self.parts[register]
        else:
            self.slots |= {slot}
            self.parts.pop(("word", slot), None)


def entry_state(arguments: int, block_numbers: bool) -> State:
    """The state at the entry, where these argument registers are the same in all lanes."""
    uniform = _UNIFORM_AT_ENTRY | arguments | (_BLOCK_NUMBERS if block_numbers else 0)
    divergent = _ALL & ~uniform
    return State(divergent, parts={number: alone(("", 0, number)) for number in range(64) if divergent >> number & 1})


class Shape:
    """Facts about a function that hold for every caller: its graph, loops, frame, and the origins of its values."""

    def __init__(self, function: Function, constant: Callable[[str], bool]) -> None:
        self.function = function
        self.edges = function.edges()
        self.lost = function.lost(self.edges)
        self.loops = loops(function)
        self.innermost: dict[str, Loop] = {}
        for loop in self.loops:
            self.innermost.update(dict.fromkeys(loop.body, loop))
        self.frame = Frame(function)
        self.values = Values(function, self.frame, constant)
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


class Flow:
    """The states of a function's blocks.

    Parameters
    ----------
    shape
        The function.
    start
        The state at its entry.
    results
        The registers that are the same in all lanes after a call of a symbol; None for a function of the runtime.
    around_barriers
        Look into products, too, and assume that no value that is compared has passed the end of its range: then, if two
        values differ by the same sum, which one is smaller is the same in all lanes.
    """

    def __init__(self, shape: Shape, start: State, results: Callable[[str], int | None], around_barriers: bool) -> None:
        self.shape, self.function, self.around_barriers = shape, shape.function, around_barriers
        self.start, self.results = start, results
        self.sources = reverse(shape.edges)
        #: The states at the beginnings and ends of the blocks that are reached.
        self.before: dict[str, State] = {}
        self.behind: dict[str, State] = {}
        #: Registers and words at a block's beginning that differ because diverged lanes bring different values.
        self.taints: dict[str, Written] = {}
        #: Registers that have been independent values at a block's beginning.
        self._kept: dict[str, set[int]] = {}

    def _step(self, instruction: Instruction, state: State, pointer: int | None, name: str, number: int) -> None:
        if instruction.kind == "call":
            known = self.results(instruction.target)
            same = (known or 0) | mask("ra")
            rules = _SUMS if instruction.target in _SUMS or known is not None else _ROUTINES
            for arguments, result in rules.get(instruction.target, ()):
                same |= 0 if state.divergent & arguments else result
            for place in bits(CALLER_SAVED):
                state.put(place, NOTHING if same >> place & 1 else alone((name, number, place)))
            return
        slot = self.shape.frame.word(instruction, pointer)
        if instruction.kind == "store":
            if slot is not None:
                state.save(instruction.registers[0], slot)
            return
        if not instruction.writes:
            return
        if slot is not None:
            differs, part = slot not in state.slots, state.parts.get(("word", slot))
        else:
            differs = instruction.lanes or instruction.kind == "simt" or bool(instruction.reads & state.divergent)
            part = self._sum(instruction, state, name, number)
        if not differs:
            part = NOTHING
        elif part is None:
            part = self.shape.values.result(name, number)
        state.put(instruction.writes.bit_length() - 1, part)

    def _sum(self, instruction: Instruction, state: State, name: str, number: int) -> Affine | None:
        """Return the sum that the result differs by, from those of the operands."""
        if not instruction.is_computation:
            return None
        operands = [
            state.parts.get(register(operand), NOTHING) if instruction.is_register(operand) else operand
            for operand in instruction.operands[1:]
        ]
        if self.around_barriers and instruction.op in ("slt", "sltu") and operands[0] == operands[1]:
            return NOTHING
        if self.around_barriers and instruction.op == "mul":
            first, second = (operand for operand in operands if not isinstance(operand, str))
            return self._product(first, second, self.shape.values.operands(name, number))
        return computed(instruction.op, operands)

    @staticmethod
    def _product(first: Affine, second: Affine, values: Sequence[Value]) -> Affine | None:
        """Return the sum that a product differs by: each part of one factor, times the other if that one is uniform."""
        if first and second:
            return None
        return multiplied(first or second, values[0 if second else 1])

    def run(self) -> None:
        """Compute the states at the blocks' beginnings from the current taints."""
        self.before, self.behind, self._kept = {}, {}, {}
        turns: dict[str, int] = {}
        work = {self.function.entry: None}
        while work:
            name = next(iter(work))
            del work[name]
            turns[name] = turns.get(name, 0) + 1
            state = self._meet(name, keep=turns[name] > _FREE_TURNS)
            if name in self.before and state == self.before[name]:
                continue
            self.before[name] = state
            self.behind[name] = self.through(name)
            work |= dict.fromkeys(self.shape.edges[name])

    def _meet(self, name: str, keep: bool) -> State:
        """Merge the known states of a block's predecessors into the state at its beginning.

        If a register differs by different sums, it becomes a value by itself. With ``keep``, a register that once
        became such a value remains one, so that the search ends.
        """
        known = [self.behind[source] for source in self.sources[name] if source in self.behind]
        if name == self.function.entry:
            known.append(self.start)
        registers, slots = self.taints.get(name, (0, frozenset()))
        state = State(0, frozenset.intersection(*(one.slots for one in known)) - slots)
        kept = self._kept.setdefault(name, set())
        divergent = registers
        for one in known:
            divergent |= one.divergent
        for number in bits(divergent):
            own = self.shape.values.at_entry(name, number)
            brought = _brought(known, number)
            # A value that comes round a loop unchanged decides nothing.
            if len(brought) > 1:
                brought.discard(alone((name, -1, number)))
            if registers >> number & 1 or (keep and number in kept) or len(brought) > 1:
                kept.add(number)
                brought = {own}
            state.put(number, *brought)
        state.were = dict(known[0].were) if len(known) == 1 else {}
        zero = self.shape.values.zeros.get(name)
        if zero is not None and zero in state.parts:
            state.were[zero] = state.parts[zero]
            state.divergent &= ~(1 << zero)
            del state.parts[zero]
        for place in known[0].parts:
            if isinstance(place, tuple) and place[1] not in slots:
                part = known[0].parts[place]
                if all(one.parts.get(place) == part for one in known):
                    state.parts[place] = part
        return state

    def through(self, name: str, see: Callable[[Instruction, State], None] | None = None) -> State:
        """Return the state at a block's end; call ``see`` with each instruction and the state before it."""
        state, pointer = self.before[name].copy(), self.shape.frame.before.get(name)
        for number, instruction in enumerate(self.function.blocks[name].instructions):
            if see is not None:
                see(instruction, state)
            self._step(instruction, state, pointer, name, number)
            pointer = self.shape.frame.after(instruction, pointer)
        return state


def _brought(ways: Sequence[State], number: int) -> set[Affine]:
    """The sums that a register differs by on these paths; for zeros, their earlier sums if all then agree."""
    parts = [one.parts.get(number, NOTHING) for one in ways]
    were = {one.were.get(number, part) for one, part in zip(ways, parts, strict=True)}
    return were if len(were) == 1 < len(set(parts)) else set(parts)
