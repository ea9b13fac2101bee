"""Computational instructions on a path: the golden model's results if all operands are known, else intervals."""

from __future__ import annotations

import numpy as np

from metronome.hdl.isa.ops import FLOAT_UNITS

from ...machine.golden.float_ops import DYNAMIC
from ..code.intervals import RULES, step_of
from ..code.lanes import MOST, TOP
from ..code.numbers import Interval, hull, meet
from ..code.program import Instruction
from ..code.real_intervals import estimate
from ..code.refusals import RefusedError
from .conditions import ZERO
from .masks import interval_of, refine
from .path import Path
from .quotients import by_sign, note_sign
from .warp import AbstractWarp

__all__ = ["Arithmetic"]

#: Conditional zero: each result is the first operand or 0.
_KEEPS = ("czero.eqz", "czero.nez")


class Arithmetic:
    """Executes instructions that only compute: integer, multiply, divide and floating-point."""

    def __init__(self, warp: AbstractWarp) -> None:
        self._warp = warp

    def execute(self, path: Path, code: Instruction) -> None:
        """Write the destination register of an instruction."""
        rd = code.decoded.writes
        number = ZERO if rd is None else self._number(path, code)
        known = not code.reads & path.on.dirty or all(
            path.on.known(register, path.may) for register in code.decoded.reads
        )
        if code.decoded.unit in FLOAT_UNITS:
            # The flags depend on the operands, and on whether this path is taken.
            self._warp.flags_unknown |= not known or not self._warp.alone
        if known:
            self._warp.execute_model(path, code)
        elif rd is not None:
            if code.rule in _KEEPS:
                path.selected.note(number, self._selected(path, code, rd))
            self._estimate(path, code, rd, number)
        if rd is not None:
            self._warp.write(path, rd, number)

    @staticmethod
    def _operands(path: Path, code: Instruction) -> tuple[Interval, Interval]:
        shape = len(path.may)
        constant = np.full(shape, code.constant & TOP, np.int64)
        first = (np.zeros(shape, np.int64),) * 2 if code.first is None else path.on.numbers(code.first)
        second = (constant, constant) if code.second is None else path.on.numbers(code.second)
        return first, second

    def _estimate(self, path: Path, code: Instruction, rd: int, number: int) -> None:
        shape = len(path.may)
        if code.rule is not None:
            first, second = self._operands(path, code)
            plain = RULES[code.rule](first, second)
            note_sign(path, code, self._warp.values)
            if code.rule == "add" and code.second is None and code.first is not None and _wide(plain) > _wide(first):
                # A later condition on the sum may need the operand's interval, when no register holds the operand.
                path.intervals.note(path.numbers[code.first], first)
            low, high = self._narrower(path, code, first, second, plain)
            for whole in (by_sign(path, code, self._warp.values), path.intervals.get(number)):
                if whole is not None:
                    low, high = meet((low, high), whole)[0]
            steps = (
                MOST if code.first is None else path.on.step(code.first),
                MOST if code.second is None else path.on.step(code.second),
            )
            # A step counts from the least value only.
            step = step_of(code.rule, plain, (first, second), steps) if bool((low == plain[0]).all()) else 0
            path.on.put(rd, path.may, low, high, step)
        elif code.decoded.unit in FLOAT_UNITS:
            reads = code.decoded.reads
            operands = [path.on.numbers(register) for register in reads]
            mode = code.decoded.word >> 12 & 7
            mode = int(self._warp.iss.fcsr[self._warp.number]) >> 5 if mode == DYNAMIC else mode
            if mode > 4:
                raise RefusedError("it selects a reserved rounding mode: it would fault", path.pc)
            low, high = estimate(code.decoded.row.mnemonic, operands, same=len(set(reads)) < len(reads), mode=mode)
            path.on.put(rd, path.may, low, high)
        else:
            path.on.put(rd, path.may, np.zeros(shape, np.int64), np.full(shape, TOP))

    def _selected(self, path: Path, code: Instruction, rd: int) -> Interval:
        """Return the interval of the ``czero`` operand in lanes that may select it; empty in all other lanes."""
        assert code.first is not None and code.second is not None
        zero = self._warp.values.equal(path.numbers[code.second], ZERO)
        trial = path.supposing()
        nowhere = np.full(len(path.may), TOP), np.zeros(len(path.may), np.int64)
        # The condition may concern the operand before a constant was added; perhaps no register holds that any more.
        source, constant = self._warp.values.base(path.numbers[code.first])
        added = np.full(len(path.may), constant) if constant else None
        first = path.on.numbers(code.first)
        if added is not None:
            trial.numbers[rd] = source
            trial.on.put(rd, trial.may, *RULES["sub"](first, (added, added)))
        if not refine(trial, zero if code.rule == "czero.nez" else zero.negated(), self._warp.values):
            return nowhere
        kept = first if code.first == rd and added is not None else trial.on.numbers(code.first)
        there = trial.may
        if added is not None:
            kept, possible = meet(kept, RULES["add"](interval_of(trial, source, self._warp.values), (added, added)))
            there = there & possible
        return np.where(there, kept[0], nowhere[0]), np.where(there, kept[1], nowhere[1])

    def _narrower(self, path: Path, code: Instruction, first: Interval, second: Interval, result: Interval) -> Interval:
        """Narrow a ``result`` by cases: an operand computed by ``czero`` is either the selected value or 0."""
        rule = RULES[code.rule]  # type: ignore[index]
        one = path.selected.get(path.numbers[code.first]) if code.first is not None else None
        other = path.selected.get(path.numbers[code.second]) if code.second is not None else None
        zero = (np.zeros_like(first[0]),) * 2
        if one is not None and other is not None and self._exclusive(path, code):
            cases = [(one, zero), (zero, other)]
        elif one is not None:
            cases = [(one, second), (zero, second)]
        elif other is not None:
            cases = [(first, other), (first, zero)]
        else:
            return result
        nowhere = np.full_like(first[0], TOP), np.zeros_like(first[0])
        found = nowhere
        for operands in cases:
            there = np.logical_and.reduce([low <= high for low, high in operands])
            low, high = rule(*((np.where(there, low, 0), np.where(there, high, 0)) for low, high in operands))
            found = hull(found, (np.where(there, low, nowhere[0]), np.where(there, high, nowhere[1])))
        # A lane without a possible value cannot be active.
        some = found[0] <= found[1]
        found = np.where(some, found[0], result[0]), np.where(some, found[1], result[1])
        return meet(found, result)[0]

    def _exclusive(self, path: Path, code: Instruction) -> bool:
        """Return whether exactly one operand is selected: two ``czero`` with opposite senses on one condition."""
        assert code.first is not None and code.second is not None
        one, other = (self._warp.values.operation(path.numbers[each]) for each in (code.first, code.second))
        return one[2] == other[2] and {one[0], other[0]} == set(_KEEPS)

    def _number(self, path: Path, code: Instruction) -> int:
        rule = code.rule
        if rule is None or code.first is None:
            mnemonic = code.decoded.row.mnemonic
            constant = mnemonic in ("addi", "lui")
            if constant and code.first in (None, 0) and code.constant == 0:
                return ZERO
            return self._warp.values.fresh()
        first = path.numbers[code.first]
        second: int | tuple[str, int] = ("is", code.constant)
        if code.second is not None:
            second = path.numbers[code.second]
        if rule == "add" and first == ZERO and code.second is None:
            return self._warp.values.constant(code.constant)
        return self._warp.values.of(rule, first, second)


def _wide(interval: Interval) -> int:
    """Count the lanes in which an interval holds every number, or numbers of both signs."""
    return int((((interval[0] == 0) & (interval[1] == TOP)) | (interval[0] < 0)).sum())
