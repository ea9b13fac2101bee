"""Learned predictions of the analysis against the model's, over random programs of branches, calls and jumps.

A wrong prediction must be charged where it comes, or by a credit that was charged since the warp last met others.
"""

import contextlib
import dataclasses
import random
from collections.abc import Callable
from typing import Any

import pytest

from metronome.hdl.config import Prediction, SmConfig
from metronome.hdl.presets import PIPELINES, TINY
from metronome.sim.analysis.bound import predictions
from metronome.sim.analysis.bound.bound import longest_time
from metronome.sim.analysis.bound.compose.work_conserving import Demand
from metronome.sim.analysis.bound.pipeline import Pipeline
from metronome.sim.analysis.bound.predictions import Outcome, Predictions
from metronome.sim.analysis.code.costs import Costs
from metronome.sim.analysis.code.dependence import DependenceKind
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.predict.predictor import predict
from metronome.sim.program.assembler.asm import add, addi, andi, beq, bne, jal, jalr, lw, nop, srli, tmc
from metronome.sim.program.region_stub import WHOLE, with_region
from tests.sim.analysis.assembled import DATA, INPUTS, Assembled, asked, holds, launch_of, one, words
from tests.sim.analysis.bound.branch_trees import LINK, OTHER, Tree, real
from tests.sim.analysis.bound.concrete_predictors import Code, Warp
from tests.sim.analysis.bound.hunt import predictors
from tests.sim.registers import RA, T1, T2, T4, T5, T6
from tests.support.tiers import long_but, more_but
from tests.system.jump_programs import POINTER, STATE, JumpProgram


@pytest.fixture(autouse=True)
def _fresh():
    """What was computed with other limits, or with a planted error, is forgotten."""
    cached = predictions._branched, predictions._either_set
    for each in cached:
        each.cache_clear()
    yield
    for each in cached:
        each.cache_clear()


def _config(rng: random.Random) -> SmConfig:
    return dataclasses.replace(
        TINY, prediction=Prediction.PRIVATE, return_stack=rng.choice((0, 1, 2, 4)),
        jump_targets=rng.choice((0, 1, 2, 4)), branch_runs=rng.choice((0, 2, 2, 4, 8)),
        two_bit=rng.choice((0, 0, 0, 1, 2, 8)),
    )


def _check(seeds: range) -> int:
    """Check random programs; return how many predictions were wrong."""
    wrong = 0
    for seed in seeds:
        rng = random.Random(f"predictions/{seed}")
        config = _config(rng)
        program = Tree(rng, config)
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
            steps += [(jalr(LINK, OTHER, 0), pc, pc + 400), (jalr(0, LINK, 0), pc + 400, pc + 4)]
        else:
            steps.append((jalr(0, rng.choice((LINK, OTHER)), 0), pc, 4 * rng.randrange(2, 4)))
    for word, pc, following in steps:
        cost = costs.of(word)
        outcome, state = state.after(cost, pc, following)
        assert outcome == (real(warp, cost, pc, following), False)


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


def test_where_only_one_path_has_been_charged():
    """The run of a loop may be too long for a length of 3 or 5; after the paths join, it is charged again."""
    config = dataclasses.replace(TINY, prediction=Prediction.PRIVATE, branch_runs=2)
    cost = Costs(config).of(bne(0, 0, -64))

    def taken(state: Predictions, times: int) -> tuple[list[Outcome], Predictions]:
        outcomes = []
        for _ in range(times):
            outcome, state = state.after(cost, 4096, 4032)
            outcomes.append(outcome)
        return outcomes, state

    def left(state: Predictions, times: int) -> Predictions:
        return taken(state, times)[1].after(cost, 4096, 4100)[1]

    fresh, none, later = Predictions.fresh(config), Outcome(), Outcome(later=True)
    either = left(left(fresh, 3), 3).join(left(left(fresh, 5), 5))
    charged, first = taken(either, 4)
    assert charged == [none, none, none, later] and taken(first, 9)[0] == [none] * 9
    assert taken(first.met(), 2)[0] == [none, later]
    uncharged, other = taken(either, 2)
    assert uncharged == [none, none] and taken(first.join(other), 4)[0] == [none, later, none, none]


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
@pytest.mark.parametrize("seed", more_but(range(12), [0, 1, 2]))
def test_calls_and_jumps(seed, monkeypatch):
    """Warps that follow different paths, all known: as many predictions are wrong as the machine counts."""
    rng = random.Random(f"jumps/{seed}")
    config = one(rng.choice(("lrr", "gtlo", "srr", "prr")), "private", warps=rng.choice((1, 1, 2)), **predictors(rng))
    program = JumpProgram(rng, config, blocks=rng.randrange(10, 60)).program
    launch = with_region(launch_of(config, program.assemble()), WHOLE, config)
    pipelines: list[Pipeline] = []
    true = Demand.of
    monkeypatch.setattr(Demand, "of", lambda config, made, shared: pipelines.extend(made) or true(config, made, shared))
    request = asked(config, launch, latency=1)
    bound = longest_time(config, request, launch, compose=True)
    run = predict(config, request).result
    assert all(run.total_cycles <= each.cycles for each in bound.composed if each.holds)
    counted = sum(run.counters[name] for name in ("wrong_branches", "wrong_returns", "wrong_jumps"))
    assert sum(sum(each.wrong.values()) for each in pipelines) == counted > 0


class _InputJumps(JumpProgram):
    """A program of calls, loops and branches whose decisions depend on the input."""

    _begun = False

    def _blocks(self, level, count, loops):
        if not self._begun:
            self._begun = True
            self.program.li(POINTER, INPUTS)
            self.program.add(lw(STATE, 0, POINTER))
        super()._blocks(level, count, loops)

    def _switch(self, level, loops):
        # A jump whose target is not known is refused.
        self._if(level, loops)


@pytest.mark.slow
@pytest.mark.parametrize("seed", long_but(range(40), [0, 1]))
def test_calls_and_branches_on_inputs(seed):
    rng = random.Random(f"inputs/{seed}")
    config = one(rng.choice(("lrr", "gtlo", "srr", "prr")), "private", warps=rng.choice((1, 1, 2)), **predictors(rng))
    program = _InputJumps(rng, config, blocks=rng.randrange(6, 30)).program
    inputs = [words(*[rng.getrandbits(32)] * 16) for _ in range(8)]
    with contextlib.suppress(RefusedError):
        holds(config, launch_of(config, program.assemble(), inputs[0]), inputs, latency=1)


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
