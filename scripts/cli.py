"""The command line ``metronome``: one module per subcommand, with their shared errors and exit statuses here."""

from __future__ import annotations

import copy
import errno
import functools
import importlib
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metronome.sim.build import origin

from .options.one_sm import why_one_sm
from .options.records import PlainCommand, command
from .process.errors import Exit, UsageError
from .process.signals import ReceivedSignal, Terminated, terminable
from .process.stdout import BrokenOutput, guard_stdout

if TYPE_CHECKING:
    from .process.backend import Backend

__all__ = ["COMMANDS", "app", "main"]

#: Set to show the traceback of an internal error.
TRACEBACK_VARIABLE = "METRONOME_TRACEBACK"
#: Subcommand -> the first line of its docstring. A subcommand is a function of its name, in a module of its name.
COMMANDS = {
    "kernels": "List the kernels of Metronome, and the folders here that have a kernel.c or kernel.cl, and a host.py.",
    "new": "Write a folder with a kernel that passes: kernel.c for the machine, host.py for its inputs and its check.",
    "run": "Run a program on the simulated SM or on several, check its result, and report where its cycles went.",
    "predict": "Predict a run exactly, cycle by cycle, without the hardware.",
    "wcet": "Bound the cycles of a program from launch to end, for all inputs.",
    "analyze":
        "List the accesses to global memory, the same in every run, and estimate hits and misses in data caches.",
    "characterize": "Measure the machine's latencies with micro-benchmarks, and compare them with the configuration's.",
    "trace": "Write a trace of every cycle of a run.",
    "build": "Compile C or assembly with the runtime into an ELF for `metronome run`.",
    "sweep": "Run a kernel on every combination of fields, front ends, policies and predictions, and compare them.",
    "report": "Make one HTML page of the results of a sweep, with figures and tables. It needs no network.",
    "config": "Show every field of a machine with its value, unit and meaning, or write it as a file for --config.",
    "verilog":
        "Write the SM as synthesizable Verilog; with --issue it has one policy, without it straps that select one.",
    "synth":
        "Synthesise, place and route one unit for an FPGA (default: Lattice ECP5-85), and report area and clock rate.",
    "board":
        "Write a bitstream for the board ULX3S, or run a program on it through its serial port and check the result.",
    "prove": "Prove P1 to P11 by unbounded induction, and show a counterexample for each that does not hold.",
    "grade": "Grade the policies of submissions: their statistics against those of the solution, by the predictor.",
    "bench": "Measure simulated cycles a second (cocotb and memory model, no lock step), builds, and the golden model.",
    "cache": "Show the build cache by kind, with sizes and ages, or prune it. Entries in use are kept.",
}


