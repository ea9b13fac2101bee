"""The timing models: on the numbers of their papers, on mixes made by hand, and on kernels."""

from dataclasses import replace

import pytest

from metronome.hdl.presets import TINY
from metronome.sim.predict.predictor import predict
from metronome.sim.program.assembler import asm
from metronome.sim.program.kernels import kernels, prepare
from metronome.sim.run.runner import RunRequest
from metronome.sim.studies.models.compare import estimates, hong_kim_of, roofline
from metronome.sim.studies.models.cpi import Case, cpi_cycles, holds, load_latency
from metronome.sim.studies.models.hong_kim import HongKim
from metronome.sim.studies.models.mix import Mix, Step, mix_of
from metronome.sim.studies.models.parameters import Parameters
from tests.support.tiers import some_long
from tests.system.rtl_programs import RawProgram

#: As those of BASE, but every number another, so that none can stand for another.
NUMBERS = Parameters(
    interval={"alu": 1, "load": 2, "store": 3, "mul": 1, "branch not taken": 4}, distance={"alu": 5, "mul": 11},
    hit=7, miss=40, local=6, line=4, issue=1,
)


def mix(*warps, **counts):
    counts = {"loads": 0, "global_loads": 0, "lines": 0, "hits": 0, "written": 0} | counts
    return Mix(warps=tuple(tuple(steps) for steps in warps), **counts)


def step(kind, needs=None, needs_load=None):
    return Step(kind=kind, needs=needs, needs_load=needs_load)


#: Tables 12 to 14 of the Fermi study: what it gives the model, and what the model says.
STUDY = {"issue_cycles": 2, "departure_uncoal": 10, "departure_coal": 4, "bandwidth": 133.9 / 0.607, "warps": 1,
         "lines_per_load": 1, "load_bytes": 128}


@pytest.mark.parametrize(("given", "cycles"), [
    ({"mem_ld": 400, "total_insts": 146, "mem_insts": 8}, 3492),
    ({"mem_ld": 470, "total_insts": 95, "mem_insts": 5}, 2540),
])
def test_mwp_cwp_as_the_fermi_study_has_computed_it(given, cycles):
    assert HongKim(**STUDY, **given).cycles == cycles


def test_mwp_cwp_in_its_three_cases():
    model = HongKim(**STUDY | {"bandwidth": 1e9, "warps": 4}, mem_ld=400, total_insts=10, mem_insts=2)
    # Few warps: 20 cycles of computation, 800 of memory, and a period of 10 for each of the three others.
    assert (model.mwp, model.cwp) == (4, 4) and model.cycles == 800 + 20 + 10 * 3
    # A hundred lines can be on the way; 41 warps could compute meanwhile: computation decides.
    many = replace(model, warps=1000)
    assert (many.mwp, many.cwp) == (100, 41)
    assert many.cycles == pytest.approx(400 + 20 * 1000)
    # Of 25 lines on the way it is memory.
    slow = replace(many, departure_coal=16)
    assert (slow.mwp, slow.cwp) == (25, 41) and slow.cycles == 800 * 1000 / 25 + 10 * 24
    # Three lines a load: a longer latency, and a longer way out.
    wide = replace(slow, lines_per_load=3)
    assert (wide.mem_l, wide.departure_delay) == (420, 30)
    # Bandwidth for two warps at once, no more.
    assert replace(many, bandwidth=2 * 128 / 400).mwp == 2
    assert replace(many, mem_insts=0).cycles == 20 * 1000


def test_the_fermi_model_on_a_row_of_instructions():
    one = mix([
        step("alu"), step("alu"), step("alu", needs=1), step("mul", needs=2), step("alu", needs=1), step("store"),
    ])
    # 0, 1, 6 (5 behind what it needs), 7, 18 (11 behind), 19; and the store's own 3.
    assert {case: cpi_cycles(one, NUMBERS, case) for case in Case} == dict.fromkeys(Case, 22)
    assert one.dependent == 2 and one.count("alu") == 4


def test_what_stands_between_a_load_and_its_use_hides_it():
    def with_between(count):
        steps = [step("load"), *[step("alu")] * count, step("alu", needs=count + 1, needs_load=count + 1)]
        return mix(steps, loads=1, global_loads=1, lines=1)

    # The use is 40 behind the load, unless it comes later by itself.
    assert [cpi_cycles(with_between(n), NUMBERS, Case.AVERAGE) for n in (0, 10, 60)] == [41, 41, 63]
    assert [cpi_cycles(with_between(n), NUMBERS, Case.BEST) for n in (0, 10, 60)] == [3, 13, 63]
    assert [cpi_cycles(with_between(n), NUMBERS, Case.WORST) for n in (0, 10, 60)] == [41, 51, 101]


