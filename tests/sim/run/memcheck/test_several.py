"""The memory checker of several SMs, on their golden models alone."""

import random

import numpy as np
import pytest

from metronome.hdl.gpu.config import GpuConfig
from metronome.sim.machine.golden import Iss
from metronome.sim.machine.golden.between_sms import BetweenSms
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.predict.model import races
from metronome.sim.program.assembler import asm
from metronome.sim.run.memcheck import Area, DeclaredAreas, GpuMemCheck
from tests.support.builds import TINY
from tests.support.tiers import some_more

CORE, PLACE, VALUE, ID, COUNT, THERE = range(5, 11)
DATA = 0x2_0000
LIMIT = 20_000
LOADS = {1: asm.lbu, 2: asm.lhu, 4: asm.lw}
STORES = {1: asm.sb, 2: asm.sh, 4: asm.sw}


def by_sm(parts):
    """A program in which warp 0 of SM i executes the words ``parts[i]``; 64 bytes of data are at PLACE."""
    p = asm.Program()
    p.add(asm.csrr(CORE, 0xCC2), *asm.li(PLACE, DATA), *asm.li(ID, 1 << 31), *asm.li(COUNT, len(parts)))
    for number in range(len(parts)):
        p.li(VALUE, number)
        p.branch(asm.beq, CORE, VALUE, f"sm{number}")
    for number, words in enumerate(parts):
        p.label(f"sm{number}")
        p.add(*words, asm.tmc(0))
    return p.assemble()


def checked(image, sms, seed, config=TINY):
    """The findings of a run whose SMs and warps take turns at random."""
    gpu = GpuConfig(sm=config, sms=sms)
    memory, rng = SparseMemory(config.memory_map), random.Random(seed)
    memory.write(config.memory_map.start, image)
    models = [Iss(gpu.sm_of(number), memory) for number in range(sms)]
    code = Area("the program", config.memory_map.start, len(image), written=True)
    data = Area("data", DATA, 4096, written=True)
    local = Area("local memory", config.memory_map.local, config.local_bytes)
    areas = tuple(sorted((code, data, local), key=lambda area: area.address))
    memcheck = GpuMemCheck(models, DeclaredAreas(areas, areas))
    between = BetweenSms(lambda states: memcheck.meet([models.index(state) for state in states]))
    for model, checks in zip(models, memcheck.sms, strict=True):
        model.launch(config.memory_map.start, 0)
        model.between_sms, model.watch = between, checks
    for cycle in range(LIMIT):
        runs = [(model, checks, warp) for model, checks in zip(models, memcheck.sms, strict=True)
                for warp in range(config.warps) if model.active[warp] and model.waiting[warp] is None]
        if not runs:
            break
        model, checks, warp = rng.choice(runs)
        checks.cycle = cycle
        done = model.step(warp)
        assert done.fault is None, done
        checks.commit(warp, done.pc, done.mask, done.instr, done.rd)
    assert all(model.ended for model in models)
    return memcheck.findings


def between(findings):
    """The races between SMs among the findings."""
    return [each for each in findings if each.kind == "race" and each.side.sm != each.other.sm]


MEET = asm.bar(ID, COUNT)


