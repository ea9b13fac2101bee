"""P11 (docs/proof.md): SMs behind the interconnect tdm are separated, others are not, and nothing is assumed away."""

import pytest

from metronome.hdl.gpu.config import Dispatch, Interconnect, L2Kind
from metronome.tb.formal.flow import Case, as_problem, bounded_check, prove
from metronome.tb.formal.matrix import cases
from metronome.tb.formal.sm_separation import SmSeparationModel


def case(sms, number, interconnect="tdm", slot=1, warps=4):
    return Case("P11", warps=warps, partition=number, parameters=(
        ("sms", sms), ("interconnect", Interconnect(interconnect)), ("slot_cycles", slot)))


def divided(sms, number, slot=1, interconnect="tdm"):
    """The same with the smallest divided L2."""
    asked = {"sms": sms, "l2": L2Kind.DIVIDED, "interconnect": Interconnect(interconnect), "slot_cycles": slot}
    return next(its for its in cases(["P11"], parameters=asked) if its.partition == number)


def handing(dispatch):
    """SM 0 of two, whose blocks the unit hands out."""
    return Case("P11", parameters=(("sms", 2), ("slot_cycles", 1), ("dispatch", dispatch)))


def name(its):
    return "-".join([*(f"{value}" for _, value in its.parameters), f"{its.partition}", f"{its.warps}"])


def proves(its):
    proof = prove(its)
    assert (proof.result, proof.method, proof.depth) == ("pass", "induction", 1), proof.counterexample


@pytest.mark.slow
def test_two_sms():
    proves(case(2, 1, slot=3))


@pytest.mark.more
@pytest.mark.parametrize("its", [case(2, 0), case(2, 1, slot=64), case(4, 2, slot=3), case(4, 3, warps=32)], ids=name)
def test_more_sms(its):
    proves(its)


@pytest.mark.slow
@pytest.mark.parametrize("its", [
    pytest.param(divided(2, 0), marks=pytest.mark.more), pytest.param(divided(2, 1, slot=4), marks=pytest.mark.long),
    pytest.param(divided(4, 2, slot=3), marks=pytest.mark.long),
], ids=name)
def test_a_divided_l2(its):
    proves(its)


@pytest.mark.long
@pytest.mark.parametrize("its", [its for sms in (2, 4, 8) for its in cases(["P11"], parameters={"sms": sms})], ids=name)
def test_all_sms(its):
    proves(its)


@pytest.mark.more
@pytest.mark.parametrize(("interconnect", "claim"), [
    ("round_robin", "its requests are accepted in the same cycles"),
    ("fixed_priority", "a response waits for no SM at the memory port"),
])
def test_other_interconnects_do_not_separate(interconnect, claim):
    """SM 0 of fixed_priority waits for no other request, but for responses that others do not take."""
    proof = prove(case(2, 0, interconnect))
    assert (proof.result, proof.method) == ("fail", "bmc")
    assert proof.counterexample.reachable and claim in proof.counterexample.violated


@pytest.mark.more
def test_blocks_by_number():
    proves(handing(Dispatch.STATIC))


@pytest.mark.long
def test_a_divided_l2_alone_separates_nothing():
    proof = prove(divided(2, 0, interconnect="round_robin"))
    assert (proof.result, proof.method) == ("fail", "bmc")
    assert proof.counterexample.reachable
    assert "memory gets its requests in the same cycles" in proof.counterexample.violated


#: What has to be possible under the assumptions, as a function of the model, for SM 0 of two.
EVENTS = {
    "the other SM has a response waiting in one GPU only, while this one gets one": lambda one, other: (
        (one.queues[1].level != 0) & (other.queues[1].level == 0) & one.sms[0].mem.resp.valid),
    "two responses of the SM wait": lambda one, other: one.queues[0].level == 2,
    "its request is accepted while memory gets one of the other SM in one GPU only": lambda one, other: (
        one.sms[0].mem.req.valid & one.sms[0].mem.req.ready & one.ports[1].asks & ~other.ports[1].asks),
}


