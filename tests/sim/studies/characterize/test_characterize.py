"""Micro-benchmarks find what is configured, and nothing that they were told."""

import inspect
from dataclasses import replace

import pytest

from metronome.hdl.config import MemoryMap, Prediction
from metronome.hdl.isa.ops import Unit
from metronome.hdl.presets import MID, PIPELINES, TINY
from metronome.sim.predict import setup
from metronome.sim.program.assembler import asm
from metronome.sim.studies.characterize import bench, classes, derive, measure, memory_probes, probes
from metronome.sim.studies.characterize.bench import Bench, Piece, Shape
from metronome.sim.studies.characterize.classes import CLASSES
from metronome.sim.studies.characterize.document import cpi, spread
from metronome.sim.studies.characterize.expected import compare, shape_of
from metronome.sim.studies.characterize.table_7 import table_7
from tests.sim.studies.characterize.executing import predicted
from tests.support.tiers import some_long, some_more

SHAPE = shape_of(TINY)
#: Of each field the other value that is tried; together they change whatever can be found.
CHANGED = (
    {"latency_mul": 7, "latency_fdiv": 16 + 7}, {"latency_div": 39, "latency_fmisc": 6, "store_buffer": 11},
    {"latency_fma": 8, "latency_fcvt": 8, "dcache_mshrs": 3},
    {"latency_fcvt": 6, "dcache_bytes": 2048, "load_parts": 32},
    {"latency_mul": 2, "latency_fma": 5, "latency_fmisc": 8, "latency_fdiv": 40, "dcache_mshrs": 7, "load_parts": 16},
)


def rows_of(built, said, latency=20):
    """What is found on ``built`` beside what ``said`` says."""
    found = derive.derive(measure.measure(shape_of(built), predicted(built, latency=latency)))
    return compare(found, said, memory="fixed", latency=latency)


@pytest.mark.slow
@pytest.mark.parametrize("changes", some_more(CHANGED, 1), ids=str)
def test_each_changed_number_is_found(changes):
    config = replace(TINY, **changes)
    rows = rows_of(config, config)
    assert not [row for row in rows if row.differs]
    assert len([row for row in rows if row.expected is not None]) > 55
    # Against the configuration as it was, what differs is what was changed, and nothing else.
    before = compare([row.finding for row in rows], TINY, memory="fixed", latency=20)
    assert {row.source for row in before if row.differs} == set(changes)


@pytest.mark.slow
@pytest.mark.parametrize("machine", some_long([
    (replace(TINY, prediction=Prediction.PRIVATE, **PIPELINES["fpga"]), 20),
    (replace(TINY, prediction=Prediction.NOT_TAKEN, dcache_bytes=0), 33), (replace(TINY, warps=1, threads=1), 1),
    (MID, 20), (replace(TINY, dcache_bytes=128, dcache_ways=1), 20),
    (replace(TINY, threads=32, icache_bytes=2048, icache_ways=1, local_bytes=512), 7),
], 1))
def test_other_machines(machine):
    config, latency = machine
    rows = rows_of(config, config, latency)
    assert not [row for row in rows if row.differs]
    (miss,) = [row.finding.value for row in rows if row.finding.key == "load miss"]
    assert miss == latency + 6 + config.issue_latency + config.lookup_latency - 1
    cached = [row.finding.value for row in rows if row.finding.key in ("load hit", "data cache", "write buffer")]
    assert all(value is None for value in cached) == (config.dcache_bytes == 0)


@pytest.mark.long
def test_a_machine_that_is_not_as_configured_is_caught(monkeypatch):
    """A bug in the machine: floating-point additions take a cycle more than the configuration says."""
    right = setup.latencies
    monkeypatch.setattr(setup, "latencies", lambda config: right(config) | {Unit.FMA: config.latency_fma + 1})
    assert {row.finding.key for row in rows_of(TINY, TINY) if row.differs} == {"latency_fma", "latency_fma (slot)"}


def test_what_measures_is_told_no_latency():
    """None of these modules sees a configuration: an answer cannot come from there."""
    for module in (bench, classes, probes, memory_probes, measure, derive):
        source = inspect.getsource(module)
        assert "SmConfig" not in source and "expected" not in source.replace("expected.py", "")
    assert {field.name for field in Shape.__dataclass_fields__.values()} == {
        "warps", "threads", "local_bytes", "memory_map",
    }


def ran(pieces, warps=1, config=TINY, **given):
    program = Bench(shape_of(config), pieces, warps)
    return program.cycles(predicted(config, **given)(program, None))


def test_a_piece_takes_what_its_instructions_take():
    cycles = ran([
        Piece(name="nothing", body=(), guard=False), Piece(name="guard", body=()),
        Piece(name="three", body=[asm.nop()] * 3, guard=False),
        Piece(name="dependent", body=CLASSES["alu"].words(3, dependent=True), guard=False),
    ])
    assert cycles == {"nothing": (0,), "guard": (bench.GUARD,), "three": (3,), "dependent": (7,)}


