"""The memory checker on small programs: what orders two warps, what a program has that declares nothing, its limits."""

import dataclasses
from pathlib import Path

import pytest

from metronome.sim.machine.golden import IssError
from metronome.sim.program.assembler import asm
from metronome.sim.program.elf import ElfImage, Segment
from metronome.sim.program.kernels import Launch, with_vortex_memory
from metronome.sim.run.memcheck import checker, declared, finding
from metronome.sim.run.memcheck.areas import HEAP_BYTES
from tests.sim.run.memcheck.stepping import step
from tests.support.builds import TINY
from tests.support.programs import prepared

START, USER, TOP = TINY.memory_map.start, TINY.memory_map.user, TINY.memory_map.stack_top
A, B, PLACE, WARP, SCRATCH, SP = 10, 11, 12, 6, 5, 2


def launch_of(program, **values):
    words = program.assemble()
    image = ElfImage(path=Path("small.bin"), entry=START, segments=(Segment(START, words, len(words)),))
    return Launch(name="small", image=image, memory_map=TINY.memory_map, **values)


def two_warps(first, second, place=USER):
    """Both warps run, with ``place`` in PLACE: warp 0 ``first``, warp 1 ``second`` (functions of a Program)."""
    p = asm.Program(START)
    p.li(A, 2)
    p.la(B, "worker")
    p.add(asm.wspawn(A, B))
    p.label("worker")
    p.li(PLACE, place)
    p.add(asm.csrr(WARP, 0xCC1))
    p.branch(asm.bne, WARP, 0, "second")
    first(p)
    p.add(asm.tmc(0))
    p.label("second")
    second(p)
    p.add(asm.tmc(0))
    return launch_of(p)


def words(*words):
    return lambda p: p.add(*words)


def kinds(launch, seeds=range(6)):
    return {finding.kind for seed in seeds for finding in step(launch, TINY, seed)[0]}


STORE, LOAD = asm.sw(0, 0, PLACE), asm.lw(A, 0, PLACE)


def until_alone(p):
    """Poll the mask of active warps."""
    p.li(B, 1)
    p.label("poll")
    p.add(asm.csrr(SCRATCH, 0xCC3))
    p.branch(asm.bne, SCRATCH, B, "poll")
    p.add(LOAD)


def after_spawn(p):
    p.li(B, 1)
    p.add(asm.wspawn(B, B), LOAD)


def flag(p):
    """Data and, behind a fence, a flag."""
    p.li(SCRATCH, 1)
    p.add(STORE, asm.fence(), asm.sw(SCRATCH, 4, PLACE))


def poll_flag(p):
    p.label("poll flag")
    p.add(asm.lw(SCRATCH, 4, PLACE))
    p.branch(asm.beq, SCRATCH, 0, "poll flag")
    p.add(LOAD)


def flag_without_fence(p):
    p.li(SCRATCH, 1)
    p.add(STORE, asm.sw(SCRATCH, 4, PLACE))


def test_the_end_of_a_warp_orders():
    assert kinds(two_warps(until_alone, words(STORE))) == set()
    assert kinds(two_warps(after_spawn, words(STORE))) == set()


def test_nothing_orders():
    launch = two_warps(words(asm.nop(), LOAD), words(STORE))
    assert "race" in kinds(launch)


@pytest.mark.slow
def test_a_store_long_after_a_load_races_with_it():
    assert kinds(two_warps(words(LOAD), words(*[asm.nop()] * 400, STORE), place=START)) == {"race"}
    assert kinds(two_warps(words(LOAD), words(*[asm.nop()] * 400, LOAD), place=START)) == set()


def test_a_fence_and_a_flag_order():
    """Nobody has written the flag while it is polled: that alone is reported."""
    assert kinds(two_warps(poll_flag, flag)) <= {"unwritten"}
    assert "race" in kinds(two_warps(poll_flag, flag_without_fence))


@pytest.mark.slow
@pytest.mark.parametrize("stores", [pytest.param(asm.sb, id="sb"), pytest.param(asm.sh, id="sh")])
def test_what_was_seen_of_words_is_known_of_their_bytes(stores):
    """The first byte that is touched comes after the word of the other warp, wherever it is."""
    parts = words(STORE), words(*[asm.nop()] * 40, stores(0, 2, PLACE))
    assert all(kinds(two_warps(*parts), seeds=[seed]) == {"race"} for seed in range(6))
    assert kinds(two_warps(words(asm.sb(0, 1, PLACE)), words(asm.sb(0, 2, PLACE)))) == set()


SAME, OTHER = asm.addi(A, 0, 5), asm.addi(A, 0, 6)
SAVE = asm.sw(A, 0, PLACE)


