"""The house rules that a machine can hold: who imports whom, no cycles, nothing that only works on one machine.

The contracts are in pyproject.toml (import-linter). Each rule is tried on a tree in which it is broken: a checker that
finds nothing because it looks at nothing does not pass.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metronome.sim.build.sources import ROOT
from tests.support.source_files import source_files

FOLDERS = ("hdl", "riscv_kernels", "scripts", "sim", "tb")
#: Our packages by their folder's name: that works in a checkout only, and takes the user's own.
BY_FOLDER = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(FOLDERS)})\b", re.MULTILINE)
# Written so that this file does not match itself.
LOCAL_TEXT = {
    "an absolute path of one machine": re.compile(r"(?<![\w.])/(?:home|root|Users|work|opt|mnt)/[\w.]|[A-Z]:\\Users"),
    "the host of a package registry": re.compile(
        r"\b(?:pypi|crates|proxy\.golang|anaconda)\.(?:org|io|python)\b|pythonhosted\.|registry\.npmjs", re.IGNORECASE
    ),
}


def lint_imports(root: Path) -> tuple[int, str]:
    """Status and output of import-linter on the tree ``root``."""
    code = "import sys; sys.path.insert(0, '.ci/names'); from importlinter import cli; cli.lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=root, capture_output=True, text=True, check=False,
    )
    return done.returncode, done.stdout + done.stderr


def imports_by_folder(root: Path) -> list[str]:
    return sorted(
        path.relative_to(root).as_posix() for folder in (*FOLDERS, "tests") for path in (root / folder).rglob("*.py")
        if BY_FOLDER.search(re.sub(r'""".*?"""', "", path.read_text("utf-8"), flags=re.DOTALL))
    )


def local_text(root: Path) -> list[str]:
    """Lines of tracked text files that only make sense on one machine."""
    found = []
    for path in source_files(root):
        try:
            lines = path.read_text("utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            whats = [what for what, pattern in LOCAL_TEXT.items() if pattern.search(line)]
            found += [f"{path.relative_to(root)}:{number}: {what}" for what in whats]
    return found


def write_tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def test_imports_follow_the_contracts():
    status, output = lint_imports(ROOT)
    assert status == 0, output


#: Module, an import that it may not have, and what the linter says of it.
WRONG = [
    ("hdl/config.py", "import metronome.sim.run.runner", "metronome.hdl is not allowed to import metronome.sim"),
    ("hdl/lib/onehot.py", "from ..layouts import probe",
     "metronome.hdl.lib is not allowed to import metronome.hdl.layouts"),
    ("hdl/layouts/probe.py", "def f():\n    from ..sm import Sm",
     "metronome.hdl.layouts is not allowed to import metronome.hdl.sm"),
    ("hdl/frontend/fetch.py", "from ..observe.counters import Counters",
     "metronome.hdl.frontend.fetch -> metronome.hdl.observe.counters"),
    ("sim/machine/limits.py", "from ..program import elf",
     "metronome.sim.machine is not allowed to import metronome.sim.program"),
    ("sim/show/trace/about.py", "from ...predict import verify",
     "metronome.sim.show is not allowed to import metronome.sim.predict"),
    ("sim/predict/setup.py", "import metronome.sim.studies.sweep.spec",
     "metronome.sim.predict is not allowed to import metronome.sim.studies"),
    ("sim/machine/golden/csr.py", "from metronome.hdl.isa import ops",
     "metronome.sim.machine.golden is not allowed to import metronome.hdl.isa"),
    ("sim/predict/model/lsu.py", "from ...machine import golden",
     "metronome.sim.predict.model is not allowed to import metronome.sim.machine.golden"),
    ("tb/mailbox.py", "import metronome.scripts.cli", "metronome.tb is not allowed to import metronome.scripts"),
    ("scripts/output/tables.py", "from ..commands import run",
     "metronome.scripts.output is not allowed to import metronome.scripts.commands"),
    ("scripts/commands/grade.py", "from .kernels import kernels",
     "metronome.scripts.commands.grade is not allowed to import metronome.scripts.commands.kernels"),
    ("sim/extra/thing.py", "", "metronome.sim.extra"),
]


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What the linter says of a copy of the tree with every wrong import in it."""
    root = tmp_path_factory.mktemp("tree")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, root / folder, ignore=lambda _, names: [
            name for name in names if "." in name and not name.endswith(".py")])
    shutil.copytree(ROOT / ".ci" / "names", root / ".ci" / "names", symlinks=True)
    shutil.copy(ROOT / "pyproject.toml", root)
    for module, line, _ in WRONG:
        path = root / module
        path.parent.mkdir(exist_ok=True)
        if not line:
            (path.parent / "__init__.py").touch()
        with path.open("a") as file:
            file.write(f"\n{line}\n")
    status, output = lint_imports(root)
    assert status == 1, output
    return re.sub(r"\s+", " ", output)


@pytest.mark.slow
@pytest.mark.parametrize(("module", "line", "complaint"), WRONG)
def test_a_wrong_import_is_reported(complaints, module, line, complaint):
    assert (ROOT / module).exists() or not line, "a file that is not there is no wrong import"
    assert complaint in complaints


def test_a_cycle_is_reported(complaints):
    assert "No cycles are allowed in metronome.sim." in complaints


def test_our_packages_are_imported_under_our_name(tmp_path):
    assert imports_by_folder(ROOT) == []
    right = "import metronome.hdl.sm\nfrom . import b\nfrom .hdl import c\n"
    files = {"sim/a.py": right, "tests/test_b.py": "def f():\n    import hdl.sm"}
    assert imports_by_folder(write_tree(tmp_path, files)) == ["tests/test_b.py"]


def test_tracked_text_is_not_tied_to_a_machine():
    assert local_text(ROOT) == []


@pytest.mark.parametrize(
    "text",
    ["see /" + "home/me/x", "path = '/" + "root/.cache'", "(/" + "Users/me)", "https://py" + "pi.org/simple",
     "https://files.python" + "hosted.org/a"],
)
def test_local_text_is_reported(tmp_path, text):
    write_tree(tmp_path, {"a.md": "fine\nfrom PyPI, in build/work/x and a.opt/b\n", "docs/b.md": f"one\n{text}\n"})
    found = local_text(tmp_path)
    assert len(found) == 1
    assert found[0].startswith("docs/b.md:2: ")
