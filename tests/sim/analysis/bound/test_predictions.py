"""Learned predictions of the analysis against the model's, over random programs of branches, calls and jumps.

A wrong prediction must be charged where it comes, or by a credit that was charged since the warp last met others.
"""

import dataclasses
import random
from collections.abc import Callable
from typing import Any

import pytest

from metronome.hdl.config import Prediction, SmConfig
from metronome.hdl.presets import PIPELINES, TINY
from metronome.sim.analysis.bound import predictions
from metronome.sim.analysis.bound.bound import longest_time
from metronome.sim.analysis.bound.predictions import Outcome, Predictions
from metronome.sim.analysis.code.costs import Cost, Costs
from metronome.sim.analysis.code.dependence import DependenceKind
from metronome.sim.program.assembler.asm import add, addi, andi, beq, bne, jal, jalr, lw, nop, srli, tmc
from tests.sim.analysis.assembled import DATA, Assembled, asked, holds, launch_of, one, runs_of, words
from tests.sim.analysis.bound.concrete_predictors import Code, Warp
from tests.sim.analysis.bound.hunt import predictors
from tests.sim.registers import RA, T1, T2, T4, T5, T6
from tests.support.tiers import more_but
from tests.system.jump_programs import JumpProgram

_RA, _OTHER = 1, 6
#: The most passes of a loop, and its most outcomes on a path.
_PASSES = (1, 2, 3, 5, 9, 9)
_LONG = (64, 70)
_BRANCHES = ("if", "if", "loop", "meet")


@pytest.fixture(autouse=True)
def _fresh():
    """What was computed with other limits, or with a planted error, is forgotten."""
    for turn in range(2):
        for cached in (predictions._branched, predictions._either_set):
            getattr(cached, "cache_clear", lambda: None)()
        if not turn:
            yield


def _config(rng: random.Random) -> SmConfig:
    return dataclasses.replace(
        TINY, prediction=Prediction.PRIVATE, return_stack=rng.choice((0, 1, 2, 4)),
        jump_targets=rng.choice((0, 1, 2, 4)), branch_runs=rng.choice((0, 2, 2, 4, 8)),
        two_bit=rng.choice((0, 0, 0, 1, 2, 8)),
    )


class _Program:
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
                state = self._charge(state, here, jalr(_RA, _OTHER, 0), pc, pc + 400)
                state = self._interpret(node[2], state, here)
                state = self._charge(state, (*here, "back"), jalr(0, _RA, 0), pc + 8, pc + 4)
            else:
                ways = [self._charge(state, (*here, each), jalr(0, _OTHER, 0), pc, each) for each in node[2]]
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
                self._step(here, jalr(_RA, _OTHER, 0), pc, pc + 400)
                self._execute(node[2], rng, here)
                self._step((*here, "back"), jalr(0, _RA, 0), pc + 8, pc + 4)
            else:
                each = rng.choice(node[2])
                self._step((*here, each), jalr(0, _OTHER, 0), pc, each)

    def _step(self, context: tuple, word: int, pc: int, following: int) -> None:
        charged = self._outcomes[context]
        wrong = _real(self._warp, self._costs.of(word), pc, following)
        self._wrong += wrong
        self._credit += charged.later
        if wrong and not charged.wrong:
            self._credit -= 1
            assert self._credit >= 0, context


def _real(warp: Warp, cost: Cost, pc: int, following: int) -> bool:
    """Return whether the model predicts an instruction wrongly; branches go 64 bytes back or forth."""
    code = Code(
        predicted=int(cost.followed), conditional=int(cost.conditional), indirect=int(cost.indirect),
        pushes=int(cost.pushes), pops=int(cost.pops), offset=(64, -64)[cost.followed] if cost.conditional else 0,
    )
    return warp.run(code, pc, int(cost.indirect or following != pc + 4), following)


