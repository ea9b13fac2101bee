"""A submission cannot import or open forbidden modules and files, in any spelling; its process gives answers only."""

import os
import sys
from pathlib import Path

import pytest

from metronome.hdl.presets import TINY
from metronome.sim.machine.policies.base import PolicyInputs
from metronome.sim.studies.course import confinement, remote, sandbox
from metronome.sim.studies.course.remote import Sandbox
from metronome.sim.studies.course.submission import SubmissionError, inspect
from tests.sim.studies.course.submissions import SKELETON, with_pick

SOLUTION = "metronome.sim.machine.policies.plain"


@pytest.fixture(scope="module")
def executing():
    """The process that forks for each submission."""
    made = Sandbox()
    yield made
    made.close()


@pytest.fixture
def picked(executing, tmp_path):
    """Execute the text as a submission without reading it before; return its first pick of the warps 0 and 1."""
    def picked(text, *, seconds=20, name="mine.py", kind="GreedyThenOldest"):
        path = tmp_path / name
        path.write_text(text)
        with executing.execute(path, kind, TINY, seconds) as policy:
            return policy.pick(policy.reset(), PolicyInputs(eligible=3, active=3))

    return picked


def test_the_skeleton_picks(picked):
    assert picked(SKELETON) == 0
    assert picked(SKELETON, kind="CacheConscious") == 0


def test_the_process_never_had_the_solution(picked):
    """All policies there are base classes, and those of the submission."""
    names = "[each.__name__ for each in all_of(Policy)]"
    text = with_pick(f"raise ValueError({names})") + """

def all_of(kind):
    return [kind, *(each for below in kind.__subclasses__() for each in all_of(below))]
"""
    known = "'Policy', 'Stateless', 'WithLast', 'WithPointer', 'GreedyThenOldest', 'CacheConscious'"
    with pytest.raises(SubmissionError, match=rf"ValueError: \[{known}\]$"):
        picked(text)


