"""Programs whose runs were once longer than their bounds: what the pipeline, the caches and memory take."""

import dataclasses

import pytest

from metronome.hdl.isa.csrs import Csr
from metronome.hdl.presets import TINY
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.predict.predictor import predict
from metronome.sim.program.assembler import asm
from tests.sim.analysis.assembled import (
    DATA,
    INPUTS,
    ONES,
    ZEROS,
    Assembled,
    asked,
    bound_of,
    holds,
    launch_of,
    one,
    runs_of,
    words,
)
from tests.sim.registers import A0, S0, T0, T1, T2, T3, T4, T5, T6
from tests.support.tiers import some_more

pytestmark = pytest.mark.slow

ROOM = {"store_buffer": 64, "dcache_mshrs": 16, "load_parts": 32}


def assert_tight(bound, run, times):
    """It is not only above the run because something else is charged for."""
    assert bound.cycles < times * run


@pytest.mark.parametrize("policy", some_more(["lrr", "gtlo", "srr", "prr"], 2))
def test_a_miss_makes_more_nops_behind_every_later_jump(policy):
    """The NOP of one miss moves the window of fetches behind a jump that is followed at decode, for good."""
    program = Assembled()
    program.li(T6, 200)
    program.align(64 - 12)
    program.add(asm.bne(0, 0, 8))
    program.label("loop")
    program.add(asm.addi(T6, T6, -1), asm.nop(), asm.nop())
    program.branch(asm.bne, T6, 0, "loop")
    bound, run = holds(one(policy), program)
    assert_tight(bound, run, 1.2)


SLOTS = {
    "p": [asm.addi(T4, T4, 1)], "m": [asm.mul(A0, A0 + 1, A0 + 2)], "u": [asm.add(A0 + 3, A0, A0)],
    "w": [asm.bne(0, 0, 8)], "N": [asm.nop()], "j": [asm.jal(0, 8), asm.nop()],
}


@pytest.mark.parametrize(("loop", "before", "other", "turns", "offset"), [
    ("mjpu", "mpmwuN", "mNNwpN", 4, 8), ("mujwjp", "pNpwwm", "wwN", 4, 9),
])
def test_another_warp_makes_more_nops_behind_every_later_jump(loop, before, other, turns, offset):
    program = Assembled()
    program.li(T6, 1000)
    program.warps(2, "w")
    program.label("w")
    program.add(asm.csrr(S0, Csr.WARP_ID))
    program.branch(asm.bne, S0, 0, "other")
    program.align()
    program.add(*[word for slot in before for word in SLOTS[slot]])
    program.label("loop")
    first = loop.index("p")
    for at, slot in enumerate(loop):
        program.add(*([asm.addi(T6, T6, -1)] if at == first else SLOTS[slot]))
    program.branch(asm.bne, T6, 0, "loop")
    program.add(asm.tmc(0))
    program.align()
    program.label("other")
    program.li(T5, turns)
    program.add(*[asm.nop()] * offset)
    program.loop(T5, *[word for slot in other for word in SLOTS[slot]])
    holds(one("prr"), program)


@pytest.mark.parametrize("latency", [20, 100])
def test_a_load_from_the_write_buffer_brings_no_line_in_the_common_beginning(latency):
    program = Assembled(depends=False)
    program.li(T5, DATA)
    program.turns(40, asm.sw(T5, 0, T5), asm.lw(T2, 0, T5), asm.add(T2, T2, T2), asm.addi(T5, T5, 64))
    program.choice()
    program.li(T5, DATA)
    program.turns(40, asm.lw(T2, 0, T5), asm.add(T2, T2, T2), asm.addi(T5, T5, 64))
    bound, run = holds(one(**ROOM), program, latency=latency)
    assert bound.parts["begin"]
    assert_tight(bound, run, 1.4)