def _check(seeds: range) -> int:
    """Check random programs; return how many predictions were wrong."""
    wrong = 0
    for seed in seeds:
        rng = random.Random(f"predictions/{seed}")
        config = _config(rng)
        program = _Program(rng, config)
        wrong += sum(program.execute(Warp(config, rng), rng) for _ in range(8))
    return wrong


def test_every_wrong_prediction_is_charged():
    assert _check(range(30)) > 1000


@pytest.mark.parametrize("seed", range(6))
def test_on_a_known_path_each_prediction_is_known(seed):
    rng = random.Random(f"known/{seed}")
    config = _config(rng)
    costs, warp, state = Costs(config), Warp(config, rng), Predictions.fresh(config)
    places = [4096 + 4 * rng.randrange(6) for _ in range(4)]
    lengths = [rng.choice((1, 2, 3, 7, 61, 62, 63, 64, 80)) for _ in places]
    steps: list[tuple[int, int, int]] = []
    for _ in range(300):
        number = rng.randrange(4)
        pc, kind = places[number], rng.randrange(8)
        if kind < 4:
            back, forth = bne(0, 0, -64), beq(0, 0, 64)
            word, to, out = ((back, pc - 64, pc + 4), (forth, pc + 4, pc + 64))[number % 2]
            length = lengths[number] if rng.random() < 0.8 else rng.choice((1, 2, 5))
            steps += [(word, pc, to)] * length + [(word, pc, out)]
        elif kind < 6:
            steps += [(jalr(_RA, _OTHER, 0), pc, pc + 400), (jalr(0, _RA, 0), pc + 400, pc + 4)]
        else:
            steps.append((jalr(0, rng.choice((_RA, _OTHER)), 0), pc, 4 * rng.randrange(2, 4)))
    for word, pc, following in steps:
        cost = costs.of(word)
        outcome, state = state.after(cost, pc, following)
        assert outcome == (_real(warp, cost, pc, following), False)


def _planted(monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[Any], Any]) -> None:
    """Replace what a function of the analysis returns."""
    true = getattr(predictions, name)
    monkeypatch.setattr(predictions, name, lambda *arguments: change(true(*arguments)))


@pytest.mark.more
def test_a_wrong_prediction_that_is_not_charged_is_seen(monkeypatch):
    _planted(monkeypatch, "_branched", lambda found: (Outcome(), found[1]))
    with pytest.raises(AssertionError):
        _check(range(10))
    with pytest.raises(AssertionError):
        test_known_outcomes_are_predicted_as_on_the_machine("classic")
    with pytest.raises(AssertionError):
        test_inputs_that_are_hard_to_predict("classic")


@pytest.mark.more
def test_a_run_that_ends_too_early_is_charged(monkeypatch):
    _planted(monkeypatch, "_charged", lambda found: (Outcome(found[0].wrong, False), found[1]))
    with pytest.raises(AssertionError):
        _check(range(40))


@pytest.mark.long
@pytest.mark.parametrize("limit", [0, 2, 64])
def test_with_any_limit_of_states(monkeypatch, limit):
    monkeypatch.setattr(predictions, "_MOST_RUNS", limit)
    monkeypatch.setattr(predictions, "_MOST", max(1, limit))
    _check(range(1000, 1200))


def test_at_most_three_are_wrong_each_time_a_loop_is_entered():
    """Whatever happened before: its first branch, one in the middle, and its last one."""
    rng = random.Random("three")
    config = dataclasses.replace(TINY, prediction=Prediction.PRIVATE, branch_runs=2)
    code = Code(conditional=1, predicted=1, offset=-64)
    most = 0
    warp = Warp(config, rng)
    for _ in range(400):
        for _ in range(rng.randrange(4)):
            # Others, which may take its entry.
            warp.run(Code(conditional=1, predicted=rng.randrange(2), offset=64), 4 * rng.randrange(1, 4), 1, 64)
        turns = rng.choice((1, 2, 3, 4, 9, 64, 80))
        found = sum(warp.run(code, 4096, int(turn < turns), 4032) for turn in range(1, turns + 1))
        most = max(most, found)
    assert most == 3


