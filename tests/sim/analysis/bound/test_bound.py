"""Bounds against runs: exact where it says so, and no run above any."""

import dataclasses
from itertools import product

import pytest

from metronome.hdl.config import Channels
from metronome.hdl.presets import BASE, TINY
from metronome.sim.analysis.bound import prefix
from metronome.sim.analysis.bound.bound import longest_time
from metronome.sim.analysis.bound.ipet import NoBoundError
from metronome.sim.analysis.bound.search import Search
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.predict.predictor import predict
from metronome.sim.program import kernels as kernel
from tests.sim.analysis.programs import bound_of, compiled, machine, request_of
from tests.support.tiers import some_more

SAME_ALWAYS = ["vecadd", "sgemm_group", "transpose", "psum", "saxpy", "sgemm", "conv3", "sfilter", "hotspot",
               "conv_columns"]
DEPENDENT = ["psort", "psort_group", "blackscholes", "kmeans"]
POLICIES = ["lrr", "gtlrr", "gtlo", "srr", "prr"]


@pytest.mark.parametrize("name", some_more(SAME_ALWAYS, 4))
def test_exact_is_what_every_run_takes(name):
    config = machine(TINY)
    launch = kernel.prepare(name, None, None, 1, config)
    bound = bound_of(config, launch)
    assert bound.exact and not bound.dependences
    assert sum(bound.parts.values()) == bound.cycles
    search = Search(config, request_of(launch), launch, seed=3)
    assert search.run(3).ended == 3
    assert {cycles for cycles, _ in search._slowest} == {bound.cycles}


#: Each policy, memory and prediction is in one of these. Other kernels are `more`, other combinations `long`.
QUICK = [("lrr", "fixed", "btfn", "psort"), ("srr", "tdm", "btfn", "psort"),
         ("prr", "fixed", "not_taken", "psort_group"), ("gtlo", "tdm", "btfn", "psort_group"),
         ("gtlrr", "fixed", "not_taken", "psort"), ("lrr", "fixed", "private", "psort")]


def _tier(combination):
    if combination in QUICK:
        return pytest.mark.slow
    return pytest.mark.more if combination[:3] in [each[:3] for each in QUICK] else pytest.mark.long


@pytest.mark.parametrize(("policy", "memory", "prediction", "name"), [
    pytest.param(*each, marks=_tier(each))
    for each in product(POLICIES, ["fixed", "tdm"], ["btfn", "not_taken", "private"], DEPENDENT)
])
def test_no_run_is_longer(policy, memory, prediction, name):
    config = machine(TINY, policy, prediction)
    launch = kernel.prepare(name, None, 8, 1, config)
    bound = bound_of(config, launch, memory)
    assert not bound.exact and bound.dependences
    observed = Search(config, request_of(launch, policy, memory), launch, seed=5).run(4)
    assert observed.ended == observed.runs
    assert observed.cycles <= bound.cycles
    for each in bound.composed:
        assert sum(each.parts.values()) == each.cycles
        if each.holds:
            assert observed.cycles <= each.cycles, each.method


@pytest.mark.slow
@pytest.mark.parametrize("caches", some_more(
    [{"dcache_bytes": 512, "dcache_ways": 2}, {"dcache_bytes": 0}, {"icache_bytes": 0}], 1))
def test_other_caches(caches):
    config = dataclasses.replace(machine(BASE), **caches)
    for name in ("psort", "vecadd"):
        launch = kernel.prepare(name, None, 16, 1, config)
        bound = bound_of(config, launch, compose=True)
        cycles = predict(config, request_of(launch)).result.total_cycles
        assert all(cycles <= each.cycles for each in bound.composed if each.holds)
        assert cycles <= bound.cycles


@pytest.mark.parametrize("prediction", some_more(["btfn", "private"], 1))
@pytest.mark.parametrize("name", ["psort", "vecadd", pytest.param("kmeans", marks=pytest.mark.more)])
def test_integer_program_agrees_with_the_paths(name, prediction):
    config = machine(TINY, prediction=prediction)
    bound = bound_of(config, kernel.prepare(name, None, 8, 1, config), compose=True)
    paths, program = bound.composed[:2]
    assert program.method == "implicit paths"
    if name == "kmeans":
        assert paths.cycles <= program.cycles <= 1.02 * paths.cycles
    else:
        assert paths.parts == program.parts
    if name == "psort":
        assert 8 in bound.loops.values()


@pytest.mark.slow
@pytest.mark.parametrize("memory", some_more(["fixed", "tdm"], 1))
@pytest.mark.parametrize(
    "parameters", some_more([{"group_warps": 1, "rates": (5, 0, 1, 1)}, {"group_warps": 4, "rates": (1, 9)}], 1)
)
@pytest.mark.parametrize("policy", ["two_level", "variable_rate"])
def test_parameters_of_a_policy(policy, parameters, memory):
    config = dataclasses.replace(machine(BASE, policy), **parameters)
    launch = kernel.prepare("psort_group", None, 16, 1, config)
    bound = bound_of(config, launch, memory)
    observed = Search(config, request_of(launch, policy, memory), launch, seed=5).run(4)
    assert observed.cycles <= bound.cycles and observed.ended == observed.runs