@pytest.mark.parametrize("latency", [50, 200])
def test_a_load_from_the_write_buffer_brings_no_line_on_a_path(latency):
    """The load that does comes later, when others count on the line."""
    program = Assembled()
    program.li(T5, DATA)
    hidden = [asm.div(T3, T3, T4)] * ((latency + 30) // 36 + 1)
    program.turns(
        30, asm.sw(T5, 0, T5), asm.lw(T2, 0, T5), *hidden, asm.add(T3, T3, T3), asm.add(T2, T2, T2), asm.sw(T5, 4, T5),
        asm.nop(), asm.nop(), asm.sw(T5, 8, T5), asm.lw(T2, 12, T5), asm.add(T2, T2, T2), asm.addi(T5, T5, 64),
    )
    holds(one("lrr", "not_taken", **ROOM), program, latency=latency)


def test_all_waits_for_lines_of_a_range_count_where_warps_go_one_by_one():
    program = Assembled(depends=False)
    program.read_input()
    program.li(T5, DATA)
    for at in range(32):
        program.add(asm.lw(T1, 4 * (at % 16), T0), asm.andi(T1, T1, 0x7C0), asm.add(T2, T5, T1))
        program.add(asm.lw(T3, 0, T2), asm.add(T4, T3, T3))
    program.warps(1, "end")
    program.label("end")
    config = one("prr", dcache_mshrs=16, load_parts=32)
    holds(config, program, [words(*(64 * each for each in range(16))), ZEROS], latency=300)


def test_a_range_of_a_stack_has_a_line_for_each_lane():
    program = Assembled()
    program.mask(0xFFFF)
    program.add(asm.csrr(S0, Csr.THREAD_ID), asm.slli(S0, S0, 2))
    program.li(T3, INPUTS)
    program.add(asm.add(T3, T3, S0), asm.lw(T4, 0, T3), asm.andi(T4, T4, 60))
    program.li(T5, 0xFFFF_0000 - 64)
    program.add(asm.add(T5, T5, T4))
    program.turns(20, *(asm.lw(register, 0, T5) for register in range(A0, A0 + 8)))
    program.mask(1)
    config = one(preset=dataclasses.replace(TINY, warps=1, threads=16), load_parts=64, dcache_mshrs=64)
    holds(config, program, [words(*range(0, 64, 4)) + ZEROS, 2 * ZEROS], latency=1)


@pytest.mark.parametrize("policy", some_more(["lrr", "srr", "prr"], 2))
def test_what_is_not_cached_goes_one_by_one_behind_the_common_beginning(policy):
    program = Assembled(depends=False)
    program.read_input()
    program.li(T2, 0x1000)
    program.add(asm.add(T3, T1, T1))
    for at in range(40):
        program.add(asm.sw(T2, 64 * (at % 8), T2))
    program.unless(asm.bne, T1, 0, asm.nop())
    program.add(asm.nop(), asm.fence(), asm.tmc(0))
    config = one(policy, store_buffer=64, dcache_mshrs=64, load_parts=64)
    bound, _ = holds(config, program, latency=40)
    assert bound.parts["begin"]


@pytest.mark.parametrize("policy", ["lrr", "srr"])
@pytest.mark.parametrize("latency", some_more([300, 1000], 1))
def test_loads_in_the_queue_wait_for_stores_behind_the_common_beginning(policy, latency):
    program = Assembled(depends=False)
    program.read_input()
    program.li(T5, DATA)
    program.add(asm.add(T3, T1, T1), asm.nop(), asm.nop())
    for at in range(4):
        program.add(asm.sw(T5, 256 * at, T5), asm.sw(T5, 256 * at + 4, T5), asm.lw(A0 + at, 256 * at + 8, T5))
    program.unless(asm.bne, T1, 0, asm.nop())
    program.add(asm.nop(), asm.tmc(0))
    config = one(policy, preset=dataclasses.replace(TINY, threads=1), **ROOM | {"dcache_mshrs": 64, "load_parts": 64})
    bound, _ = holds(config, program, latency=latency)
    assert bound.parts["begin"]


def test_random_memory_pauses():
    program = Assembled()
    program.add(asm.addi(T2, 0, -1), asm.tmc(T2))
    program.li(T5, DATA)
    program.add(asm.csrr(S0, Csr.THREAD_ID), asm.slli(S0, S0, 6), asm.add(T5, T5, S0))
    program.li(T4, 2048)
    program.turns(10, *[asm.sw(T5, 0, T5), asm.add(T5, T5, T4)] * 16)
    program.mask(1)
    program.add(asm.nop(), asm.tmc(0))
    config = one(store_buffer=64, threads=32)
    launch = launch_of(config, program)
    bound = bound_of(config, launch, "random", 1, memory_latency=1)
    for seed in range(2):
        assert predict(config, asked(config, launch, "random", 1, seed=seed)).result.total_cycles <= bound.cycles


def test_a_division_that_is_under_way_at_the_end():
    program = Assembled()
    program.add(asm.div(T3, T3, T4), asm.tmc(0))
    config = one("lrr", latency_div=40)
    bound, _ = holds(config, program, latency=1)
    assert bound.parts["launch"] > 40


@pytest.mark.parametrize("stored", [False, True], ids=["inputs", "stored"])
def test_words_behind_the_code_that_are_followed(stored):
    """A jump among them is followed on the wrong path, and what it fetches pushes the loop out of the I-cache."""
    program = Assembled(depends=False)
    program.li(T0, INPUTS)
    if stored:
        program.la(T2, "after")
        for at in range(4):
            program.add(asm.lw(T1, 4 * at, T0), asm.sw(T1, 4 * at, T2))
        program.add(asm.fence())
    program.li(T5, DATA)
    program.add(asm.lw(T2, 0, T5))
    program.li(T6, 200)
    program.align()
    program.label("loop")
    line = program.here
    program.add(asm.addi(T6, T6, -1))
    program.branch(asm.bne, T6, 0, "on")
    program.jal(0, "out")
    program.label("on")
    program.align(64 - 24)
    program.la(T3, "loop")
    program.add(asm.lw(T4, 0, T5), asm.add(T4, T4, T4), asm.add(T4, T4, T4), asm.jalr(0, T3, 0))
    after = program.here
    program.label("after")
    program.add(*[asm.nop()] * 16)
    program.label("out")
    program.add(asm.tmc(0))
    far = words(*(asm.jal(0, line + 4096 * (at + 1) - (after + 4 * at)) for at in range(16)))
    config = one(icache_ways=1)
    code = program.assemble() + bytes(0x18000)
    launch = launch_of(config, code, words(*[asm.nop()] * 16))
    if not stored:
        launch = dataclasses.replace(launch, loads={"inputs": (after, words(*[asm.nop()] * 16))})
    bound, run = holds(config, launch, [words(*[asm.nop()] * 16), far])
    assert not bound.exact and run > 1.5 * min(runs_of(config, launch, [words(*[asm.nop()] * 16)]))


def test_warps_that_push_out_each_others_code_have_no_bound():
    """Some such programs never end: a line that comes is gone before its warp has its turn."""
    program = Assembled()
    program.warps(2, "work")
    program.label("work")
    program.turns(10, *[asm.nop()] * 48)
    config = one(icache_bytes=128, icache_ways=1)
    with pytest.raises(RefusedError, match="does not fit into the I-cache"):
        bound_of(config, launch_of(config, program))
    holds(one(icache_bytes=0), program)
    holds(one(icache_bytes=512, icache_ways=1), program)


def test_inputs_that_are_executed_are_refused():
    program = Assembled(depends=False)
    program.li(T0, INPUTS)
    program.add(asm.jalr(1, T0, 0), asm.tmc(0))
    config = one()
    launch = launch_of(config, program, words(asm.nop(), asm.jalr(0, 1, 0), *[asm.nop()] * 14))
    with pytest.raises(RefusedError, match="that is an input") as refused:
        bound_of(config, launch)
    assert refused.value.pc == INPUTS


@pytest.mark.parametrize("policy", ["lrr", "srr"])
def test_a_warp_that_is_started_often_begins_with_nops(policy):
    program = Assembled()
    program.li(S0, 40)
    program.label("again")
    for count in (4, 1):
        program.warps(count, "end")
    program.add(asm.addi(S0, S0, -1))
    program.branch(asm.bne, S0, 0, "again")
    program.label("end")
    bound, _ = holds(one(policy, warps=4), program, [ZEROS, ONES])
    if policy == "srr":
        # In d turns of four warps each time.
        assert bound.parts["waits"] > 40 * 4 * 4


@pytest.mark.more
@pytest.mark.parametrize("policy", some_more(["lrr", "srr"], 1))
def test_a_register_that_is_loaded_on_one_path_and_divided_on_the_other(policy):
    program = Assembled()
    program.constants({T0: INPUTS, T3: 7, T4: 3, T6: 300})
    program.label("loop")
    program.add(asm.add(T5, T2, T2), asm.lw(T1, 0, T0))
    program.either(asm.beq, T1, 0, [asm.lw(T2, 0, T0)], [asm.div(T2, T3, T4)])
    program.add(asm.addi(T6, T6, -1))
    program.branch(asm.bne, T6, 0, "loop")
    holds(one(policy, "not_taken", warps=1), program)
