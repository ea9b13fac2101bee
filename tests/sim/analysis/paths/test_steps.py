"""Each step of the argument matters: with one of them left out, some program takes longer than it is said to.

The programs repeat what a step is about, so that it outweighs all constants. Each is bounded as if it were not exact.
"""

import dataclasses
import itertools

import numpy as np
import pytest

from metronome.hdl.isa.ops import Unit
from metronome.hdl.presets import BASE, TINY
from metronome.sim.analysis.bound import bound as bounds
from metronome.sim.analysis.bound import counts, lines, pipeline
from metronome.sim.analysis.bound.compose import work_conserving
from metronome.sim.analysis.bound.search import Search
from metronome.sim.analysis.code import costs
from metronome.sim.analysis.paths import masks
from metronome.sim.predict.predictor import predict
from tests.sim.analysis.programs import compiled, machine, request_of

pytestmark = pytest.mark.slow

HEAD = """#include "metronome.h"
uint32_t inputs[16] = {{1}}; /* not zeroed at the start */
volatile uint32_t words[2048] __attribute__((aligned(64))) = {{1}};
"""
ALONE = HEAD + "int main(void) {{ {before} for (uint32_t i = 0; i < {turns}; i++) {{ {body} }} {behind} return 0; }}"
BOTH = HEAD + """static void work(__attribute__((unused)) const void *arg) {{
    {before} for (uint32_t i = 0; i < {turns}; i++) {{ {body} }} {behind} }}
int main(void) {{ const uint32_t n = 4; return spawn_threads(1, &n, 0, work, 0); }}"""
CLOBBERED = '"t0","t1","t2","t3","t4","t5","ft0","ft1","ft2","ft3","memory"'
ACTIVE = 'asm volatile("li t0, {}\\n.insn r 0x0b, 0, 0, x0, t0, x0" ::: "t0");'


def asm(times, *instructions):
    """So many times these instructions; %0 is the array, %1 its line of this turn, %2 local memory."""
    text = "\\n".join(instructions)
    return (
        f'asm volatile(".rept {times}\\n{text}\\n.endr" '
        f':: "r"(words), "r"(words + (i & 127) * 16), "r"(0xFFFF0000) : {CLOBBERED});'
    )


def alone(body, turns=40, before="", behind=""):
    return ALONE.format(body=body, turns=turns, before=before, behind=behind)


def several(body, turns=40, mask=3):
    """With the lanes of a mask."""
    return alone(body, turns, ACTIVE.format(mask), ACTIVE.format(1))


def both(body, turns=40):
    return BOTH.format(body=body, turns=turns, before="", behind="")


#: What is wrong with a step -> how, the program that shows it, and what of memory, machine and inputs is unusual.
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
    patch.setattr(costs, "DEPTH", costs.DEPTH - 1)


@step("control flow resolves a cycle sooner", alone(BRANCHES))
def _(patch):
    usual = costs.Costs.resolution
    patch.setattr(
        costs.Costs, "resolution", lambda own, cost, *, redirects: usual(own, cost, redirects=redirects) - cost.waits
    )


@step("a taken branch to the next instruction does not redirect", alone(asm(16, "beq x0, x0, 1f", "1:")))
def _(patch):
    usual = costs.Cost.redirects
    patch.setattr(costs.Cost, "redirects", lambda cost, pc, to, **how: to != pc + 4 and usual(cost, pc, to, **how))


@step("no NOPs behind a join that redirects", several(asm(
    8, "csrr t0, 0xcc0", ".insn r 0x0b, 2, 0, t1, t0, x0", "beqz t0, 1f", "nop", "j 2f", "1: nop",
    "2: .insn r 0x0b, 3, 0, x0, t1, x0",
)))
def _(patch):
    usual = costs.Cost.redirects
    patch.setattr(
        costs.Cost, "redirects",
        lambda cost, pc, to, **how: usual(cost, pc, pc + 4 if cost.unit is Unit.SIMT else to, **how),
    )


@step("no NOPs behind a jump that is followed at decode", alone(asm(16, "j 1f", "nop", "1: nop", "j 2f", "2: nop")))
def _(patch):
    patch.setattr(costs, "DECODED_AFTER", 0)