def test_slots_that_stay_empty_have_no_bound():
    config = machine(TINY, "variable_rate_strict")
    with pytest.raises(RefusedError, match=r"no bound for variable_rate_strict: it leaves the slots .* empty"):
        bound_of(config, kernel.prepare("psort", None, 8, 1, config))
    # Of what takes the same time always, the run itself is the bound.
    assert bound_of(config, kernel.prepare("vecadd", None, 8, 1, config)).exact


def test_warps_that_are_held_back_have_no_bound():
    config = machine(TINY, "ccws")
    with pytest.raises(RefusedError, match=r"^no bound for ccws: it may select no warp although one that"):
        bound_of(config, kernel.prepare("psort", None, 8, 1, config))
    assert bound_of(config, kernel.prepare("vecadd", None, 8, 1, config)).exact


def test_memory_without_a_bound_is_refused():
    config = machine(TINY)
    launch = kernel.prepare("psort", None, 8, 1, config)
    with pytest.raises(RefusedError, match="has no bound: give one"):
        bound_of(config, launch, "dram")
    given = bound_of(config, launch, "dram", memory_latency=400)
    assert predict(config, request_of(launch, memory="dram")).result.total_cycles <= given.cycles
    about_memory = [each for each in given.assumptions if each.text.startswith("memory answers")]
    assert [(each.text, each.held_by) for each in about_memory] == [
        ("memory answers every access within 400 cycles (--memory-bound)", "the user")]


def test_policies_without_an_argument_are_refused():
    config = machine(TINY, "gto")
    assert bound_of(config, kernel.prepare("vecadd", None, 8, 1, config)).exact
    assert issubclass(NoBoundError, Exception)


def test_channels_are_not_composed():
    config = dataclasses.replace(machine(TINY), channels=Channels.FREE)
    launch = kernel.prepare("vecadd", None, 8, 1, config)
    assert bound_of(config, launch).exact
    with pytest.raises(RefusedError, match="channels=free"):
        bound_of(config, launch, compose=True)


#: The code of the loop is executed before it is flushed, in the beginning that all runs have in common.
FLUSHED = """#include "metronome.h"
uint32_t inputs[16] = {1}; /* not zeroed at the start */
static void __attribute__((noinline)) far(void) { asm volatile(".rept 480\\nnop\\n.endr"); }
int main(void) { far(); asm volatile("fence.i"); if (inputs[0] & 1) far(); return 0; }
"""


@pytest.mark.slow
def test_what_was_flushed_in_the_common_beginning(tmp_path):
    config = machine(TINY)
    launch = compiled(tmp_path, FLUSHED, config=config)
    bound = bound_of(config, launch)
    assert bound.parts["begin"] > 0
    request = request_of(launch)
    observed = Search(config, request, launch, seed=18).run(3)
    assert observed.cycles <= bound.cycles
    usual = prefix.Prefix.__init__
    # Were it there still, the bound would be too low: so the program shows what it is to show.
    kept = frozenset(range(0x8000_0000 // 64, 0x8000_4000 // 64))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefix.Prefix, "__init__", lambda self, **given: usual(self, **given | {"code": kept}))
        assert bound_of(config, launch).cycles < observed.cycles


#: One side has many instructions, the other many NOPs.
UNLIKE = """#include "metronome.h"
uint32_t inputs[16] = {1}; /* not zeroed at the start */
int main(void) { for (uint32_t i = 0; i < 100; i++) {
    if (inputs[i & 15] & 1) asm volatile(".rept 60; add t1, t2, t3; .endr" ::: "t1");
    else asm volatile(".rept 16; beq x0, x0, 1f; nop; 1:; .endr"); } return 0; }
"""
#: A jump on a wrong path is followed at decode, to the last word of a line; the next line lies in the loop's set.
FOLLOWED = """#include "metronome.h"
uint32_t inputs[16] = {1}; /* not zeroed at the start */
int main(void) { if (inputs[0] & 1) inputs[1] = 3; asm volatile("li t2, 200; j 5f; .balign 256; .rept 64; nop; .endr;"
    "5: .rept 6; mul t1, t1, t1; .endr; beq t1, t1, 6f; j 7f; nop; 6: addi t2, t2, -1; bnez t2, 5b; j 8f;"
    ".rept 1011; nop; .endr; 7: nop; .rept 32; nop; .endr; 8: nop" ::: "t1", "t2"); return 0; }
"""


@pytest.mark.slow
@pytest.mark.parametrize(("text", "latency", "changes"), [
    pytest.param(UNLIKE, 20, {}, marks=pytest.mark.more), (UNLIKE, 1, {"warps": 1}),
    pytest.param(FOLLOWED, 300, {"icache_ways": 1, "warps": 1}, marks=pytest.mark.more),
], ids=["sides", "sides of one warp", "wrong path"])
def test_what_a_sum_of_maxima_and_a_wrong_path_hide(text, latency, changes, tmp_path):
    config = dataclasses.replace(machine(TINY), **changes)
    launch = compiled(tmp_path, text, config=config)
    request = dataclasses.replace(request_of(launch), latency=latency)
    bound = longest_time(config, request, launch)
    observed = Search(config, request, launch, seed=18).run(24)
    held = [each.cycles for each in bound.composed if each.holds]
    assert held and observed.cycles <= min(held)