@pytest.mark.slow
@pytest.mark.parametrize("sms", some_more([2, 4], 1))
def test_the_races_are_those_of_the_predictor(sms):
    rng, found = random.Random(4800 + sms), []
    for case in range(90):
        accesses, parts = [], []
        places, rounds = rng.choice([8, 24, 60]), rng.randrange(1, 5 - sms // 2)
        for sm in range(sms):
            words = []
            for epoch in range(rounds):
                for _ in range(rng.randrange(4)):
                    size, store = rng.choice([1, 2, 4]), rng.random() < 0.4
                    offset = rng.randrange(places) & -size
                    accesses.append((epoch, DATA + offset, size, store, sm))
                    words.append((STORES if store else LOADS)[size](VALUE, offset, PLACE))
                words.append(MEET)
            parts.append(words)
        accesses = sorted(accesses) or [(0, DATA, 1, False, 0)]
        columns = [np.array(column, np.int64) for column in zip(*accesses, strict=True)]
        expected = races.between_sms(*columns, 256)
        findings = checked(by_sm(parts), sms, case)
        assert {each.kind for each in findings} <= {"race"}
        assert bool(between(findings)) == bool(expected), (case, accesses)
        found.append(expected)
    assert 20 < sum(found) < len(found) - 20


@pytest.mark.parametrize(("fence", "ordered"), [(asm.fence(), True), (asm.nop(), False)])
def test_a_flag_orders_from_the_next_fence_of_its_reader(fence, ordered):
    sends = [asm.sw(VALUE, 0, PLACE), asm.fence(), *asm.li(VALUE, 1), asm.sw(VALUE, 32, PLACE)]
    gets = [asm.lw(VALUE, 32, PLACE), asm.beq(VALUE, 0, -4), fence, asm.lw(VALUE, 0, PLACE)]
    for seed in range(2):
        findings = checked(by_sm([sends, gets]), 2, seed)
        assert (between(findings) == []) == ordered
    if not ordered:
        (race,) = findings
        assert [race.side.sm, race.side.warp, race.side.verb] == [1, 0, "loads"]
        assert [race.other.sm, race.other.warp, race.other.verb] == [0, 0, "stores"]
        assert race.side.cycle > race.other.cycle and race.address == DATA
        text = race.describe(lambda pc: (None, "a.c:7"))
        assert text.startswith("race: SM 1, warp 0, lane 0 loads 4 bytes at 0x00020000, pc 0x")
        assert "no barrier since SM 0, warp 0, lane 0 stores it, pc 0x" in text and text.count("a.c:7") == 2
        fields = race.as_json(lambda pc: (None, None))
        assert (fields["sm"], fields["other"]["sm"]) == (1, 0)


def test_local_memory_is_of_one_sm():
    words = [*asm.li(THERE, TINY.memory_map.local), asm.sw(VALUE, 0, THERE), asm.lw(VALUE, 0, THERE)]
    assert checked(by_sm([words, words]), 2, 1) == []
    # Local memory that another SM has written counts as unwritten here.
    reads = [*asm.li(THERE, TINY.memory_map.local), MEET, asm.lw(VALUE, 0, THERE), asm.bne(VALUE, 0, 4)]
    (finding,) = checked(by_sm([[*words, MEET], reads]), 2, 1)
    assert (finding.kind, finding.side.sm, finding.other.sm) == ("unwritten", 1, 1)


def test_a_barrier_of_some_sms_orders_these():
    two = [*asm.li(COUNT, 2), MEET]
    parts = [[asm.sw(VALUE, 0, PLACE), *two], [*two, asm.lw(VALUE, 0, PLACE)], []]
    for seed in range(2):
        assert checked(by_sm([*parts, []]), 4, seed) == []
    parts[2] = [asm.lw(VALUE, 0, PLACE)]
    assert all(between(checked(by_sm([*parts, []]), 4, seed)) for seed in range(2))


def test_a_store_to_nothing_names_its_sm():
    (finding,) = checked(by_sm([[], [asm.lui(THERE, 0x40000), asm.sw(VALUE, 0, THERE)]]), 2, 3)
    assert (finding.kind, finding.side.sm, finding.side.warp, finding.side.lane) == ("outside", 1, 0, 0)


def test_the_end_of_a_warp_orders_nothing_between_sms():
    # SM 0 has ended long before: still nothing says so.
    image = by_sm([[asm.sw(VALUE, 0, PLACE)], [asm.nop()] * 200 + [asm.lw(VALUE, 0, PLACE)]])
    assert all(between(checked(image, 2, seed)) for seed in range(3))
