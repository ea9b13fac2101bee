"""Origins of the values in registers and frame words.

A value keeps its identity when it is copied, or saved and loaded again. Results of the same operation on the same
values are the same value, wherever they are computed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from . import affine
from .affine import Affine
from .frame import Frame
from .graph import Function, reverse
from .instructions import CONDITIONS, ZERO, Instruction, bits, register

__all__ = ["Place", "Value", "Values", "Written"]

#: A register's number, or ("word", offset).
Place = Hashable
#: Where it was made: (block, number of the instruction, or -1 where paths with different values merge, place). Block ""
#: is the entry. For a computation: ("", its number, "computed").
Value = tuple[str, int, Place]
#: Registers (a bit each) and frame words that a block writes.
Written = tuple[int, frozenset[int]]

_ZERO: Value = ("", 0, ZERO)
_COPIES = {"mv", "fmv.s"}
_SYMBOL = re.compile(r"(?:%lo\()?(?P<name>[A-Za-z_.$][\w.$]*)(?:[+-]\d+)?\)?")
#: More than enough for most functions.
_FREE_TURNS = 30


class Values:
    """The origin of each value at the beginning and end of each block.

    A value loaded from a ``constant`` symbol counts as computed from its address: the compiler reloads it wherever
    it likes.
    """

    def __init__(self, function: Function, frame: Frame, constant: Callable[[str], bool]) -> None:
        self.function, self.frame, self.constant = function, frame, constant
        #: Addresses of constant objects.
        self._constants: set[Value] = set()
        self._computed: dict[Hashable, Value] = {}
        #: For each computation, the blocks in which the values that it starts from were made.
        self._origins: dict[Value, frozenset[str]] = {}
        self._met: dict[str, set[Place]] = {name: set() for name in function.blocks}
        self._before: dict[str, dict[Place, Value]] = {}
        self._behind: dict[str, dict[Place, Value]] = {}
        #: The result of each instruction, and the registers among its operands.
        self._results: dict[str, list[tuple[Value | None, list[Value]]]] = {}
        self._affine: dict[Value, Affine] = {_ZERO: affine.NOTHING}
        #: For each block reached only by one branch, and only if a register is 0: that register. Compilers use it for
        #: other zeros, so here it counts as zero; states keep its earlier value as ("was", register) until paths merge.
        self.zeros = _zeros(function)
        self._solve()

    def _solve(self) -> None:
        edges = self.function.edges()
        sources = reverse(edges)
        work = {self.function.entry}
        for turn in itertools.count():
            if not work:
                break
            for name in self.function.blocks:
                if name not in work:
                    continue
                work.remove(name)
                known = [self._behind[source] for source in sources[name] if source in self._behind]
                state = self._meet(name, self._as_they_were(known), keep=turn > _FREE_TURNS)
                if name in self.zeros:
                    zero = self.zeros[name]
                    state["was", zero], state[zero] = _of(state, zero), _ZERO
                self._before[name] = dict(state)
                new = self._through(name, state)
                if self._behind.get(name) != new:
                    self._behind[name] = new
                    work |= set(edges[name])

    def _meet(self, name: str, known: list[dict[Place, Value]], keep: bool) -> dict[Place, Value]:
        """Merge the values of a block's predecessors into those at its beginning.

        If the predecessors bring different values, the place gets a new one. With ``keep``, a place that once got a new
        value keeps it, so that the search ends.
        """
        if not known:
            return {}
        first, *others = known
        met = self._met[name]
        if not others and not met:
            return dict(first)
        state: dict[Place, Value] = {}
        for place in first.keys() | set().union(*others):
            own = (name, -1, place)
            at_entry = ("", 0, place)
            value = first.get(place, at_entry)
            for other in others:
                brought = other.get(place, at_entry)
                if value == own:
                    value = brought
                elif brought not in (value, own):
                    met.add(place)
                    value = own
                    break
            state[place] = own if keep and place in met else value
        return state

    def _as_they_were(self, ways: Sequence[dict[Place, Value]]) -> list[dict[Place, Value]]:
        """The predecessors' states, with a zero replaced by its earlier value if all predecessors bring that."""
        found = list(ways)
        for place in set(self.zeros.values()) if len(found) > 1 else ():
            were = {_was(way, place) for way in found}
            if len(were) == 1 < len({_of(way, place) for way in found}):
                found = [{**way, place: next(iter(were))} for way in found]
            found = [{key: value for key, value in way.items() if key != ("was", place)} for way in found]
        return found

    def _through(self, name: str, state: dict[Place, Value]) -> dict[Place, Value]:
        pointer = self.frame.before.get(name)
        for number, instruction in enumerate(self.function.blocks[name].instructions):
            self._step(state, name, number, instruction, pointer)
            pointer = self.frame.after(instruction, pointer)
            for place in bits(instruction.writes):
                state.pop(("was", place), None)
        return state

    def _step(
        self, state: dict[Place, Value], name: str, number: int, instruction: Instruction, pointer: int | None
    ) -> None:
        slot = self.frame.word(instruction, pointer)
        if instruction.kind == "store":
            if slot is not None:
                state["word", slot] = _of(state, instruction.registers[0])
        elif instruction.op in _COPIES:
            target, source = instruction.registers
            state[target] = _of(state, source)
        elif instruction.kind == "load" and slot is not None:
            state[instruction.registers[0]] = _of(state, ("word", slot))
        elif instruction.is_computation or self._is_constant(state, instruction):
            state[instruction.registers[0]] = self._compute(state, instruction)
        else:
            written, place = instruction.writes, 0
            while written:
                if written & 1:
                    state[place] = (name, number, place)
                written, place = written >> 1, place + 1

    def _is_constant(self, state: Mapping[Place, Value], instruction: Instruction) -> bool:
        """Whether it loads from an object that is never written."""
        if instruction.kind != "load" or instruction.base is None:
            return False
        base, offset = instruction.base
        return self._names_constant(offset) or _of(state, base) in self._constants

    def _names_constant(self, text: str) -> bool:
        found = _SYMBOL.fullmatch(text)
        return found is not None and self.constant(found["name"])

    def _compute(self, state: Mapping[Place, Value], instruction: Instruction) -> Value:
        parts = [
            _of(state, register(operand)) if instruction.is_register(operand) else operand
            for operand in instruction.operands[1:]
        ]
        if instruction.kind == "load":
            base, offset = instruction.base or (ZERO, "")
            parts = [_of(state, base), offset]
        key = (instruction.op, *parts)
        if key not in self._computed:
            value = ("", len(self._computed) + 1, "computed")
            self._computed[key] = value
            sum_ = affine.computed(instruction.op, [
                self.affine(part) if isinstance(part, tuple) else part for part in parts
            ])
            if instruction.op == "mul":
                sum_ = affine.multiplied(affine.alone(parts[0]), parts[1])
            if sum_ is not None:
                self._affine[value] = sum_
            if instruction.op in ("addi", "la", "lla") and self._names_constant(str(parts[-1])):
                self._constants.add(value)
            self._origins[value] = frozenset().union(*(self._made(part) for part in parts if isinstance(part, tuple)))
        return self._computed[key]

    def at_entry(self, name: str, place: Place) -> Affine:
        """The value of a place at the beginning of a block."""
        return self.affine(_of(self._before.get(name, {}), place))

    def result(self, name: str, number: int) -> Affine:
        """The value that the instruction of this number in a block writes to its register."""
        value, _ = self._instructions(name)[number]
        assert value is not None, "it writes a register"
        return self.affine(value)

    def operands(self, name: str, number: int) -> Sequence[Value]:
        """The values that the instruction of this number in a block computes with."""
        return self._instructions(name)[number][1]

    def _instructions(self, name: str) -> list[tuple[Value | None, list[Value]]]:
        if name not in self._results:
            state, pointer = dict(self._before.get(name, {})), self.frame.before.get(name)
            results: list[tuple[Value | None, list[Value]]] = []
            for place, instruction in enumerate(self.function.blocks[name].instructions):
                operands = instruction.operands[1:] if instruction.is_computation else ()
                values = [_of(state, register(one)) for one in operands if instruction.is_register(one)]
                self._step(state, name, place, instruction, pointer)
                pointer = self.frame.after(instruction, pointer)
                result = _of(state, instruction.writes.bit_length() - 1) if instruction.writes else None
                results.append((result, values))
            self._results[name] = results
        return self._results[name]

    def affine(self, value: Value) -> Affine:
        """The value as a sum of multiples of values that are not sums, without its constant."""
        return self._affine[value] if value in self._affine else affine.alone(value)

    def _made(self, value: Value) -> frozenset[str]:
        """The blocks that a value comes from."""
        return self._origins.get(value, frozenset([value[0]]))

    def differ(self, name: str, sources: Iterable[str], blocks: set[str], place: Place) -> bool:
        """Whether lanes that reach a block from ``sources`` may have different values there, made in ``blocks``."""
        every = self.function.blocks
        ways = [self._behind[one] for one in sources if one in self._behind and name in every[one].targets]
        return all(
            len(values) > 1 or any(self._made(value) & blocks for value in values)
            for values in ({of(way, place) for way in ways} for of in (_of, _was))
        )


def _of(state: Mapping[Place, Value], place: Place) -> Value:
    """The value of a place; at first each place has its value at the entry."""
    return state.get(place, ("", 0, place))


def _was(state: Mapping[Place, Value], place: Place) -> Value:
    """Like _of, but a zero has its earlier value."""
    return state.get(("was", place), _of(state, place))


def _zeros(function: Function) -> dict[str, int]:
    """The register that is 0 at the beginning of a block, for each block whose only predecessor branches on it."""
    found: dict[str, int] = {}
    for name, sources in reverse(function.edges()).items():
        branch = function.blocks[sources[0]].branch if len(sources) == 1 else None
        if not isinstance(branch, Instruction) or name == function.entry:
            continue
        taken, otherwise = function.blocks[sources[0]].targets
        left, right = (*branch.registers, ZERO)[:2]
        equal = {"eq": taken, "ne": otherwise}.get(CONDITIONS[branch.op])
        if taken != otherwise and name == equal and right == ZERO:
            found[name] = left
    return found