@pytest.mark.parametrize(("first", "second", "strict", "failures", "notes"), [
    ((SAME, SAVE), (SAME, SAVE), False, set(), {"race"}),
    ((SAME, SAVE), (SAME, SAVE), True, {"race"}, set()),
    ((SAME, SAVE), (OTHER, SAVE), False, {"race"}, set()),
    ((SAME, asm.sb(A, 1, PLACE)), (SAME, asm.sb(A, 1, PLACE)), False, set(), {"race"}),
    # The bytes that both store differ, or are the same.
    ((SAME, SAVE), (OTHER, asm.sb(A, 0, PLACE)), False, {"race"}, set()),
    ((SAME, SAVE), (SAME, asm.sb(A, 0, PLACE)), False, set(), {"race"}),
    # A load races with whatever is stored.
    ((SAME, SAVE), (asm.lw(B, 0, PLACE),), False, {"race"}, set()),
])
def test_two_stores_of_the_same_value_are_a_note(first, second, strict, failures, notes):
    findings = [
        finding for seed in range(6)
        for finding in step(two_warps(words(*first), words(*second), place=USER), TINY, seed, strict=strict)[0]
    ]
    assert {finding.kind for finding in findings if not finding.note} == failures, findings
    assert {finding.kind for finding in findings if finding.note} == notes, findings


def test_of_lanes_that_store_to_one_place_the_last_counts():
    """Both warps store the numbers of their lanes to one word: the highest stays, whichever warp comes last."""
    lanes = words(asm.addi(A, 0, 3), asm.tmc(A), asm.lui(PLACE, USER >> 12), asm.csrr(A, 0xCC0), SAVE)
    findings = [finding for seed in range(6) for finding in step(two_warps(lanes, lanes), TINY, seed)[0]]
    assert findings and all(finding.note for finding in findings), findings


def test_lanes_of_one_warp_do_not_race():
    p = asm.Program(START)
    p.li(A, 3)
    p.add(asm.tmc(A))
    p.li(PLACE, USER)
    p.add(STORE, LOAD, STORE, asm.tmc(0))
    assert kinds(launch_of(p)) == set()


def one_warp(*code, place=USER, **values):
    p = asm.Program(START)
    p.li(PLACE, place)
    p.add(*code, asm.tmc(0))
    return launch_of(p, **values)


@pytest.mark.parametrize(("place", "values", "found"), [
    (USER, {}, set()), (0x4000_0000, {}, {"outside"}), (START + 0x1000, {}, set()),
    (USER + HEAP_BYTES - 4, {}, set()), (USER + HEAP_BYTES, {}, {"outside"}), (START + 2 * HEAP_BYTES, {}, {"outside"}),
    (TOP - 4, {}, set()), (TOP - 4 * 8192 - 4, {}, {"outside"}), (0x180, {}, {"outside"}),
    (USER - 4, {}, {"outside"}), (0x88, {}, set()), (0x40, {}, set()), (0xFFFF_0000, {}, set()),
    (USER, {"arguments": bytes(4)}, set()),
    (USER, {"buffers": {"b": (USER, bytes(4))}}, set()),
    (USER, {"buffers": {"b": (USER + 4, bytes(4))}}, {"outside"}),
    (START, {"buffers": {"b": (USER, bytes(4))}}, set()), (TOP - 4, {"buffers": {"b": (USER, bytes(4))}}, set()),
    (START + 0x1000, {"buffers": {"b": (USER, bytes(4))}}, {"outside"}),
])
def test_where_a_program_may_store(place, values, found):
    assert kinds(one_warp(STORE, LOAD, place=place, **values), seeds=[1]) == found


@pytest.mark.parametrize(("place", "faults"), [
    (0xFFFF_FFFC, False), (0xFFFF_0000 + TINY.local_bytes, False), (0, True),
])
def test_a_program_without_our_runtime_has_the_memory_of_vortex(place, faults):
    """Up to the end of the address space, where a program that begins with sp = 0 has its stack."""
    launch, config = with_vortex_memory(one_warp(asm.sw(SP, 0, PLACE), LOAD, place=place), TINY)
    findings, iss = step(launch, config)
    assert (findings, iss.ended) == ([], not faults)
    assert step(one_warp(STORE, place=place), TINY)[1].ended is False


def test_a_program_with_our_runtime_has_the_memory_of_isa_md(tmp_path):
    launch = prepared(tmp_path, "int main(void) { return 0; }\n", TINY)
    assert with_vortex_memory(launch, TINY) == (launch, TINY)


