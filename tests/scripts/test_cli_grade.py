"""``metronome grade``: a submission's points, and one line for each that cannot be graded."""

import errno
import json
import re
import time
from pathlib import Path

import pytest

from metronome.sim.machine.policies.files import load, require_python
from metronome.sim.studies.course.cases import REFERENCE
from metronome.sim.studies.course.submission import inspect
from tests.scripts.lines import only_line
from tests.sim.studies.course.solution_file import solution
from tests.sim.studies.course.submissions import BAD, SKELETON, with_pick


@pytest.fixture
def one_case(tmp_path):
    """The reference, with the first case of each task only."""
    kit = json.loads(REFERENCE.read_text("utf-8"))
    kit["case"] = [next(case for case in kit["case"] if case["task"] == task) for task in (1, 2)]
    path = tmp_path / "one.json"
    path.write_text(json.dumps(kit), "utf-8")
    return path


def written(folder, text, name="bad.py"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.slow
def test_the_skeleton_runs(metronome, tmp_path, one_case):
    path = written(tmp_path, SKELETON + "\nprint('noise')\n", "mine.py")
    done = metronome("grade", path, "--reference", one_case)
    assert (done.status, done.err) == (1, "")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["handover", "2873", "5950", "runs", "3.00", "6.00"] in lines
    assert "6.50 of 13.00 points" in done.out
    assert "noise" not in done.out
    assert (
        "handover, cycle 86: it picks warp 2, the solution picks warp 1\n  state   GreedyState(last=1)\n"
        "  inputs  eligible {0-7}, active {0-7}, waiting {}, activated {}, lost {}\n"
    ) in done.out


@pytest.mark.more
def test_a_solution_has_all_points(metronome, tmp_path, one_case):
    done = metronome("grade", written(tmp_path, solution(), "solution.py"), "--reference", one_case, "--task", "1")
    assert (done.status, done.err) == (0, "")
    assert "6.00 of 6.00 points" in done.out


@pytest.mark.more
def test_the_solution_has_all_points_in_less_than_a_minute(metronome, tmp_path):
    path, before = written(tmp_path, solution(), "solution.py"), time.monotonic()
    done = metronome("grade", path)
    assert (done.status, done.err) == (0, "")
    assert "13.00 of 13.00 points" in done.out
    assert time.monotonic() - before < 60


@pytest.mark.slow
def test_no_processes_without_shared_memory(metronome, tmp_path, one_case, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", refuse)
    done = metronome("grade", written(tmp_path, SKELETON, "mine.py"), "--reference", one_case)
    assert (done.status, done.out) == (2, "")
    assert only_line(done.err).startswith("metronome: cannot start another process (Read-only file system): ")


#: The first cycle in which round robin differs on handover: warp 1 could issue again.
FIRST = {
    "cycle": 86, "inputs": {
        "eligible": list(range(8)), "active": list(range(8)), "waiting": [], "activated": [], "lost": [],
    }, "state": "GreedyState(last=1)", "picked": 2, "solution": 1,
}


@pytest.mark.slow
def test_a_folder_is_one_table(metronome, tmp_path, one_case):
    folder = tmp_path / "all"
    (folder / "b").mkdir(parents=True)
    (folder / ".hidden.py").write_text("")
    (folder / "c.py").symlink_to("nothing")
    written(folder, "class (", "d.py")
    written(folder / "b", SKELETON, "mine.py")
    written(folder, with_pick("return 7"), "a.py")
    words = ("--reference", one_case, "--task", "1", "--seconds", "1")
    done = metronome("grade", "all", "all/b/mine.py", *words, "--json", "all.json", status=2)
    assert only_line(done.err) == "metronome: 3 of 4 submissions have an error: all/a.py, all/c.py, all/d.py"
    rows = [line.split() for line in done.out.splitlines() if line.startswith("all/")]
    assert [row[:3] for row in rows] == [
        ["all/a.py", "0.00", "0.00"], ["all/b/mine.py", "3.00", "3.00"], ["all/c.py", "0.00", "0.00"],
        ["all/d.py", "0.00", "0.00"],
    ]
    assert "handover, cycle 86: it picks warp 2, the solution picks warp 1" in done.out
    assert "a.py: class GreedyThenOldest: in cycle 0 pick returned 7" in done.out
    assert "4 submissions, 0 with all points" in done.out
    document = json.loads((tmp_path / "all.json").read_text())
    each = document["submissions"]
    assert [Path(one["submission"]).name for one in each] == ["a.py", "mine.py", "c.py", "d.py"]
    assert each[1]["tasks"][0]["cases"][0]["first_difference"] == FIRST
    assert each[2]["tasks"][0]["wrong"] == "c.py: No such file or directory"
    assert document["passed"] is False and [one["points"] for one in each] == [0, 3, 0, 0]


@pytest.mark.more
def test_json(metronome, tmp_path, one_case):
    path = written(tmp_path, SKELETON, "mine.py")
    done = metronome("grade", path, "--reference", one_case, "--task", "1", "--json", "-")
    assert (done.status, done.err) == (1, "")
    document = json.loads(done.out)
    assert document.pop("origin")["command"].startswith("metronome grade mine.py --reference ")
    assert document == {
        "passed": False, "submissions": [{
            "submission": str(path), "passed": False, "points": 3.0, "of": 6.0, "tasks": [{
                "task": 1, "class": "GreedyThenOldest", "statistic": "NUM_STALL_CYCLES", "points": 3.0, "wrong": None,
                "cases": [{
                    "case": "handover", "grade": "runs", "points": 3.0, "of": 6.0, "reference": 2873.0,
                    "measured": 5950.0, "first_difference": FIRST,
                }],
            }],
        }],
    }


#: What is seen before anything is executed.
AT_ONCE = ("no Python", "the solution", "no text")
#: Two more of these; the others are alike.
MORE = ("an exception", "the end of the process")


def bad_submissions():
    for what in BAD:
        marks = [pytest.mark.more] * (what in MORE) or [pytest.mark.long]
        yield pytest.param(what, marks=[] if what in AT_ONCE else marks)


@pytest.mark.parametrize("what", list(bad_submissions()))
def test_a_bad_submission_has_one_line(metronome, tmp_path, one_case, what):
    text, told = BAD[what]
    path = written(tmp_path, text)
    done = metronome("grade", path, "--reference", one_case, "--task", "1", "--seconds", "1", status=2)
    assert re.fullmatch(rf"metronome: {told}.*", only_line(done.err))


@pytest.mark.more
def test_what_is_wrong_with_one_task_leaves_the_other(metronome, tmp_path, one_case):
    path = written(tmp_path, SKELETON.replace("class CacheConscious", "class Cache"))
    done = metronome("grade", path, "--reference", one_case, status=2)
    assert only_line(done.err) == "metronome: bad.py: there is no class CacheConscious"
    assert "3.00 of 13.00 points" in done.out


@pytest.mark.more
def test_a_policy_under_which_a_kernel_does_not_end(metronome, tmp_path, one_case):
    path = written(tmp_path, SKELETON.replace("return after(state.last, inputs.eligible)", "return None", 1), "mine.py")
    done = metronome("grade", path, "--reference", one_case, "--task", "1")
    assert (done.status, done.err) == (1, "")
    assert ["handover", "2873", "none", "0.00", "6.00"] in [line.split() for line in done.out.splitlines()]


@pytest.mark.more
def test_a_reference_of_other_cases(metronome, tmp_path):
    cases = tmp_path / "my.toml"
    cases.write_text(
        'tolerance = 0.05\npoints = { 1 = 6, 2 = 7 }\nshares = { runs = 0, close = 0.9, exact = 1 }\n'
        '[[case]]\nname = "a"\ntask = 1\nkernel = "handover"\nsize = 3\nseed = 5\npreset = "TINY"\n', "utf-8",
    )
    assert metronome("grade", "--make-reference", "my.json", "--cases", cases).status == 0
    done = metronome("grade", written(tmp_path, SKELETON, "mine.py"), "--reference", "my.json", status=1)
    assert "5.40 of 6.00 points" in done.out


def test_the_skeleton_comes_with_the_installation(metronome, tmp_path, own_policies):
    """It is a policy file, too."""
    done = metronome("new", "--course", "me", status=0)
    assert done.out == "me.py written. Grade it: metronome grade me.py\n"
    assert (tmp_path / "me.py").read_text() == SKELETON.replace("mine.py", "me.py")
    inspect(tmp_path / "me.py")
    for name in ("GreedyThenOldest", "CacheConscious"):
        require_python(load(f"me.py:{name}"))


@pytest.mark.parametrize(("words", "told"), [
    (["a.py"], "a.py already exists: choose another name"), (["a"], "a.py already exists: choose another name"),
    (["x-y"], "NAME: 'x-y' is not a valid name for a policy: use letters, digits and underscores, such as mine"),
    (["b", "--policy"], "--policy and --course write different files: take one of them"),
])
def test_a_skeleton_that_cannot_be_written(metronome, tmp_path, words, told):
    (tmp_path / "a.py").write_text("")
    assert metronome("new", "--course", *words, status=2).refusal == f"metronome: {told}"
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]
    assert (tmp_path / "a.py").read_text() == ""


@pytest.mark.parametrize(("words", "told"), [
    ([], "name the file of a submission, or --make-reference"),
    (["empty"], "empty: the folder has no Python file"),
    (["nothing.py"], "FILE: cannot read 'nothing.py': No such file or directory"),
    (["a.py", "--task", "3"], "--task must be one of 1, 2, not 3"),
    (["a.py", "--cases", "a.toml"], "--cases is for --make-reference: grade with --reference"),
    (["a.py", "--make-reference", "b.json"], "--make-reference takes --cases and nothing else"),
    (["a.py", "--seconds", "0"], "--seconds must be at least 1, not 0"),
    (["a.py", "--reference", "none.json"], "--reference: cannot read 'none.json': No such file or directory"),
    (["a.py", "--reference", "a.py"], "a.py: 'case' is missing"),
    (["--make-reference", "a.py", "--cases", "a.py"], "--make-reference: a.py is already the file of --cases"),
    (["a.py", "--json", "a.py"], "--json: a.py is already the file of the submission a.py"),
])
def test_bad_use_has_one_line(metronome, tmp_path, words, told):
    (tmp_path / "a.py").write_text("", "utf-8")
    (tmp_path / "empty").mkdir()
    assert metronome("grade", *words).refusal.endswith(told)
