"""Runs a page of docs/tutorials: its blocks, in order, in the current folder, as a reader does.

- A block without a language has commands, one a line. A command that has to fail ends in `# fails`. One that takes too
  long for a test ends in another comment, and the caller says what is run in its place.
- A `text` block is what the commands before it print. `...` stands for any words, also in the middle of a line.
- A `diff` block changes the file that the text before it names: "In `mine/kernel.c`, ...". Empty lines separate its
  changes.
- Any other block is a file, if the text before it ends in "This is `NAME`:". Else it is Python, and is executed.
"""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from metronome.scripts.cli import main
from tests.docs.pages import ROOT

FOLDER = ROOT / "docs" / "tutorials"
_FENCE = re.compile(r"(.*?)^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"This is `([\w./]+)`:\s*\Z")
_CHANGED = re.compile(r"\b[Ii]n `([\w./]+)`")


@dataclass(frozen=True)
class Block:
    """``said`` is the text since the block before; ``part`` is the heading that it is below."""

    part: str
    said: str
    language: str
    content: str


def blocks(name: str) -> list[Block]:
    text = (FOLDER / name).read_text("utf-8")
    found, part = [], ""
    for said, language, content in _FENCE.findall(text):
        headings = re.findall(r"^## (.*)$", said, re.MULTILINE)
        part = headings[-1] if headings else part
        found.append(Block(part, said, language, content))
    return found


def matches(shown: str, printed: str) -> bool:
    """Whether the page shows what was printed, but for line breaks; `...` is anything."""
    parts = [re.escape(" ".join(part.split())) for part in shown.split("...")]
    return re.fullmatch(".*".join(parts), " ".join(printed.split()), re.DOTALL) is not None


def change(block: Block) -> None:
    """Make the changes of a `diff` block, each of which has one place in the file."""
    path = Path(_CHANGED.findall(block.said)[-1])
    text = path.read_text("utf-8")
    for piece in block.content.strip("\n").split("\n\n"):
        lines = piece.split("\n")
        assert all(line[0] in " +-" for line in lines), piece
        before = "".join(f"{line[1:]}\n" for line in lines if line[0] != "+")
        after = "".join(f"{line[1:]}\n" for line in lines if line[0] != "-")
        assert text.count(before) == 1, f"{path} has {text.count(before)} places for\n{before}"
        text = text.replace(before, after)
    path.write_text(text, "utf-8")


class Reader:
    """Follows a page. ``instead``: the command to run in place of one that takes too long; "" for none."""

    def __init__(self, capsys) -> None:
        self._capsys, self._printed = capsys, ""
        self._names: dict[str, object] = {"__name__": "tutorial"}
        self.instead: dict[str, str] = {}

    def follow(self, found: list[Block]) -> None:
        for block in found:
            if block.language == "text":
                assert matches(block.content, self._printed), f"{block.content}\nbut it is\n{self._printed}"
            elif block.language == "diff":
                change(block)
            elif block.language == "":
                self._printed = "".join(map(self._give, block.content.replace("\\\n", " ").strip().split("\n")))
            elif named := _FILE.search(block.said):
                Path(named[1]).write_text(block.content, "utf-8")
            else:
                exec(compile(block.content, "the tutorial", "exec"), self._names)
                self._printed = self._capsys.readouterr().out
        assert not self.instead, f"not on the page: {self.instead}"

    def _give(self, line: str) -> str:
        """Run a command; what it prints."""
        command, _, comment = (part.strip() for part in line.partition("#"))
        if command in self.instead or comment not in ("", "fails"):
            command = self.instead.pop(command)
        if not command:
            return ""
        program, *words = shlex.split(command)
        if program == "metronome":
            status = main(words)
            printed = "".join(self._capsys.readouterr())
        else:
            done = subprocess.run(
                [sys.executable if program == "python3" else program, *words], stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, check=False,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            status, printed = done.returncode, done.stdout
        assert (status != 0) == (comment == "fails"), f"{command}: status {status}\n{printed}"
        return printed
