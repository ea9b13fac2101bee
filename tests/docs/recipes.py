"""docs/extending.md, done in a copy of the tree.

A step says "New file `path`", or "In `path`" and "before the line `text`" or "after the line `text`"; the block below
it is what goes there. A block without a language has commands.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from metronome.sim.build.cache import cache_folder
from tests.docs.pages import ROOT

#: The sections that are recipes.
RECIPES = ("A counter", "A policy", "A memory model", "A kernel", "A trace format")
PACKAGES = ("hdl", "riscv_kernels", "scripts", "sim", "tb")
PAGE = (ROOT / "docs" / "extending.md").read_text("utf-8")
#: What is in front of a block since the last one, its language, and the block.
FENCE = re.compile(r"(.*?)^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^\d\. (?:New file|In) `([\w/.]+)`", re.MULTILINE)
PLACE = re.compile(r"(before|after)\s+the\s+line\s+`([^`]+)`")
#: Commands in one process: each one's status and what it has printed.
COMMANDS = """\
import contextlib, io, json, sys
from metronome.scripts.cli import main
done = []
for command in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(command.split())
    done.append((status, out.getvalue(), err.getvalue()))
print(json.dumps(done))
"""


@dataclass(frozen=True)
class Step:
    """``block`` goes into ``file``: before or after the line ``line``, or it is all of a new file."""

    file: str
    where: str | None
    line: str
    block: str


def section(name: str) -> str:
    return re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]


def steps(name: str) -> list[Step]:
    found, file = [], ""
    for said, language, block in FENCE.findall(section(name)):
        if language:
            named = FILE.findall(said)
            file = named[-1] if named else file
            place = PLACE.search(said)
            found.append(Step(file, place and place[1], place[2] if place else "", block))
    return found


def commands(name: str) -> list[str]:
    return [line.removeprefix("metronome ") for _, language, block in FENCE.findall(section(name)) if not language
            for line in block.splitlines()]


def apply(root: Path, step: Step) -> None:
    path = root / step.file
    if step.where is None:
        assert not path.exists(), path
        path.parent.mkdir(exist_ok=True)
        path.write_text(step.block, "utf-8")
        return
    lines = path.read_text("utf-8").splitlines(keepends=True)
    (at,) = [number for number, line in enumerate(lines) if line.strip() == step.line]
    # Definitions have two empty lines behind them.
    behind = "\n\n" if step.block.startswith(("@", "class ", "def ")) else ""
    lines.insert(at + (step.where == "after"), step.block + behind)
    path.write_text("".join(lines), "utf-8")


class Tree:
    """A copy of the packages, with an installation of its own, in which ``recipes`` were followed."""

    def __init__(self, folder: Path, recipes: tuple[str, ...]) -> None:
        self.root = folder / "tree"
        ignore = shutil.ignore_patterns("__pycache__")
        for name in PACKAGES:
            shutil.copytree(ROOT / name, self.root / name, ignore=ignore)
        (self.root / "tests").symlink_to(ROOT / "tests")
        shutil.copy(ROOT / "pyproject.toml", self.root)
        names = folder / "names" / "metronome"
        names.mkdir(parents=True)
        for name in PACKAGES:
            (names / name).symlink_to(self.root / name)
        shutil.copy(ROOT / ".ci" / "names" / "metronome" / "__init__.py", names)
        # The copy shares the cache of this checkout; its own would be empty.
        self._environment = {**os.environ, "PYTHONPATH": str(names.parent), "COLUMNS": "200",
                             "METRONOME_CACHE": str(cache_folder())}
        for recipe in recipes:
            for step in steps(recipe):
                apply(self.root, step)

    def python(self, *arguments: str) -> str:
        """Run Python in the copy, which imports the copy's packages; what it has printed."""
        done = subprocess.run([sys.executable, *arguments], cwd=self.root, env=self._environment, capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def metronome(self, *given: str) -> list[str]:
        """What each of these commands prints, each of which has to succeed; all of them in one process."""
        done = json.loads(self.python("-c", COMMANDS, json.dumps(given)))
        for command, (status, out, err) in zip(given, done, strict=True):
            assert status == 0, (command, out, err)
        return [out for _, out, _ in done]
