"""Builds the sdist and the wheel, and tries the wheel outside of the checkout: ``python3 .ci/package.py [TAG]``.

The result is build/dist: both files, and notes.md, the section of CHANGELOG.md for this version. With a tag, it must be
``v`` and the version of pyproject.toml. Needs Python with venv, make's other requirements, and access to PyPI.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "build" / "dist"
#: The first commands of a user, in an empty folder.
COMMANDS = (
    ("run", "vecadd", "--preset", "TINY", "--check"),
    ("predict", "vecadd", "--preset", "TINY"),
    ("new", "--policy", "mine"),
    ("predict", "vecadd", "--preset", "TINY", "--issue", "./mine.py"),
    ("run", "vecadd", "--preset", "TINY", "--issue", "./mine.py"),
    ("trace", "vecadd", "--preset", "TINY", "-o", "vecadd.html"),
    ("new", "kernel"),
    ("run", "./kernel", "--preset", "TINY"),
)


class PackageError(Exception):
    """A reason not to release, in one line."""


def version(root: Path = ROOT) -> str:
    """Return the version of pyproject.toml.

    Raises
    ------
    PackageError
        If CITATION.cff has another one.
    """
    number = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    cited = re.search(r"^version: (.*)$", (root / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    if cited is None or cited[1] != number:
        raise PackageError(f"CITATION.cff has the version {cited and cited[1]}, pyproject.toml {number}")
    return str(number)


def notes(number: str, root: Path = ROOT) -> str:
    """Return the section of CHANGELOG.md for the version, without its heading and without links to files.

    Raises
    ------
    PackageError
        If there is none.
    """
    changes = (root / "CHANGELOG.md").read_text("utf-8")
    heading = rf"^## {re.escape(number)} \(\d{{4}}-\d\d-\d\d\)\n"
    found = re.search(rf"{heading}(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL)
    if found is None:
        raise PackageError(f"CHANGELOG.md has no section '## {number} (YYYY-MM-DD)'")
    text = re.sub(r"\[([^\]]*)\]\((?![a-z]+:)[^)]*\)", r"\1", found[1]).strip()
    # A forge shows each line of a release's text as a line: a paragraph and a list item are one.
    return re.sub(r"(?<=\S)\n *(?=[^\s#-])", " ", text) + "\n"


def main(arguments: list[str]) -> int:
    """Build and try; return the exit status."""
    try:
        number = version()
        if arguments and arguments[0] != f"v{number}":
            raise PackageError(f"the tag {arguments[0]} is not v{number}, the version of pyproject.toml")
        text = notes(number)
        with tempfile.TemporaryDirectory(prefix="metronome-package-") as folder:
            build(Path(folder))
            check(Path(folder), number)
    except PackageError as error:
        print(f"package: {error}", file=sys.stderr)
        return 1
    (OUTPUT / "notes.md").write_text(text, "utf-8")
    print(f"package: {', '.join(sorted(path.name for path in OUTPUT.iterdir()))} in {OUTPUT.relative_to(ROOT)}")
    return 0


def build(folder: Path) -> None:
    """Make both files, with the tools in a venv of their own."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    python = venv(folder / "tools", "build")
    call([python, "-m", "build", "--outdir", OUTPUT, ROOT], folder)


def check(folder: Path, number: str) -> None:
    """Install the wheel into a new venv and carry out COMMANDS with it."""
    (wheel,) = OUTPUT.glob("*.whl")
    command = venv(folder / "user", str(wheel)).with_name("metronome")
    empty = folder / "empty"
    empty.mkdir()
    printed = call([command, "--version"], empty)
    if printed.split()[:2] != ["metronome", number]:
        raise PackageError(f"metronome --version prints {printed.strip()!r}, not the version {number}")
    for words in COMMANDS:
        call([command, *words], empty)


def venv(folder: Path, package: str) -> Path:
    """Make a venv with one package and what it requires; return its Python."""
    call([sys.executable, "-m", "venv", folder], folder.parent)
    python = folder / "bin" / "python"
    call([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package], folder.parent)
    return python


def call(words: list[str | Path], folder: Path) -> str:
    """Run a command without the caller's settings of Python and Metronome; return its output.

    Raises
    ------
    PackageError
        If it fails.
    """
    shown = " ".join([Path(words[0]).name, *map(str, words[1:])])
    print(f"package: {shown}", flush=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "METRONOME"))}
    done = subprocess.run(
        words, cwd=folder, env=environment | {"METRONOME_CACHE": str(folder.parent / "cache")}, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        raise PackageError(f"{shown} failed with status {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
