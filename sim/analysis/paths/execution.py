"""One warp, step by step, when not everything is known: abstract execution (Gustafsson 2006).

What is known is computed by the golden model. Where a warp may go on in two ways, its path parts in two.
"""

from __future__ import annotations

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.csrs import FLOAT_CSRS, PERFORMANCE_CSRS, Csr
from metronome.hdl.isa.ops import FLOAT_UNITS, Unit

from ...machine.golden import Iss
from ...machine.golden.float_ops import DYNAMIC
from ...machine.golden.records import FaultError
from ...machine.memory.store import AccessError
from ..code.intervals import RULES, step_of
from ..code.lanes import MOST, TOP
from ..code.numbers import Interval, hull, meet
from ..code.program import Code, Program, RefusedError
from ..code.real_intervals import estimate
from .accesses import Accesses
from .conditions import ZERO
from .core import Stepped
from .masks import interval_of, refine, word_of
from .memory import Memory
from .path import Path
from .quotients import by_sign, note_sign
from .threads import Threads

__all__ = ["Execution"]

#: They keep a value or make it 0, the one where the other does not.
_KEEPS = ("czero.eqz", "czero.nez")
#: mscratch is one for the core, as a word of memory is; this one is nothing else that is known (isa.md).
_MSCRATCH = np.array([4 * Csr.MSCRATCH], np.uint32)


