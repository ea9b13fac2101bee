"""Instructions of the SIMT extension on a path: thread masks, barriers and warp starts (docs/isa.md)."""

from __future__ import annotations

import numpy as np

from metronome.hdl.isa.ops import SimtOp, Unit

from ..code.lanes import TOP
from ..code.program import Instruction
from ..code.refusals import RefusedError
from .branches import BRANCHES, Branches
from .conditions import Condition
from .masks import mask_between, refine
from .path import Path, Split
from .warp import AbstractWarp, BarrierArrival, StepResult, WarpEnd, WarpSpawn

__all__ = ["ThreadMasks"]

#: The number of instructions after a split or pred that are searched for its branch.
_NEAR = 8
_ENDS = -1
_MAY_END = "whether a warp ends depends on the inputs: its thread mask may be empty"
#: A side of a split: lanes that may be and must be on it, the condition that holds for them, and the other side.
_Side = tuple[np.ndarray, np.ndarray, Condition, tuple[np.ndarray, np.ndarray] | None]


class ThreadMasks:
    """Executes instructions of the SIMT extension."""

    def __init__(self, warp: AbstractWarp, branches: Branches) -> None:
        self._warp, self._branches = warp, branches

    @staticmethod
    def _leader(path: Path, register: int) -> tuple[int, int]:
        """Return the interval of a register in the highest active lane."""
        highest = np.flatnonzero(path.must)
        lanes = path.may & (np.arange(len(path.may)) >= (highest[-1] if len(highest) else 0))
        low, high = path.on.interval(register)
        return int(low[lanes].min()), int(high[lanes].max())

    def _known(self, path: Path, register: int, what: str) -> int:
        low, high = self._leader(path, register)
        if low != high:
            raise RefusedError(f"{what} depends on the inputs", path.pc)
        return low

    def execute(self, path: Path, code: Instruction) -> StepResult:
        """Execute an instruction; return the resulting paths and the event at which the warp stops."""
        op, word = code.decoded.row.op, code.decoded.word
        first, second = word >> 15 & 31, word >> 20 & 31
        if op is SimtOp.SPLIT:
            return self._split(path, code, first, negate=bool(second & 1))
        if op is SimtOp.JOIN:
            return self._join(path, code, first)
        if op is SimtOp.PRED:
            return self._pred(path, code, (first, second), negate=bool(word >> 7 & 1))
        if op is SimtOp.TMC:
            return self._tmc(path, code, first)
        if not self._warp.alone:
            raise RefusedError("whether it waits at a barrier or starts warps depends on the inputs", path.pc)
        if op is SimtOp.BAR:
            asked = self._known(path, first, "the barrier that it waits at")
            count = self._known(path, second, "the number of warps that a barrier waits for")
            self._warp.next(path, code)
            between_sms = self._warp.config.cores > 1 and bool(asked >> 31)
            return [path], BarrierArrival(asked % self._warp.config.barriers, count, between_sms)
        count = self._known(path, first, "the number of warps that it starts")
        pc = self._known(path, second, "the address at which it starts warps")
        self._warp.next(path, code)
        return [path], WarpSpawn(count, pc)

    def _tmc(self, path: Path, code: Instruction, register: int) -> StepResult:
        low, high = self._leader(path, register)
        may, must = mask_between(low, high, self._warp.config.threads)
        if not may.any():
            if not self._warp.alone:
                raise RefusedError("whether a warp ends depends on the inputs", path.pc)
            self._warp.go(path, code, _ENDS)
            return [path], WarpEnd()
        if self._may_be_empty(low, high):
            raise RefusedError(_MAY_END, path.pc)
        self._check_side(path, register, may)
        path.resume(register, may, must, self._warp.values)
        self._warp.next(path, code)
        return [path], None

    def _may_be_empty(self, low: int, high: int) -> bool:
        """Return whether some thread mask from ``low`` to ``high`` has no lane."""
        threads = self._warp.config.threads
        return high >> threads << threads >= low

    @staticmethod
    def _check_side(path: Path, register: int, may: np.ndarray) -> None:
        """Refuse a thread mask that may activate a lane of the other side of the split."""
        if path.splits and not path.is_of_side(register) and (may & ~path.must).any():
            raise RefusedError(
                "a lane of the other side of a split may become active: the thread mask was not read on this "
                "side", path.pc)

    def _predicate(self, path: Path, register: int, *, negate: bool) -> tuple[np.ndarray, np.ndarray, Condition]:
        """Return the active lanes for which a predicate is certainly true and certainly false, and its condition."""
        low, high = path.on.interval(register)
        known = low == high
        bit = (low & 1).astype(bool) ^ negate
        condition = self._warp.values.bit(path.numbers[register])
        return known & bit & path.may, known & ~bit & path.may, condition.negated() if negate else condition

    def _decide(self, path: Path, condition: Condition) -> None:
        """Record the outcome of the next branch if ``condition``, true in all active lanes, decides it."""
        decided = self._decided(path, condition)
        if decided is not None:
            path.decided.update([decided])

    def _decided(self, path: Path, condition: Condition) -> tuple[int, bool] | None:
        """Return the pc of the next branch and whether ``condition`` makes every lane take it; None if unknown."""
        pc = path.pc + 4 & TOP
        written: set[int] = set()
        for _ in range(_NEAR):
            code = self._warp.program.at(pc)
            decoded = code.decoded
            if decoded.unit in (Unit.BRANCH, Unit.SIMT):
                if decoded.row.op not in BRANCHES or written & set(decoded.reads):
                    return None
                # The condition may have narrowed the compared value to 0 and 1, which changes the branch's condition.
                for tested in (self._branches.condition(path, code, flags=flags) for flags in (True, False)):
                    if tested in (condition, condition.negated()):
                        return pc, tested == condition
                return None
            if decoded.writes is not None:
                written.add(decoded.writes)
            pc += 4
        return None

    def _split(self, path: Path, code: Instruction, register: int, *, negate: bool) -> StepResult:
        true, false, condition = self._predicate(path, register, negate=negate)
        sides = self._sides(path, true, false, condition)
        paths = []
        copies = [path] + [self._warp.fork(path) for _ in sides[1:]]
        for each, (may, must, true_there, other) in zip(copies, sides, strict=True):
            if code.decoded.writes is not None:
                depth = np.full(len(each.may), len(each.splits))
                each.on.put(code.decoded.writes, each.may, depth, depth)
                self._warp.write(each, code.decoded.writes, self._warp.values.fresh())
            if other is None:
                each.constrain(may, must)
            elif not self._begin_split(each, (may, must), other, true_there):
                continue
            if refine(each, true_there, self._warp.values):
                self._decide(each, true_there)
                paths.append(each)
        for each in paths:
            self._warp.next(each, code)
        return paths, None

    def _sides(self, path: Path, true: np.ndarray, false: np.ndarray, condition: Condition) -> list[_Side]:
        """Return each side that may run first after a split, with its other side if the split diverges."""
        sides: list[_Side] = []
        may_true, may_false = path.may & ~false, path.may & ~true
        if not (path.must & false).any() and may_true.any():
            sides.append((may_true, path.must & may_true, condition, None))
        if not (path.must & true).any() and may_false.any():
            sides.append((may_false, path.must & may_false, condition.negated(), None))
        if may_true.any() and may_false.any() and path.most > 1:
            is_true, is_false = (may_true, path.must & true), (may_false, path.must & false)
            # The larger side runs first; if both are equally large, the side whose predicate is true.
            if int(may_true.sum()) >= int(is_false[1].sum()):
                sides.append((*is_true, condition, is_false))
            if int(may_false.sum()) > int(is_true[1].sum()):
                sides.append((*is_false, condition.negated(), is_true))
        return sides

    def _begin_split(
        self, path: Path, side: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray],
        condition: Condition,
    ) -> bool:
        """Begin a divergent split on one side; return False if the other side cannot have a lane."""
        if len(path.splits) >= self._warp.config.stack_depth:
            raise RefusedError("the divergence stack may overflow", path.pc)
        second = path.fork()
        second.constrain(*other)
        if not refine(second, condition.negated(), self._warp.values):
            return False
        decided = self._decided(second, condition.negated())
        split = Split(
            pc=path.pc + 4 & TOP, visited=False, union=(path.may.copy(), path.must.copy()),
            other=(second.may, second.must), most=(path.most, path.most // 2), decided=decided, off=path.off,
        )
        path.begin_split(split, side, path.most - 1, second.on, self._warp.values)
        return True

    def _join(self, path: Path, code: Instruction, register: int) -> StepResult:
        wanted = self._known(path, register, "the split that a join ends")
        if wanted > len(path.splits):
            raise RefusedError("a join without a split", path.pc)
        if wanted == len(path.splits):
            self._warp.next(path, code)
            return [path], None
        split = path.splits[-1]
        if split.visited:
            path.end_split(self._warp.values)
            self._warp.next(path, code)
            return [path], None
        path.switch_side(split, self._warp.values)
        self._warp.go(path, code, split.pc)
        return [path], None

    def _pred(self, path: Path, code: Instruction, registers: tuple[int, int], *, negate: bool) -> StepResult:
        true, false, condition = self._predicate(path, registers[0], negate=negate)
        some = bool((path.may & ~false).any())
        none = not bool((path.must & true).any()) and bool((path.may & ~true).any())
        low, high = self._leader(path, registers[1])
        restored = max(low, int(path.holds_mask(registers[1]))), high
        kept, left = (path, self._warp.fork(path)) if some and none else (path, path)
        paths = []
        if some:
            kept.stop(kept.may & ~true)
            kept.narrow(kept.may & ~false, kept.must & true)
            if refine(kept, condition, self._warp.values):
                self._decide(kept, condition)
                paths.append(kept)
        if none:
            left.constrain(left.may & ~true, left.must)
            if refine(left, condition.negated(), self._warp.values):
                branch = self._decided(left, condition.negated())
                may, must = mask_between(*restored, self._warp.config.threads)
                if not left.holds_mask(registers[1]) and self._may_be_empty(*restored):
                    raise RefusedError(_MAY_END, path.pc)
                self._check_side(left, registers[1], may)
                of_side = left.is_of_side(registers[1])
                left.resume(registers[1], may, must, self._warp.values)
                if of_side:
                    # A lane that pred tested stays active, and restored lanes must agree with it about the branch.
                    left.decided.update([branch] if branch is not None else [])
                    # Each lane that is active now was active when the mask was read, so its register holds the mask.
                    least, greatest = (np.full(len(may), each, np.int64) for each in restored)
                    left.on.put(registers[1], left.may, least, greatest)
                paths.append(left)
        for each in paths:
            self._warp.next(each, code)
        return paths, None