class _Subcommands(Mapping[str, typer.core.TyperCommand]):
    """The subcommands, each imported when it is looked up, so that none loads what only the others need."""

    def __init__(self) -> None:
        self._made: dict[str, typer.core.TyperCommand] = {}

    def __getitem__(self, name: str) -> typer.core.TyperCommand:
        if name not in COMMANDS:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = _subcommand(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _subcommand(name: str) -> typer.core.TyperCommand:
    from .help_pages import epilog

    module = importlib.import_module(f".commands.{name}", __package__)
    return command(name, getattr(module, name), epilog(name))


class _Group(PlainCommand, typer.core.TyperGroup):  # type: ignore[misc]
    """All subcommands under one name."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"commands": {}})
        self.commands = _Subcommands()  # type: ignore[assignment]

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Return the names, in the order of the help page."""
        return list(COMMANDS)

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Print the help page of all subcommands without importing any of them."""
        page = copy.copy(self)
        page.commands = {name: typer.core.TyperCommand(name, help=about) for name, about in COMMANDS.items()}
        super(_Group, page).format_help(ctx, formatter)


app = typer.Typer(
    name="metronome", cls=_Group,
    help="A GPU streaming multiprocessor whose warp schedule can be computed before the program runs.",
    epilog="Begin with: metronome new mine, metronome run ./mine. Each subcommand has examples: metronome run -h.",
    add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        number = origin.version() or "(its packages are not installed: there is no version)"
        modified = ", modified" if origin.is_modified() else ""
        commit = f"commit {origin.commit()}{modified}" if origin.commit() else "commit unknown: not a git checkout"
        print(f"metronome {number} ({commit})")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options before the subcommand; typer calls this function first."""


def _complain(message: str) -> None:
    """Print one line on standard error, then the log if a build failed."""
    line, _, log = message.strip().partition("\n")
    print(f"metronome: {line}", file=sys.stderr)
    if log:
        print(log, file=sys.stderr)


def _with_value(error: typer.TyperException) -> str:
    """Return typer's message, with the value that it omits if pydantic has refused it."""
    message = error.format_message()
    refusals = getattr(error.__cause__, "errors", None)
    if refusals is None:
        return message
    value = refusals()[0]["input"]
    return message.replace("Invalid value for", f"Invalid value {value!r} for", 1)


#: A refused value that is a list, and the subcommands in which a user may want to compare.
_LIST = re.compile(r"'([^',]+(?:,[^',]+)+)'")
#: The options and fields of a GPU: nothing compares several of their values, except for the number of SMs.
_OF_GPU = re.compile(r"'--(sms|interconnect|slot-cycles|l2[a-z-]*)'|\b(sms|interconnect|slot_cycles|l2[a-z_]*)\b")
_SMS = re.compile(r"'--sms'|\bsms\b(?!=)")
_COMPARED = ("run", "predict", "wcet", "analyze", "trace", "sweep")


def _several(message: str, name: str | None) -> str:
    """Return how to compare several values if the message refuses a list of them, or else an empty string."""
    # Further lines are a compiler's.
    message = message.partition("\n")[0]
    found = _LIST.search(message)
    if found is None or name not in _COMPARED:
        return ""
    if _SMS.search(message):
        return f": metronome sweep compares several with --sms {found[1]}"
    if _OF_GPU.search(message):
        return ": one at a time"
    if size := re.search("--(warps|threads)'", message):
        return f": metronome sweep compares several with --set {size[1]}={found[1]}"
    compared = "an experiment" if name == "sweep" else "metronome sweep, or an experiment,"
    return f": one at a time; {compared} compares several (docs/experiments.md)"


def _bad_use(error: Exception, name: str | None) -> str:
    """Return the line for a user error; typer's own errors also point to the help."""
    if (line := why_one_sm(error, name)) is not None:
        return line
    if not isinstance(error, typer.TyperException):
        return f"{error}{_several(str(error), name)}"
    program = f"metronome {name}" if name in COMMANDS else "metronome"
    message = _with_value(error)
    return f"{message}{_several(message, name)} (see {program} --help)"


def _cache_problem(error: OSError) -> str | None:
    """Return advice if the build cache cannot be used; None if ``error`` is about something else."""
    from metronome.sim.build.cache import cache_folder

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        # Such a write error does not name the file.
        return f"{error.strerror}: make room, or set METRONOME_CACHE to a folder on another disk than {cache_folder()}"
    if not isinstance(error.filename, str | os.PathLike):
        return None
    cache, place = (Path(os.path.realpath(path)) for path in (cache_folder(), error.filename))
    # The folders above the cache may have to be created too.
    if not (place.is_relative_to(cache) or cache.is_relative_to(place)):
        return None
    return f"cannot use the build cache {cache}: {error.strerror}: set METRONOME_CACHE to a writable folder"


def _unexpected(error: Exception) -> Exit:
    """Report an unusable build cache as a user error, and anything else as an internal error."""
    if isinstance(error, OSError) and (problem := _cache_problem(error)) is not None:
        _complain(problem)
        return Exit.USAGE
    from metronome.sim.machine.policies.files import raised_in_a_policy

    if (line := raised_in_a_policy(error)) is not None:
        _complain(line)
        return Exit.USAGE
    _complain(f"internal error: {type(error).__name__}: {error} ({TRACEBACK_VARIABLE}=1 prints the traceback)")
    return Exit.INTERNAL


def main(arguments: Sequence[str] | None = None, *, backend: Backend | None = None) -> int:
    """Run one subcommand.

    Parameters
    ----------
    arguments
        Without the program's name; by default the process's own.
    backend
        The simulator; tests substitute their own.

    Returns
    -------
    The exit status (:class:`scripts.process.errors.Exit`).
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    name = next((argument for argument in arguments if not argument.startswith("-")), None)
    origin.begin(arguments)
    received = ReceivedSignal()
    try:
        with terminable() as received:
            return _run(arguments, name, backend)
    except Terminated:
        return _ended_by(signal.SIGTERM)
    except KeyboardInterrupt:
        return _ended_by(signal.SIGINT)
    except Exception as error:
        if received.number is not None:
            return _ended_by(received.number)
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        return _unexpected(error)


#: The parser of the arguments.
_parser = functools.cache(typer.main.get_command)


def _run(arguments: list[str], name: str | None, backend: Backend | None) -> int:
    """Run the subcommand and return the exit status; any error that is not the user's propagates."""
    try:
        with guard_stdout():
            if {"-h", "--help"} & set(arguments):
                from .help_pages import prepare

                prepare()
            status = _parser(app).main(arguments, prog_name="metronome", standalone_mode=False, obj=backend)
    except BrokenOutput:
        return Exit.BROKEN_PIPE
    except (UsageError, typer.TyperException) as error:
        _complain(_bad_use(error, name))
        return Exit.USAGE
    if status == Exit.INTERRUPTED:
        return _ended_by(signal.SIGINT)
    return int(status or 0)


def _ended_by(number: int) -> int:
    if number == signal.SIGINT:
        _complain("interrupted")
        return Exit.INTERRUPTED
    _complain("terminated")
    return Exit.TERMINATED


if __name__ == "__main__":
    sys.exit(main())
