"""Exclusion of paths by flow facts, and the errors if no path is left."""

from __future__ import annotations

from ..code.loops import Function
from ..code.program import AnalyzedProgram
from ..code.refusals import RefusedError
from .facts import Fact, Facts
from .path import Path

__all__ = ["FactFilter"]

#: Iterations after which the analysis gives up on a loop whose end depends on the inputs.
_MOST_TURNS = 1000


class FactFilter:
    """Applies flow facts to the paths of a program; ``facts``: None if there are none."""

    def __init__(self, program: AnalyzedProgram, facts: Facts | None) -> None:
        self._program, self._facts = program, facts
        #: The fact that ended a path in the last step, and the pc where it did.
        self._ended: tuple[Fact, int] | None = None

    def allow(self, path: Path) -> bool:
        """Return whether the facts allow a path at its position.

        The passes of a loop header are counted until the path leaves the loop.
        """
        self._ended = None
        if self._facts is None or not path.calls:
            return True
        pc, calls = path.pc, len(path.calls)
        table = self._facts.of(self._program, path.calls[-1][0])
        loops = table.function.loops
        if pc in table.never:
            return self._end(pc, table.never[pc])
        around = loops.get(pc, ())
        if path.passes:
            path.passes = {
                key: count for key, count in path.passes.items()
                if key[0] < calls or (key[0] == calls and key[1] in around)
            }
        fact = table.loops.get(pc)
        if fact is None or not around or around[-1] != pc:
            return True
        count = path.passes[calls, pc] = path.passes.get((calls, pc), 0) + 1
        return count <= fact.passes or self._end(pc, fact)

    def _end(self, pc: int, fact: Fact) -> bool:
        assert self._facts is not None
        self._facts.used[pc] = fact
        self._ended = fact, pc
        return False

    def impossible(self, place: int) -> RefusedError:
        """Return the error for an instruction after which no path is left."""
        if self._ended is not None:
            fact, pc = self._ended
            what = "it is executed" if fact.most is None else "the loop executes more iterations"
            return RefusedError(f"{fact.text} is wrong: {what} for all inputs", pc)
        used = list(self._facts.used.values()) if self._facts is not None else []
        doubt = f", or {used[-1].text} is wrong" if used else ""
        return RefusedError(f"no path from here is possible: the program would fault{doubt}", place)

    def most_turns(self, function: Function, header: int) -> int:
        """Return the iterations after which the analysis gives up on a loop."""
        fact = None if self._facts is None else self._facts.of(self._program, function.entry).loops.get(header)
        return _MOST_TURNS if fact is None else max(_MOST_TURNS, fact.passes)

    def endless(self, header: int) -> RefusedError:
        """Return the error for a loop without a bound."""
        reason = (
            f"the end of this loop depends on the inputs, and it has not ended after {_MOST_TURNS} iterations: give "
            "its bound with METRONOME_LOOP_BOUND or --flow-facts"
        )
        if self._facts is not None and header in self._facts.unclear:
            reason = f"a loop without a bound: {self._facts.unclear[header]}"
        return RefusedError(reason, header)
