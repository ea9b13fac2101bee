"""Branches and jumps, whose outcome is known or not."""

from __future__ import annotations

import numpy as np

from metronome.hdl.isa.ops import BranchOp

from ..code.lanes import TOP
from ..code.loops import target_of
from ..code.program import Code, RefusedError
from .conditions import Condition
from .core import Core, Stepped
from .masks import outcome, refine
from .path import Path

__all__ = ["BRANCHES", "Branches"]

#: What a conditional branch asks, and whether it is taken if that is so.
BRANCHES = {
    BranchOp.EQ: ("eq", True), BranchOp.NE: ("eq", False), BranchOp.LT: ("lt", True), BranchOp.GE: ("lt", False),
    BranchOp.LTU: ("ltu", True), BranchOp.GEU: ("ltu", False),
}


class Branches(Core):
    """What decides where a warp goes on."""

    def _condition(self, path: Path, code: Code, *, flags: bool = True) -> Condition:
        """What a branch asks if it is taken; with ``flags`` of a value that is 0 or 1 there, whether bit 0 is set."""
        kind, holds = BRANCHES[code.decoded.row.op]  # type: ignore[index]
        assert code.first is not None and code.second is not None
        a, b = path.numbers[code.first], path.numbers[code.second]
        if kind == "eq":
            bits = frozenset(
                path.numbers[register] for register in (code.first, code.second)
                if flags and int(path.on.interval(register)[1][path.may].max()) <= 1
            )
            made = self.values.equal(a, b, flags=bits)
        else:
            made = Condition(kind, a, b, True)
        return made if holds else made.negated()

    def _branch(self, path: Path, code: Code) -> Stepped:
        pc, target = path.pc, target_of(code.decoded, path.pc)
        op = code.decoded.row.op
        if op in (BranchOp.JAL, BranchOp.JALR):
            self._jump(path, code, target)
            return [path], None
        assert target is not None and code.first is not None and code.second is not None
        following = pc + 4 & TOP
        decided = path.decided.pop(pc, None)
        if decided is None:
            kind, holds = BRANCHES[op]  # type: ignore[index]
            yes, no = outcome(kind, path.on.numbers(code.first), path.on.numbers(code.second))
            yes, no = (yes, no) if holds else (no, yes)
            decided = _agreed(path, yes, no)
        if decided is not None:
            if decided and target == pc:
                raise RefusedError("a jump to itself: the program does not end", pc)
            self._go(path, code, target if decided else following)
            return [path], None
        condition = self._condition(path, code)
        kind, holds = BRANCHES[op]  # type: ignore[index]
        asked = Condition(kind, path.numbers[code.first], path.numbers[code.second], holds)
        taken, other = path, self._fork(path)
        paths = []
        for each, truth, to in ((taken, condition, target), (other, condition.negated(), following)):
            stays = ~no if each is taken else ~yes
            if bool((each.must & ~stays).any()):
                continue
            each.know(each.may & stays, each.must)
            own = asked if truth.holds == condition.holds else asked.negated()
            # It may ask something of what its operands were computed from; their own registers count, too.
            if refine(each, truth, self.values) and (own == truth or refine(each, own, self.values)):
                self._go(each, code, to)
                paths.append(each)
        return paths, None

    def _jump(self, path: Path, code: Code, target: int | None) -> None:
        pc, link = path.pc, code.decoded.writes
        if target is None:
            register = code.first
            assert register is not None
            low, high = path.on.interval(register)
            lanes = path.must if path.must.any() else path.may
            low, high = low[lanes], high[lanes]
            if int(low.min()) != int(high.max()):
                raise RefusedError("an indirect jump whose targets are not known", pc)
            word = code.decoded.word
            target = int(low[0]) + ((word >> 20) - (word >> 31 << 12)) & TOP - 1
        if link is not None:
            shape = len(path.may)
            after = np.full(shape, pc + 4 & TOP, np.int64)
            path.on.put(link, path.may, after, after)
            self._write(path, link, self.values.fresh())
            if any(entry == target for entry, _ in path.calls):
                raise RefusedError("recursion: a function that calls itself is not followed", pc)
            path.calls.append((target, pc + 4 & TOP))
            path.turns.append({})
        elif code.decoded.row.op is BranchOp.JALR and path.calls and path.calls[-1][1] == target:
            path.calls.pop()
            path.turns.pop()
        if target == pc:
            raise RefusedError("a jump to itself: the program does not end", pc)
        self._go(path, code, target)


def _agreed(path: Path, yes: np.ndarray, no: np.ndarray) -> bool | None:
    """Whether a branch is taken, if that is known: the active lanes agree, or the program faults."""
    if (path.must & yes).any():
        return True
    if (path.must & no).any():
        return False
    if not (path.may & ~yes).any():
        return True
    if not (path.may & ~no).any():
        return False
    return None