class Execution(Accesses, Threads):
    """Executes instructions on paths of one warp. ``memory`` is shared with the other warps."""

    def __init__(self, config: SmConfig, iss: Iss, warp: int, program: Program, memory: Memory) -> None:
        super().__init__(config, iss, warp, program, memory)
        self._units = {
            Unit.LSU: self._access, Unit.BRANCH: self._branch, Unit.SIMT: self._simt, Unit.CSR: self._csr,
            Unit.SYSTEM: self._system,
        }

    def step(self, path: Path) -> Stepped:
        """Execute the next instruction of a path, which is the one installed. Returns what paths there are behind it.

        An event says that the path, the only one then, stops there.
        """
        if path.pc == self.memory.main:
            if not self.alone:
                raise RefusedError(
                    "a variable's range holds as main is entered, and who enters it depends on the inputs", path.pc
                )
            self.memory.arrive()
        code = self.program.at(path.pc)
        unit = code.decoded.unit
        if path.may is not self._mask:
            self._mask = path.may
            self._view.select([self.warp], 1 << self.warp, path.may[None], int(path.may.sum()))
        pc, handler = path.pc, self._units.get(unit)
        try:
            if handler is not None:
                return handler(path, code)
            self._compute(path, code, unit)
        except (FaultError, AccessError) as error:
            what = error.cause.name.lower().replace("_", " ") if isinstance(error, FaultError) else str(error)
            raise RefusedError(f"the program may come here, and its run would end in a fault: {what}", pc) from None
        self._next(path, code)
        return [path], None

    def _compute(self, path: Path, code: Code, unit: Unit) -> None:
        rd = code.decoded.writes
        number = ZERO if rd is None else self._number(path, code)
        known = not code.reads & path.on.dirty or all(
            path.on.known(register, path.may) for register in code.decoded.reads
        )
        if unit in FLOAT_UNITS:
            # The flags tell of the values, or of a path that may not have been taken.
            if not known or not self.alone:
                self._flags_unknown = True
        if known:
            code.model.execute(self._iss, self._view, path.pc)
            if rd is not None:
                path.on.settle(rd, path.may)
        elif rd is not None:
            if code.rule in _KEEPS:
                path.chosen.note(number, self._kept(path, code, rd))
            self._estimate(path, code, rd, number)
        if rd is not None:
            self._write(path, rd, number)

    def _operands(self, path: Path, code: Code) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        shape = len(path.may)
        constant = np.full(shape, code.constant & TOP, np.int64)
        first = (np.zeros(shape, np.int64),) * 2 if code.first is None else path.on.numbers(code.first)
        second = (constant, constant) if code.second is None else path.on.numbers(code.second)
        return first, second

    def _estimate(self, path: Path, code: Code, rd: int, number: int) -> None:
        shape = len(path.may)
        if code.rule is not None:
            first, second = self._operands(path, code)
            plain = RULES[code.rule](first, second)
            note_sign(path, code, self.values)
            if code.rule == "add" and code.second is None and code.first is not None and _wide(plain) > _wide(first):
                # What the operand was may be asked of the sum, when no register holds it any more.
                path.seen.note(path.numbers[code.first], first)
            low, high = self._narrower(path, code, first, second, plain)
            for whole in (by_sign(path, code, self.values), path.seen.get(number)):
                if whole is not None:
                    low, high = meet((low, high), whole)[0]
            steps = (
                MOST if code.first is None else path.on.step(code.first),
                MOST if code.second is None else path.on.step(code.second),
            )
            # Steps are counted from the least.
            step = step_of(code.rule, plain, (first, second), steps) if bool((low == plain[0]).all()) else 0
            path.on.put(rd, path.may, low, high, step)
        elif code.decoded.unit in FLOAT_UNITS:
            reads = code.decoded.reads
            operands = [path.on.numbers(register) for register in reads]
            mode = code.decoded.word >> 12 & 7
            mode = int(self._iss.fcsr[self.warp]) >> 5 if mode == DYNAMIC else mode
            if mode > 4:
                raise RefusedError("the rounding mode that is written there is none: it would fault", path.pc)
            low, high = estimate(code.decoded.row.mnemonic, operands, same=len(set(reads)) < len(reads), mode=mode)
            path.on.put(rd, path.may, low, high)
        else:
            path.on.put(rd, path.may, np.zeros(shape, np.int64), np.full(shape, TOP))

    def _kept(self, path: Path, code: Code, rd: int) -> Interval:
        """What the operand of ``czero`` lies in where it is kept; the least is above the greatest where it never is."""
        assert code.first is not None and code.second is not None
        zero = self.values.equal(path.numbers[code.second], ZERO)
        trial = path.supposing()
        nowhere = np.full(len(path.may), TOP), np.zeros(len(path.may), np.int64)
        # The condition may be one of what a constant was added to, which no register may hold any more.
        source, constant = self.values.base(path.numbers[code.first])
        added = np.full(len(path.may), constant) if constant else None
        first = path.on.numbers(code.first)
        if added is not None:
            trial.numbers[rd] = source
            trial.on.put(rd, trial.may, *RULES["sub"](first, (added, added)))
        if not refine(trial, zero if code.rule == "czero.nez" else zero.negated(), self.values):
            return nowhere
        kept = first if code.first == rd and added is not None else trial.on.numbers(code.first)
        there = trial.may
        if added is not None:
            kept, possible = meet(kept, RULES["add"](interval_of(trial, source, self.values), (added, added)))
            there = there & possible
        return np.where(there, kept[0], nowhere[0]), np.where(there, kept[1], nowhere[1])

    def _narrower(self, path: Path, code: Code, first: Interval, second: Interval, result: Interval) -> Interval:
        """What a ``result`` lies in, as an operand that ``czero`` has made is either what was kept, or 0."""
        rule = RULES[code.rule]  # type: ignore[index]
        one = path.chosen.get(path.numbers[code.first]) if code.first is not None else None
        other = path.chosen.get(path.numbers[code.second]) if code.second is not None else None
        zero = (np.zeros_like(first[0]),) * 2
        if one is not None and other is not None and self._apart(path, code):
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
        # A lane for which nothing is left cannot be active.
        some = found[0] <= found[1]
        found = np.where(some, found[0], result[0]), np.where(some, found[1], result[1])
        return meet(found, result)[0]

    def _apart(self, path: Path, code: Code) -> bool:
        """Whether of the two operands exactly one is kept: the same decides, in opposite ways."""
        assert code.first is not None and code.second is not None
        one, other = (self.values.made(path.numbers[each]) for each in (code.first, code.second))
        return one[2] == other[2] and {one[0], other[0]} == set(_KEEPS)

    def _number(self, path: Path, code: Code) -> int:
        rule = code.rule
        if rule is None or code.first is None:
            mnemonic = code.decoded.row.mnemonic
            constant = mnemonic in ("addi", "lui")
            if constant and code.first in (None, 0) and code.constant == 0:
                return ZERO
            return self.values.fresh()
        first = path.numbers[code.first]
        second: int | tuple[str, int] = ("is", code.constant)
        if code.second is not None:
            second = path.numbers[code.second]
        if rule == "add" and first == ZERO and code.second is None:
            return self.values.constant(code.constant)
        return self.values.of(rule, first, second)

    def _system(self, path: Path, code: Code) -> Stepped:
        if code.decoded.row.mnemonic not in ("fence", "fence.i", "mret"):
            raise RefusedError(f"it would fault: {code.decoded.row.mnemonic}", path.pc)
        self._next(path, code)
        return [path], None

    def _csr(self, path: Path, code: Code) -> Stepped:
        number, rd = code.decoded.csr, code.decoded.writes
        assert number is not None
        shape = len(path.may)
        if code.decoded.writes_csr:
            self._write_csr(path, code, number)
        # What was written to these of our own is not kept here.
        free = number in PERFORMANCE_CSRS or number in (Csr.ACTIVE_WARPS, Csr.MREGION, Csr.MORDER, Csr.MPOLICY)
        free |= number in FLOAT_CSRS and self._flags_unknown
        if number == Csr.MSCRATCH:
            if rd is not None or not code.decoded.writes_csr:
                self.memory.note(self.warp, _MSCRATCH, store=False)
            free = int(_MSCRATCH[0]) in self.memory.races
        mask = number == Csr.ACTIVE_THREADS and not path.sure
        if not code.decoded.writes_csr and not free and not mask:
            self._iss.mask_words[self.warp] = word_of(path.may)
            code.model.execute(self._iss, self._view, path.pc)
            if rd is not None:
                path.on.settle(rd, path.may)
        elif rd is not None:
            low, high = (max(1, word_of(path.must)), word_of(path.may)) if mask else (0, TOP)
            path.on.put(rd, path.may, np.full(shape, low), np.full(shape, high))
        if rd is not None:
            self._write(path, rd, self.values.fresh())
            if number == Csr.ACTIVE_THREADS:
                path.read(rd)
        self._next(path, code)
        return [path], None

    def _write_csr(self, path: Path, code: Code, number: int) -> None:
        """A CSR is written: the region is of no account, the rest has to be known, and on the only path."""
        if number in (Csr.MSCRATCH, *FLOAT_CSRS):
            if not self.alone or (code.decoded.row.rs1 is not None and not self._lane_0(path, code)):
                raise RefusedError("it writes a CSR in a way that depends on the inputs", path.pc)
            if number == Csr.MSCRATCH:
                self.memory.note(self.warp, _MSCRATCH, store=True)
            code.model.execute(self._iss, self._view, path.pc)
            if code.decoded.writes is not None:
                path.on.settle(code.decoded.writes, path.may)

    def _lane_0(self, path: Path, code: Code) -> bool:
        """The operand is that of lane 0, active or not: whether it is known. The golden model has it then."""
        register, lane = code.decoded.word >> 15 & 31, np.arange(len(path.may)) == 0
        if path.must[0]:
            return path.on.known(register, lane)
        if not path.inactive(0) or not path.off.known(register, lane):
            return False
        # What is said of a lane as if it were active is of no account where it is not.
        path.on.values[register][lane] = path.off.values[register][lane]
        return True


def _wide(interval: Interval) -> int:
    """In how many lanes it is every number, or of both signs."""
    return int((((interval[0] == 0) & (interval[1] == TOP)) | (interval[0] < 0)).sum())
