"""P8: nothing is assumed away, and it holds at other sizes of the predictors (test_proofs.py has the usual ones)."""

from dataclasses import replace

import pytest

from metronome.tb.formal.flow import Case, as_problem, bounded_check, prove
from metronome.tb.formal.privacy import PrivacyModel
from tests.support.tiers import some_long, some_more


def returns(model):
    return model.decodes & model.ideal.stacked(model.state, model.word)


def ends_a_run(model):
    """A branch of the symbolic set, in its first way, is at the end of a run whose length is known."""
    way = model.state.ways[0]
    found = model.decodes & model.word.conditional & model.ideal.is_set(model.dut.pc)
    hit, other = model.ideal.hit(model.state, model.dut.pc)
    return found & hit & ~other & (way.count == way.lengths[1]) & way.taken & (way.count != 0)


#: What has to be possible, as a function of the model; each for the symbolic warp.
EVENTS = {
    "a return while its call is unsettled": lambda model: returns(model) & (model.held != 0),
    "a return after a redirect": lambda model: returns(model) & (model.held == 0) & (model.state.count == 2),
    "a target that was learned": lambda model: model.decodes & model.word.indirect & model.state.known
        & ~model.word.pops & model.ideal.is_target(model.dut.pc),
    "the end of a run": ends_a_run,
    "a decode in the cycle of an outcome": lambda model: model.decodes & model.settles & ~model.redirected,
    "a decode on a wrong path": lambda model: model.dut.valid & (model.dut.warp == model.warp) & ~model.right,
    "a redirect by a wrong outcome": lambda model: model.settles & model.redirected,
    "a redirect by another instruction": lambda model: ~model.right & model.redirected & ~model.settles,
    "a start of a warp that has run": lambda model: model.starts & (model.state.as_value() != 0),
    "a start after a fault": lambda model: model.starts & (model.held != 0),
    "a full queue": lambda model: model.held == model.depth,
}
CONFIG = Case("P8", prediction="private", warps=2).config()


@pytest.mark.slow
@pytest.mark.parametrize("event", some_more(EVENTS, 1))
def test_nothing_is_assumed_away(event, monkeypatch):
    monkeypatch.setattr(PrivacyModel, "_predictions", lambda model: None)
    model = PrivacyModel(CONFIG, lemmas=False)
    model.claim(event, ~EVENTS[event](model))
    found = bounded_check(as_problem(event, model), 10)
    assert found is not None, f"cannot happen: {event}"
    assert event in found.violated


#: Sizes beside the defaults: the largest, the smallest, and each predictor alone.
SIZES = [
    {"return_stack": 8, "jump_targets": 4, "branch_runs": 8, "two_bit": 16},
    {"return_stack": 1, "jump_targets": 1, "branch_runs": 2, "two_bit": 1},
    {"return_stack": 16, "jump_targets": 0, "branch_runs": 0}, {"return_stack": 0, "branch_runs": 0},
    {"return_stack": 0, "jump_targets": 0, "branch_runs": 16}, {"return_stack": 0, "jump_targets": 0, "branch_runs": 0},
    {"return_stack": 0, "jump_targets": 0, "branch_runs": 0, "two_bit": 64},
    {"issue_latency": 3}, {"issue_latency": 3, "two_bit": 4},
]


@pytest.mark.more
@pytest.mark.parametrize("sizes", some_long(SIZES, 2), ids=str)
def test_other_sizes(sizes):
    proof = prove(Case("P8", prediction="private", warps=2, parameters=tuple(sizes.items())))
    assert (proof.result, proof.method, proof.depth) == ("pass", "induction", 1), proof.counterexample


def test_the_queue_is_as_long_as_the_pipeline():
    """The slots of a buffer, and an instruction for each cycle from its selection to its outcome."""
    config = replace(CONFIG, issue_latency=3)
    assert PrivacyModel(config, lemmas=False).depth == config.buffer_depth + config.resolve_latency == 8
