"""OracleSets against the definition of docs/policies.md, recounted from the whole history of each warp."""

import random
from dataclasses import replace
from typing import Any

import pytest

from metronome.hdl.config import Coordination, SmConfig
from metronome.hdl.frontend.oracles import OracleSets
from metronome.hdl.presets import BASE, TINY
from metronome.hdl.verilog import generate
from tests.hdl.lib.simulate import drive, simulated
from tests.support.tiers import some_long, some_more

#: Cycles behind a served miss or a redirect in which an empty buffer is excused: d = t_F + 1 (design.md section 3).
EXCUSED = 4
MASKS = ("may_issue", "head_ready", "empty", "suspended", "missed", "redirected")
#: How often each is 1. Rare events leave the windows room to end.
CHANCES = {"may_issue": 0.8, "head_ready": 0.5, "empty": 0.5, "suspended": 0.1, "missed": 0.06, "redirected": 0.06}


def _expected(history: list[dict[str, bool]], halt: bool) -> tuple[bool, bool]:
    """Whether osched1 and osched2 may pick the warp whose cycles up to this one are ``history``."""
    now = history[-1]
    if halt or not now["may_issue"] or not (now["empty"] or now["head_ready"]):
        return False, False
    before = history[-1 - EXCUSED:-1]
    recent = any(cycle["redirected"] or cycle["suspended"] or cycle["missed"] for cycle in before)
    excused = now["suspended"] or now["missed"] or recent
    return True, not (now["empty"] and excused)


@pytest.mark.slow
@pytest.mark.parametrize("warps", some_more([3, 1, 4], 1))
@simulated(lambda warps: OracleSets(replace(BASE, warps=warps)))
async def test_sets(ctx: Any, dut: OracleSets, warps):
    rng = random.Random(warps)
    #: Per warp: widened but not excused, excused at the end of a window, the same one cycle later.
    seen = {"picked": 0, "last excused": 0, "first not excused": 0}
    histories: list[list[dict[str, bool]]] = [[] for _ in range(warps)]
    for cycle in range(3000):
        for history in histories:
            history.append({name: rng.random() < CHANCES[name] for name in MASKS})
        for name in MASKS:
            ctx.set(getattr(dut, name), sum(history[-1][name] << w for w, history in enumerate(histories)))
        halt = rng.random() < 0.02
        ctx.set(dut.halt, halt)
        for w, history in enumerate(histories):
            hardware = tuple(ctx.get(dut.eligible[i]) >> w & 1 for i in range(2))
            expected = _expected(history, halt)
            assert hardware == expected, f"seed {warps}, cycle {cycle}, warp {w}: {history[-1 - EXCUSED:]}"
            _note(seen, history, expected)
        await ctx.tick()
    assert min(seen.values()) >= 20, seen


def _note(seen: dict[str, int], history: list[dict[str, bool]], expected: tuple[bool, bool]) -> None:
    def event(back: int) -> bool:
        cycle = history[-1 - back]
        return cycle["redirected"] or cycle["suspended"] or cycle["missed"]

    if len(history) < EXCUSED + 2 or not history[-1]["empty"] or not expected[0]:
        return
    if not any(event(back) for back in range(EXCUSED)):
        seen["last excused"] += event(EXCUSED)
        seen["first not excused"] += event(EXCUSED + 1) and not event(EXCUSED)
        seen["picked"] += expected[1]


@pytest.mark.parametrize("event", ["redirected", "missed", "suspended"])
@simulated(lambda: OracleSets(SmConfig(warps=2, threads=1)))
async def test_an_event_in_cycle_c_excuses_the_next_four(ctx: Any, dut: OracleSets, event):
    """The instruction fetched in c+1 can be issued in c+5: until then an empty buffer is nobody's fault."""
    drive(ctx, dut, may_issue=0b11, empty=0b11)
    await ctx.tick()
    assert [ctx.get(dut.eligible[i]) for i in range(2)] == [0b11, 0b11]
    ctx.set(getattr(dut, event), 0b10)
    assert ctx.get(dut.eligible[1]) == (0b11 if event == "redirected" else 0b01)
    await ctx.tick()
    ctx.set(getattr(dut, event), 0)
    for since in range(1, 7):
        assert [ctx.get(dut.eligible[i]) for i in range(2)] == [0b11, 0b01 if since <= 4 else 0b11], since
        await ctx.tick()


@pytest.mark.more
@pytest.mark.parametrize("oracles", some_long([False, True], 1))
def test_a_build_can_do_without(oracles):
    """Nothing of them is left in its Verilog."""
    config = replace(
        TINY, threads=1, dcache_bytes=0, coordination=Coordination.BASELINE, policies=("gtlrr",),
        fetch_policies=("lrr",), oracles=oracles,
    )
    verilog = generate(config)
    assert ("oracle_select" in verilog, "excused_" in verilog) == (oracles, oracles)
