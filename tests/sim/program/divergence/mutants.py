"""Planted mistakes in the pass for divergent branches, and the programs that find each.

``python -m tests.sim.program.divergence.mutants`` puts one after the other into the pass and runs random programs until
one goes wrong or does not end; or, for those that concern barriers, the loops of barrier_loops.py. A line for each
mistake: the first program that finds it, or that none does. The status is 1 then.
"""

import argparse
import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from metronome.tb.formal.patched import patched
from tests.riscv_kernels import iss_runs
from tests.riscv_kernels.plain_runs import check_program, everything_divergent, values_in_memory
from tests.sim.program.divergence import barrier_loops

#: Ten times what any of the programs takes.
_STEPS = 1_000_000
#: Twenty times what a program takes: a mistake can keep the pass itself busy for ever.
_SECONDS = 120
#: The programs before that are short.
_FIRST = 10
_MODES = {"": contextlib.nullcontext, "everything": everything_divergent, "memory": values_in_memory}
#: The mode of those that the loops with barriers find.
_BARRIERS = "barriers"


@dataclass(frozen=True)
class Mutant:
    """``old`` becomes ``new`` in ``place`` ("module:function" of the pass); ``mode``: of _MODES, or _BARRIERS."""

    name: str
    place: str
    old: str
    new: str
    mode: str = ""


MUTANTS = (
    # Text and blocks.
    Mutant("a branch that is turned round keeps its condition", "assembly:_inverted",
           "replace(branch, op=INVERSE[branch.op])", "branch"),
    Mutant("where a branch is not taken it always goes to the next block", "assembly:_ending",
           "if other != following:", "if False:"),
    # Loops with several entrances.
    Mutant("a loop's entrances all have one number", "masks:_add_header", "enumerate(entries):\n        for",
           "[(0, entry) for entry in entries]:\n        for"),
    # Which values differ between lanes.
    Mutant("lane numbers are the same in all lanes", "program:Program._analyse",
           "entry_state(member.arguments, in_blocks)", "entry_state(member.arguments, True)"),
    Mutant("what is loaded with a lane's address is the same in all", "flow:Flow._step",
           "bool(instruction.reads & state.divergent)",
           'instruction.kind != "load" and bool(instruction.reads & state.divergent)'),
    Mutant("a saved register is the same in all lanes", "flow:State.save",
           "if self.divergent >> register & 1:", "if False:"),
    Mutant("values that lanes bring from different ways are the same", "uniformity:_Analysis._taint",
           "registers |= 1 << number", "pass"),
    Mutant("a loop leaves the same values in all lanes", "uniformity:_Analysis.run",
           "self._taint(target, loop.body, loop.body)", "pass"),
    Mutant("two values that meet are one", "values:Values.differ", "len(values) > 1 or ", ""),
    Mutant("arguments are the same in all lanes", "program:Program._analyse", "callee.arguments &= ~divergent", "pass"),
    Mutant("results are the same in all lanes", "program:Program._analyse",
           "member.results &= member.found.results", "pass"),
    # Loops that lanes leave at different times.
    Mutant("no loop is left at different times", "uniformity:_Analysis._look_at_node",
           "self.result.loops.add(level.header)", "pass"),
    Mutant("all ways out have one number", "masks:_one_end", "value = -2 * targets.index(target)", "value = 0"),
    Mutant("pred takes out those that stay", "masks:_where_they_stand",
           'negated = "x1" if condition.taken != stay_where_taken else "x0"', 'negated = "x0"'),
    Mutant("lanes that wait at one way out look at old conditions", "masks:_where_they_stand", "if not alone:",
           "if False:"),
    Mutant("lanes that are apart leave where they stand", "masks:_together", "found -= apart", "return found"),
    Mutant("lanes that leave together forget those that wait", "masks:_where_they_stand",
           '[*note, Insertion(".insn r 0x0B, 0, 0, x0, {0}, x0", (), (lanes,))]', "[*note]"),
    # Splits and joins.
    Mutant("the depth is not noted on the way into a region", "splits:_note_depth",
           "_edge(function, source, target, into).items.append(Insertion(_DEPTH, (merge.depth,)))", "pass"),
    Mutant("a join too few", "splits:_chain", "range(max(ways.values(), default=0))",
           "range(min(ways.values(), default=0))"),
    Mutant("a way with splits goes past the joins", "splits:_chain", "names[count])", "names[min(count, 1)])"),
    Mutant("a region that lies in another one notes its depth inside", "splits:_grow",
           "outer.region |= inner.region", "pass"),
    # Conditions.
    Mutant("less is not less", "predicates:_condition", "return CONDITIONS[branch.op], registers[0]",
           'return CONDITIONS[branch.op].replace("ltu", "lt"), registers[0]'),
    Mutant("bit 0 of any value is a condition", "predicates:_is_boolean", "return item.is_boolean", "return True"),
    # Places.
    Mutant("what is written meanwhile is no conflict", "places:_Liveness.conflicts",
           "(live | writes) & added, live | writes)", "live & added, live)"),
    Mutant("all added values in memory have one word", "places:place_values",
           "next(number for number in itertools.count(1) if number not in taken)", "1", "memory"),
    Mutant("a called function uses the caller's words", "places:place_values",
           "function.blocks[function.entry].items.insert(0, Insertion(f\"addi\\ts0, s0, {size}\"))",
           "function.blocks[function.last].items.append(Insertion(f\"addi\\ts0, s0, {size}\"))", "memory"),
    # Distances.
    Mutant("lanes that were apart still have their distance", "flow:Flow._meet",
           "registers >> number & 1 or (keep", "(keep", _BARRIERS),
    Mutant("a saved register has the distance of the first way", "flow:Flow._meet",
           "if all(one.parts.get(place) == part for one in known):", "if True:", _BARRIERS),
    Mutant("no value passes the end of its range", "uniformity:_Analysis._disagree",
           "or self.flow.around_barriers", "or True", _BARRIERS),
    Mutant("one is less than the other in all lanes or in none", "uniformity:_Analysis._disagree",
           "return len(sums) > 1", 'return CONDITIONS[block.branch.op] in ("eq", "ne") and len(sums) > 1', _BARRIERS),
    Mutant("what is added is the same in all lanes", "affine:computed",
           '_sum(known[0], known[1], 1 if op == "add" else -1)', "known[0]", _BARRIERS),
    Mutant("a value that is added twice is gone", "affine:_sum",
           "(factors.get(value, 0) + factor * times)", "factor * times", _BARRIERS),
    Mutant("shifted is what it was", "affine:computed", "1 << int(operands[1])", "1", _BARRIERS),
    Mutant("a product is what it was", "affine:multiplied", "_product(part, value)", "part", _BARRIERS),
    Mutant("one factor is the same in all lanes", "flow:Flow._product", "if first and second:", "if False:", _BARRIERS),
    Mutant("nothing is written while kernels run", "program:Program._is_constant",
           "return source.constant[symbol]", "return True", _BARRIERS),
    Mutant("symbols from elsewhere are constants", "program:Program._is_constant", "bool(others) and ", "", _BARRIERS),
    Mutant("all constants are one", "values:Values._compute", "parts = [_of(state, base), offset]",
           "parts = [offset[:0]]", _BARRIERS),
    Mutant("both ways of a branch lead to a 0", "values:_zeros", "name == equal and", "", _BARRIERS),
    Mutant("a 0 is one whatever else leads there", "values:_zeros", "len(sources) == 1", "sources", _BARRIERS),
    Mutant("all that is compared is 0", "values:_zeros", "right == ZERO", "True", _BARRIERS),
    Mutant("a 0 was nothing else", "flow:_brought", "were if len(were) == 1 < len(set(parts)) else", "", _BARRIERS),
)


