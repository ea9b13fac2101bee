"""Branches and jumps on a path, which forks if a branch may be taken or not."""

from __future__ import annotations

import numpy as np

from metronome.hdl.isa.ops import BranchOp

from ..code.lanes import TOP
from ..code.loops import target_of
from ..code.program import Instruction
from ..code.refusals import RefusedError
from .conditions import Condition
from .masks import outcome, refine
from .path import Path
from .warp import AbstractWarp

__all__ = ["BRANCHES", "Branches"]

#: The comparison of each conditional branch, and whether the branch is taken if the comparison is true.
BRANCHES = {
    BranchOp.EQ: ("eq", True), BranchOp.NE: ("eq", False), BranchOp.LT: ("lt", True), BranchOp.GE: ("lt", False),
    BranchOp.LTU: ("ltu", True), BranchOp.GEU: ("ltu", False),
}


class Branches:
    """Executes branches and jumps."""

    def __init__(self, warp: AbstractWarp) -> None:
        self._warp = warp

    def condition(self, path: Path, code: Instruction, *, flags: bool = True) -> Condition:
        """Return the condition under which a branch is taken.

        With ``flags``, a comparison of a value that is 0 or 1 becomes a test of its bit 0.
        """
        kind, holds = BRANCHES[code.decoded.row.op]  # type: ignore[index]
        assert code.first is not None and code.second is not None
        a, b = path.numbers[code.first], path.numbers[code.second]
        if kind == "eq":
            bits = frozenset(
                path.numbers[register] for register in (code.first, code.second)
                if flags and int(path.on.interval(register)[1][path.may].max()) <= 1
            )
            made = self._warp.values.equal(a, b, flags=bits)
        else:
            made = Condition(kind, a, b, True)
        return made if holds else made.negated()

    def execute(self, path: Path, code: Instruction) -> list[Path]:
        """Execute a branch or jump, and return the resulting paths."""
        pc, target = path.pc, target_of(code.decoded, path.pc)
        op = code.decoded.row.op
        if op in (BranchOp.JAL, BranchOp.JALR):
            self._jump(path, code, target)
            return [path]
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
            self._warp.go(path, code, target if decided else following)
            return [path]
        condition = self.condition(path, code)
        kind, holds = BRANCHES[op]  # type: ignore[index]
        asked = Condition(kind, path.numbers[code.first], path.numbers[code.second], holds)
        taken, other = path, self._warp.fork(path)
        paths = []
        for each, truth, to in ((taken, condition, target), (other, condition.negated(), following)):
            stays = ~no if each is taken else ~yes
            if bool((each.must & ~stays).any()):
                continue
            each.constrain(each.may & stays, each.must)
            own = asked if truth.holds == condition.holds else asked.negated()
            # The condition may concern values from which the operands were computed, so refine the operands, too.
            if refine(each, truth, self._warp.values) and (own == truth or refine(each, own, self._warp.values)):
                self._warp.go(each, code, to)
                paths.append(each)
        return paths

    def _jump(self, path: Path, code: Instruction, target: int | None) -> None:
        pc, link = path.pc, code.decoded.writes
        if target is None:
            register = code.first
            assert register is not None
            low, high = path.on.interval(register)
            lanes = path.must if path.must.any() else path.may
            low, high = low[lanes], high[lanes]
            if int(low.min()) != int(high.max()):
                raise RefusedError("an indirect jump whose target is not known", pc)
            word = code.decoded.word
            target = int(low[0]) + ((word >> 20) - (word >> 31 << 12)) & TOP - 1
        if link is not None:
            shape = len(path.may)
            after = np.full(shape, pc + 4 & TOP, np.int64)
            path.on.put(link, path.may, after, after)
            self._warp.write(path, link, self._warp.values.fresh())
            if any(entry == target for entry, _ in path.calls):
                raise RefusedError("recursion: the analysis does not follow a function that calls itself", pc)
            path.calls.append((target, pc + 4 & TOP))
            path.turns.append({})
        elif code.decoded.row.op is BranchOp.JALR and path.calls and path.calls[-1][1] == target:
            path.calls.pop()
            path.turns.pop()
        if target == pc:
            raise RefusedError("a jump to itself: the program does not end", pc)
        self._warp.go(path, code, target)


def _agreed(path: Path, yes: np.ndarray, no: np.ndarray) -> bool | None:
    """Return whether a branch is taken, or None if unknown. If active lanes disagreed, the program would fault."""
    if (path.must & yes).any():
        return True
    if (path.must & no).any():
        return False
    if not (path.may & ~yes).any():
        return True
    if not (path.may & ~no).any():
        return False
    return None
