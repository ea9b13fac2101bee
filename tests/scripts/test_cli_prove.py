"""`metronome prove`: its options, its errors, its table and its JSON, with a stand-in for the solver."""

import json

import pytest

from metronome.hdl.gpu.config import Interconnect, L2Kind
from metronome.hdl.policies import POLICIES
from metronome.tb.formal import broken, flow
from metronome.tb.formal.flow import Proof, ProofError
from metronome.tb.formal.witness import Counterexample

TRACE = Counterexample(("a claim",), ("cycle", "selected", "pops"), (("0", "{1}", ""), ("1", "{0}", "")), True)


@pytest.fixture
def asked(monkeypatch):
    """What is to be proved; whatever has four warps fails."""
    seen = []

    def prove(case):
        seen.append(case)
        if case.warps == 4:
            return Proof(case, "bmc", 1, 2.5, "fail", counterexample=TRACE)
        return Proof(case, "induction", 1, 1.25, "pass", cached=case.warps == 8)

    monkeypatch.setattr(flow, "prove", prove)
    return seen


def test_one_case(metronome, asked):
    done = metronome("prove", "--property", "P4", "--warps", 2, "--prediction", "btfn", "--json", "-", status=0)
    document = json.loads(done.out)
    assert document.pop("origin")["command"].startswith("metronome prove --property P4 ")
    assert document == {"proofs": [{
        "property": "P4", "scheme": "swas", "policy": "lrr", "prediction": "btfn", "warps": 2, "icache": True,
        "method": "induction", "depth": 1, "seconds": 1.25, "result": "pass", "cached": False,
    }]}


def test_parameters_of_a_policy(metronome, asked):
    cases = ("--property", "P3", "--mode", "swas", "--policy", "two_level,variable_rate", "--prediction", "btfn")
    done = metronome("prove", *cases, "--warps", 8, "--set", "group_warps=2", "--set", "rates=3+1", "--json", "-")
    assert done.status == 0
    assert [case.config().two_level_group for case in asked] == [2, 2]
    assert {case.config().slot_rates for case in asked} == {(3, *[1] * 7)}
    assert [(row["group_warps"], row["rates"]) for row in json.loads(done.out)["proofs"]] == [(2, [3, 1])] * 2


def test_without_an_icache(metronome, asked):
    done = metronome("prove", "--property", "P7", "--no-icache", "--warps", 2, "--prediction", "btfn", status=0)
    assert [case.icache for case in asked] == [False]
    assert "P7 lines" in done.out and "instead of an I-cache" in done.out


def test_sizes_of_the_predictors(metronome, asked):
    sizes = ("--set", "return_stack=8", "--set", "two_bit=2")
    done = metronome("prove", "--property", "P8", "--warps", 2, *sizes, status=0)
    assert [(case.config().return_stack, case.config().two_bit) for case in asked] == [(8, 2)]
    assert "P8 counters" in done.out


def test_several_schedulers(metronome, asked):
    done = metronome("prove", "--set", "schedulers=2", "--pipeline", "fpga", "--property", "P1,P10", "--warps", 8,
                     "--prediction", "btfn", "--scheme", "swas", "--policy", "lrr")
    assert [(case.property, case.partition) for case in asked] == [("P1", 0), ("P10", 0), ("P10", 1)]
    assert {(case.config().partition.warps, case.config().issue_latency) for case in asked} == {(4, 3)}
    assert "P10 of 1" in done.out and "one partition, with W / 2 warps" in done.out


def test_several_schedulers_have_more_properties(metronome, asked):
    metronome("prove", "--set", "schedulers=4", "--scheme", "swas", "--policy", "lrr")
    assert {(case.property, case.warps) for case in asked} == {
        (f"P{n}", warps) for n in range(1, 11) for warps in (8, 16, 32)
    }
    assert {case.partition for case in asked if case.property == "P10"} == {0, 1, 2, 3}


