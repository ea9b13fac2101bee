"""Every deliberately broken design is refuted, by a run from reset, by the property that it is meant for."""

from collections import Counter

import pytest

from metronome.tb.formal import properties
from metronome.tb.formal.broken import BROKEN, applied, others, refute
from metronome.tb.formal.broken_l2 import BROKEN_L2
from metronome.tb.formal.defect import Defect
from metronome.tb.formal.flow import Case, bounded_check, problem, prove
from metronome.tb.formal.properties import PROPERTIES


def test_each_property_has_two():
    count = Counter(broken.property for broken in BROKEN)
    assert set(count) == set(PROPERTIES)
    assert min(count.values()) >= 2


#: The claims that the designs without a ``claim`` violate, by their counterexamples.
ELSEWHERE = {
    "P4": {
        "the issued instruction is at the next pc",
        "the predictors receive what arrives, unless its warp is redirected",
        "the entry that follows takes along whether it was predicted taken",
        "the entry that follows takes along its prediction",
    },
    "P8": {
        "a return whose stack is not empty is predicted", "a return goes to the last return address of the warp",
        "another jalr goes to the last target that the warp has learned",
        "another jalr is predicted if the warp has learned a target", "a branch is found among those of its warp",
        "a branch goes as the outcomes of its warp say",
        "X: a jump or branch without a fault has an outcome in the next cycle",
        "X: the outcome says what the predictors expect", "X: an outcome is wrong iff its prediction was",
    },
}
#: The entry of a pc is looked up by the pc that comes with it; a wrong path that is predicted may also issue.
SEEN_BY_OTHERS = {
    "the entry that follows has the pc that issued", "but no instruction of a warp that starts",
    "nor of one that was started, redirected or predicted to jump in the last cycle",
    "and if it was the same warp's in the last cycle, the pc before it",
}


@pytest.mark.more
@pytest.mark.parametrize("name", ELSEWHERE)
def test_each_claim_about_private_predictions_has_one(name):
    case = Case(name, prediction="private", warps=2)
    named = {its.claim for its in BROKEN if (its.property, its.scheme) == (name, "swas") and its.claim}
    assert set(problem(case, lemmas=False).claims.values()) == named | ELSEWHERE[name]
    assert not named & ELSEWHERE[name]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda its: its.name)
def test_the_replacement_fits_the_design(broken):
    """Cheap, so that a change of the design cannot leave one behind unnoticed: most are refuted only by hand."""
    with applied(broken):
        pass


#: `make test` has the first of P1, `make test-more` those of P2 and P3.
#: "A redirect leaves one wrong-path fetch" takes the solver a minute.
FIRST = {its.property: its for its in reversed(BROKEN)}
QUICK = [FIRST[name] for name in ("P1", "P2", "P3", "P8")]


@pytest.mark.slow
@pytest.mark.parametrize("broken", [
    pytest.param(its, id=its.name, marks=[pytest.mark.more if its in QUICK else pytest.mark.long] * (its != QUICK[0]))
    for its in BROKEN
])
def test_is_refuted(broken):
    found = refute(broken)
    assert found is not None, f"{broken.property} does not see that {broken.name}"
    assert found.reachable
    assert found.violated
    # What comes from shared units is free in the first cycle, too.
    assert len(found.rows) > 1 or broken.claim or broken.property == "P10"
    if broken.claim:
        assert broken.claim in found.violated
    if broken.claim not in ("", *SEEN_BY_OTHERS) and broken not in BROKEN_L2:
        assert bounded_check(others(broken), len(found.rows)) is None, "another claim sees it, too"


@pytest.mark.more
def test_what_passes_is_not_refuted_afterwards():
    """The replacement is taken back: the same property passes on the design as it is."""
    broken = next(its for its in BROKEN if its.property == "P1")
    refute(broken)
    assert prove(broken.case()).result == "pass"


@pytest.mark.more
def test_a_proof_of_a_broken_design_fails_with_a_counterexample():
    broken = next(its for its in BROKEN if its.name == "eligibility looks at how full the buffer is")
    with applied(broken):
        proof = prove(broken.case())
    assert (proof.result, proof.method) == ("fail", "bmc")
    assert proof.counterexample is not None
    assert proof.counterexample.reachable


@pytest.mark.long
def test_a_lemma_that_is_not_inductive_is_unknown(monkeypatch):
    """Without its invariants P2 is true and not proved: the answer is "unknown", with the step that fails."""
    monkeypatch.setattr(properties.invariants, "rings", lambda model: None)
    proof = prove(Case("P2", warps=2))
    assert (proof.result, proof.method) == ("unknown", "induction")
    assert proof.counterexample is not None
    assert not proof.counterexample.reachable
    assert proof.counterexample.violated


def test_a_replacement_that_no_longer_fits_is_an_error():
    stale = Defect("stale", "P1", "metronome.hdl.frontend.swas:SwasCoordination.elaborate", "no such text", "")
    with pytest.raises(LookupError, match="no such text"), applied(stale):
        pass
