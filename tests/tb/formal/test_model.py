"""The harness: nothing that the front end does is assumed away, and a name that is gone is an error."""

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib import data

from metronome.tb.formal.flow import Case, Problem, bounded_check
from metronome.tb.formal.induction import step_queries, trace_values, unproved
from metronome.tb.formal.inside import Internals
from metronome.tb.formal.model import Model
from metronome.tb.formal.properties import FRONT_END
from tests.support.tiers import long_but, more_but, some_long, some_more


def of_mine(model, name):
    return model.of_mine(getattr(model, name))


#: What has to be possible under the assumptions, as a function of the model; each for the symbolic warp.
EVENTS = {
    "an instruction issues": lambda model: of_mine(model, "issued") & ~model.dut.selection.nop,
    "a miss": lambda model: of_mine(model, "missed"), "a redirect": lambda model: of_mine(model, "redirected"),
    "a jump in decode": lambda model: of_mine(model, "turned"),
    "a jump in decode while a fetch behind it misses":
        lambda model: of_mine(model, "turned") & of_mine(model, "missed"),
    "a redirect while a fetch misses": lambda model: of_mine(model, "redirected") & of_mine(model, "missed"),
    "a redirect of a suspended warp": lambda model: of_mine(model, "redirected") & model.of_mine(model.suspended),
    "an ended warp": lambda model: of_mine(model, "unresolved") & ~model.of_mine(model.dut.flow.active),
    "a warp starts in the cycle in which its end resolves":
        lambda model: of_mine(model, "redirected") & model.of_mine(model.dut.flow.activation.warps),
    "a release": lambda model: model.of_mine(model.dut.flow.release),
    "memory answers while another line misses":
        lambda model: model.dut.mem.response.valid & of_mine(model, "missed") & model.suspended.any(),
}


#: Nothing that another one does not contain: whoever jumps in decode while a fetch misses does both.
BRIEF = [
    "a jump in decode while a fetch behind it misses", "a redirect while a fetch misses",
    "a redirect of a suspended warp", "a warp starts in the cycle in which its end resolves",
    "memory answers while another line misses",
]


@pytest.mark.more
@pytest.mark.parametrize("event", more_but(long_but(EVENTS, BRIEF), BRIEF[:1]))
def test_nothing_is_assumed_away(event):
    model = Model(Case("P5", prediction="btfn", warps=2).config())
    never = ~EVENTS[event](model)
    model.claim(event, never)
    text = rtlil.convert(model.m, name="top", ports=model.ports(), emit_src=False)
    problem = Problem(event, text.replace(r"cell \$anyconst ", "cell $anyconst "), model.claims, tuple(model.columns))
    found = bounded_check(problem, 14)
    assert found is not None, f"cannot happen: {event}"
    assert found.violated == (event,)


@pytest.mark.slow
@pytest.mark.parametrize("name", some_more(some_long(FRONT_END, 3), 1))
def test_every_claim_reaches_the_solver(name):
    """None is optimised away as constant, and each is there with the clock running."""
    model = Model(Case(name, prediction="btfn", warps=2).config())
    FRONT_END[name](model)
    text = rtlil.convert(model.m, name="top", ports=model.ports(), emit_src=False)
    assert text.count('parameter \\FLAVOR "assert"') == len(model.claims) >= 1
    assert "wire width 1 input" in text
    assert "\\clk" in text


class Counter(Elaboratable):
    def elaborate(self, platform):
        m = Module()
        m.submodules.part = part = Module()
        count = Signal(4)
        part.d.sync += count.eq(count + 1)
        return m


def test_inside_finds_what_is_there():
    signal = Internals(Counter()).signal("part", "count")
    assert (signal.name, len(signal)) == ("count", 4)


@pytest.mark.parametrize(("path", "name"), [("part", "missing"), ("", "count"), ("elsewhere", "count")])
def test_inside_refuses_what_is_not_there(path, name):
    with pytest.raises(LookupError, match="the proofs look for"):
        Internals(Counter()).signal(path, name)


def test_inside_looks_only_at_memories():
    with pytest.raises(LookupError, match="a memory"):
        Internals(Counter()).look_at("part", Signal(2), data.StructLayout({"x": 4}))


def test_the_step_asks_for_each_claim():
    claims, (script,) = step_queries("; yosys-smt2-assert 0 $1\n; yosys-smt2-assert 1 $2\n", 1)
    assert claims == [0, 1]
    assert script.count("(check-sat)") == 3
    assert unproved(claims, "sat\nunsat\nsat\n") == [1]
    assert unproved(claims, "sat\nunsat\nunknown\n") == [1]


@pytest.mark.parametrize("answers", ["unsat\nunsat\nunsat\n", "sat\nunsat\n", "sat\nunsat\n(error)\n", ""])
def test_an_answer_that_proves_nothing_is_refused(answers):
    with pytest.raises(ValueError, match=r"void|answered"):
        unproved([0, 1], answers)


def test_values_of_a_trace():
    given = ("a| s0) #b0101", "b| s0) true", "a| s1) #b0000", "b| s1) false")
    answer = "\n".join(["sat", *(f"(((|top_n {value}))" for value in given)])
    assert trace_values(answer, 1, ["a", "b"]) == [{"a": 5, "b": 1}, {"a": 0, "b": 0}]