def test_several_sms(metronome, asked):
    done = metronome("prove", "--set", "sms=2", "--warps", 8, "--json", "-", status=0)
    seen = [(case.property, case.partition, case.gpu().slot_cycles, case.gpu().interconnect) for case in asked]
    assert seen == [("P11", sm, slot, Interconnect.TDM) for slot in (1, 4) for sm in (0, 1)]
    assert [row["sm"] for row in json.loads(done.out)["proofs"]] == [0, 1, 0, 1]
    asked.clear()
    metronome("prove", "--set", "sms=4", "--set", "interconnect=round_robin")
    assert [(case.partition, case.gpu().sms, case.gpu().interconnect) for case in asked] == [
        (sm, 4, Interconnect.ROUND_ROBIN) for sm in range(4)]
    asked.clear()
    done = metronome("prove", "--set", "sms=2", "--set", "slot_cycles=3", "--warps", 8, status=0)
    assert [case.gpu().slot_cycles for case in asked] == [3, 3] and "P11 of 1 slot 3" in done.out
    asked.clear()
    metronome("prove", "--set", "sms=1", "--property", "P2", "--warps", 2, status=0)
    assert {case.property for case in asked} == {"P2"}


def test_several_sms_with_an_l2(metronome, asked):
    done = metronome("prove", "--set", "sms=4", "--set", "l2=divided", "--set", "slot_cycles=4", "--warps", 8, status=0)
    assert [(case.partition, case.gpu().l2, case.gpu().l2_bytes) for case in asked] == [
        (sm, L2Kind.DIVIDED, 1024) for sm in range(4)]
    assert "P11 of 1 slot 4 L2" in done.out
    assert "L2: l2=divided with l2_bytes=1024, l2_ways=8, l2_requests=8." in done.out


def test_all_of_them(metronome, asked):
    assert metronome("prove", "--json", "-").status == 1
    swas = [case for case in asked if case.scheme == "swas"]
    assert {(case.property, case.warps, case.prediction) for case in swas} == {
        (f"P{n}", warps, prediction) for n in range(1, 9) for warps in (2, 4, 8)
        for prediction in ("not_taken", "btfn", "private") if n < 8 or prediction == "private"
    }
    private = [case for case in swas if case.property == "P8"]
    assert sorted(dict(case.parameters).get("two_bit", 0) for case in private) == [0] * 3 + [4] * 3
    assert {case.policy for case in swas if case.property == "P3"} == set(POLICIES)
    assert len(asked) == len(set(asked))


def test_the_table_says_what_was_cached_and_shows_a_counterexample(metronome, asked):
    done = metronome("prove", "--property", "P1", "--policy", "gtlo", "--prediction", "btfn", "--warps", "2,4,8")
    assert done.status == 1
    assert "2 of 3 proved" in done.out
    assert done.out.count("(1.2)") == 1 and "Seconds in brackets" in done.out
    assert "from reset" in done.out
    assert "violated in the last cycle: a claim" in done.out
    assert "{1}" in done.out
    assert "pops" not in done.out  # empty in every cycle


