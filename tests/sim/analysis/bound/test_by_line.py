"""What a bound is laid to: it adds up to the bound, and where there is one path it is what a run executes."""

from collections import Counter

import pytest

from metronome.hdl.presets import TINY
from metronome.sim.analysis.bound.prefix import common_prefix
from metronome.sim.program import kernels as kernel
from tests.sim.analysis.programs import bound_of, machine, one_run, request_of

pytestmark = pytest.mark.slow


def _executed(config, launch):
    total = Counter()
    for counts in one_run(config, launch):
        total.update(counts)
    return total


@pytest.mark.parametrize("policy", ["lrr", "prr", "srr"])
@pytest.mark.parametrize("name", [
    "psort", pytest.param("blackscholes", marks=pytest.mark.more), pytest.param("vecadd", marks=pytest.mark.more),
    pytest.param("kmeans", marks=pytest.mark.long),
])
def test_adds_up(policy, name):
    config = machine(TINY, policy)
    bound = bound_of(config, kernel.prepare(name, None, 8, 1, config))
    costs = bound.by_instruction
    tables = costs.instructions, costs.nops, costs.waits, costs.rest
    assert sum(sum(table.values()) for table in tables) == costs.cycles
    assert costs.cycles in [bound.cycles, *(each.cycles for each in bound.composed)]
    assert all(count > 0 for table in (costs.nops, costs.waits) for count in table.values())


@pytest.mark.parametrize("name", ["psort", "vecadd"])
def test_one_path_is_what_is_executed(name):
    config = machine(TINY)
    launch = kernel.prepare(name, None, 8, 1, config)
    laid = bound_of(config, launch).by_instruction
    executed = _executed(config, launch)
    bound = bound_of(config, launch)
    begun = common_prefix(config, request_of(launch), {each.pc for each in bound.dependences}).executed
    assert bool(begun) == (name == "psort")
    # The beginning that all runs have in common is not laid to anything.
    assert all(count <= executed[pc] for pc, count in laid.instructions.items())
    assert sum(executed.values()) - sum(laid.instructions.values()) == sum(begun)
    if begun:
        executed = Counter(laid.instructions)
    # A jump goes on as often as it is executed, but where the warp ends.
    for pc in {pc for pc, _ in laid.ways}:
        went = sum(count for (jump, _), count in laid.ways.items() if jump == pc)
        assert executed[pc] - config.warps <= went <= executed[pc]
    if name == "psort":
        assert "instructions" not in laid.rest, "all is laid to something: there is one path"


def test_waits_of_the_longest_chain():
    """With lrr the chain's waits count, with prr those of all warps: for the same program these are more."""
    launch = kernel.prepare("psort", None, 8, 1, TINY)
    one, all_ = (bound_of(machine(TINY, policy), launch).by_instruction.waits for policy in ("lrr", "prr"))
    assert all(one[pc] <= all_[pc] for pc in one)
    assert sum(one.values()) < sum(all_.values()) <= 2 * sum(one.values())
