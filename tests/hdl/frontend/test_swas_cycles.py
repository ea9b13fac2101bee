"""The synchronised front end by hand: the cycles of a cold start, a line's end and a redirect (design.md 3)."""

import functools
from dataclasses import replace

import pytest

from metronome.hdl.frontend.frontend import FrontEnd
from metronome.hdl.presets import TINY
from tests.hdl.lib.simulate import Simulation, drive

CONFIG = replace(TINY, policies=("lrr",))
START = 0x8000_0000
ADDI, BEQ = 0x0000_0093, 0x0000_0063


Selection = tuple[int, int, int | None]


@functools.cache
def front_end() -> tuple[FrontEnd, Simulation]:
    """Compiled once."""
    dut = FrontEnd(CONFIG)
    return dut, Simulation(dut)


def run(branches: dict[int, int | None], *, cycles: int, latency: int, resolve: int = 3) -> list[Selection]:
    """Activation in cycle 0, all heads ready; returns (cycle, warp, pc or None for a NOP) of every selection.

    ``branches``: pc -> target, None for not taken. A request taken in cycle c is answered in c + ``latency``.
    """
    dut, simulation = front_end()
    selections: list[Selection] = []
    answers: dict[int, list[tuple[int, int]]] = {}
    resolutions: dict[int, tuple[int, int | None]] = {}

    def line_data(line: int) -> int:
        return sum((BEQ if line * 64 + 4 * i in branches else ADDI) << 32 * i for i in range(16))

    async def testbench(ctx):
        popped: tuple[int, int] | None = None
        ctx.set(dut.selection.ready, -1)
        ctx.set(dut.mem.request.ready, 1)
        for cycle in range(cycles):
            drive(ctx, dut.flow, activation={"warps": int(cycle == 0), "pc": START}, active=int(cycle > 0))
            warp, target = resolutions.get(cycle, (0, None))
            ctx.set(dut.flow.resolution, {"valid": cycle in resolutions, "warp": warp, "redirect": target is not None,
                                     "target": target or 0})
            tag, line = answers[cycle].pop(0) if answers.get(cycle) else (0, None)
            drive(ctx, dut.mem.response, valid=line is not None, payload={"tag": tag, "data": line_data(line or 0)})
            if popped is not None:
                # What was popped in the last cycle shows its pc in this one.
                pc = ctx.get(dut.selection.entry.pc)
                selections.append((*popped, pc))
                if pc in branches:
                    resolutions[popped[0] + resolve] = popped[1], branches[pc]
                popped = None
            if ctx.get(dut.event.select_valid):
                if ctx.get(dut.selection.nop):
                    selections.append((cycle, ctx.get(dut.selection.warp), None))
                else:
                    popped = cycle, ctx.get(dut.selection.warp)
            if ctx.get(dut.mem.request.valid):
                payload = dut.mem.request.payload
                answers.setdefault(cycle + latency, []).append((ctx.get(payload.tag), ctx.get(payload.line)))
            await ctx.tick()

    simulation.run(testbench)
    return sorted(selections, key=lambda selection: selection[0])


@pytest.mark.parametrize("latency", [1, 5, 20])
def test_cold_start(latency):
    """Selected in 1, missed in 2, asked in 4, answered in 4 + latency, refilled in c, one later; selected in c + 1.

    The four NOPs of the activation go out in 1, c+1, c+2, c+3, the one of the miss in c+4, and the instruction whose
    fetch was made in c+1 in c+5: from there one a cycle to the end of the line.
    """
    refilled = 4 + latency + 1
    selections = run({}, cycles=refilled + 21, latency=latency)
    nops = [(cycle, 0, None) for cycle in (1, refilled + 1, refilled + 2, refilled + 3, refilled + 4)]
    # The first fetch of the second line is made with the 13th instruction (word 12); its miss holds the warp back.
    instructions = [(refilled + 5 + i, 0, START + 4 * i) for i in range(13)]
    assert selections == nops + instructions


@pytest.mark.parametrize("latency", [1, 9])
def test_second_line_costs_one_nop(latency):
    """The miss of the next line holds the warp back, then costs one NOP in front of that line's first instruction."""
    selections = run({}, cycles=3 * (latency + 30), latency=latency)
    order = [pc for _, _, pc in selections]
    first = order.index(START)
    assert order[:first] == [None] * 5
    assert order[first:first + 18] == [*(START + 4 * i for i in range(16)), None, START + 64]
    issued = {pc: cycle for cycle, _, pc in selections if pc is not None}
    # Word 12 in t, the miss in t+1, the request in t+3, the answer in t+3+latency, then the refill, then selection.
    assert issued[START + 52] - issued[START + 48] == 5 + latency


@pytest.mark.parametrize("resolve", [2, 3, 6])
def test_taken_branch_costs_four_nops(resolve):
    """Selected in t, not again before t+R+1, then exactly four NOPs, then the target."""
    branch, target = START + 8, START + 40
    selections = run({branch: target}, cycles=40, latency=1, resolve=resolve)
    at = next(n for n, (_, _, pc) in enumerate(selections) if pc == branch)
    t = selections[at][0]
    assert selections[at + 1:at + 6] == [
        *((t + resolve + 1 + i, 0, None) for i in range(4)), (t + resolve + 5, 0, target),
    ]


def test_branch_that_falls_through_costs_no_nop():
    branch = START + 8
    selections = run({branch: None}, cycles=40, latency=1)
    at = next(n for n, (_, _, pc) in enumerate(selections) if pc == branch)
    t = selections[at][0]
    assert selections[at + 1:at + 3] == [(t + 4, 0, branch + 4), (t + 5, 0, branch + 8)]
