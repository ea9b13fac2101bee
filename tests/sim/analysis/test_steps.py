"""Each step of the argument matters: with one of them left out, some program takes longer than it is said to.

The programs repeat what a step is about, so that it outweighs all constants. Each is bounded as if it were not exact.
"""

import dataclasses
import itertools

import numpy as np
import pytest

from metronome.hdl.isa.ops import SimtOp, Unit
from metronome.hdl.presets import TINY
from metronome.sim.analysis import bound as bounds
from metronome.sim.analysis import compose, costs, counts, lines, masks, pipeline
from metronome.sim.analysis.compose import work_conserving
from metronome.sim.analysis.search import Search
from metronome.sim.prediction.predictor import predict
from tests.sim.analysis.programs import bound_of, compiled, machine, request_of

pytestmark = pytest.mark.slow

HEAD = """#include "metronome.h"
uint32_t inputs[16] = {1}; /* not zeroed at the start */
volatile uint32_t words[2048] __attribute__((aligned(64))) = {1};
"""
ALONE = HEAD + "int main(void) {{ {before} for (uint32_t i = 0; i < {turns}; i++) {{ {body} }} {behind} return 0; }}"
BOTH = HEAD + """static void work(__attribute__((unused)) const void *arg) {{
    {before} for (uint32_t i = 0; i < {turns}; i++) {{ {body} }} {behind} }}
int main(void) {{ const uint32_t n = 4; return spawn_threads(1, &n, 0, work, 0); }}"""
CLOBBERED = '"t0","t1","t2","t3","t4","t5","ft0","ft1","ft2","ft3","memory"'
BOTH_LANES = 'asm volatile("li t0, 3\\n.insn r 0x0b, 0, 0, x0, t0, x0" ::: "t0");'
ONE_LANE = 'asm volatile("li t0, 1\\n.insn r 0x0b, 0, 0, x0, t0, x0" ::: "t0");'


def asm(times, *instructions):
    """So many times these instructions; %0 is the array, %1 its line of this turn, %2 local memory."""
    text = "\\n".join(instructions)
    return (
        f'asm volatile(".rept {times}\\n{text}\\n.endr" '
        f':: "r"(words), "r"(words + (i & 127) * 16), "r"(0xFFFF0000) : {CLOBBERED});'
    )


def alone(body, turns=40, before="", behind=""):
    return ALONE.format(body=body, turns=turns, before=before, behind=behind)


def lanes(body, turns=40):
    return alone(body, turns, BOTH_LANES, ONE_LANE)


def both(body, turns=40):
    return BOTH.format(body=body, turns=turns, before="", behind="")


#: What is wrong with a step -> how, the program that shows it, and the memory, the machine or the inputs if not the usual.
STEPS = {}


def step(name, program, **options):
    """Note a step that is made wrong by the function below."""
    def note(spoil):
        STEPS[name] = spoil, program, options
        return spoil
    return note


BRANCHES = asm(16, "beq x0, x0, 1f", "nop", "1: bne x0, x0, 1b", "beq x0, x0, 2f", "nop", "2:")


@step("a redirect makes one NOP less", alone(BRANCHES))
def _(patch):
    patch.setattr(pipeline, "DEPTH", costs.DEPTH - 1)


@step("control flow resolves a cycle sooner", alone(BRANCHES))
def _(patch):
    patch.setattr(pipeline, "RESOLUTION", costs.RESOLUTION - 1)


@step("a taken branch to the next instruction does not redirect", alone(asm(16, "beq x0, x0, 1f", "1:")))
def _(patch):
    usual = costs.Cost.redirects
    patch.setattr(costs.Cost, "redirects", lambda cost, pc, to: to != pc + 4 and usual(cost, pc, to))


@step("no NOPs behind a join that redirects", lanes(asm(
    8, "csrr t0, 0xcc0", ".insn r 0x0b, 2, 0, t1, t0, x0", "beqz t0, 1f", "nop", "j 2f", "1: nop",
    "2: .insn r 0x0b, 3, 0, x0, t1, x0",
)))
def _(patch):
    usual = pipeline.Pipeline._nops

    def nops(self, pc, cost, following):
        code = self._shared.program.at(pc).decoded
        joins = code.unit is Unit.SIMT and code.row.op is SimtOp.JOIN
        return usual(self, pc, cost, pc + 4 if joins else following)

    patch.setattr(pipeline.Pipeline, "_nops", nops)


@step("no NOPs behind a jump that is followed at decode", alone(asm(16, "j 1f", "nop", "1: nop", "j 2f", "2: nop")))
def _(patch):
    patch.setattr(pipeline.Pipeline, "_turned", lambda self: 0)


@step("a load that hits is a cycle quicker", alone(asm(16, "lw t0, 0(%0)", "lw t1, 4(%0)", "add t0, t0, t1")))
def _(patch):
    patch.setattr(lines, "LOAD", costs.LOAD - 1)


@step("the first load of a line hits", alone(asm(1, "lw t0, 0(%1)", "add t0, t0, t0"), turns=120))
def _(patch):
    patch.setattr(lines.Lines, "_present", property(lambda self: range(1 << 30), lambda self, value: None), raising=False)


SMALL = dataclasses.replace(TINY, dcache_bytes=256, dcache_ways=2)
#: Lines of one set of that cache, whose sets are two.
TOO_MANY = asm(1, *(f"lw t0, {64 * line}(%0)\\nadd t0, t0, t0" for line in (0, 3, 5, 6, 9)))


@step("lines that push each other out stay", alone(TOO_MANY), config=SMALL)
def _(patch):
    patch.setattr(counts.Shared, "pushed_out", lambda self: frozenset())


@step(
    "a line that one of two paths has loaded is there", alone("""
        uint32_t sum = 0;
        if (inputs[i & 15] & 1) { sum = words[(i & 127) * 16]; asm volatile("" :: "r"(sum + 1)); }
        uint32_t again = words[(i & 127) * 16]; asm volatile("" :: "r"(again + sum));
    """, turns=100), inputs=[0],
)
def _(patch):
    usual = lines.Lines.join

    def join(self, other):
        present = self._present | other._present
        usual(self, other)
        self._present = present

    patch.setattr(lines.Lines, "join", join)


@step("what was fetched before fence.i stays in the I-cache", alone(asm(1, "fence.i"), turns=100))
def _(patch):
    usual = work_conserving._fetches

    def fetches(demand):
        for each in demand.pipelines:
            each.counts.flushes = 0
        return usual(demand)

    patch.setattr(work_conserving, "_fetches", fetches)


#: A line is loaded when a slot of its bank group has just begun: the delay between two loads is the worst of these.
WAITS = [alone(
    asm(1, "lw t0, 0(%1)", "add t0, t0, t0", f".rept {3 * nops}", "nop", ".endr"), turns=120
) for nops in range(0, 26, 2)]


@step("a slot of tdm comes one sooner", WAITS, memory="tdm")
def _(patch):
    usual = bounds.memory_bound

    def one_less(config, request, given):
        memory = usual(config, request, given)
        return dataclasses.replace(memory, base=memory.base - memory.service // 4)

    patch.setattr(bounds, "memory_bound", one_less)


@step("a loop has a turn less", alone("""
    uint32_t key = inputs[0] & 7; for (uint32_t j = 0; j < key; j++) asm volatile("nop\\nnop\\nnop\\nnop\\nnop\\nnop");
""", turns=60), inputs=[7])
def _(patch):
    usual = masks._interval

    def smaller(path, value):
        low, high = usual(path, value)
        return low, np.where((high == 7) & (low < high), high - 1, high)

    patch.setattr(masks, "_interval", smaller)