def test_the_latency_of_loads_is_a_mean():
    # Of four loads one is local; of the six lines of the others four were there.
    found = mix([step("load")] * 4, loads=4, global_loads=3, lines=6, hits=4)
    assert load_latency(found, NUMBERS) == pytest.approx(6 / 4 + 3 / 4 * (7 * 4 / 6 + 40 * 2 / 6))
    assert found.misses == 2 and load_latency(mix([]), NUMBERS) == 0


def test_more_warps_take_as_long_as_the_slowest():
    warps = [[step("alu")] * 3, [step("alu")] * 8, [step("alu")] * 2]
    assert cpi_cycles(mix(*warps), NUMBERS, Case.AVERAGE) == 8 and cpi_cycles(mix(), NUMBERS, Case.BEST) == 0
    assert not holds(mix(*warps), NUMBERS, 8) and holds(mix(*warps), NUMBERS, 13)


def test_the_roofline_is_the_slower_of_two():
    compute = mix([step("alu")] * 100, lines=10, hits=9, written=2)
    assert roofline(compute, NUMBERS) == 100
    assert roofline(replace(compute, written=50), NUMBERS) == 4 * 51


def test_the_papers_inputs_from_a_mix():
    found = mix([step("alu")] * 6, [step("load")] * 2, loads=2, global_loads=2, lines=4, hits=3)
    plain, cached = (hong_kim_of(found, NUMBERS, cached=cached) for cached in (False, True))
    assert (plain.total_insts, plain.mem_insts, plain.lines_per_load, plain.warps) == (4, 1, 2, 2)
    assert plain.mem_ld == 40 and cached.mem_ld == pytest.approx(7 * 3 / 4 + 40 / 4)


def region(words):
    """A program of one warp and lane with ``words`` in its measured region."""
    program = asm.Program()
    program.add(asm.csrrwi(0, 0x7C0, 1), *[asm.nop()] * 2, *words, asm.csrrwi(0, 0x7C0, 0), asm.nop(), asm.tmc(0))
    return RawProgram(program.assemble())


def test_the_mix_of_a_program():
    words = [
        asm.lui(5, 0x10), asm.lw(6, 0, 5), asm.add(7, 5, 5), asm.mul(8, 6, 7), asm.sw(8, 0, 5),
        asm.beq(5, 0, 8), asm.bne(5, 0, 8), asm.nop(), asm.jal(0, 4),
    ]
    prediction = predict(TINY, RunRequest(launch=region(words), policy="lrr"))
    found = mix_of(TINY, prediction.result, prediction.issued)
    (steps,) = found.warps
    # What closes the region counts, and what is selected in the two cycles behind it.
    assert list(steps[: len(words)]) == [
        step("alu"), step("load", needs=1), step("alu", needs=2), step("mul", needs=1, needs_load=2),
        step("store", needs=1), step("branch not taken", needs=5), step("branch forward taken", needs=6),
        step("jal"), step("csr"),
    ]
    assert (found.loads, found.global_loads, found.lines, found.misses, found.written) == (1, 1, 1, 1, 1)


def test_a_program_without_a_region_has_no_mix():
    program = asm.Program()
    program.add(asm.tmc(0))
    prediction = predict(TINY, RunRequest(launch=RawProgram(program.assemble()), policy="lrr"))
    with pytest.raises(ValueError, match="no measured region"):
        mix_of(TINY, prediction.result, prediction.issued)


@pytest.mark.slow
@pytest.mark.parametrize("name", some_long([kernel.name for kernel in kernels()], 3))
def test_the_mix_of_a_kernel_is_what_was_counted(name):
    """Else mix_of refuses it; and the best case of the models is no later than the worst."""
    prediction = predict(TINY, RunRequest(launch=prepare(name, None, None, 1, TINY), policy="lrr"))
    found = mix_of(TINY, prediction.result, prediction.issued)
    assert found.instructions == prediction.result.counters["committed"]
    assert found.count("load") == prediction.result.counters["loads"] == found.loads
    full = replace(NUMBERS, interval=dict.fromkeys({s.kind for steps in found.warps for s in steps}, 1))
    judged = estimates(name, prediction.result.counters["cycles"], found, full)
    assert judged.estimates["cpi best"] <= judged.estimates["cpi average"] <= judged.estimates["cpi worst"]
    assert judged.as_json()["models"]["roofline"]["cycles"] >= found.instructions