#: A spelling -> what is said, after the place. `sys` is reached as an attribute of a module that may be imported.
SPELLINGS = {
    f"import {SOLUTION}": f"it imports {SOLUTION}: of Metronome",
    "from metronome.sim.machine.policies import plain": "it imports metronome.sim.machine.policies: of Metronome",
    "import os": "it imports os: it may import abc, ",
    f"__import__('{SOLUTION}')": f"it imports {SOLUTION}",
    f"exec('import {SOLUTION}')": f"it imports {SOLUTION}",
    f"eval('__import__(\"{SOLUTION}\")')": f"it imports {SOLUTION}",
    f"import importlib; importlib.import_module('{SOLUTION}')": "it imports importlib",
    f"import dataclasses as d; d.inspect.importlib.import_module('{SOLUTION}')": f"it imports {SOLUTION}",
    f"import dataclasses as d; d.inspect.importlib.__import__('{SOLUTION}')": f"it imports {SOLUTION}",
    f"import dataclasses as d; d.inspect.importlib.util.find_spec('{SOLUTION}')": "",
    "import dataclasses as d; d.inspect.importlib.reload(d)": "",
    f"import dataclasses as d; d.sys.modules['{SOLUTION}']": f"KeyError: '{SOLUTION}'",
    "import dataclasses as d; d.sys.modules['os']": "KeyError: 'os'",
    "import dataclasses as d; d.sys.modules['__main__']": "KeyError: '__main__'",
    "import metronome.sim.machine.policies.base; metronome.sim.machine.policies.plain": "AttributeError: ",
    "import metronome.sim.machine.policies.base; metronome.__dict__['sim'].__dict__['studies']": "KeyError: 'studies'",
    "import metronome.sim.machine.policies.base; metronome.sim.build": "AttributeError: ",
    "__builtins__['__import__'].__closure__[0].cell_contents; "
    f"[each for each in __builtins__['__import__'].__closure__ if callable(each.cell_contents)][-1].cell_contents("
    f"'{SOLUTION}')": "",
    "loader = [c for c in object.__subclasses__() if c.__name__ == 'BuiltinImporter'][0]; loader.load_module('posix')":
        "",
    "import dataclasses as d; d.inspect.importlib._bootstrap_external.FileLoader('x', '').get_data('secret.txt')":
        "it opens 'secret.txt'",
    "open('secret.txt')": "it opens 'secret.txt'",
    "open(__file__, 'a')": "it opens '",
    "import random; random._os.open('secret.txt', 0)": "it opens 'secret.txt'",
    "import random; random._os.listdir('/')": "it uses os.listdir",
    "import random; random._os.remove('/nix')": "it uses os.remove",
    "import random; random._os.system('true')": "it uses os.system",
    "import random; random._os.fork()": "it uses os.fork",
    "import random; random._os.execv('true', ['true'])": "it uses os.exec",
    "import random; random._os.posix_spawn('true', ['true'], {})": "it uses os.posix_spawn",
    "import random; random._os.kill(1, 0)": "it uses os.kill",
    "import random; random._os.pipe()": "OSError: [Errno 24] Too many open files",
    "import io; io.FileIO('secret.txt')": "it imports io",
    "import dataclasses as d; d.inspect.linecache.tokenize._builtin_open('secret.txt')": "it opens 'secret.txt'",
    "raw = [c for c in object.__subclasses__() if c.__name__ == '_IOBase'][0]; "
    "[c for c in raw.__subclasses__() if c.__name__ == '_RawIOBase'][0].__subclasses__()[0]('secret.txt')":
        "it opens 'secret.txt'",
    "[c for c in object.__subclasses__() if c.__name__ == '_wrap_close'][0].__init__.__globals__['system']('true')":
        "it uses os.system",
    "[c for c in object.__subclasses__() if c.__name__ == 'socket'][0]()": "",
    "import pathlib; pathlib.Path('secret.txt').read_text()": "it imports pathlib",
    "import subprocess": "it imports subprocess",
    "import socket": "it imports socket",
    "import ctypes": "it imports ctypes",
    "import gc": "it imports gc",
    "import dataclasses as d; d.sys.addaudithook(print)": "it uses sys.addaudithook",
    "import dataclasses as d; d.sys._current_frames()": "it uses sys._current_frames",
    "import dataclasses as d; d.sys.settrace(print)": "it uses sys.settrace",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_it_may_not_do_it_cannot(picked, spelling):
    """Executed as if nobody had looked at the text before, in `pick` and when the file is loaded."""
    for text in (with_pick(f"{spelling}; return 1"), f"{SKELETON}\n{spelling}\n"):
        with pytest.raises(SubmissionError) as error:
            picked(text)
        assert str(error.value).startswith("mine.py, line ")
        assert SPELLINGS[spelling] in str(error.value) and "\n" not in str(error.value)


def test_a_refusal_that_is_caught_is_an_error_all_the_same(picked):
    with pytest.raises(SubmissionError, match=r"^mine\.py, line \d+, in pick: it opens 'secret.txt'"):
        picked(with_pick("""
        try:
            open("secret.txt")
        except BaseException:
            pass
        return 1"""))


HOLD = with_pick("""
        cells = dict(zip(__builtins__["__import__"].__code__.co_freevars, __builtins__["__import__"].__closure__))
        cells["refuse"].cell_contents = lambda text: None
        import random
        random._os.putenv("A", "b")
        return 1""")


def test_the_hook_holds_without_its_message(picked):
    """The function that makes the message is replaced by one that does nothing."""
    with pytest.raises(SubmissionError, match=r"^mine\.py, line \d+, in pick: "):
        picked(HOLD)


@pytest.mark.parametrize("text", [
    "import collections, copy, decimal, enum, fractions, functools, heapq, itertools, math, operator, random, typing",
    "import collections.abc, bisect, types, abc; from collections.abc import Iterator",
    "from metronome.sim.machine.policies import base",
    "from fractions import Fraction; Fraction.from_decimal(__import__('decimal').Decimal(1))",
    "import functools; functools.singledispatch(len); '\\N{BULLET}'; x = 1 is 1; print('noise')",
    "import random; random.Random(3).shuffle([1, 2]); random.random()",
    "import copy; copy.deepcopy({1: [2]}); import enum; enum.Enum('E', 'a b')",
    "from typing import NamedTuple\nclass N(NamedTuple):\n    a: int",
])
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_what_it_may_do(picked, tmp_path, text):
    assert picked(f"{SKELETON}\n{text}\n") == 0
    inspect(tmp_path / "mine.py")


@pytest.mark.parametrize(("text", "told"), [
    ("import os", "it imports os: it may import abc, bisect, "), ("from . import x", r"it imports \.: "),
    ("import random, sys", "it imports sys: "),
    ("if 0:\n    from metronome.sim import run", "it imports metronome.sim: of"),
    ("from metronome.hdl.config import SmConfig", "it imports metronome.hdl.config: of Metronome it may import "),
])
def test_imports_are_seen_before_anything_is_executed(tmp_path, text, told):
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(SubmissionError, match=rf"^mine\.py, line \d: {told}"):
        inspect(path)


def test_a_deep_file_is_one_line(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("(" * 50_000)
    with pytest.raises(SubmissionError, match=r"^mine\.py(, line 1)?: (too many nested|it is nested)"):
        inspect(path)


WRONG = {
    "no class": (SKELETON.replace("class GreedyThenOldest", "class Other"), "there is no class GreedyThenOldest"),
    "no policy": ("class GreedyThenOldest: pass", "class GreedyThenOldest is no subclass of Policy, from metronome"),
    "no pick": (SKELETON.replace("def pick", "def other"), "class GreedyThenOldest lacks pick"),
    "not declared": (with_pick("return inputs.lost"), "in pick: AttributeError: reads lacks 'lost'"),
    "reads": (SKELETON.replace('"activated")', '"eligable")', 1), "GreedyThenOldest.reads must be a tuple of names"),
    "not pure": (with_pick("self.last = state.last; return 1"), "self.last has changed: a policy may remember in its "),
    "no time": (with_pick("\n        while True: pass"), "in pick: it takes longer than 0.5 s"),
    "the end": (with_pick("import random; random._os._exit(3)"), "mine.py: it has ended the process"),
    "too large": (with_pick("return 0 * len(bytes(3 << 30))"), "in pick: MemoryError"),
    "control characters": (with_pick("raise ValueError('\\x1b[2J')"), "ValueError:  [2J"),
    "rubbish": (with_pick("import random; random._os.write(3, b'x')"), "it writes to a file that is not its own"),
}


@pytest.mark.slow
def test_a_loop_that_nothing_stops_ends(picked):
    text = with_pick("""
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass""")
    with pytest.raises(SubmissionError, match=r"^mine\.py: it takes longer than 0\.2 s$"):
        picked(text, seconds=0.2)


@pytest.mark.slow
def test_a_process_that_only_waits_is_ended(executing, tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "_TIMES", 0)
    monkeypatch.setattr(remote, "_MORE_SECONDS", 1)
    path = tmp_path / "mine.py"
    path.write_text(with_pick("import random; random._os.read(3, 1)"))
    with executing.execute(path, "GreedyThenOldest", TINY, 20) as policy:
        with pytest.raises(SubmissionError, match=r"^mine\.py: it takes longer than 20 s$"):
            policy.pick(0, PolicyInputs(eligible=3))


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_one_line(picked, what):
    text, told = WRONG[what]
    with pytest.raises(SubmissionError) as error:
        picked(text, seconds=0.5)
    assert told in str(error.value) and str(error.value).isprintable()


def test_a_pick_that_is_no_warp_is_shown(picked):
    assert repr(picked(with_pick("return 'one'"))) == "'one'"
    assert repr(picked(with_pick("return 7"))) == "7"
    assert picked(with_pick("return None")) is None


def test_states_have_numbers_by_which_they_are_shown(executing, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SKELETON)
    with executing.execute(path, "GreedyThenOldest", TINY, 20) as policy:
        state, inputs = policy.reset(), PolicyInputs(eligible=3, active=3)
        assert policy.reads == ("eligible", "activated")
        seen = []
        for _ in range(3):
            seen.append((state, policy.shown(state)))
            state = policy.update(state, inputs, policy.pick(state, inputs))
        assert seen == [(0, "GreedyState(last=1)"), (1, "GreedyState(last=0)"), (0, "GreedyState(last=1)")]


def test_states_that_are_no_plain_data_are_not_compared(executing, tmp_path):
    path = tmp_path / "mine.py"
    text = with_pick("return 1").replace("return GreedyState(last=self.warps - 1)", "return [1.5]")
    path.write_text(text.replace("replace(state, last=picked)", "[picked]", 1))
    with executing.execute(path, "GreedyThenOldest", TINY, 20) as policy:
        inputs = PolicyInputs(eligible=2)
        policy.pick(0, inputs)
        assert isinstance(policy.update(0, inputs, 1), float)


def test_lanes_and_fetched_arrive(picked, executing, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(with_pick("raise ValueError(inputs.lanes + inputs.fetched)").replace(
        '"activated")', '"fetched", "lanes")', 1))
    with executing.execute(path, "GreedyThenOldest", TINY, 20) as policy, pytest.raises(
        SubmissionError, match=r"ValueError: \(1, 2, 3, 4\)$"
    ):
        policy.pick(0, PolicyInputs(eligible=3, lanes=(1, 2), fetched=(3, 4)))


def test_the_processes_end(tmp_path):
    made = Sandbox()
    path = tmp_path / "mine.py"
    path.write_text(SKELETON)
    with made.execute(path, "GreedyThenOldest", TINY, 20):
        children = Path(f"/proc/{made._process.pid}/task/{made._process.pid}/children").read_text().split()
    made.close()
    assert len(children) == 1 and not Path(f"/proc/{children[0]}").exists()


def test_this_process_is_not_confined():
    assert sandbox.main and remote.Sandbox and confinement.confine
    assert "os" in sys.modules and os.path.exists(__file__)
