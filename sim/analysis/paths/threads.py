"""What changes the thread mask of a warp, and what it waits for others by (docs/isa.md, the SIMT extension)."""

from __future__ import annotations

import numpy as np

from metronome.hdl.isa.ops import SimtOp, Unit

from ..code.lanes import TOP
from ..code.program import Code, RefusedError
from .branches import BRANCHES, Branches
from .conditions import Condition
from .core import Ends, Meets, Spawns, Stepped
from .masks import mask_between, refine
from .path import Path, Split

__all__ = ["Threads"]

#: Instructions behind a split or pred in which its branch is looked for.
_NEAR = 8
_ENDS = -1
_MAY_END = "whether a warp ends depends on the inputs: its thread mask may be empty"
#: The lanes that may be, and that must be, on a side; what is true of them; the other side.
_Side = tuple[np.ndarray, np.ndarray, Condition, tuple[np.ndarray, np.ndarray] | None]


class Threads(Branches):
    """The SIMT extension."""

    def _leader(self, path: Path, register: int) -> tuple[int, int]:
        """What the register of the highest active lane lies in."""
        highest = np.flatnonzero(path.must)
        lanes = path.may & (np.arange(len(path.may)) >= (highest[-1] if len(highest) else 0))
        low, high = path.on.interval(register)
        return int(low[lanes].min()), int(high[lanes].max())

    def _known(self, path: Path, register: int, what: str) -> int:
        low, high = self._leader(path, register)
        if low != high:
            raise RefusedError(f"{what} depends on the inputs", path.pc)
        return low

    def _simt(self, path: Path, code: Code) -> Stepped:
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
        if not self.alone:
            raise RefusedError("whether it comes to a barrier or starts warps depends on the inputs", path.pc)
        if op is SimtOp.BAR:
            number = self._known(path, first, "which barrier it waits at") % self.config.barriers
            count = self._known(path, second, "how many warps a barrier waits for")
            self._next(path, code)
            return [path], Meets(number, count)
        count = self._known(path, first, "how many warps it starts")
        pc = self._known(path, second, "where it starts warps")
        self._next(path, code)
        return [path], Spawns(count, pc)

    def _tmc(self, path: Path, code: Code, register: int) -> Stepped:
        low, high = self._leader(path, register)
        may, must = mask_between(low, high, self.config.threads)
        if not may.any():
            if not self.alone:
                raise RefusedError("whether a warp ends depends on the inputs", path.pc)
            self._go(path, code, _ENDS)
            return [path], Ends()
        if self._may_be_empty(low, high):
            raise RefusedError(_MAY_END, path.pc)
        self._check_side(path, register, may)
        path.go_on(register, may, must, self.values)
        self._next(path, code)
        return [path], None

    def _may_be_empty(self, low: int, high: int) -> bool:
        """Whether a number from ``low`` to ``high`` has no bit of a lane."""
        threads = self.config.threads
        return high >> threads << threads >= low

    def _check_side(self, path: Path, register: int, may: np.ndarray) -> None:
        """Refuse a thread mask by which a lane may go on that is not on this side of the split."""
        if path.splits and not path.of_side(register) and (may & ~path.must).any():
            raise RefusedError(
                "lanes may go on that are not on this side of a split: the thread mask was not read there", path.pc)

    def _predicate(self, path: Path, register: int, *, negate: bool) -> tuple[np.ndarray, np.ndarray, Condition]:
        """Of each active lane whether it is true for certain, whether it is false, and what is asked."""
        low, high = path.on.interval(register)
        known = low == high
        bit = (low & 1).astype(bool) ^ negate
        condition = self.values.bit(path.numbers[register])
        return known & bit & path.may, known & ~bit & path.may, condition.negated() if negate else condition

    def _decide(self, path: Path, condition: Condition) -> None:
        """If the next branch asks what is true of every active lane, it is known."""
        decided = self._decided(path, condition)
        if decided is not None:
            path.decided.update([decided])

    def _decided(self, path: Path, condition: Condition) -> tuple[int, bool] | None:
        """The pc of the next branch, and whether it is taken if every active lane answers the ``condition``."""
        pc = path.pc + 4 & TOP
        written: set[int] = set()
        for _ in range(_NEAR):
            code = self.program.at(pc)
            decoded = code.decoded
            if decoded.unit in (Unit.BRANCH, Unit.SIMT):
                if decoded.row.op not in BRANCHES or written & set(decoded.reads):
                    return None
                # What is true of the lanes may have left only 0 and 1 of a value that it was asked of.
                for asks in (self._condition(path, code, flags=flags) for flags in (True, False)):
                    if asks in (condition, condition.negated()):
                        return pc, asks == condition
                return None
            if decoded.writes is not None:
                written.add(decoded.writes)
            pc += 4
        return None

    def _split(self, path: Path, code: Code, register: int, *, negate: bool) -> Stepped:
        true, false, condition = self._predicate(path, register, negate=negate)
        sides = self._sides(path, true, false, condition)
        paths = []
        copies = [path] + [self._fork(path) for _ in sides[1:]]
        for each, (may, must, asks, other) in zip(copies, sides, strict=True):
            if code.decoded.writes is not None:
                depth = np.full(len(each.may), len(each.splits))
                each.on.put(code.decoded.writes, each.may, depth, depth)
                self._write(each, code.decoded.writes, self.values.fresh())
            if other is None:
                each.know(may, must)
            elif not self._part(each, (may, must), other, asks):
                continue
            if refine(each, asks, self.values):
                self._decide(each, asks)
                paths.append(each)
        for each in paths:
            self._next(each, code)
        return paths, None

    def _sides(self, path: Path, true: np.ndarray, false: np.ndarray, condition: Condition) -> list[_Side]:
        """The ways in which a split may go on, with the other side of those that part."""
        sides: list[_Side] = []
        may_true, may_false = path.may & ~false, path.may & ~true
        if not (path.must & false).any() and may_true.any():
            sides.append((may_true, path.must & may_true, condition, None))
        if not (path.must & true).any() and may_false.any():
            sides.append((may_false, path.must & may_false, condition.negated(), None))
        if may_true.any() and may_false.any() and path.most > 1:
            is_true, is_false = (may_true, path.must & true), (may_false, path.must & false)
            # The larger side goes first; of two as large, that for which it is true.
            if int(may_true.sum()) >= int(is_false[1].sum()):
                sides.append((*is_true, condition, is_false))
            if int(may_false.sum()) > int(is_true[1].sum()):
                sides.append((*is_false, condition.negated(), is_true))
        return sides

    def _part(
        self, path: Path, side: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray], asks: Condition
    ) -> bool:
        """Begin a divergent split with one side; False if there can be nobody on the other."""
        if len(path.splits) >= self.config.stack_depth:
            raise RefusedError("the divergence stack may overflow", path.pc)
        second = path.fork()
        second.know(*other)
        if not refine(second, asks.negated(), self.values):
            return False
        decided = self._decided(second, asks.negated())
        split = Split(
            pc=path.pc + 4 & TOP, visited=False, union=(path.may.copy(), path.must.copy()),
            other=(second.may, second.must), most=(path.most, path.most // 2), decided=decided, off=path.off,
        )
        path.part(split, side, path.most - 1, second.on, self.values)
        return True

    def _join(self, path: Path, code: Code, register: int) -> Stepped:
        wanted = self._known(path, register, "which split a join ends")
        if wanted > len(path.splits):
            raise RefusedError("a join without its split", path.pc)
        if wanted == len(path.splits):
            self._next(path, code)
            return [path], None
        split = path.splits[-1]
        if split.visited:
            path.unite(self.values)
            self._next(path, code)
            return [path], None
        path.turn(split, self.values)
        self._go(path, code, split.pc)
        return [path], None

    def _pred(
        self, path: Path, code: Code, registers: tuple[int, int], *, negate: bool
    ) -> Stepped:
        true, false, condition = self._predicate(path, registers[0], negate=negate)
        some = bool((path.may & ~false).any())
        none = not bool((path.must & true).any()) and bool((path.may & ~true).any())
        low, high = self._leader(path, registers[1])
        restored = max(low, int(path.holds_mask(registers[1]))), high
        kept, left = (path, self._fork(path)) if some and none else (path, path)
        paths = []
        if some:
            kept.stop(kept.may & ~true)
            kept.narrow(kept.may & ~false, kept.must & true)
            if refine(kept, condition, self.values):
                self._decide(kept, condition)
                paths.append(kept)
        if none:
            left.know(left.may & ~true, left.must)
            if refine(left, condition.negated(), self.values):
                branch = self._decided(left, condition.negated())
                may, must = mask_between(*restored, self.config.threads)
                if not left.holds_mask(registers[1]) and self._may_be_empty(*restored):
                    raise RefusedError(_MAY_END, path.pc)
                self._check_side(left, registers[1], may)
                of_side = left.of_side(registers[1])
                left.go_on(registers[1], may, must, self.values)
                if of_side:
                    # A lane that was asked goes on, and those that go on again agree with it, or it is a fault.
                    left.decided.update([branch] if branch is not None else [])
                    # Whoever is active now was active when the mask was read, and has it in that register.
                    least, greatest = (np.full(len(may), each, np.int64) for each in restored)
                    left.on.put(registers[1], left.may, least, greatest)
                paths.append(left)
        for each in paths:
            self._next(each, code)
        return paths, None
