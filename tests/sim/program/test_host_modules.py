"""Host sides that import modules of equal names from beside them: each gets its own, and leaves nothing behind."""

import sys
from pathlib import Path

import numpy as np
import pytest

from metronome.hdl.presets import TINY
from metronome.sim.program.host import load_host

HOST = """
import sys
from pathlib import Path
from dataclasses import dataclass

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / f"shared of {Path(__file__).parent.name}"))
import common
import helper
import package.part
from metronome.riscv_kernels.host import Buffers, Problem, compare

ABOUT = f"{helper.NAME} {package.part.NAME} {common.NAME}"
TYPES = ("int32",)
DEFAULT_SIZE = MAX_SIZE = 4


@dataclass
class Size:
    size: int


def make(dtype, size, seed, config):
    import late
    from package import part

    buffers = Buffers(config)
    target = buffers.place_output("out", size)
    expected = np.arange(size, dtype=np.int32)

    def check(read):
        import later
        assert helper is sys.modules["helper"] and part is sys.modules["package.part"]
        return [late.NAME, later.NAME, part.NAME]

    return Problem(arguments=b"", buffers=buffers.placed, check=check)
"""


@pytest.fixture
def folders(tmp_path):
    """Two kernels of which every module says whose it is."""
    for name in ("first", "second"):
        folder, shared = tmp_path / name, tmp_path / f"shared of {name}"
        (folder / "package").mkdir(parents=True)
        shared.mkdir()
        (folder / "host.py").write_text(HOST)
        for file in ("helper.py", "late.py", "later.py", "package/part.py"):
            (folder / file).write_text(f"NAME = '{name}'\n")
        (shared / "common.py").write_text(f"NAME = 'beside {name}'\n")
    return tmp_path / "first", tmp_path / "second"


def test_each_has_its_own_modules(folders):
    before, path = set(sys.modules), list(sys.path)
    hosts = [load_host(folder) for folder in folders]
    assert [host.about for host in hosts] == ["first first beside first", "second second beside second"]
    problems = [host.problem("int32", 4, 1, TINY) for host in hosts]
    assert [problem.check(bytes) for problem in problems] == [["first"] * 3, ["second"] * 3]
    assert set(sys.modules) == before and sys.path == path
    assert sorted(each.name for each in folders[0].rglob("__pycache__")) == []


def test_what_is_edited_is_read_again(folders):
    load_host(folders[0])
    (folders[0] / "helper.py").write_text("NAME = 'edited'\n")
    assert load_host(folders[0]).about == "edited first beside first"


def test_a_module_of_that_name_stays(folders, monkeypatch):
    mine = type(sys)("mine")
    monkeypatch.setitem(sys.modules, "late", mine)
    host = load_host(folders[0])
    assert host.problem("int32", 4, 1, TINY).check is not None
    assert sys.modules["late"] is mine
    assert Path(np.__file__).exists() and sys.modules["numpy"] is np
