"""The origin of a result: one record that every output contains and that comparisons of results ignore.

``version`` and ``commit`` are those of the sources; ``modified``: whether they differ from the commit (None:
unknown). ``date`` is when the command began, ``command`` its words, ``platform`` that of the host.
``machines`` and ``programs`` have names and digests. Users' names and folders outside of the current one are left out.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .sources import ROOT

__all__ = ["METADATA", "begin", "commit", "difference", "is_modified", "line", "maker", "metadata",
           "note_machine", "note_program", "origin", "read_metadata", "version"]

#: The key of the record in the metadata of a Parquet file.
METADATA = b"metronome.origin"
#: The folders whose contents the commit determines.
_SOURCES = ("hdl", "riscv_kernels", "scripts", "sim", "tb", "pyproject.toml")
_FLAG = re.compile(r"(-[A-Za-z]|@)(/.*)")
_SHA = re.compile(r"[0-9a-f]{40,64}")


class _Command:
    """The running command, and the machines and programs it has used so far: outputs are written in distant modules."""

    words: Sequence[str] | None = None
    machines: dict[str, str]
    programs: dict[str, str]

    def __init__(self, words: Sequence[str] | None = None) -> None:
        self.words, self.machines, self.programs = words, {}, {}
        self.date = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())


_current = _Command()


def begin(words: Sequence[str] | None) -> None:
    """Begin a command with these words after ``metronome``; None for a call from Python."""
    global _current  # a process carries out one command at a time
    _current = _Command(words if words is None else tuple(words))


def _digest(what: object) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]


def note_machine(name: str, config: object) -> None:
    """Note that the command uses the machine ``config``."""
    _current.machines[_public(name)] = _digest(config)


def note_program(name: str, *content: object) -> None:
    """Note that the command uses a program; ``content`` is the part of it that is loaded."""
    _current.programs[_public(name)] = _digest(content)


def version() -> str | None:
    """The version; None if the packages are not installed."""
    import importlib.metadata  # which takes as long to import as all else here

    try:
        return importlib.metadata.version("metronome")
    except importlib.metadata.PackageNotFoundError:
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""


@functools.cache
def commit() -> str | None:
    """The commit that is checked out, from git's files; None if the sources are not a checkout."""
    folder = ROOT / ".git"
    if pointer := re.fullmatch("gitdir: (.+)", _text(folder)):  # a worktree
        folder = (ROOT / pointer[1]).resolve()
    common = (folder / (_text(folder / "commondir") or ".")).resolve()
    head = _text(folder / "HEAD")
    if name := re.fullmatch("ref: (.+)", head):
        packed = re.search(rf"^([0-9a-f]+) {re.escape(name[1])}$", _text(common / "packed-refs"), re.MULTILINE)
        head = _text(folder / name[1]) or _text(common / name[1]) or (packed[1] if packed else "")
    return head if _SHA.fullmatch(head) else None


@functools.cache
def is_modified() -> bool | None:
    """Whether the sources differ from the commit, according to git if it is installed and trusts the folder."""
    git = shutil.which("git")
    if commit() is None or git is None:
        return None
    done = subprocess.run(
        [git, "-C", ROOT, "status", "--porcelain", "--", *_SOURCES], capture_output=True, check=False,
        env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"}, stdin=subprocess.DEVNULL,
    )
    return None if done.returncode else bool(done.stdout.strip())


def _public(word: str) -> str:
    """A word of a command line without private folders."""
    if os.path.isabs(word):
        path = Path(os.path.abspath(word))
        return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else path.name or word
    # OPTION=FILE, NAME=FILE and, among a compiler's flags, -IFOLDER.
    before, equals, value = word.partition("=")
    if " " in word and not (os.path.isabs(value) and " -" not in value):
        return " ".join(map(_public, word.split(" ")))
    if equals:
        return f"{before}={_public(value)}"
    found = _FLAG.fullmatch(word)
    return f"{found[1]}{_public(found[2])}" if found else word


def origin() -> dict[str, Any]:
    """The record of an output that is written now."""
    words = _current.words
    return {
        "version": version(), "commit": commit(), "modified": is_modified(),
        "date": _current.date,
        "command": None if words is None else shlex.join(["metronome", *map(_public, words)]),
        "platform": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "machines": [{"name": name, "digest": digest} for name, digest in _current.machines.items()],
        "programs": [{"name": name, "digest": digest} for name, digest in _current.programs.items()],
    }


def maker(record: Mapping[str, Any]) -> str:
    """``0.2.0, commit 0123456789ab, modified``."""
    made_by = str(record.get("version") or "of an unknown version")
    if record.get("commit"):
        made_by += f", commit {str(record['commit'])[:12]}"
    return made_by + (", modified" if record.get("modified") else "")


def line(record: Mapping[str, Any]) -> str:
    """The record for people, on one line."""
    command = record.get("command")
    return f"Metronome {maker(record)}, {record.get('date')}" + (f": {command}" if command else "")


def difference(record: Mapping[str, Any] | None) -> str | None:
    """The version that made a result being read, in words; None if it was this very version and commit."""
    if not record:
        return "made by an earlier version of Metronome, which did not record its number"
    if (record.get("version"), record.get("commit")) == (version(), commit()):
        return None
    here = maker({"version": version(), "commit": commit()})
    return f"made by Metronome {maker(record)}; this one is {here}"


def metadata() -> dict[bytes, bytes]:
    """The record as metadata of a Parquet file."""
    return {METADATA: json.dumps(origin()).encode()}


def read_metadata(found: Mapping[bytes, bytes] | None) -> dict[str, Any] | None:
    """The record in the metadata of a Parquet file; None if there is none."""
    try:
        record = json.loads((found or {})[METADATA])
    except (KeyError, ValueError):
        return None
    return record if isinstance(record, dict) else None
