"""The reference values are those of the solution, and every typical wrong solution loses points."""

import dataclasses
import json

import pytest

from metronome.sim.machine.policies.plain import POLICIES
from metronome.sim.predict.predictor import Recordings
from metronome.sim.studies.course.cases import CASES, REFERENCE, TASKS, CaseError, Kit, Statistics, measure
from metronome.sim.studies.course.grading import mark
from metronome.sim.studies.course.making import make_reference
from tests.sim.studies.course.wrong_solutions import WRONG
from tests.support.tiers import more_but, some_more

KIT = Kit.read(REFERENCE)
RECORDINGS = Recordings()
SOLUTIONS = [(kind, task) for task, kinds in WRONG.items() for kind in kinds]
USUAL = [(kind, task) for task, kinds in WRONG.items() for kind in list(kinds)[:2]]


def test_the_reference_is_of_the_cases():
    assert dataclasses.replace(KIT, reference={}) == Kit.read(CASES)
    assert set(KIT.reference) == {case.name for case in KIT.cases}


@pytest.mark.slow
def test_the_reference_is_reproduced():
    assert make_reference(Kit.read(CASES)).as_json() == json.loads(REFERENCE.read_text("utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("case", some_more(KIT.cases, 2), ids=lambda case: case.name)
def test_the_solution_in_python_is_exact(case):
    solution = POLICIES[TASKS[case.task].policy].of(case.config())
    found = measure(case, KIT.folder, solution, recordings=RECORDINGS)
    assert found == KIT.reference[case.name]
    given = mark(KIT, case, found)
    assert (given.grade, given.points) == ("exact", given.of)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "task"), more_but(SOLUTIONS, USUAL), ids=lambda value: getattr(value, "__name__", None),
)
def test_a_wrong_solution_loses_points(kind, task):
    cases = [case for case in KIT.cases if case.task == task]
    for case in sorted(cases, key=lambda case: KIT.reference[case.name].total_cycles):
        limit = 2 * KIT.reference[case.name].total_cycles
        given = mark(KIT, case, measure(
            case, KIT.folder, kind.of(case.config()), most_cycles=limit, recordings=RECORDINGS,
        ))
        if given.points < given.of:
            return
    pytest.fail(f"{kind.__name__} has all points")


def test_ten_wrong_solutions_at_least():
    assert len(SOLUTIONS) >= 10


def shown(**values):
    statistics = {"total_cycles": 10, "instructions": 4000, "stall_cycles": 100, "misses": 400}
    return Statistics(**statistics | values)


@pytest.mark.parametrize(("task", "found", "grade", "share"), [
    (1, shown(), "exact", 1), (1, shown(misses=1), "exact", 1), (1, shown(stall_cycles=105), "close", 0.9),
    (1, shown(stall_cycles=95), "close", 0.9), (1, shown(stall_cycles=106), "runs", 0.5), (1, None, "none", 0),
    (2, shown(stall_cycles=1), "exact", 1), (2, shown(misses=401), "close", 0.9), (2, shown(misses=420), "close", 0.9),
    (2, shown(misses=379), "runs", 0.5),
])
def test_grades(task, found, grade, share):
    case = next(case for case in KIT.cases if case.task == task)
    kit = dataclasses.replace(KIT, cases=(case,), reference={case.name: shown()})
    given = mark(kit, case, found)
    assert (given.grade, float(given.points)) == (grade, share * float(kit.points[task]))


def test_another_program_is_seen():
    kit = dataclasses.replace(KIT, reference=dict.fromkeys(KIT.reference, shown()))
    with pytest.raises(CaseError, match="4001 instructions instead of 4000: the kernel or the compiler has changed"):
        mark(kit, kit.cases[0], shown(instructions=4001))


CASE = """
tolerance = 0.05
[points]
1 = 6
2 = 7
[shares]
runs = 0
close = 0.9
exact = 1
[[case]]
name = "a"
task = 1
kernel = "handover"
size = 1
seed = 1
"""


@pytest.mark.parametrize(("text", "told"), [
    (CASE.replace("tolerance = 0.05", ""), r"a\.toml: 'tolerance' is missing"),
    (CASE.replace("size = 1", ""), r"a\.toml: .*'size'"),
    (CASE.replace("task = 1", "task = 3"), r"a\.toml: there is no task 3"),
    (CASE + CASE[CASE.index("[[case]]"):], r"a\.toml: two cases have one name"),
    ("[", r"a\.toml: "),
])
def test_cases_that_cannot_be_used(tmp_path, text, told):
    path = tmp_path / "a.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(CaseError, match=told):
        Kit.read(path)


@pytest.mark.parametrize(("line", "told"), [
    ('preset = "HUGE"', "case a: preset: unknown name 'HUGE'"),
    ("set = { dcache_bytes = 3 }", "case a: dcache_bytes must be"),
    ("set = { nothing = 3 }", "case a: .*nothing"), ("", "case a: the size of handover must be from 1 to 500, not 501"),
])
def test_a_machine_that_cannot_be(tmp_path, line, told):
    path = tmp_path / "a.toml"
    path.write_text((CASE if line else CASE.replace("size = 1", "size = 501")) + line, "utf-8")
    with pytest.raises(CaseError, match=told):
        make_reference(Kit.read(path))


def test_a_kernel_that_is_not_there(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(CASE.replace('"handover"', '"./mine"'), "utf-8")
    with pytest.raises(CaseError, match=r"case a: .*mine: no such file or folder"):
        make_reference(Kit.read(path))
