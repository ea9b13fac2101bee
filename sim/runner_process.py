"""The simulation process: starts it, feeds it a job list, and takes its messages as they come."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .build import BuildError
from .runner_types import Job, SimulationError

__all__ = ["messages"]

#: linux/prctl.h
_PR_SET_PDEATHSIG = 1
_ROOT = Path(__file__).resolve().parent.parent


def _environment(folder: Path, results_fd: int) -> dict[str, str]:
    """What cocotb and tb/kernel_tb.py need, as cocotb's own runner sets it."""
    import cocotb_tools.config as cocotb_config
    import find_libpython

    libpython = find_libpython.find_libpython()
    if libpython is None:
        raise SimulationError("no shared libpython found: install the Debian package libpython3-dev")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, sys.path)]),
        "PYGPI_PYTHON_BIN": sys.executable,
        "GPI_USERS": f"{libpython};{cocotb_config.pygpi_entry_point()}",
        "COCOTB_TEST_MODULES": "tb.kernel_tb",
        "COCOTB_TOPLEVEL": "metronome_top",
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_RESULTS_FILE": str(folder / "results.xml"),
        "COCOTB_LOG_LEVEL": "WARNING",
        "METRONOME_JOBS": str(folder / "jobs"),
        "METRONOME_RESULTS_FD": str(results_fd),
    }


def _end_with_parent() -> Callable[[], None] | None:
    """What the simulation process does before it starts, so that it ends with the thread that has started it.

    Without it a simulation of a parent that was killed would go on for ever. Linux only: None elsewhere. Everything is
    looked up now, since a process between fork and exec can do little without the danger of a deadlock.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()
    arguments = [ctypes.c_ulong(value) for value in (signal.SIGKILL, 0, 0, 0)]

    def end_with_parent() -> None:
        prctl(_PR_SET_PDEATHSIG, *arguments)
        if os.getppid() != parent:  # it was faster
            os._exit(1)

    return end_with_parent


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()[-20:]
    return "\n".join(lines) or "(its log is empty)"


def messages(executable: Path, jobs: list[Job], waves: Path | None) -> Iterator[tuple[Any, ...]]:
    """Run ``jobs`` in one process; yields the messages of tb/kernel_tb.py but for the last, as they arrive.

    Raises
    ------
    BuildError
        If the executable is none.
    SimulationError
        If the process crashes, or its testbench raises.
    """
    with tempfile.TemporaryDirectory(prefix="metronome-") as name:
        folder = Path(name)
        (folder / "jobs").write_bytes(pickle.dumps(jobs, pickle.HIGHEST_PROTOCOL))
        read_fd, write_fd = os.pipe()
        command = [str(executable), *(["--trace", "--trace-file", str(waves)] if waves else [])]
        log = folder / "log"
        with log.open("wb") as log_file, os.fdopen(read_fd, "rb") as pipe:
            try:
                process = subprocess.Popen(
                    command, cwd=folder, env=_environment(folder, write_fd), stdin=subprocess.DEVNULL,
                    stdout=log_file, stderr=subprocess.STDOUT, pass_fds=[write_fd], preexec_fn=_end_with_parent(),
                )
            except OSError as error:  # damaged in a way that the cache does not notice
                raise BuildError(
                    f"cannot start the cached simulation {executable}: {error.strerror}:"
                    f" delete {executable.parent}, and it is built again"
                ) from None
            finally:
                os.close(write_fd)
            try:
                yield from _read(pipe, process, log)
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()


def _read(pipe: Any, process: subprocess.Popen, log: Path) -> Iterator[tuple[Any, ...]]:
    while True:
        try:
            message = pickle.load(pipe)
        except (EOFError, pickle.UnpicklingError):
            status = process.wait()
            raise SimulationError(f"the simulation process died with status {status}:\n{_tail(log)}") from None
        if message[0] == "error":
            raise SimulationError(f"the testbench failed:\n{message[1]}")
        if message[0] == "done":
            process.wait()
            return
        yield message