@step("a load that hits is a cycle quicker", alone(asm(16, "lw t0, 0(%0)", "lw t1, 4(%0)", "add t0, t0, t1")))
def _(patch):
    usual = costs.load_distance
    patch.setattr(costs, "load_distance", lambda config: usual(config) - 1)


@step("the first load of a line hits", alone(asm(1, "lw t0, 0(%1)", "add t0, t0, t0"), turns=120))
def _(patch):
    patch.setattr(lines, "MISS", -1 << 20)


SMALL = dataclasses.replace(TINY, dcache_bytes=256, dcache_ways=2)
#: Lines of one set of that cache, whose sets are two.
TOO_MANY = asm(1, *(f"lw t0, {64 * line}(%0)\\nadd t0, t0, t0" for line in (0, 3, 5, 6, 9)))


@step("lines that push each other out stay", alone(TOO_MANY), config=SMALL)
def _(patch):
    patch.setattr(counts.SharedState, "pushed_out", lambda self: frozenset())


@step("what was fetched before fence.i stays in the I-cache", alone(asm(1, "fence.i"), turns=100))
def _(patch):
    usual = work_conserving._fetches

    def fetches(demand):
        for each in demand.pipelines:
            each.counts.flushes = 0
        return usual(demand)

    patch.setattr(work_conserving, "_fetches", fetches)


#: Stores to lines of one bank group, which memory serves one after the other.
GROUP = asm(1, *(f"sw t0, {256 * line}(%0)" for line in range(7)), "fence")


@step("a request waits for none before it", alone(GROUP, turns=60), memory="tdm")
def _(patch):
    usual = bounds.memory_bound

    patch.setattr(bounds, "memory_bound", lambda *asked: dataclasses.replace(usual(*asked), service=0))


@step("a loop has a turn less", alone("""
    uint32_t key = inputs[0] & 7; for (uint32_t j = 0; j < key; j++) asm volatile("nop\\nnop\\nnop\\nnop\\nnop\\nnop");
""", turns=60), inputs=[7])
def _(patch):
    usual = masks.interval_of

    def smaller(path, value, values):
        low, high = usual(path, value, values)
        return low, np.where((high == 7) & (low < high), high - 1, high)

    patch.setattr(masks, "interval_of", smaller)


@step("a result is never in the way of a younger one", alone(asm(
    16, "fmadd.s ft0, ft1, ft1, ft1", "add t3, t1, t1", "fmin.s ft2, ft1, ft1", "add t4, t1, t1", "add t5, t1, t1",
    "add t4, t1, t1",
)))
def _(patch):
    patch.setattr(work_conserving, "_blocked", lambda demand, port: 0)


@step("others keep no divider busy", both(asm(4, "div t0, t0, t1", "div t2, t3, t1")))
def _(patch):
    usual = work_conserving._sum

    def none(demand, memory, waits):
        parts, stolen = usual(demand, memory, waits)
        return parts | {"units": 0}, stolen

    patch.setattr(work_conserving, "_sum", none)


@step("an access to two lines takes as long as one to one", several(asm(
    8, "csrr t0, 0xcc0", "slli t0, t0, 6", "add t0, t0, %0", "lw t1, 0(t0)", "lw t2, 0(t0)", "lw t3, 0(t0)",
    "add t1, t1, t2",
)))
def _(patch):
    usual = pipeline.Pipeline._access
    patch.setattr(pipeline.Pipeline, "_access", lambda self, store, access: usual(
        self, store, dataclasses.replace(access, most=min(1, access.most))))


@step("lanes never meet in a bank of local memory", several(asm(
    8, "csrr t0, 0xcc0", "slli t0, t0, 4", "add t0, t0, %2", "lw t1, 0(t0)", "lw t2, 0(t0)", "lw t3, 0(t0)",
    "add t1, t1, t2", "add t1, t1, t3",
), mask=15), config=BASE)
def _(patch):
    usual = pipeline.Pipeline._access
    patch.setattr(pipeline.Pipeline, "_access", lambda self, store, access: usual(
        self, store, dataclasses.replace(access, turns=min(1, access.turns))))


@step("others take no issue slots", both(asm(120, *(f"add t{each}, t1, t1" for each in (2, 3, 4, 5))), turns=200))
def _(patch):
    usual = work_conserving._sum

    def only_one(demand, memory, waits):
        parts, stolen = usual(demand, memory, waits)
        return parts | {"instructions": max(each.counts.instructions for each in demand.pipelines)}, stolen

    patch.setattr(work_conserving, "_sum", only_one)


