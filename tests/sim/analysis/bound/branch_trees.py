"""Random trees of branches, loops, calls and jumps: their predictions in the analysis, and on a path of the model."""

import random
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.sim.analysis.bound.predictions import Outcome, Predictions
from metronome.sim.analysis.code.costs import Cost, Costs
from metronome.sim.program.assembler.asm import beq, bne, jalr
from tests.sim.analysis.bound.concrete_predictors import Code, Warp

LINK, OTHER = 1, 6
#: The most passes of a loop.
_PASSES = (1, 2, 3, 5, 9, 9)
_LONG = (64, 70)
_BRANCHES = ("if", "if", "loop", "meet")


class Tree:
    """A random tree of sequences, conditions, loops, calls, and places where warps meet.

    ``interpret`` follows all its paths, and ``execute`` one. Both identify an instruction by its ``context``: its place
    in the tree, and the passes of the loops around it.
    """

    def __init__(self, rng: random.Random, config: SmConfig) -> None:
        self._rng, self._costs = rng, Costs(config)
        self._outcomes: dict[Any, Outcome] = {}
        # Some branches share a tag, and a few a set.
        sets = max(1, config.branch_runs // 2)
        self._places = [
            4096 + 4 * rng.randrange(12) + 4 * sets * 256 * rng.randrange(2) for _ in range(rng.choice((2, 3, 8)))
        ]
        self._kinds = rng.choice((_BRANCHES, _BRANCHES, (*_BRANCHES, "call", "jump", "jump")))
        self.tree = self._sequence(3)
        self._interpret(self.tree, Predictions.fresh(config), ())

    def _sequence(self, depth: int) -> list[tuple]:
        return [self._node(depth) for _ in range(self._rng.randrange(1, 5))]

    def _node(self, depth: int) -> tuple:
        rng = self._rng
        pc, kind = rng.choice(self._places), rng.choice(self._kinds)
        if not depth:
            kind = rng.choice(("step", "step", "meet", kind if kind in ("call", "jump") else "step"))
        if kind == "if":
            return kind, pc, beq(0, 0, 64), self._sequence(depth - 1), self._sequence(depth - 1)
        if kind == "loop":
            fixed = rng.random() < 0.5
            most = rng.choice(_LONG if depth == 1 and rng.random() < 0.1 else _PASSES)
            return kind, pc, bne(0, 0, -64), self._sequence(depth - 1), most, fixed
        if kind == "call":
            return kind, pc, self._sequence(depth - 1) if depth else []
        if kind == "step":
            return "if", pc, beq(0, 0, 64), [], []
        return kind, pc, [4 * rng.randrange(99) for _ in range(rng.randrange(1, 3))]

    def _interpret(self, tree: list[tuple], state: Predictions, context: tuple) -> Predictions:
        for number, node in enumerate(tree):
            here = (*context, number)
            kind, pc = node[:2]
            if kind == "meet":
                state = state.met()
            elif kind == "if":
                first = self._charge(state, (*here, 1), node[2], pc, pc + 64)
                other = self._charge(state, (*here, 0), node[2], pc, pc + 4)
                state = self._interpret(node[3], first, (*here, 1)).join(self._interpret(node[4], other, (*here, 0)))
            elif kind == "loop":
                state = self._interpret_loop(node, state, here)
            elif kind == "call":
                state = self._charge(state, here, jalr(LINK, OTHER, 0), pc, pc + 400)
                state = self._interpret(node[2], state, here)
                state = self._charge(state, (*here, "back"), jalr(0, LINK, 0), pc + 8, pc + 4)
            else:
                ways = [self._charge(state, (*here, each), jalr(0, OTHER, 0), pc, each) for each in node[2]]
                state = ways[0].join(ways[-1])
        return state

    def _interpret_loop(self, node: tuple, state: Predictions, here: tuple) -> Predictions:
        _, pc, word, body, most, fixed = node
        left: Predictions | None = None
        for turn in range(most):
            state = self._interpret(body, state, (*here, turn))
            if not fixed or turn == most - 1:
                out = self._charge(state, (*here, turn, "end", 0), word, pc, pc + 4)
                left = out if left is None else left.join(out)
            if turn < most - 1:
                state = self._charge(state, (*here, turn, "end", 1), word, pc, pc - 64)
        assert left is not None
        return left

    def _charge(self, state: Predictions, context: tuple, word: int, pc: int, following: int) -> Predictions:
        self._outcomes[context], state = state.after(self._costs.of(word), pc, following)
        return state

    def execute(self, warp: Warp, rng: random.Random) -> int:
        """Follow one path; return how many predictions are wrong. A wrong one that is not charged is an error."""
        self._credit = self._wrong = 0
        self._often = rng.choice((0.05, 0.2, 0.5, 0.9))
        self._warp = warp
        self._execute(self.tree, rng, ())
        return self._wrong

    def _execute(self, tree: list[tuple], rng: random.Random, context: tuple) -> None:
        for number, node in enumerate(tree):
            here = (*context, number)
            kind, pc = node[:2]
            if kind == "meet":
                self._credit = 0
            elif kind == "if":
                side = int(rng.random() < self._often)
                self._step((*here, side), node[2], pc, pc + 64 if side else pc + 4)
                self._execute(node[3 if side else 4], rng, (*here, side))
            elif kind == "loop":
                _, _, word, body, most, fixed = node
                last = most - 1 if fixed else rng.randrange(most)
                for turn in range(last + 1):
                    self._execute(body, rng, (*here, turn))
                    again = turn < last
                    self._step((*here, turn, "end", int(again)), word, pc, pc - 64 if again else pc + 4)
            elif kind == "call":
                self._step(here, jalr(LINK, OTHER, 0), pc, pc + 400)
                self._execute(node[2], rng, here)
                self._step((*here, "back"), jalr(0, LINK, 0), pc + 8, pc + 4)
            else:
                each = rng.choice(node[2])
                self._step((*here, each), jalr(0, OTHER, 0), pc, each)

    def _step(self, context: tuple, word: int, pc: int, following: int) -> None:
        charged = self._outcomes[context]
        wrong = real(self._warp, self._costs.of(word), pc, following)
        self._wrong += wrong
        self._credit += charged.later
        if wrong and not charged.wrong:
            self._credit -= 1
            assert self._credit >= 0, context


def real(warp: Warp, cost: Cost, pc: int, following: int) -> bool:
    """Return whether the model predicts an instruction wrongly; branches go 64 bytes back or forth."""
    code = Code(
        predicted=int(cost.followed), conditional=int(cost.conditional), indirect=int(cost.indirect),
        pushes=int(cost.pushes), pops=int(cost.pops), offset=(64, -64)[cost.followed] if cost.conditional else 0,
    )
    return warp.run(code, pc, int(cost.indirect or following != pc + 4), following)