def test_broken_designs(metronome, monkeypatch):
    monkeypatch.setattr(broken, "refute", lambda its: TRACE if its.property == "P6" else None)
    assert metronome("prove", "--broken", "--property", "P6").status == 0
    rows = json.loads(metronome("prove", "--broken", "--json", "-", status=1).out)["broken"]
    assert {row["property"] for row in rows if row["refuted"]} == {"P6"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--property", "Q1"), "--property: unknown name 'Q1': use P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11"),
        (("--property", "P10"), "nothing to prove with the other options"),
        (("--property", "P11"), "P11 alone is a property of --set sms=2, 4, 8 or 16"),
        (("--property", "P1", "--set", "sms=2"), "--property P1: there is nothing to prove with the other options"),
        (("--set", "sms=3"), "--set: sms must be 1, 2, 4, 8 or 16, not 3"),
        (("--set", "sms=two"), "--set sms=two: sms must be a whole number, not 'two'"),
        (("--set", "slot_cycles=2"), "--set: slot_cycles: it has no effect without sms=2 or more"),
        (("--set", "sms=2", "--set", "interconnect=round_robin", "--set", "slot_cycles=2"),
         "slot_cycles: it has no effect without interconnect=tdm"),
        (("--set", "sms=2", "--set", "l2=shared"),
         "--set: P11 takes l2=none or divided: in a shared one, SMs replace each other's lines"),
        (("--set", "sms=2", "--set", "dispatch=dynamic"), "--set: P11 takes dispatch=none or static: with dynamic"),
        (("--set", "sms=2", "--set", "l2_ways=4"), "l2_ways: it has no effect without l2=shared or l2=divided"),
        (("--set", "sms=2", "--set", "l2=divided", "--set", "l2_ways=1"),
         "l2_ways must be a multiple of sms (2) with l2=divided, not 1"),
        (("--set", "sms=2", "--set", "interconnect=ring"), "unknown name 'ring': use round_robin, fixed_priority, tdm"),
        (("--set", "schedulers=3"), "schedulers must be 1, 2 or 4, not 3"),
        (("--set", "schedulers=4", "--warps", "4"), "--warps: 4 leaves a partition one warp or none: at least 8"),
        (("--pipeline", "asic"), "--pipeline: unknown name 'asic'"),
        (("--property", "P8", "--prediction", "btfn"), "nothing to prove with the other options"),
        (("--policy", "best"), "--policy: unknown name 'best'"),
        (("--prediction", "oracle"), "--prediction: unknown name 'oracle': use not_taken, btfn, private"),
        (("--scheme", "vliw"), "--scheme: unknown name 'vliw': use swas, baseline, vortex"),
        (("--warps", "1"), "--warps: '1' is not a number from 2 to 64"),
        (("--warps", "2,x"), "--warps: 'x' is not a number"),
        (("--warps", "2,,4"), "--warps: an empty name"),
        (("--property", "P6", "--policy", "gto"), "nothing to prove with the other options: P6 is a property of"),
        (("--property", "P1", "--scheme", "baseline"), "nothing to prove"),
        (("--quick", "--no-icache"), "--quick selects its own cases"),
        (("--quick", "--warps", "2"), "--quick selects its own cases"),
        (("--broken", "--warps", "2"), "--broken: each broken design has its own configuration"),
        (("--set", "threads=2"), "--set threads=2: a proof takes group_warps, rates, locality_base, "),
        (("--set", "group_warps=x"), "--set group_warps=x: group_warps must be a whole number, not 'x'"),
        (("--set", "group_warps=8", "--warps", "4"), "with 4 warps: group_warps must be 0 or a divisor of warps, 4"),
        (("--set", "rates=0"), "rates must be above 0 for some warp, not (0,)"),
        (("--quick", "--set", "rates=1"), "--quick selects its own cases"),
        (("--json", "/nowhere/x.json"), "--json: cannot write"),
    ],
)
def test_bad_use(metronome, asked, arguments, complaint):
    done = metronome("prove", *arguments, status=2)
    assert complaint in done.err
    assert done.err.count("\n") == 1
    assert not asked


def test_a_tool_that_fails(metronome, monkeypatch):
    def prove(case):
        raise ProofError("yosys failed: ERROR: no\nits last lines")

    monkeypatch.setattr(flow, "prove", prove)
    done = metronome("prove", "--property", "P1", "--warps", 2)
    assert (done.status, done.err.splitlines()[0]) == (2, "metronome: yosys failed: ERROR: no")


@pytest.mark.parametrize("arguments", [
    ("--property", "P1,P6", "--policy", "gtlo"), ("--property", "P6", "--scheme", "swas,baseline"),
    ("--property", "P4", "--scheme", "vortex", "--prediction", "btfn"),
])
def test_what_cannot_be_proved_is_not_left_out_silently(metronome, asked, arguments):
    done = metronome("prove", *arguments, "--warps", 2, status=2)
    assert "there is nothing to prove" in done.err and len(done.err.splitlines()) == 1
    assert not asked