@step("the write buffer is never full", alone(asm(1, "sw t0, 0(%1)", "sw t0, 512(%1)"), turns=150), latency=300)
def _(patch):
    patch.setattr(work_conserving, "_data", _without_stores(work_conserving._data))


def _without_stores(usual):
    def data(demand, memory, parts):
        for each in demand.pipelines:
            each.counts.stored_lines = min(1, each.counts.stored_lines)
        return usual(demand, memory, parts)

    return data


@step("a load of a line never waits for a store there", alone(
    asm(1, "sb t0, 0(%1)", "lw t1, 0(%1)", "add t1, t1, t1"), turns=120), latency=100,
)
def _(patch):
    patch.setattr(counts.SharedState, "stored_and_loaded", lambda self: set())


@step("a fence waits for nothing", alone(asm(4, "sw t0, 0(%0)", "fence", "sb t0, 0(%0)", "fence")))
def _(patch):
    patch.setattr(pipeline, "MISS", -1 << 20)


@step("uncached stores are made at once", alone(asm(1, "li t0, 0x1000", *["sw t1, 0(t0)"] * 16)))
def _(patch):
    patch.setattr(counts.SharedState, "_uncached_lines", lambda self, access: 0)


MEET = 'asm volatile("li t0, 1\\nli t1, 2\\n.insn r 0x0b, 4, 0, x0, t0, t1" ::: "t0", "t1", "memory");'
WAITS = asm(8, "lw t0, 0(%0)", "add t0, t0, t0")


@step("what was waited for before a barrier is forgotten", both(WAITS + MEET, turns=30))
def _(patch):
    usual = pipeline.Pipeline.meet

    def meet(clocks, active):
        clocks = list(clocks)
        usual(clocks, active)
        for each in clocks:
            each.chain = 0

    patch.setattr(pipeline.Pipeline, "meet", staticmethod(meet))


#: Each warp waits when the other does not.
UNLIKE = f"""
    if (blockIdx.x & 2) {{ {asm(48, "lw t0, 0(%0)", "add t0, t0, t0", "nop", "nop")} }}
    else {{ {asm(48, "nop", "nop", "lw t0, 0(%0)", "add t0, t0, t0")} }}
"""


@step("pure round robin never waits while others could issue", both(UNLIKE), policy="prr")
def _(patch):
    patch.setattr(bounds, "one_by_one", work_conserving.work_conserving)


def measured(programs, options, folder):
    """By program: the longest time that is found, and the least bound that is to hold."""
    config = machine(options.get("config", TINY), options.get("policy", "lrr"))
    memory, latency = options.get("memory", "fixed"), options.get("latency")
    for number, text in enumerate(programs):
        place = folder / str(number)
        place.mkdir(exist_ok=True)
        launch = compiled(place, text, config=config)
        if "inputs" in options:
            address, data = launch.loads["inputs"]
            words = np.array(list(itertools.islice(itertools.cycle(options["inputs"]), len(data) // 4)), np.uint32)
            launch = dataclasses.replace(launch, loads={"inputs": (address, words.tobytes())})
        request = request_of(launch, config.policies[0], memory)
        if latency:
            request = dataclasses.replace(request, latency=latency)
        bound = bounds.longest_time(config, request, launch, compose=True)
        least = min(each.cycles for each in bound.composed if each.holds)
        if bound.exact:
            cycles = predict(config, request).result.total_cycles
        else:
            cycles = Search(config, request, launch, seed=18).run(3).cycles
        yield cycles, least


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.more] * (number >= 2) if number < 10 else pytest.mark.long)
    for number, name in enumerate(STEPS)
])
def test_a_step_that_is_wrong_is_found(name, tmp_path):
    spoil, programs, options = STEPS[name]
    programs = [programs] if isinstance(programs, str) else programs
    for cycles, least in measured(programs, options, tmp_path):
        assert cycles <= least
    with pytest.MonkeyPatch.context() as patch:
        spoil(patch)
        assert any(cycles > least for cycles, least in measured(programs, options, tmp_path))


def test_there_are_enough():
    assert len(STEPS) >= 15
