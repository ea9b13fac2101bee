"""Which paths the facts of the user leave, and what is said where none is left."""

from __future__ import annotations

from ..code.loops import Function
from ..code.program import AnalyzedProgram
from ..code.refusals import RefusedError
from .facts import Fact, Facts
from .path import Path

__all__ = ["FactFilter"]

#: A loop whose end depends on the inputs is given up after so many turns.
_MOST_TURNS = 1000


class FactFilter:
    """The facts of a program while its paths are followed; None: there are no facts."""

    def __init__(self, program: AnalyzedProgram, facts: Facts | None) -> None:
        self._program, self._facts = program, facts
        #: The fact that has ended a path in the last step, and where.
        self._ended: tuple[Fact, int] | None = None

    def allow(self, path: Path) -> bool:
        """Whether no fact says that a path cannot be where it is.

        How often it has come to the headers of loops is counted, and forgotten where it has left them.
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
        """Why there is no way on behind an instruction."""
        if self._ended is not None:
            fact, pc = self._ended
            what = "the program comes there" if fact.most is None else "the loop goes on then"
            return RefusedError(f"{fact.text} is wrong: {what}, whatever the inputs", pc)
        used = list(self._facts.used.values()) if self._facts is not None else []
        doubt = f", or {used[-1].text} is wrong" if used else ""
        return RefusedError(f"every way on is impossible: the program would fault{doubt}", place)

    def most_turns(self, function: Function, header: int) -> int:
        """After how many turns a loop is given up."""
        fact = None if self._facts is None else self._facts.of(self._program, function.entry).loops.get(header)
        return _MOST_TURNS if fact is None else max(_MOST_TURNS, fact.passes)

    def endless(self, header: int) -> RefusedError:
        """Why a loop has no bound."""
        reason = (
            f"a loop whose end depends on the inputs, and {_MOST_TURNS} turns do not end it: it has no bound; "
            "give it one with METRONOME_LOOP_BOUND or --flow-facts"
        )
        if self._facts is not None and header in self._facts.unclear:
            reason = f"a loop without a bound, and {self._facts.unclear[header]}"
        return RefusedError(reason, header)