class _Outcomes(Assembled):
    """A warp alone that takes a branch by the bits of a word, from the lowest on: a ``known`` one, or the input."""

    def __init__(self, times: int, *, known: int | None) -> None:
        super().__init__(depends=False)
        self.li(T5, times)
        self.label("again")
        if known is None:
            self.read_input()
        else:
            self.li(T1, known)
        self.li(T6, 32)
        self.label("bit")
        self.add(andi(T4, T1, 1), srli(T1, T1, 1))
        self.unless(beq, T4, 0, nop())
        self.add(addi(T6, T6, -1))
        self.branch(bne, T6, 0, "bit")
        self.add(addi(T5, T5, -1))
        self.branch(bne, T5, 0, "again")


def _alone(pipeline: str) -> SmConfig:
    return one(prediction="private", warps=1, **PIPELINES[pipeline])


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_known_outcomes_are_predicted_as_on_the_machine(pipeline):
    """The bound is the run, with constants for the launch and for misses, and NOPs that waits leave out."""
    config = _alone(pipeline)
    launch = launch_of(config, _Outcomes(30, known=0x1F35_0A6C))
    bound = longest_time(config, asked(config, launch), launch, compose=True)
    assert bound.exact
    best = min(each.cycles for each in bound.composed if each.holds)
    assert bound.cycles <= best < 1.05 * bound.cycles


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_inputs_that_are_hard_to_predict(pipeline):
    rng = random.Random("hard")
    inputs = [words(*([rng.getrandbits(32)] * 16)) for _ in range(12)] + [words(*([0x5555_5555] * 16))]
    bound, longest = holds(_alone(pipeline), _Outcomes(30, known=None), inputs)
    assert not bound.exact and bound.cycles < 1.5 * longest


@pytest.mark.slow
@pytest.mark.parametrize("seed", more_but(range(8), [0, 1]))
def test_calls_and_jumps(seed):
    """Warps that follow different paths, all known."""
    _jumps(seed)


def _jumps(seed: int) -> tuple[int, int]:
    rng = random.Random(f"jumps/{seed}")
    config = one(rng.choice(("lrr", "gtlo", "srr", "prr")), "private", warps=rng.choice((1, 1, 2)), **predictors(rng))
    launch = launch_of(config, JumpProgram(rng, config, blocks=rng.randrange(10, 60)).program.assemble())
    bound = longest_time(config, asked(config, launch, latency=1), launch, compose=True)
    (run,) = runs_of(config, launch, [bytes(64)], latency=1)
    least = min(each.cycles for each in bound.composed if each.holds)
    assert run <= least
    return run, least


def test_inputs_behind_a_call_that_does_not_return():
    """A return is predicted to go there, and a jump among them may then be followed. So the time depends on them."""
    program = Assembled(depends=False)
    program.li(T5, DATA)
    program.add(lw(T2, 0, T5))
    program.align(60)
    program.jal(RA, "function")
    after = program.here
    program.add(*[nop()] * 16)
    program.label("function")
    line = program.here
    program.la(RA, "on")
    program.add(lw(T4, 64, T5), add(T4, T4, T4), add(T4, T4, T4), jalr(0, RA, 0))
    program.label("on")
    program.add(tmc(0))
    far = words(*(jal(0, line + 4096 * (at + 1) - (after + 4 * at)) for at in range(16)))
    quiet = words(*[nop()] * 16)
    config = one(prediction="private", icache_ways=1)
    launch = launch_of(config, program.assemble() + bytes(0x18000))
    launch = dataclasses.replace(launch, loads={"inputs": (after, quiet)})
    bound, _ = holds(config, launch, [quiet, far])
    assert [each.kind for each in bound.dependences] == [DependenceKind.CODE] * len(bound.dependences) != []
