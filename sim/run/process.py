"""The simulation process: starts it, feeds it a job list, and receives its messages as they arrive."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..build.preflight import libpython, missing_for_simulation
from ..build.processes import own_folder, started, without_sigpipe
from ..build.simulator import BuildError, kept_executable
from .errors import SimulationError

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig

    from .types import Waves

__all__ = ["Simulation", "begin", "environment", "simulation", "started_sooner"]

#: A stand-in for pytest, from which cocotb needs three exceptions and one hook, which it does not use here
#: (COCOTB_REWRITE_ASSERTION_FILES): saves a quarter of a simulation's start. It is imported early, so it also makes
#: Python collect garbage less often.
_PYTEST = """
import gc
import sys
from types import SimpleNamespace

raises, skip, xfail = (
    SimpleNamespace(Exception=type(name, (Exception,), {})) for name in ("Failed", "Skipped", "XFailed")
)
gc.set_threshold(150_000)
sys.modules["_pytest.assertion"] = SimpleNamespace(install_importhook=None)
sys.modules["_pytest.config"] = SimpleNamespace(Config=None)
"""
#: A stand-in for jschon, with which Amaranth checks one of its own JSON schemas on import: saves a fifth of the start.
_JSCHON = """
from types import SimpleNamespace

JSONSchemaError = type("JSONSchemaError", (Exception,), {})


def create_catalog(version):
    return None


def JSONSchema(schema, catalog):
    return SimpleNamespace(validate=lambda: SimpleNamespace(valid=True))
"""


def _cocotb_folder() -> Path:
    """The cocotb package's folder. cocotb_tools.config knows it too, but imports all of cocotb or find_libpython."""
    package = importlib.util.find_spec("cocotb")
    if package is None or not package.submodule_search_locations:
        raise SimulationError("the Python package cocotb is missing: run make setup")
    return Path(next(iter(package.submodule_search_locations)))


def _cocotb_entry() -> str:
    """The library and function that start cocotb."""
    library = PathFinder.find_spec("cocotb.simulator", [str(_cocotb_folder())])
    if library is None or library.origin is None:
        raise SimulationError("the Python package cocotb is damaged: run make setup")
    return f"{library.origin},initialize"


def environment(testbench: str, results: str) -> dict[str, str]:
    """The environment for cocotb to run the module ``testbench``, as its own runner does; ``results``: the output file.

    Raises
    ------
    BuildError
        If this Python has no shared library.
    """
    library = libpython()
    if library is None:
        raise BuildError("; ".join(missing_for_simulation()))
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "LD_LIBRARY_PATH": os.pathsep.join(
            [str(_cocotb_folder() / "libs"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]),
        "PYGPI_PYTHON_BIN": sys.executable,
        "GPI_USERS": f"{library};{_cocotb_entry()}",
        "COCOTB_TEST_MODULES": testbench,
        "COCOTB_TOPLEVEL": "metronome_top",
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_RESULTS_FILE": results,
        "COCOTB_LOG_LEVEL": "WARNING",
        # Empty: cocotb rewrites no module's assertions, which would take a second at every start.
        "COCOTB_REWRITE_ASSERTION_FILES": "",
    }


def started_sooner(environ: dict[str, str], folder: Path) -> dict[str, str]:
    """Return ``environ`` with stand-ins for pytest and jschon, written to ``folder``; for testbenches that use neither.

    Matrix multiplication gets no threads either: they take as long to start as numpy takes to import.
    """
    (folder / "pytest.py").write_text(_PYTEST)
    (folder / "jschon.py").write_text(_JSCHON)
    return environ | {"PYTHONPATH": os.pathsep.join([str(folder), environ["PYTHONPATH"]]), "OPENBLAS_NUM_THREADS": "1"}


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()[-20:]
    return "\n".join(lines) or "(its log is empty)"


def _wanted(waves: Waves | None) -> dict[str, str]:
    """The environment that selects the signals to dump (tb/waves_main.cpp)."""
    if waves is None:
        return {}
    asked = {"METRONOME_WAVES": waves.path, "METRONOME_WAVES_FROM": waves.first, "METRONOME_WAVES_TO": waves.last}
    return {name: str(value) for name, value in asked.items() if value is not None}