def test_what_follows_a_raw_image_is_zero_and_counts_as_written():
    """Its .bss is not in the file."""
    launch = one_warp(LOAD, asm.bne(A, 0, 4), place=START + 0x1000)
    assert kinds(launch, seeds=[1]) == {"unwritten"}
    raw = dataclasses.replace(launch, image=dataclasses.replace(launch.image, raw=True))
    assert kinds(raw, seeds=[1]) == set()


def test_a_word_must_be_declared_to_the_byte():
    assert kinds(one_warp(STORE, buffers={"b": (USER, bytes(3))}), seeds=[1]) == {"outside"}


def test_what_nobody_declares_may_be_stored_but_decides_nothing_before():
    decides = asm.beq(A, 0, 4)
    assert kinds(one_warp(LOAD, decides, place=USER + 0x1000)) == {"unwritten"}
    assert kinds(one_warp(asm.sb(0, 1, PLACE), LOAD, decides, place=USER + 0x1000)) == {"unwritten"}
    assert kinds(one_warp(STORE, LOAD, decides, place=USER + 0x1000)) == set()
    assert kinds(one_warp(LOAD, place=USER + 0x1000)) == set()


def test_where_says_which_area_is_near():
    areas = declared(one_warp(LOAD, buffers={"b": (USER, bytes(8))}), TINY)
    assert areas.where(USER + 8) == "0 bytes past the end of buffer 'b' (0x00010000, 8 bytes)"
    assert areas.where(0x4000_0000) == "in no memory of the program"
    assert areas.where(USER - 4) == "4 bytes before buffer 'b' (0x00010000, 8 bytes)"


def test_a_stack_elsewhere_is_no_overflow():
    own, other = TOP, USER + 0x8000
    p = asm.Program(START)
    p.li(SP, own)
    p.add(asm.addi(SP, SP, -16), asm.sw(0, 0, SP))
    p.li(SCRATCH, other)
    p.add(asm.addi(SP, SCRATCH, 0), asm.addi(SP, SP, -16), asm.sw(0, 0, SP), asm.tmc(0))
    assert kinds(launch_of(p)) == set()


def test_an_overflow_that_is_taken_back_is_over():
    p = asm.Program(START)
    p.li(SP, TOP - 8192 + 8)
    p.add(asm.addi(SP, SP, -16), asm.addi(SP, SP, 16), asm.sw(0, 0, SP), asm.tmc(0))
    findings, _ = step(launch_of(p), TINY)
    assert [(finding.kind, finding.side.verb, finding.count) for finding in findings] == [("stack", "moves", 1)]
    assert findings[0].what == "8 bytes below the end of its stack"


def test_an_overflow_that_goes_on_is_told_once():
    """The move that leaves the stack, and the first access behind it; what is called from there moves it further."""
    p = asm.Program(START)
    p.li(SP, TOP - 8192 + 8)
    p.add(asm.addi(SP, SP, -16), asm.sw(0, 0, SP), asm.addi(SP, SP, -16), asm.sw(0, 0, SP), asm.sw(0, 4, SP))
    p.add(asm.addi(SP, SP, 16), asm.sw(0, 4, SP), asm.tmc(0))
    move, store = step(launch_of(p), TINY)[0]
    assert (move.side.verb, move.count, store.other) == ("moves", 1, move.side)
    assert (store.side.verb, store.count, store.side.pc) == ("stores", 4, move.side.pc + 4)


def test_a_defect_is_told_once_and_counted():
    p = asm.Program(START)
    p.li(PLACE, 0x180)
    p.li(A, 5)
    p.label("again")
    p.add(STORE, asm.addi(A, A, -1))
    p.branch(asm.bne, A, 0, "again")
    p.add(asm.tmc(0))
    findings, _ = step(launch_of(p), TINY)
    assert [finding.count for finding in findings] == [5]


def test_no_more_defects_are_kept_than_said(monkeypatch):
    monkeypatch.setattr(finding, "MAX_FINDINGS", 3)
    findings, _ = step(one_warp(*[STORE] * 5, place=0x180), TINY)
    assert len(findings) == 3


@pytest.mark.slow
def test_a_long_history_is_forgotten_without_a_false_report(monkeypatch):
    monkeypatch.setattr(checker, "MAX_ACCESSES", 4)
    assert kinds(one_warp(*[STORE, LOAD] * 20)) == set()
    racing = two_warps(words(*[STORE] * 30), words(*[STORE] * 30))
    assert kinds(racing) == {"race"}


def test_a_machine_that_is_watched_is_not_run():
    _, iss = step(one_warp(STORE), TINY)
    with pytest.raises(IssError, match="can only be stepped"):
        iss.run(1)
