"""The counters on their own, against sums in Python."""

import random
from collections import Counter
from typing import Any

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import Unit
from metronome.hdl.layouts.counters import COUNTERS, StallReason, counter_places
from metronome.hdl.observe.counters import Counters
from tests.hdl.lib.simulate import simulated
from tests.support.tiers import some_slow


def random_inputs(rng: random.Random, warps: int, threads: int) -> dict[str, Any]:
    """A cycle of the front end and of the control unit, and what the stall attribution says of it."""
    select = 1 << rng.randrange(warps) if rng.random() < 0.7 else 0
    return {
        "front": {
            "select": select, "select_valid": int(select != 0), "select_nop": rng.getrandbits(1),
            "select_unit": rng.choice((Unit.LSU, Unit.ALU)).value, "select_store": rng.getrandbits(1),
            "miss": rng.getrandbits(1), "oracles": [rng.choice((select, 1 << rng.randrange(warps))) for _ in range(2)],
        },
        "control": {"region": rng.getrandbits(1), "retired": rng.randrange(threads + 1), "taken": rng.getrandbits(1),
                    "jump": rng.randrange(4), "wrong": rng.getrandbits(1)},
        "reason": [rng.choice(list(StallReason)) for _ in range(warps)], "stall": rng.choice(list(StallReason)),
        "running": rng.getrandbits(1), "start": int(rng.random() < 0.02),
    }


def steps(inputs: dict[str, Any], region_of_x: int) -> Counter[str]:
    """What a cycle adds (docs/counters.md); ``region_of_x``: the region was open when what is in X was selected."""
    front, control = inputs["front"], inputs["control"]
    total = Counter(
        total_cycles=inputs["running"], committed_threads=control["retired"] * region_of_x,
        taken_branches=control["taken"] & region_of_x,
    )
    name = (None, "branches", "returns", "jumps")[control["jump"]]
    if name is not None:
        total += Counter({name: region_of_x, f"wrong_{name}": control["wrong"] & region_of_x})
    if not control["region"]:
        return total
    issued = front["select_valid"] and not front["select_nop"]
    return total + Counter(
        cycles=1, committed=issued, nops=front["select_valid"] and front["select_nop"],
        loads=issued and front["select_unit"] == Unit.LSU.value and not front["select_store"],
        discrepancies=front["oracles"][0] != front["select"], errors=front["oracles"][1] != front["select"],
        icache_misses=front["miss"], load_wait_cycles=inputs["reason"].count(StallReason.LOAD),
        **{str(int(inputs["stall"])): 1},
    )


@pytest.mark.parametrize("at_once", some_slow([True, False], 1))
@pytest.mark.parametrize(("warps", "threads"), [(1, 1), (3, 4)])
@simulated(lambda warps, threads, at_once: Counters(SmConfig(warps=warps, threads=threads, all_counters=at_once)))
async def test_random_cycles(ctx: Any, dut: Counters, warps: int, threads: int, at_once: bool) -> None:
    """All counters in every cycle, in registers and in a memory: each by its index, and all at once where they are."""
    seed = 10 * warps + threads
    rng = random.Random(seed)
    expected: Counter[str] = Counter()
    all_cycles: Counter[str] = Counter()
    names = [counter.name for counter in COUNTERS if not counter.by_reason]
    regions = [0, 0]
    for cycle in range(150):
        inputs = random_inputs(rng, warps, threads)
        for name, value in inputs.items():
            ctx.set(getattr(dut, name), value)
        await ctx.tick()
        added = steps(inputs, regions[-2])
        regions.append(inputs["control"]["region"])
        expected += added
        all_cycles.update(added)
        if inputs["start"]:
            expected = Counter()
        for place, (counter, reason) in enumerate(counter_places()):
            wanted = expected[str(int(reason)) if counter.by_reason else counter.name]
            ctx.set(dut.index, place)
            got = ctx.get(dut.value)
            assert got == wanted, (
                f"seed {seed}, cycle {cycle}: {counter.name} {reason!r} is {got}, not {wanted} as steps() says")
            if at_once:
                values = ctx.get(dut.values)
                got = values.stalls[reason] if reason else values[counter.name]
                assert got == wanted, f"seed {seed}, cycle {cycle}: {counter.name} {reason!r} of all"
    never = {name for name in names if not all_cycles[name]} - ({"discrepancies", "errors"} if warps == 1 else set())
    assert not never and all_cycles["cycles"] > 50, f"seed {seed}: {all_cycles}"


@pytest.mark.parametrize("at_once", [True, False])
@simulated(lambda at_once: Counters(SmConfig(warps=2, threads=2, all_counters=at_once, research_counters=False)))
async def test_without_research_counters_the_total_remains(ctx: Any, dut: Counters, at_once: bool) -> None:
    rng, total = random.Random(3), 0
    for cycle in range(200):
        inputs = random_inputs(rng, 2, 2)
        for name, value in inputs.items():
            ctx.set(getattr(dut, name), value)
        await ctx.tick()
        total = 0 if inputs["start"] else total + inputs["running"]
        assert ctx.get(dut.value) == total, f"cycle {cycle}"
        if at_once:
            names = {counter.name for counter in COUNTERS if not counter.by_reason} - {"total_cycles"}
            values = ctx.get(dut.values)
            assert values.total_cycles == total and not any(values[name] for name in names), f"cycle {cycle}"
    assert total > 10


def test_a_counter_without_a_step_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metronome.hdl.observe.counters.COUNTERS", COUNTERS[1:])
    with pytest.raises(ValueError, match=r"one in hdl\.observe\.counters: total_cycles"):
        Counters(SmConfig(warps=1, threads=1)).elaborate(None)