def _too_long(number: int, frame: object) -> None:
    raise TimeoutError


def first_wrong(number: int, seeds: int) -> str | None:
    """The first program that goes wrong with this mutant, and how: one line."""
    mutant = MUTANTS[number]
    module, _, name = mutant.place.partition(":")
    place = f"metronome.sim.program.divergence.{module}:{name}"
    if mutant.mode == _BARRIERS:
        with patched(mutant.name, place, mutant.old, mutant.new):
            return next(iter(barrier_loops.wrong()), None)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        os.environ["METRONOME_CACHE"] = f"{folder}/cache"
        iss_runs.LIMIT = _STEPS  # many a mistake makes a loop endless
        stack.enter_context(_MODES[mutant.mode]())
        stack.enter_context(patched(mutant.name, place, mutant.old, mutant.new))
        stack.callback(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, _too_long))
        for seed in range(_FIRST, _FIRST + seeds):
            try:
                signal.alarm(_SECONDS)
                wrong = check_program(seed, Path(folder))
            except Exception as error:  # the pass, or the assembler behind it, has seen the mistake
                wrong = [f"seed {seed}: {type(error).__name__}"]
            finally:
                signal.alarm(0)
            if wrong:
                return wrong[0]
    return None


def _first(task: tuple[int, int]) -> tuple[int, str | None]:
    return task[0], first_wrong(*task)


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("numbers", nargs="*", type=int, help="which; by default all")
    parser.add_argument("--seeds", type=int, default=100, help="programs for each at most")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    numbers = options.numbers or list(range(len(MUTANTS)))
    missed = 0
    # A process each, so that nothing of one mistake is left for the next.
    with multiprocessing.Pool(options.jobs, maxtasksperchild=1) as pool:
        tasks = [(number, options.seeds) for number in numbers]
        for number, line in pool.imap_unordered(_first, tasks, 1):
            print(f"{number:3} {MUTANTS[number].name}: {line or 'NOT FOUND'}", flush=True)
            missed += line is None
    print(f"{len(numbers) - missed} of {len(numbers)} found")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