class Simulation:
    """A simulation process that waits for its jobs: starting takes half of its time."""

    def __init__(self, executable: Path, process: subprocess.Popen, jobs: IO[bytes], results: IO[bytes], log: Path):
        #: The program to run if there are no jobs yet.
        self.waiting: Path | None = executable
        self._process, self._jobs, self._results, self._log = process, jobs, results, log

    def messages(self, jobs: Sequence[object]) -> Iterator[tuple[Any, ...]]:
        """Run ``jobs``, once; yields the messages of the testbench, except the last, as they arrive.

        ``jobs``: what the testbench takes (:class:`.types.Job` for tb/kernel_tb.py).

        Raises
        ------
        SimulationError
            If the process crashes, or its testbench raises.
        """
        self.waiting = None
        # If the process has died, the missing results lead to the error.
        with without_sigpipe(), contextlib.suppress(BrokenPipeError):
            pickle.dump(jobs, self._jobs, pickle.HIGHEST_PROTOCOL)
            self._jobs.close()
        yield from _read(self._results, self._process, self._log)

    def programs(
        self, jobs: Sequence[object], *, report: Callable[[str], None], on_console: Callable[[int, str], None],
        on_records: Callable[[int, bytes], None] | None = None,
    ) -> Iterator[tuple[int, dict[str, Any], list[str]]]:
        """Run ``jobs``, once; yields the number, the fields and the printed text of each program that ends.

        ``on_console`` and ``on_records`` get the number of a job, and text or records of it as they arrive.
        """
        lines: list[str] = []
        for kind, index, content, *more in self.messages(jobs):
            if kind == "cycles":
                report(f"simulate ({content} cycles, {content / more[0]:.0f} cycles/s)")
            elif kind == "console":
                lines.append(content)
                on_console(index, content)
            elif kind == "records" and on_records is not None:
                on_records(index, content)
            else:
                yield index, content, lines
                lines = []


@contextlib.contextmanager
def simulation(
    executable: Path, waves: Waves | None = None, profile: Path | None = None,
    testbench: str = "metronome.tb.kernel_tb",
) -> Iterator[Simulation]:
    """Start a simulation that ends with the block at the latest. ``profile``: the file for its counts, if it counts.

    ``testbench``: the module that runs in it.

    Raises
    ------
    BuildError
        If the file cannot be executed.
    """
    with own_folder("metronome-") as folder, contextlib.ExitStack() as stack:
        jobs_fd, jobs_end = os.pipe()
        jobs = stack.enter_context(os.fdopen(jobs_end, "wb"))
        results_end, results_fd = os.pipe()
        results = stack.enter_context(os.fdopen(results_end, "rb"))
        command = [str(executable), *(["--trace", "--trace-file", str(waves.path)] if waves else [])]
        environ = started_sooner(environment(testbench, str(folder / "results.xml")), folder) | {
            "METRONOME_JOBS_FD": str(jobs_fd), "METRONOME_RESULTS_FD": str(results_fd),
            **_wanted(waves),
        }
        environ.pop("METRONOME_PROFILE", None)
        if profile is not None:
            environ["METRONOME_PROFILE"] = str(profile)
        log = folder / "log"
        log_file = stack.enter_context(log.open("wb"))
        try:
            process = stack.enter_context(started(
                command, cwd=folder, env=environ, stdout=log_file, stderr=subprocess.STDOUT,
                pass_fds=[jobs_fd, results_fd],
            ))
        except OSError as error:  # damaged in a way that the cache does not notice
            raise BuildError(
                f"cannot start the cached simulation {executable}: {error.strerror}:"
                f" delete {executable.parent} to have it rebuilt"
            ) from None
        finally:
            os.close(jobs_fd)
            os.close(results_fd)
        yield Simulation(executable, process, jobs, results, log)


@contextlib.contextmanager
def begin(config: SmConfig) -> Iterator[Simulation | None]:
    """Start the simulation of ``config`` while its program is prepared; None if it is not built."""
    executable = None if os.environ.get("METRONOME_WAVES") else kept_executable(config)
    if executable is None:
        yield None
        return
    with simulation(executable) as process:
        yield process


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
