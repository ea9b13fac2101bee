"""The oracles in hardware, compared in every cycle with picks recomputed from the events (tests.system.oracles)."""

import functools
import operator
import random
from types import SimpleNamespace

import numpy as np
import pytest
from amaranth.hdl import Const

from metronome.hdl.config import Coordination, Prediction
from metronome.hdl.frontend import coordination
from metronome.hdl.frontend.oracles import OracleSets
from metronome.hdl.verilog import generate
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run_many
from tests.hdl.sm_harness import finish, spawn
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.support.builds import on
from tests.support.tiers import some_more
from tests.system.oracles import oracle_differences
from tests.system.rtl_programs import RawProgram
from tests.system.scheme_builds import BASELINE, MEMORIES, QUICK, SIZES, build_of, builds, group_of

SEED = 20261123
#: With barriers, with divergence, and with loops of loads.
KERNELS = ("psum", "diverge", "psort")


def fencing(warps):
    """All warps throw the I-cache away again and again, out of step, so that answers under way become stale."""
    p = Program()
    spawn(p, warps, "all")
    p.label("all")
    p.add(*asm.li(9, 8), asm.csrr(8, 0xCC1), asm.andi(8, 8, 1))
    p.label("loop")
    p.add(asm.addi(9, 9, -1), *[asm.addi(10, 10, 1)] * 10)
    p.branch(asm.beq, 8, 0, "even")
    p.add(*[asm.addi(10, 10, 1)] * 11)
    p.label("even")
    p.add(asm.fence_i())
    p.branch(asm.bne, 9, 0, "loop")
    finish(p)
    return RawProgram(p.assemble())


def requests_for(config, pairs, size):
    """Every pair of policies runs a kernel, a random program or one with fence.i, and all memories, in turn."""
    for number, (fetch, issue) in enumerate(pairs):
        kind, turn = number % 3, number // 3
        if kind == 0:
            program = prepare(KERNELS[turn % len(KERNELS)], "int32", size, number, config)
        elif kind == 1:
            rng = random.Random(f"{SEED}/{number}")
            program = RawProgram(RandomProgram(rng, config).program.assemble())
        else:
            program = fencing(config.warps)
        memory, latency, seed = MEMORIES[(turn + kind) % len(MEMORIES)]
        yield RunRequest(
            launch=program, policy=issue, fetch_policy=fetch, memory=memory, latency=latency, seed=seed, trace=True,
            max_cycles=400_000,
        )


def differences(config, request, result):
    assert result.status == "ended", result.status
    return oracle_differences(config, request.policy, result, request.fetch_policy)


@pytest.mark.parametrize(("preset", "scheme", "prediction", "caches"), list(builds(QUICK[1:])))
def test_every_cycle(preset, scheme, prediction, caches):
    config, pairs = build_of(preset, scheme, prediction, caches)
    requests = list(requests_for(config, pairs, SIZES[preset][1]))
    errors = stale = 0
    for number, (request, result) in enumerate(zip(requests, run_many(config, requests), strict=True)):
        what = f"seed {SEED}, run {number}: {request.fetch_policy}-{request.policy}, {request.memory}"
        found = differences(config, request, result)
        assert not found, f"{what}: {found}"
        errors += result.counters["errors"]
        front = result.events["front"]
        stale += np.count_nonzero(front["woken"] & ~front["refill"] & 1)
    assert (errors > 0) == (scheme is not Coordination.SWAS), errors
    assert stale > 0, "no answer came behind a fence.i"


@pytest.fixture(scope="module")
def traced():
    """A traced run of a baseline, whose counters are not 0."""
    config, _ = build_of(*BASELINE)
    request = RunRequest(
        launch=prepare("psum", "int32", 11, 1, config), policy="gtlrr", fetch_policy="lrr", latency=20, trace=True,
    )
    (result,) = run_many(config, [request])
    assert not differences(config, request, result)
    assert result.counters["discrepancies"] > result.counters["errors"] > 0
    return config, request, result


