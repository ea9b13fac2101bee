"""A forecast is the schedule of an issue stage that never starves: held against programs of which that is known."""

from dataclasses import replace

import numpy as np
import pytest

from metronome.hdl.presets import TINY
from metronome.sim.predict.forecast import compare_schedules, forecast, forecast_against
from metronome.sim.predict.predictor import Recordings
from metronome.sim.program.assembler import asm
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run
from tests.support.builds import on
from tests.support.tiers import some_more
from tests.system.prediction import issues_of
from tests.system.rtl_programs import RawProgram
from tests.system.scheme_builds import BASELINE, USUAL, build_of, group_of

pytestmark = pytest.mark.slow
CONFIG, _ = build_of(*BASELINE)


def made(request):
    return forecast(CONFIG, replace(request, trace=False), Recordings())


def straight(*body):
    """One warp, no branch."""
    p = asm.Program()
    p.add(asm.csrrwi(0, 0x7C0, 1), *body, asm.csrrwi(0, 0x7C0, 0), asm.tmc(0))
    return RunRequest(launch=RawProgram(p.assemble()), policy="lrr", fetch_policy="lrr", trace=True)


def test_a_warp_that_waits_for_nothing_issues_in_every_cycle():
    request = straight(*(asm.addi(5 + number % 8, 0, number) for number in range(90)))
    found = made(request)
    assert len(found.issued) == 93
    assert set(np.diff(found.issued["cycle"])) == {1}, "nothing is fetched, so no line is missing"
    # The hardware misses a line of 16 instructions every 16 issues.
    result = run(CONFIG, request)
    assert result.counters["cycles"] > 1.5 * found.result.counters["cycles"]


@on(group_of(*BASELINE))
def test_where_fetch_keeps_up_the_forecast_comes_true():
    """Each division waits for the one before it, far longer than a fetch that misses takes."""
    body = [asm.addi(5, 0, 77), asm.addi(6, 0, 1), *[asm.div(5, 5, 6)] * 40]
    request = straight(*body)
    result, found = run(CONFIG, request), made(request)
    cycles, warps, pcs = issues_of(CONFIG, result.events)
    assert np.array_equal(pcs, found.issued["pc"]) and np.array_equal(warps, found.issued["warp"])
    # From the second division on: the first line has to come, which is not forecast.
    assert np.array_equal(np.diff(cycles[4:44]), np.diff(found.issued["cycle"][4:44]))
    assert compare_schedules(result.events, found.issued)[1] == 1


@on(group_of(*BASELINE))
@pytest.mark.parametrize("fetch", some_more(USUAL, 1))
def test_the_fetch_policy_changes_the_run_and_not_the_forecast(fetch):
    launch = prepare("psum", "int32", 24, 1, CONFIG)
    forecasts, runs = set(), set()
    for policy in USUAL:
        request = RunRequest(launch=launch, policy=policy, fetch_policy=fetch, trace=True)
        result = run(CONFIG, request)
        found = forecast_against(CONFIG, request, result.events, Recordings())
        assert found["problem"] is None
        assert 0 < found["same_cycle"] < 1 and 0 < found["same_place"] < 1
        again = forecast(CONFIG, replace(request, fetch_policy="lrr", trace=False), Recordings())
        assert found["total_cycles"] == again.result.total_cycles
        assert again.result.counters["committed"] == result.counters["committed"]
        assert not again.result.counters["nops"] and not again.result.counters["icache_misses"]
        forecasts.add(found["cycles"])
        runs.add(result.counters["cycles"])
    assert len(forecasts) > 1 and len(runs) > 1


@on("TINY")
def test_of_swas_all_comes_true():
    request = RunRequest(launch=prepare("psum", "int32", 24, 1, TINY), policy="gtlo", trace=True)
    result = run(TINY, request)
    assert forecast_against(TINY, request, result.events, Recordings()) == {
        "cycles": result.counters["cycles"], "total_cycles": result.total_cycles, "same_cycle": 1.0, "same_place": 1.0,
        "problem": None,
    }


def test_a_program_that_reads_a_counter_has_none():
    request = straight(asm.csrr(5, 0xB00))
    found = forecast_against(CONFIG, request, np.zeros(1, [("cycle", int)]), Recordings())
    assert found["problem"] == "the program reads a counter"
    assert {value for name, value in found.items() if name != "problem"} == {None}


def test_shares_are_of_the_issues_forecast():
    """By hand: 0, 1, -, 1, 0 measured; forecast are 0, 1 and 0 in the cycles 0, 1, 3, and 1 in cycle 9."""
    events = np.zeros(5, [("cycle", int), ("front", [("select_valid", int), ("select_warp", int)])])
    events["cycle"] = range(100, 105)
    events["front"]["select_valid"] = [1, 1, 0, 1, 1]
    events["front"]["select_warp"] = [0, 1, 0, 1, 0]
    issued = np.zeros(4, [("cycle", int), ("warp", int)])
    issued["cycle"], issued["warp"] = [100, 101, 103, 109], [0, 1, 0, 1]
    assert compare_schedules(events, issued) == (2 / 4, 2 / 4)
    issued["warp"] = [0, 1, 1, 0]
    assert compare_schedules(events, issued) == (3 / 4, 1)