#: The same with a unit that hands out blocks.
EVENTS_OF_BLOCKS = {
    "it gets a block of a grid, while the other SM takes one in one GPU only": lambda one, other: (
        one.sms[0].mem.resp.valid & one.hands[0].waits & (one.sms[0].mem.resp.payload.data[:32] == 2)
        & one.hands[1].waits & ~other.hands[1].waits),
    "an answer of the unit waits behind a response": lambda one, other: (
        one.hands[0].waits & one.sms[0].mem.resp.valid & (one.queues[0].level == 2)
        & (one.sms[0].mem.resp.payload.tag == one.queues[0].places.r_data[:one.queues[0]._tags])),
}


#: The same with a divided L2.
EVENTS_OF_L2 = {
    "a read hits while the part of the other SM gets a line in one GPU only": lambda one, other: (
        one.parts[0].decisions["answers.hit"] & one.parts[1].decisions["answers.install"]
        & ~other.parts[1].decisions["answers.install"]),
    "a read joins another while the part of the other SM has no free entry in one GPU only": lambda one, other: (
        one.parts[0].decisions["requests.add"] & one.parts[0].decisions["requests.joins"]
        & one.parts[1].decisions["requests.full"] & ~other.parts[1].decisions["requests.full"]),
    "an answer comes with other bytes": lambda one, other: (
        one.sms[0].mem.resp.valid & (one.sms[0].mem.resp.payload.data != other.sms[0].mem.resp.payload.data)),
}


def happens(its, event, predicate):
    model = SmSeparationModel(its.gpu(), 0, lemmas=False, asserts=lambda text: text == event)
    model.claim(event, ~predicate(*model.pair))
    found = bounded_check(as_problem(event, model), 12)
    assert found is not None and event in found.violated, f"cannot happen: {event}"


@pytest.mark.more
@pytest.mark.parametrize("event", EVENTS)
def test_nothing_is_assumed_away(event):
    happens(case(2, 0), event, EVENTS[event])


@pytest.mark.more
@pytest.mark.parametrize("event", EVENTS_OF_BLOCKS)
def test_nothing_is_assumed_away_with_blocks(event):
    happens(handing(Dispatch.STATIC), event, EVENTS_OF_BLOCKS[event])


@pytest.mark.long
@pytest.mark.parametrize("event", EVENTS_OF_L2)
def test_nothing_is_assumed_away_with_an_l2(event):
    happens(divided(2, 0), event, EVENTS_OF_L2[event])


@pytest.mark.long
@pytest.mark.parametrize("part", ["rules", "from_sm", "from_memory", "from_storage"])
def test_each_assumption_is_needed(part, monkeypatch):
    """Without that on memory's contract, for example, a request stays in the register."""
    monkeypatch.setattr(SmSeparationModel, f"_{part}", lambda self: [])
    model = SmSeparationModel(case(2, 1).gpu(), 1, lemmas=False)
    assert bounded_check(as_problem(part, model), 12) is not None


@pytest.mark.parametrize("changes", [{"parameters": ()}, {"property": "P1"}])
def test_only_several_sms_have_it(changes):
    with pytest.raises(ValueError, match="sms must be given for P11, and for no other property"):
        Case(**{"property": "P11", "parameters": (("sms", 2),)} | changes)


def test_what_all_sms_share_is_refused():
    with pytest.raises(ValueError, match="dispatch must be none or static for P11, not dynamic"):
        handing(Dispatch.DYNAMIC)
    with pytest.raises(ValueError, match="l2 must be none or divided for P11, not shared"):
        Case("P11", parameters=(("sms", 2), ("l2", L2Kind.SHARED)))


@pytest.mark.parametrize(("sms", "sizes"), [(2, (4, 512, 4)), (4, (8, 1024, 8)), (8, (16, 2048, 16))])
def test_the_sizes_of_an_l2(sms, sizes):
    """By default small ones; those that are asked for are kept."""
    gpu = divided(sms, 0).gpu()
    assert (gpu.l2_ways, gpu.l2_bytes, gpu.l2_requests) == sizes and gpu.part_ways == 2 == gpu.part_requests
    asked = {"sms": 2, "l2": L2Kind.DIVIDED, "l2_ways": 16}
    assert {its.gpu().l2_ways for its in cases(["P11"], parameters=asked)} == {16}
