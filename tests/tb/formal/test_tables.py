"""P3 of a policy without an order in picks.py: the tables of its plain Python stand in for one."""

import pytest

from metronome.hdl.config import SmConfig
from metronome.scripts.cli import main
from metronome.scripts.commands import prove as _command  # noqa: F401  # before the policies are replaced: it lists them
from metronome.sim.machine.policies import plain as policies
from metronome.tb.formal import matrix, picks, tables
from metronome.tb.formal.flow import Case, ProofError, prove
from tests.support.tiers import some_more


@pytest.fixture
def without_orders(monkeypatch, tmp_path):
    """As if every policy were new, and nothing proved yet."""
    for module in (picks, matrix):
        monkeypatch.setattr(module, "ORDERS", {})
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path))


#: Between them they read every input there is.
@pytest.mark.slow
@pytest.mark.parametrize("policy", some_more(["gto_dispatch", "prr", "pta", "icount"], 1))
def test_proved_by_tables(without_orders, policy):
    proof = prove(Case("P3", policy=policy, prediction="btfn", warps=2))
    assert (proof.result, proof.method, proof.depth) == ("pass", "induction", 1), proof.counterexample


@pytest.mark.more
def test_proved_of_a_scheduler_for_issue_alone(without_orders):
    proof = prove(Case("P3", "baseline", policy="gtlrr", warps=2))
    assert proof.result == "pass", proof.counterexample


class Wrong(policies.WithLast):
    """Not greedy."""

    name = "gtlrr"

    def pick(self, state, inputs):
        return policies.after(state.last, inputs.eligible)


class Forgetful(policies.GreedyLooseRoundRobin):
    """Its reference does not follow warp 0."""

    def update(self, state, inputs, picked):
        return state if not picked else super().update(state, inputs, picked)


@pytest.mark.more
@pytest.mark.parametrize("reference", some_more([Wrong, Forgetful], 1))
def test_a_difference_is_found(without_orders, monkeypatch, reference):
    monkeypatch.setitem(policies.POLICIES, "gtlrr", reference)
    proof = prove(Case("P3", policy="gtlrr", warps=2))
    assert proof.result == "fail" and proof.counterexample.reachable


class Short(policies.GreedyLooseRoundRobin):
    """One state too few."""

    def states(self):
        return (state for state in super().states() if state.last)


@pytest.mark.slow
@pytest.mark.parametrize(("warps", "reference", "complaint"), [
    (16, policies.GreedyLooseRoundRobin, "P3 of gtlrr at 16 warps: a table of 1048576 rows or more, of 4096 at most:"),
    (2, None, "policy gtlrr is in hdl/policies and not in sim/machine/policies/plain.py: add it there"),
    (2, Short, "update goes from Last(last=1) to Last(last=0), which states leaves out"),
])
def test_without_a_reference_one_line_says_so(without_orders, monkeypatch, capsys, warps, reference, complaint):
    monkeypatch.setattr(policies, "POLICIES", {})
    monkeypatch.setattr(tables, "POLICIES", {} if reference is None else {"gtlrr": reference})
    with pytest.raises(ProofError, match=complaint.replace("(", r"\(").replace(")", r"\)")):
        prove(Case("P3", policy="gtlrr", warps=warps))
    assert main(["prove", "--property", "P3", "--scheme", "swas", "--policy", "gtlrr", "--warps", str(warps)]) == 2
    assert complaint in (err := capsys.readouterr().err) and err.count("\n") == 1


def test_the_usual_sizes_are_those_with_a_reference(without_orders):
    usual = {case.warps for case in matrix.cases(["P3"], ["swas"], ["gtlrr"])}
    assert usual == {2, 4, 8}
    assert {case.warps for case in matrix.cases(["P3"], ["swas"], ["prr"])} == {2}
    assert {case.warps for case in matrix.cases(["P1"], ["swas"], ["prr"])} == {2, 4, 8}
    assert not tables.fits(SmConfig(warps=16), "gtlrr")
