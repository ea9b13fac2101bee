"""The published formulas with the misses of a list, beside the exact time of a machine with ordered channels."""

import pytest

from metronome.hdl.presets import TINY
from metronome.sim.analysis.access_order.estimate import estimate_of
from metronome.sim.analysis.access_order.ordered import ordered_launch, ordered_machine
from metronome.sim.analysis.bound.bound import longest_time
from metronome.sim.analysis.code.costs import Cost
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.predict.predictor import predict
from metronome.sim.program import kernels as kernel
from metronome.sim.run.types import RunRequest


def ready(name="saxpy", **fields):
    """The machine, the run with its list, and the rate of misses."""
    config = ordered_machine(TINY, **fields)
    launch = kernel.prepare(name, None, 24, 1, config)
    launch, listing = ordered_launch(config, RunRequest(launch=launch, policy="lrr"), launch)
    return config, RunRequest(launch=launch, policy="lrr"), estimate_of(listing, config).total.miss_rate


def test_the_time_is_exact_and_the_formulas_stand_beside_it():
    config, request, rate = ready()
    assert 0 < rate < 1
    bound = longest_time(config, request, request.launch, compose=True, miss_rate=rate)
    assert bound.exact and bound.cycles == predict(config, request).result.total_cycles
    without, known = bound.composed
    assert without.method == "segments (Huangfu 2017)" and known.method == "segments with a miss rate (Huangfu 2017)"
    assert known.cycles < without.cycles and not known.holds


@pytest.mark.slow
def test_the_rate_is_what_counts():
    """Nothing misses, all does: the latter is the formula that knows no rate."""
    config, request, _ = ready()
    none, every = (
        longest_time(config, request, request.launch, compose=True, miss_rate=rate).composed for rate in (0, 1)
    )
    assert none[1].cycles < every[1].cycles == every[0].cycles == none[0].cycles


def test_nops_count_as_instructions(monkeypatch):
    config, request, rate = ready()

    def cycles():
        return longest_time(config, request, request.launch, compose=True, miss_rate=rate).composed[1].cycles

    with_nops = cycles()
    monkeypatch.setattr(Cost, "nops", lambda self, pc, following, **how: 0)
    assert cycles() < with_nops


def test_without_a_rate_nothing_is_composed():
    config, request, _ = ready()
    assert longest_time(config, request, request.launch).exact
    with pytest.raises(RefusedError, match="channels=ordered"):
        longest_time(config, request, request.launch, compose=True)