def test_warps_begin_together_and_share_the_issue():
    (cycles,) = ran([Piece(name="eight", body=[asm.nop()] * 8, guard=False)], warps=2).values()
    assert cycles == (17, 17)


@pytest.mark.slow
def test_curves():
    curves = measure.measure_curves(SHAPE, predicted(TINY), [1, 2], ["div", "load_hit", "local_store"])
    told = {(each["class"], each["warps"]): (each["independent"], each["dependent"]) for each in cpi(curves)}
    assert told["div", 1] == (34, 36) and told["load_hit", 1] == (1, 7) and told["local_store", 2] == (2, None)
    # Latencies of up to eight: the read of the counter waits for the port, but no slope shows it.
    longest = replace(TINY, latency_mul=8, latency_fcvt=7)
    for each in cpi(measure.measure_curves(SHAPE, predicted(longest), [1], ["mul", "fcvt", "fma", "fmisc"])):
        assert each["independent"] == 1, each["class"]
    # The one divider does what both warps want, one after the other.
    assert 2 * 34 * 0.9 < told["div", 2][0] <= 2 * 34 + 1
    assert all(len(each.cycles) == 9 and {len(cycles) for cycles in each.cycles} == {each.warps} for each in curves)


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "varies"), [("fixed", False), ("tdm", False), ("random", True)])
def test_what_varies_from_run_to_run(memory, varies):
    executors = [predicted(TINY, memory=memory, seed=seed) for seed in (1, 2, 3)]
    found = {name.split()[0]: spread(runs) for name, runs in measure.repeat(SHAPE, executors).items()}
    assert found["mad_add"]["varying_warps"] == []
    assert bool(found["load_miss"]["varying_warps"]) == varies
    assert (found["load_miss"]["least"] < found["load_miss"]["most"]) == varies


def test_table_7_is_of_one_warp_and_in_order():
    def curve(name, dependent, warps, slope):
        cycles = [[slope * count] * warps for count in classes.LONGER]
        return measure.Curve(name=name, dependent=dependent, warps=warps, cycles=cycles)

    forms = [(each.name, dependent) for each in CLASSES.values() for dependent in each.forms]
    curves = [curve(*form, warps, 10 * place + warps) for place, form in enumerate(forms, 1) for warps in (1, 4)]
    rows = table_7(curves)
    assert [each["type"] for each in rows] == ["Reg", "Reg", "Reg RaW", "Reg RaW", "LDS", "STS", "LD.E", "ST.E"]
    assert [each["fermi"] for each in rows] == ["6", "6", "18", "18", "26", "30", "350 - 500", "34"]
    wanted = [("alu", False), ("fma", False), ("alu", True), ("fma", True), ("local_load", True),
              ("local_store", False), ("load_miss", True), ("store", False)]
    assert [each["measured"] for each in rows] == [10 * forms.index(form) + 11 for form in wanted]


def test_spread():
    assert spread([(3, 5), (4, 5)]) == {"least": 5, "most": 5, "varying_warps": [0], "cycles": [[3, 5], [4, 5]]}


def test_a_row_that_is_uneven_is_no_whole_number():
    cycles = {f"alu dependent {count}": (count * count,) for count in range(1, 9)}
    assert derive._slope(cycles, "alu", dependent=True) == 9
    even = {f"alu dependent {count}": (3 * count,) for count in range(1, 9)}
    assert derive._slope(even, "alu", dependent=True) == 3


def test_a_slot_is_told_only_if_one_wait_is_seen():
    waits = {f"mul slot {gap}": (gap + 1 + (gap == 2),) for gap in probes.SLOTS}
    assert derive._slot(waits, "mul") == 4
    assert derive._slot(waits | {"mul slot 5": (7,)}, "mul") is None
    assert derive._slot({name: (gap + 1,) for gap, name in enumerate(waits)}, "mul") is None


def test_the_room_is_found_from_tens_to_ones():
    def tried(counts, room):
        return {"empty": (0,)} | {
            f"{name} {count}": (count + memory_probes.LONG * (count > room),)
            for name in memory_probes.AFTER for count in counts
        }

    for room in range(1, 65):
        coarse = tried(memory_probes.MANY, room)
        left = memory_probes.between(coarse)["stores"]
        assert derive._room(coarse | tried(left, room), "stores") == room and len(left) < 8


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Bench(SHAPE, [], 3), "warps must be between 1 and 2, not 3"),
    (lambda: Bench(SHAPE, [probes.EMPTY, probes.EMPTY]), "names of pieces must differ"),
    (lambda: Bench(Shape(warps=1, threads=4, local_bytes=16, memory_map=MemoryMap()), []), "two words a lane, not 16"),
    (lambda: CLASSES["store"].words(2, dependent=True), "store has no dependent form"),
])
def test_what_cannot_be_measured_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_all_numbers_of_warps_up_to_eight():
    assert measure.counts_of_warps(1) == [1]
    assert measure.counts_of_warps(6) == [1, 2, 3, 4, 5, 6]
    assert measure.counts_of_warps(18) == [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 18]
