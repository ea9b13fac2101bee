"""docs/extending.md, "A policy", done in a copy of the tree."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT

PACKAGES = ("hdl", "riscv_kernels", "scripts", "sim", "tb")
SECTION = re.compile(r"^## A policy\n(.*?)^## ", re.MULTILINE | re.DOTALL)
#: A step names its file; the block behind it is what goes there.
STEP = re.compile(r"^\d\. ([^\n]*(?:\n[^\n`]+[^\n]*)*)\n\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINE_OF_POLICIES = re.compile(r'^    "\w+": \w+,\n', re.MULTILINE)


def section() -> str:
    return SECTION.search((ROOT / "docs" / "extending.md").read_text("utf-8"))[1]


def steps(text: str) -> list[tuple[str, str]]:
    """(File, block) of every step."""
    return [(re.search(r"`([\w/]+\.py)`", where)[1], block) for where, block in STEP.findall(text)]


def commands(text: str) -> list[list[str]]:
    return [line.split()[1:] for language, block in FENCE.findall(text) if not language
            for line in block.split("\n") if line]


def apply(tree: Path, file: str, block: str) -> None:
    """Do one step: write a new file, or put imports, lines of POLICIES and definitions where a reader would."""
    path = tree / file
    if not path.exists():
        path.write_text(block, "utf-8")
        return
    text = path.read_text("utf-8")
    for line in LINE_OF_POLICIES.findall(block):
        text = re.sub(r"^(POLICIES\b.*?)^}", lambda found, line=line: f"{found[1]}{line}}}", text, count=1,
                      flags=re.MULTILINE | re.DOTALL)
    rest = LINE_OF_POLICIES.sub("", block)
    imports = re.findall(r"^from \..*\n", rest, re.MULTILINE)
    for line in imports:
        places = re.finditer(r"^from \..*\n|^__all__", text, re.MULTILINE)
        following = next(place for place in places if place[0] == "__all__" or place[0] > line)
        text = text[:following.start()] + line + text[following.start():]
    definitions = re.sub(r"^from \..*\n", "", rest, flags=re.MULTILINE).strip()
    if definitions:
        text = re.sub(r"^POLICIES\b", lambda found: f"{definitions}\n\n\n{found[0]}", text, count=1, flags=re.MULTILINE)
    path.write_text(text, "utf-8")


class Tree:
    """A copy of the packages, with an installation of its own, in which the guide was followed."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        ignore = shutil.ignore_patterns("__pycache__")
        for name in (*PACKAGES, "tests"):
            shutil.copytree(ROOT / name, self.root / name, ignore=ignore)
        shutil.copy(ROOT / "pyproject.toml", self.root)
        names = folder / "names" / "metronome"
        names.mkdir(parents=True)
        for name in PACKAGES:
            (names / name).symlink_to(self.root / name)
        self.environment = {**os.environ, "PYTHONPATH": str(names.parent)}
        for file, block in steps(section()):
            apply(self.root, file, block)

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the copy, which imports the copy's packages."""
        return subprocess.run([sys.executable, *arguments], cwd=self.root, env=self.environment, capture_output=True,
                              text=True, check=False)

    def metronome(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.python("-m", "metronome.scripts.cli", *arguments)