def field_of(events, path):
    """A field of the probe, by the names that lead to it."""
    return functools.reduce(operator.getitem, path.split("."), events)


def spoiled(events, path, cycle, value):
    """A copy in which one flag of one cycle is another."""
    events = events.copy()
    field_of(events, path)[cycle] = value
    return events


SELECTED = "front.select_valid"
#: Events without which the rest of the run cannot be explained, and what must also be in a cycle in which they matter.
EVENTS = {
    "front.woken": None, "front.miss": None, "front.missed": None, "front.fetch_valid": None,
    "control.resolution.redirect": "control.resolution.valid", "issue.head_ready": SELECTED,
    "control.active": SELECTED, "control.waiting": None,
}


@on(group_of(*BASELINE))
@pytest.mark.parametrize("field", some_more(EVENTS, 4))
def test_a_lost_event_shows(traced, field):
    """The comparison hangs on each of them: leaving one out makes it fail."""
    config, request, result = traced
    events, beside = result.events, EVENTS[field]
    happens = (events["control"]["region"] != 0) & (field_of(events, field) != 0)
    if beside is not None:
        happens &= field_of(events, beside) != 0
    cycles = happens.nonzero()[0]
    middle = cycles[len(cycles) // 2]
    lost = SimpleNamespace(events=spoiled(result.events, field, middle, 0), status="ended", counters=result.counters)
    assert oracle_differences(config, request.policy, lost)


@on(group_of(*BASELINE))
def test_a_wrong_pick_and_a_wrong_counter_show(traced):
    config, request, result = traced
    cycle = len(result.events) // 2
    for oracle in (0, 1):
        events = result.events.copy()
        events["front"]["oracles"][cycle, oracle] ^= 1
        (text,) = oracle_differences(
            config, request.policy, SimpleNamespace(events=events, status="ended", counters=result.counters)
        )
        assert text.startswith(f"cycle {cycle}: ")
    for name in ("discrepancies", "errors"):
        counters = {**result.counters, name: result.counters[name] + 1}
        (text,) = oracle_differences(
            config, request.policy, SimpleNamespace(events=result.events, status="ended", counters=counters)
        )
        assert text.startswith(f"{name}: ")


@on(group_of(*BASELINE))
def test_what_cannot_be_recomputed_is_refused(traced):
    config, request, result = traced
    for change in ({"events": None}, {"status": "fault"}, {"status": "hang"}):
        values = {"events": result.events, "status": "ended", "counters": result.counters} | change
        with pytest.raises(ValueError, match="a traced run that ended, in a build with oracles"):
            oracle_differences(config, request.policy, SimpleNamespace(**values))


def broken(*, depth=4, **constants):
    """An OracleSets whose window has another length, or for which some inputs are stuck."""

    class BrokenSets(OracleSets):
        def elaborate(self, platform):
            warps = self._config.warps
            self._config = SimpleNamespace(warps=warps, buffer_depth=depth)
            for name, value in constants.items():
                setattr(self, name, Const(-value, warps))
            return super().elaborate(platform)

    return BrokenSets


MUTANTS = {
    "window of d-1": broken(depth=3), "window of d+1": broken(depth=5), "never empty": broken(empty=0),
    "no suspension": broken(suspended=0), "no miss in its own cycle": broken(missed=0),
    "no redirect": broken(redirected=0), "head always ready": broken(head_ready=1),
}


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_oracle_is_found(mutant, monkeypatch):
    """Each bug in the hardware, one at a time."""
    config, pairs = build_of("TINY", Coordination.BASELINE, Prediction.NOT_TAKEN)
    monkeypatch.setattr(coordination, "OracleSets", MUTANTS[mutant])
    verilog = generate(config)
    requests = list(requests_for(config, pairs, 11))
    results = run_many(config, requests, verilog=verilog)
    found = [differences(config, request, result) for request, result in zip(requests, results, strict=True)]
    assert any(found), mutant
